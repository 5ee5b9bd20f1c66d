"""The turn loop: one prompt in, a stream of events out, everything recorded on the way."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator

from local_agent.agent.plan import TurnLimits, TurnPlan
from local_agent.agent.running import RunningTurn
from local_agent.domain.events import Event
from local_agent.domain.ports import Backend, Journal, PictureReader

__all__ = ["Agent", "TurnLimits", "TurnPlan"]


class Agent:
    """Runs the turns of one conversation, one at a time."""

    def __init__(
        self,
        backend: Backend,
        journal: Journal,
        pictures: PictureReader | None = None,
        *,
        limits: TurnLimits | None = None,
    ) -> None:
        self._backend = backend
        self._journal = journal
        self._pictures = pictures
        self._limits = limits or TurnLimits()
        self._running: RunningTurn | None = None
        self._stop_wanted = False
        self._unfinished: set[asyncio.Task[None]] = set()

    async def run(self, plan: TurnPlan) -> AsyncGenerator[Event, None]:
        """Run one turn. Failures are events; cancelling and closing record the interruption.

        The turn works in a task of its own, so that neither a slow consumer nor one that goes away
        holds up its saving, its clocks or its record.
        """
        if self._running is not None:
            raise RuntimeError("one turn at a time")
        turn = self._running = RunningTurn(self._backend, self._journal, plan, self._limits, self._pictures)
        if self._stop_wanted:
            turn.stop()
        work = asyncio.create_task(turn.work())
        self._unfinished.add(work)
        work.add_done_callback(self._unfinished.discard)
        try:
            while (event := await turn.events.get()) is not None:
                yield event
            await work
        finally:
            turn.stop()
            try:
                # Waiting cancels nothing: a second cancel ends the wait, and the record is still made.
                await asyncio.wait({work})
            finally:
                self._running, self._stop_wanted = None, False

    def stop(self) -> None:
        """End the turn that runs (or is about to): its stream ends with an interrupted ``TurnEnded``.

        To be called on the event loop's thread; calling it again changes nothing.
        """
        self._stop_wanted = True
        if self._running is not None:
            self._running.stop()
