"""A real database file for each test."""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from local_agent.store.engine import open_engine
from local_agent.store.gateway import Gateway
from local_agent.store.revisions import newest_schema
from local_agent.store.store import Store
from tests.store.samples import VERSION


@pytest.fixture
def database(tmp_path: Path) -> Path:
    """Where the database will be; neither it nor its folder exists yet."""
    return tmp_path / "home" / "local-agent.db"


@pytest.fixture(scope="session")
def built_once(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A database as a first start leaves it."""
    path = tmp_path_factory.mktemp("built") / "local-agent.db"
    asyncio.run(Store.open(path, program_version=VERSION).close())
    return path


@pytest.fixture
def built(database: Path, built_once: Path) -> Path:
    """The database after a first start, which need not be made again for every test."""
    database.parent.mkdir(mode=0o700)
    shutil.copy(built_once, database)
    return database


@pytest.fixture
async def store(built: Path) -> AsyncIterator[Store]:
    opened = Store.open(built, program_version=VERSION)
    yield opened
    await opened.close()


@pytest.fixture
async def gateway(store: Store, database: Path) -> AsyncIterator[Gateway]:
    """A second way to the same file, for what the store has no door for yet."""
    second = Gateway(open_engine(database), schema=newest_schema())
    yield second
    await second.close()
