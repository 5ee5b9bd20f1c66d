"""One turn at work: question stored, request sent, reply gathered and saved, end recorded."""

from __future__ import annotations

import asyncio
from contextlib import aclosing
from typing import Any, TypeVar

from local_agent.agent import sentences
from local_agent.agent.arriving import ArrivingReply
from local_agent.agent.ending import Ending, failed, failure_kind, interrupted, judged
from local_agent.agent.plan import TurnLimits, TurnPlan
from local_agent.agent.saving import keep_saving
from local_agent.agent.silence import watch_silence
from local_agent.domain.budget import estimate_tokens
from local_agent.domain.entries import ErrorRecord, TurnStatus
from local_agent.domain.errors import LocalAgentError, ModelError, StoreError
from local_agent.domain.events import (
    Event,
    Notice,
    Phase,
    PhaseChanged,
    TurnEnded,
    TurnFailed,
    TurnStarted,
    UsageReported,
)
from local_agent.domain.ports import Backend, Journal, OpenTurn, Outcome, PictureReader, Shown
from local_agent.domain.requests import Message, build_messages, with_pictures_of
from local_agent.domain.text import one_line

T = TypeVar("T")

# The estimate errs by tens of percent; only what no tokenizer could fit is refused unsent.
_HOPELESS = 1.5
_QUESTION_SHOWN = 200


class Stopped(Exception):
    """The person stopped the turn."""


class RunningTurn:
    """The work of one turn. Its events wait in ``events``; None follows the last one."""

    def __init__(
        self,
        backend: Backend,
        journal: Journal,
        plan: TurnPlan,
        limits: TurnLimits,
        pictures: PictureReader | None = None,
    ) -> None:
        self.events: asyncio.Queue[Event | None] = asyncio.Queue()
        self._backend = backend
        self._journal = journal
        self._pictures = pictures
        self._plan = plan
        self._limits = limits
        self._stop = asyncio.Event()
        self._started = False
        self._reply = ArrivingReply(self._emit)

    def stop(self) -> None:
        """Ask the turn to end; what has arrived is kept."""
        if self._started and not self._stop.is_set():
            self._emit(PhaseChanged(Phase.STOPPING))
        self._stop.set()

    async def work(self) -> None:
        """Run the turn to its recorded end. Raises only what is a fault of the program."""
        try:
            turn = await self._begin()
        except Stopped:
            self._emit(TurnEnded(0, TurnStatus.INTERRUPTED, interrupted().stop_reason, None))
        except StoreError as error:
            self._tell_failure(error)
            self._emit(TurnEnded(0, TurnStatus.FAILED, failure_kind(error), None))
        else:
            self._started = True
            self._emit(TurnStarted(turn.handle, turn.id, turn.question, self._plan.model))
            for notice in self._plan.notices:
                self._emit(Notice(notice))
            await self._carry_out(turn)
        finally:
            self.events.put_nowait(None)

    async def _begin(self) -> OpenTurn:
        """Commit the question; a stop gives up only a write that is still waiting for the database."""
        beginning = asyncio.create_task(self._begun())
        try:
            await self._first_of({beginning})
            await asyncio.wait({beginning}, timeout=self._limits.store_within)
            if not beginning.done():
                raise Stopped
            return beginning.result()
        finally:
            beginning.cancel()

    async def _begun(self) -> OpenTurn:
        return await self._journal.begin(self._plan.opening())

    async def _carry_out(self, turn: OpenTurn) -> None:
        """Get the reply and record how the turn ended, whatever happens on the way."""
        ending = interrupted()
        try:
            await self._exchange(turn)
            plan = self._plan
            ending = judged(self._reply, window=plan.window, max_output=plan.max_output, may_cut=plan.may_cut)
        except (Stopped, asyncio.CancelledError):
            pass
        except LocalAgentError as error:
            ending = failed(error)
        finally:
            await self._settle(turn, ending)

    async def _exchange(self, turn: OpenTurn) -> None:
        """Stream the reply beside its saver and its clocks until one of them ends it."""
        if self._plan.refusal is not None:
            raise self._plan.refusal
        plan, limits, reply = self._plan, self._limits, self._reply
        every, limit = limits.tell_silence_every, plan.watchdog_seconds
        asking = asyncio.create_task(self._ask_whether_loaded())
        answering = asyncio.create_task(self._stream(turn))
        deciding = {
            answering,
            asyncio.create_task(keep_saving(self._journal, turn, reply, limits.save_every)),
            asyncio.create_task(
                watch_silence(self._backend, plan.model, reply, self._emit, every=every, limit=limit)
            ),
        }
        try:
            ended = await self._first_of(deciding)
        finally:
            await self._end({asking, *deciding})
        if reply.done is not None:
            return
        for task in ended:
            task.result()
        if answering not in ended:
            raise Stopped

    async def _stream(self, turn: OpenTurn) -> None:
        path = await self._journal.model_path(turn.question.id)
        # Of a path of 100,000 entries this takes most of a second.
        messages = await asyncio.to_thread(build_messages, self._plan.system_prompt, path)
        estimate = estimate_tokens(messages)
        if estimate > self._plan.window * _HOPELESS:
            raise sentences.too_long(estimate, self._plan.window)
        shown = await self._shown(messages)
        self._reply.sent()
        async with aclosing(self._backend.stream(self._plan.request(shown))) as parts:
            async for part in parts:
                self._reply.take(part)
                if self._reply.done is not None:
                    return

    async def _shown(self, messages: tuple[Message, ...]) -> Shown:
        """The messages with the bytes of their pictures, and without those that can't go along."""
        if not any(message.pictures for message in messages):
            return Shown(messages)
        if self._pictures is None:
            return Shown(with_pictures_of(messages, ()))
        shown = await self._pictures.shown(messages, self._plan.model, sees=self._plan.sees)
        for notice in shown.notices:
            self._emit(Notice(notice))
        return shown

    async def _ask_whether_loaded(self) -> None:
        try:
            self._reply.found_loaded(await self._backend.loaded(self._plan.model))
        except ModelError:
            self._reply.found_loaded(None)

    async def _settle(self, turn: OpenTurn, ending: Ending) -> None:
        if self._reply.done is not None:
            self._emit(UsageReported(self._reply.usage, self._plan.window))
        for text in ending.notices:
            self._emit(Notice(text))
        status, reason, error, entry = ending.status, ending.stop_reason, ending.error, None
        try:
            entry = await self._journal.settle(turn, self._outcome(turn, ending))
        except StoreError as unsaved:
            if error is not None and not isinstance(error, StoreError):
                self._emit(Notice(str(error)))
            status, reason, error = TurnStatus.FAILED, failure_kind(unsaved), unsaved
        if error is not None:
            self._tell_failure(error)
        self._emit(TurnEnded(turn.id, status, reason, entry))

    def _outcome(self, turn: OpenTurn, ending: Ending) -> Outcome:
        return Outcome(
            status=ending.status,
            entry_status=ending.entry_status,
            stop_reason=ending.stop_reason,
            reply=self._reply.so_far,
            usage=self._reply.usage,
            error=self._error_record(turn, ending.error) if ending.error is not None else None,
        )

    def _error_record(self, turn: OpenTurn, error: LocalAgentError) -> ErrorRecord:
        first_line = self._plan.text.strip().partition("\n")[0]
        return ErrorRecord(
            kind="generation",
            line=error.line,
            raw=error.raw,
            question=one_line(first_line, _QUESTION_SHOWN),
            model=self._plan.model,
            provider=self._backend.kind,
            turn_id=turn.id,
        )

    async def _first_of(self, tasks: set[asyncio.Task[T]]) -> set[asyncio.Task[T]]:
        """Wait for the first of the tasks, or for a stop; returns those that are done."""
        stopping = asyncio.create_task(self._stop.wait())
        waited: set[asyncio.Task[Any]] = {stopping, *tasks}
        try:
            await asyncio.wait(waited, return_when=asyncio.FIRST_COMPLETED)
        finally:
            stopping.cancel()
        return {task for task in tasks if task.done()}

    async def _end(self, tasks: set[asyncio.Task[None]]) -> None:
        """Cancel tasks and wait for them, but no longer than a person does who pressed stop."""
        for task in tasks:
            task.cancel()
        ended, _ = await asyncio.wait(tasks, timeout=self._limits.stop_within)
        for task in ended:
            if not task.cancelled():
                task.exception()  # the ones that decide are raised; asyncio would log the others

    def _tell_failure(self, error: LocalAgentError) -> None:
        self._emit(TurnFailed(failure_kind(error), error.line, error.hint, error.raw))

    def _emit(self, event: Event) -> None:
        self.events.put_nowait(event)
