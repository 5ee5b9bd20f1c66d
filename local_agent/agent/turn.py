"""The turn loop: one prompt in, a stream of events out, everything recorded on the way."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncGenerator

from local_agent.agent.measuring import Measuring
from local_agent.agent.plan import REQUESTS, REQUESTS_IN_AUTO, TurnLimits, TurnPlan
from local_agent.agent.running import Means, RunningTurn
from local_agent.domain.approvals import Answer, Authority
from local_agent.domain.events import Event
from local_agent.domain.ports import Backend, Journal, PictureReader
from local_agent.domain.tools import Toolbox

__all__ = ["REQUESTS", "REQUESTS_IN_AUTO", "Agent", "TurnLimits", "TurnPlan"]


class Agent:
    """Runs the turns of one conversation, one at a time."""

    def __init__(
        self,
        backend: Backend,
        journal: Journal,
        pictures: PictureReader | None = None,
        toolbox: Toolbox | None = None,
        authority: Authority | None = None,
        *,
        limits: TurnLimits | None = None,
        recovered: Counter[str] | None = None,
        measuring: Measuring | None = None,
    ) -> None:
        """Calls run only with both ``toolbox`` and ``authority``, and where the plan offers tools.

        ``recovered`` counts the calls that were found in texts, by the model's digest; ``measuring`` is
        what the conversation's requests weigh.
        """
        counts = recovered if recovered is not None else Counter[str]()
        self._means = Means(
            backend,
            journal,
            pictures,
            toolbox,
            authority,
            limits or TurnLimits(),
            counts,
            measuring or Measuring(),
        )
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
        turn = self._running = RunningTurn(self._means, plan)
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

        What is asked counts as answered with no. To be called on the event loop's thread; calling it again
        changes nothing.
        """
        self._stop_wanted = True
        if self._running is not None:
            self._running.stop()

    def answer(self, question_id: str, answer: Answer) -> bool:
        """Answer what the turn asks; False when it is not asked any more."""
        return self._running is not None and self._running.answer(question_id, answer)
