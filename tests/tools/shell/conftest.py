"""A workspace and the shell's tools over it."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest_asyncio

from tests.tools.shell.shells import Shell


@pytest_asyncio.fixture
async def shell(tmp_path: Path) -> AsyncIterator[Shell]:
    root = tmp_path / "workspace"
    root.mkdir()
    made = Shell(root)
    yield made
    await made.commands.close()
