"""What the person is asked in the middle of a turn: one question at a time, answered by its id."""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Callable

from local_agent.agent.arriving import Emit
from local_agent.agent.stopping import Stop, Stopped
from local_agent.domain.approvals import Answer, Choice
from local_agent.domain.events import Answered, Event


class Questions:
    """The questions of one turn. A stop answers the open one with no."""

    def __init__(self, emit: Emit, stop: Stop) -> None:
        self.one_at_a_time = asyncio.Lock()
        """Held by whoever asks, from before the question is made until its answer has been carried out."""
        self._emit = emit
        self._stop = stop
        self._open: tuple[str, asyncio.Future[Answer]] | None = None

    def answer(self, question_id: str, answer: Answer) -> bool:
        """Answer the open question; False when it is not open, or has been answered."""
        if self._open is None or self._open[0] != question_id or self._open[1].done():
            return False
        self._open[1].set_result(answer)
        return True

    async def ask(self, question: Callable[[str], Event]) -> tuple[str, Answer]:
        """Ask ``question`` under a new id and wait; the id and the answer, which the caller tells of.

        Raises ``Stopped``, and has told of it then.
        """
        self._stop.heed()
        question_id = secrets.token_hex(6)
        self._open = question_id, asyncio.get_running_loop().create_future()
        self._emit(question(question_id))
        try:
            return question_id, await self._stop.unless(_value(self._open[1]))
        except (Stopped, asyncio.CancelledError):
            self._emit(Answered(question_id, Choice.NO))
            raise
        finally:
            self._open = None


async def _value(future: asyncio.Future[Answer]) -> Answer:
    return await future
