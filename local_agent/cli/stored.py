"""Work on stored sessions: opens the runtime for it and closes it again."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from local_agent.cli.startup import Startup
from local_agent.cli.streams import say, say_waiting
from local_agent.config.launch import LaunchOptions
from local_agent.config.settings import Settings, ToolSettings
from local_agent.domain.entries import Entry, ErrorRecord, Slice, Turn
from local_agent.domain.errors import Damaged, OnlyReadable, StoreError
from local_agent.domain.sessions import SessionInfo

if TYPE_CHECKING:
    from local_agent.runtime.runtime import Runtime

PAGE = 500
_SETTINGS = Settings(tools=ToolSettings(enabled=False))
"""Nothing is run here, so that nothing is looked for that could confine it."""

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class StoredPath:
    """A session and the whole path to its head, oldest first."""

    session: SessionInfo
    entries: tuple[Entry, ...]
    turns: dict[int, Turn]
    failures: dict[int, ErrorRecord]
    """By turn id; a fork's path leads through turns that failed in another session."""
    errors: tuple[ErrorRecord, ...]
    """The session's own trail."""
    system_prompt: str
    """As the next request would begin."""
    uncertain: frozenset[tuple[int, int]] = frozenset()
    """Entry and number of calls whose outcome nobody knows."""


def on_store(startup: Startup, work: Callable[[Runtime], Awaitable[T]], *, only_reads: bool = False) -> T:
    """Run ``work`` on the stored sessions. Their settings don't matter here, so a bad one is no obstacle.

    Work that ``only_reads`` is done on a copy, saying so, where the database can't be opened.
    """

    async def run() -> T:
        runtime = await (_readable(startup) if only_reads else _opened(startup))
        try:
            return await work(runtime)
        finally:
            await runtime.close()

    return asyncio.run(run())


async def _opened(startup: Startup) -> Runtime:
    from local_agent.runtime.runtime import Runtime  # the store's libraries: 0.4 s

    options = LaunchOptions(startup.workspace)
    return await Runtime.open(options, _SETTINGS, startup.paths, on_wait=say_waiting)


async def _readable(startup: Startup) -> Runtime:
    from local_agent.runtime.runtime import Runtime  # the store's libraries: 0.4 s

    try:
        return await _opened(startup)
    except (OnlyReadable, Damaged) as error:
        refusal = error
    try:
        runtime = await Runtime.read(LaunchOptions(startup.workspace), _SETTINGS, startup.paths)
    except StoreError:
        raise refusal from None
    say(f"{refusal.line} This is read from a copy. {refusal.hint}")
    return runtime


def on_held(startup: Startup, handle: str, change: Callable[[Runtime], Awaitable[None]]) -> None:
    """Run ``change`` while this process holds the session; ``SessionHeld`` names another that does."""

    async def work(runtime: Runtime) -> None:
        conversation = await runtime.resume(handle)
        try:
            await change(runtime)
        finally:
            await conversation.close()

    on_store(startup, work)


async def whole_path(runtime: Runtime, handle: str, page: int = PAGE) -> StoredPath:
    """Read a session from its end to its beginning, ``page`` entries at a time."""
    from local_agent.agent.prompt import stated_mode, system_prompt

    conversation = await runtime.view(handle)
    info = conversation.info
    assert info is not None  # a view is of a stored session
    slices: list[Slice] = [await conversation.tail(page)]
    while slices[-1].more and slices[-1].entries:
        slices.append(await conversation.before(slices[-1].entries[0].id, page))
    slices.reverse()
    entries = tuple(entry for part in slices for entry in part.entries)
    # A mode is told exactly where tools are offered. Which model answers next is not known here.
    tools = any(stated_mode(entry.context) for entry in entries)
    return StoredPath(
        session=info,
        entries=entries,
        turns={number: turn for part in slices for number, turn in part.turns.items()},
        failures={number: error for part in slices for number, error in part.errors.items()},
        errors=tuple(await conversation.errors()),
        system_prompt=system_prompt(Path(info.workspace_root), tools=tools),
        uncertain=frozenset(
            place for part in slices for place, call in part.executions.items() if call.uncertain
        ),
    )
