"""Tells of silence, and ends a turn for it only where a limit is set."""

from __future__ import annotations

import asyncio
import time

from local_agent.agent import sentences
from local_agent.agent.arriving import ArrivingReply, Emit
from local_agent.domain.errors import ModelError
from local_agent.domain.events import Silence
from local_agent.domain.ports import Backend

_LONGEST_TICK = 0.5
_LOOK_SECONDS = 5.0


async def watch_silence(
    backend: Backend, model: str, reply: ArrivingReply, emit: Emit, *, every: float, limit: float
) -> None:
    """Tell of each ``every`` seconds in which nothing arrived, with a look at the server.

    Raises ``ModelError`` after ``limit`` seconds (0: never) of silence in mid-reply; loading and
    prompt reading are exempt. Time counts in short steps, so that the hours in which the process
    or the machine slept are no silence of the server's.
    """
    tick = min(_LONGEST_TICK, every / 4, limit / 4 if limit else every)
    looking: asyncio.Task[None] | None = None
    quiet, told, seen = 0.0, 0, reply.parts_seen
    before = time.monotonic()
    try:
        while True:
            await asyncio.sleep(tick)
            now = time.monotonic()
            quiet, before = quiet + min(now - before, 2 * tick), now
            if reply.parts_seen != seen:
                quiet, told, seen = 0.0, 0, reply.parts_seen
            if limit and reply.started and quiet >= limit:
                raise sentences.silent(limit)
            if quiet >= (told + 1) * every and (looking is None or looking.done()):
                told = int(quiet / every)
                looking = asyncio.create_task(_look(backend, model, reply, emit, int(quiet)))
    finally:
        if looking is not None:
            looking.cancel()


async def _look(backend: Backend, model: str, reply: ArrivingReply, emit: Emit, seconds: int) -> None:
    """Say what the server is found to be doing, unless the reply went on meanwhile."""
    seen = reply.parts_seen
    server = "engine" if backend.kind == "embedded" else "server"
    try:
        async with asyncio.timeout(_LOOK_SECONDS):
            state, loaded = await asyncio.gather(backend.state(), backend.loaded(model))
        note = sentences.silence_note(server, state.reachable, loaded, reply.started)
    except (TimeoutError, ModelError):
        note = sentences.silence_note(server, False, None, reply.started)
    if reply.parts_seen == seen:
        emit(Silence(seconds, note))
