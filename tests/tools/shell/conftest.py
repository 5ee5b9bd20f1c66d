"""A workspace and the shell's tools over it."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio

from local_agent.tools.shell import effects
from tests.tools.shell.shells import Shell


@pytest.fixture(autouse=True)
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Looks at files take as long as a busy machine makes them take."""
    monkeypatch.setattr(effects, "SECONDS", 20.0)
    monkeypatch.setattr(effects, "HASTY_SECONDS", 20.0)


@pytest_asyncio.fixture
async def shell(tmp_path: Path) -> AsyncIterator[Shell]:
    root = tmp_path / "workspace"
    root.mkdir()
    made = Shell(root)
    yield made
    await made.commands.close()
