"""A real database file for each test."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from local_agent.store.engine import open_engine
from local_agent.store.gateway import Gateway
from local_agent.store.store import Store
from tests.store.samples import VERSION


@pytest.fixture
def database(tmp_path: Path) -> Path:
    """Where the database will be; neither it nor its folder exists yet."""
    return tmp_path / "home" / "local-agent.db"


@pytest.fixture
async def store(database: Path) -> AsyncIterator[Store]:
    opened = Store.open(database, program_version=VERSION)
    yield opened
    await opened.close()


@pytest.fixture
async def gateway(store: Store, database: Path) -> AsyncIterator[Gateway]:
    """A second way to the same file, for what the store has no door for yet."""
    second = Gateway(open_engine(database), schema=1)
    yield second
    await second.close()
