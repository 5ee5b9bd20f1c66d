"""Opens the real runtime on a home and a server, and runs its turns to their ends."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing, asynccontextmanager
from dataclasses import replace
from pathlib import Path

from local_agent.config.launch import LaunchOptions
from local_agent.config.paths import Paths
from local_agent.config.settings import Settings
from local_agent.domain.events import Event
from local_agent.runtime.runtime import Runtime


def paths_in(home: Path) -> Paths:
    """The folders of one user."""
    return Paths(home=home, cache=home.parent / "cache")


def settings_for(url: str) -> Settings:
    """Default settings with the server's address."""
    defaults = Settings()
    return replace(defaults, ollama=replace(defaults.ollama, host=url))


@asynccontextmanager
async def opened(
    home: Path, url: str, *, settings: Settings | None = None, **options: object
) -> AsyncIterator[Runtime]:
    """A runtime of its own, as one process would have it, closed at the end."""
    workspace = home.parent / "work"
    workspace.mkdir(parents=True, exist_ok=True)
    launch = replace(LaunchOptions(workspace=workspace), **options)  # type: ignore[arg-type]  # by name
    runtime = await Runtime.open(launch, settings or settings_for(url), paths_in(home))
    try:
        yield runtime
    finally:
        await runtime.close()


async def events_of(turn: AsyncGenerator[Event, None]) -> list[Event]:
    """All events of a turn."""
    async with aclosing(turn) as events:
        return [event async for event in events]
