"""One turn at work: question stored, requests sent, calls carried out, end recorded."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from local_agent.agent import sentences
from local_agent.agent.approving import Questions
from local_agent.agent.arriving import ArrivingReply
from local_agent.agent.calling import Workplace
from local_agent.agent.dispatch import run_calls
from local_agent.agent.ending import Ending, completed, failed, failure_kind, interrupted, judged
from local_agent.agent.exchange import Exchange, Surrounding
from local_agent.agent.fitting import Fitting
from local_agent.agent.measuring import Measuring
from local_agent.agent.pacing import Pace
from local_agent.agent.plan import TurnLimits, TurnPlan
from local_agent.agent.rescue import rescued
from local_agent.agent.stopping import Stop, Stopped
from local_agent.domain.approvals import Answer, Authority
from local_agent.domain.entries import Entry, ErrorRecord, ToolCall, TurnStatus, Usage
from local_agent.domain.errors import LocalAgentError, StoreError
from local_agent.domain.events import (
    Event,
    Notice,
    Phase,
    PhaseChanged,
    ReplyRecorded,
    ToolRequested,
    TurnEnded,
    TurnFailed,
    TurnStarted,
    UsageReported,
)
from local_agent.domain.ledger import Execution
from local_agent.domain.ports import Backend, Journal, OpenTurn, Outcome, PictureReader
from local_agent.domain.text import one_line
from local_agent.domain.tools import Effect, Toolbox

_QUESTION_SHOWN = 200


@dataclass(frozen=True, slots=True)
class Means:
    """What the turns of one conversation work with."""

    backend: Backend
    journal: Journal
    pictures: PictureReader | None
    toolbox: Toolbox | None
    authority: Authority | None
    limits: TurnLimits
    recovered: Counter[str]
    """How many calls were found in texts, by the model's digest."""
    measuring: Measuring


class RunningTurn:
    """The work of one turn. Its events wait in ``events``; None follows the last one."""

    def __init__(self, means: Means, plan: TurnPlan) -> None:
        self.events: asyncio.Queue[Event | None] = asyncio.Queue()
        self._means = means
        self._journal = means.journal
        self._plan = plan
        self._stop = Stop()
        self._questions = Questions(self._emit, self._stop)
        self._pace = Pace(plan.max_requests)
        self._fitting = Fitting(plan, means.measuring, self._emit)
        self._started = False
        self._reply = ArrivingReply(self._emit)
        self._usage = Usage()
        self._around = Surrounding(
            means.backend,
            means.journal,
            means.pictures,
            plan,
            means.limits,
            self._emit,
            self._stop,
            offers_tools=None not in (means.toolbox, means.authority) and bool(plan.tools),
        )

    def stop(self) -> None:
        """Ask the turn to end; what has arrived is kept."""
        if self._started and not self._stop.wanted:
            self._emit(PhaseChanged(Phase.STOPPING))
        self._stop.want()

    def answer(self, question_id: str, answer: Answer) -> bool:
        """Answer what is asked; False when it is not asked any more."""
        return self._questions.answer(question_id, answer)

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
            await self._stop.first_of({beginning})
            await asyncio.wait({beginning}, timeout=self._means.limits.store_within)
            if not beginning.done():
                raise Stopped
            return beginning.result()
        finally:
            beginning.cancel()

    async def _begun(self) -> OpenTurn:
        return await self._journal.begin(self._plan.opening())

    async def _carry_out(self, turn: OpenTurn) -> None:
        """Work through to the answer, and record how the turn ended, whatever happens on the way."""
        ending = interrupted()
        try:
            if self._plan.command is not None:
                ending = await self._run_command(turn, self._plan.command)
            else:
                ending = await self._answered(turn)
        except (Stopped, asyncio.CancelledError):
            pass
        except LocalAgentError as error:
            ending = failed(error)
        finally:
            await self._settle(turn, ending)

    async def _run_command(self, turn: OpenTurn, command: ToolCall) -> Ending:
        """What the person runs: nobody is asked, and no model."""
        executions = await self._journal.requested(turn)
        await self._run([command], executions, None)
        return completed()

    async def _answered(self, turn: OpenTurn) -> Ending:
        """Ask, and carry out what the replies call for, until one calls for nothing."""
        if self._plan.refusal is not None:
            raise self._plan.refusal
        leaf = turn.question.id
        while True:
            self._pace.take_request()
            ending = await self._replied(turn, leaf)
            if ending.error is not None or not (self._around.offers_tools and self._reply.so_far.calls):
                return ending
            leaf = (await self._carry_out_calls(turn, ending)).id

    async def _replied(self, turn: OpenTurn, leaf: int) -> Ending:
        """One request and its reply, up to ``leaf``."""
        exchange = Exchange(self._around, turn, leaf, self._fitting)
        self._reply = exchange.reply
        try:
            await exchange.run()
        finally:
            if self._reply.done is not None:
                self._usage = self._reply.usage
                self._emit(UsageReported(self._usage, self._fitting.window))
        plan, offers = self._plan, self._around.offers_tools
        if offers and self._reply.done is not None:
            self._rescue()
        return judged(
            self._reply,
            window=self._fitting.window,
            max_output=exchange.max_output,
            of_window=exchange.max_output < plan.max_output,
            may_cut=plan.may_cut,
            runs_calls=offers,
        )

    def _rescue(self) -> None:
        """Read calls out of the text of a reply that has no others."""
        arrived = self._reply.so_far
        found = None if arrived.calls else rescued(arrived.text, self._plan.tools)
        if found is None:
            return
        self._reply.read_as(found.text, found.calls)
        counts, key = self._means.recovered, self._plan.model_digest or self._plan.model
        if not counts[key]:
            self._emit(Notice(sentences.recovered(self._plan.model, len(found.calls))))
        counts[key] += len(found.calls)

    async def _carry_out_calls(self, turn: OpenTurn, ending: Ending) -> Entry:
        """Record the reply, and carry out its calls; the entry that holds them."""
        for text in ending.notices:
            self._emit(Notice(text))
        reply = self._reply.so_far
        effects = {spec.name: spec.effect for spec in self._plan.tools}
        entry, executions = await self._journal.record(
            turn, reply, [effects.get(call.name, Effect.UNKNOWN) for call in reply.calls]
        )
        self._reply = ArrivingReply(self._emit)
        self._emit(ReplyRecorded(entry))
        await self._run(entry.calls, executions, self._means.authority)
        return entry

    async def _run(
        self, calls: Sequence[ToolCall], executions: Sequence[Execution], authority: Authority | None
    ) -> None:
        """Carry out calls. Raises ``Stopped``, and ``LocalAgentError`` when the turn must not go on."""
        for execution in executions:
            self._emit(ToolRequested(execution))
        means, toolbox = self._means, self._means.toolbox
        if toolbox is None:
            raise LocalAgentError("Nothing can be run here: there are no tools.")
        place = Workplace(
            toolbox,
            authority,
            self._plan.mode,
            means.journal,
            self._questions,
            self._emit,
            self._stop,
            means.limits,
        )
        self._pace.note(await run_calls(place, calls, executions))
        self._stop.heed()

    async def _settle(self, turn: OpenTurn, ending: Ending) -> None:
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
            usage=self._reply.usage if self._reply.started else self._usage,
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
            provider=self._means.backend.kind,
            turn_id=turn.id,
        )

    def _tell_failure(self, error: LocalAgentError) -> None:
        self._emit(TurnFailed(failure_kind(error), error.line, error.hint, error.raw))

    def _emit(self, event: Event) -> None:
        self.events.put_nowait(event)
