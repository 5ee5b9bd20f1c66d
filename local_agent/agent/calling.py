"""One call on its way: looked at, allowed, begun, done, recorded."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace

from local_agent.agent import results
from local_agent.agent.approving import Questions
from local_agent.agent.arriving import Emit
from local_agent.agent.plan import TurnLimits
from local_agent.agent.stopping import Stop, Stopped
from local_agent.domain.approvals import (
    Answer,
    ApprovalRequest,
    Authority,
    Choice,
    Decision,
    Verdict,
)
from local_agent.domain.entries import ToolCall
from local_agent.domain.errors import LeaseLost, LocalAgentError, StoreError
from local_agent.domain.events import (
    Answered,
    ApprovalAsked,
    Notice,
    QuestionAsked,
    ToolFinished,
    ToolProgress,
    ToolStarted,
)
from local_agent.domain.ledger import EventKind, Execution, may_follow
from local_agent.domain.modes import Mode
from local_agent.domain.ports import Journal
from local_agent.domain.tools import (
    Action,
    Effect,
    Intent,
    ReadyTool,
    ResultStatus,
    Toolbox,
    ToolFailed,
    ToolResult,
)

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Workplace:
    """What the calls of one turn share."""

    toolbox: Toolbox
    authority: Authority | None
    """None for what the person runs."""
    mode: Mode
    journal: Journal
    questions: Questions
    emit: Emit
    stop: Stop
    limits: TurnLimits


@dataclass(frozen=True, slots=True)
class Ended:
    """What came of one call."""

    call: ToolCall
    status: ResultStatus
    effect: Effect
    action: Action | None = None
    """None when the call could not even be looked at."""


class _Denied(Exception):
    """Nobody allowed it; ``str()`` is the sentence that the model reads."""


class RunningCall:
    """Carries one call to its recorded end."""

    def __init__(self, place: Workplace, call: ToolCall, execution: Execution) -> None:
        self._place = place
        self._call = call
        self._execution = execution
        self._intent: Intent | None = None
        self._began: float | None = None
        self._note = ""
        """What the model is told behind the result."""

    async def carry_out(self) -> Ended:
        """All of it. Raises ``StoreError`` only when the end can't be recorded, or the session is lost."""
        return await self._finish(await self._result())

    async def refuse(self, result: ToolResult) -> Ended:
        """End it with ``result``, without a look at it."""
        return await self._finish(result)

    async def _result(self) -> ToolResult:
        try:
            self._place.stop.heed()
            intent = self._intent = await self._place.stop.unless(self._place.toolbox.prepare(self._call))
            intent, confined = await self._allowed(intent)
            ready = await self._place.toolbox.ready(intent, self._execution.id, confined=confined)
            await self._start(intent, ready, confined)
            return await self._run(ready)
        except (Stopped, asyncio.CancelledError):
            return results.NOT_RUN
        except ToolFailed as failure:
            return results.failed(str(failure))
        except _Denied as denial:
            return results.refused(str(denial))
        except LeaseLost:
            raise
        except StoreError as error:
            return results.not_recorded(error)
        except Exception:  # a broken tool must not end the turn
            _log.exception("the tool %s failed by a fault of its own", self._call.name)
            return results.broken(self._call.name)

    async def _allowed(self, intent: Intent) -> tuple[Intent, bool]:
        """What may be done of it, and whether confined. Raises ``_Denied`` and ``Stopped``."""
        place = self._place
        if place.authority is None:
            return intent, False
        decision = await asyncio.to_thread(place.authority.decide, intent, place.mode)
        if decision.verdict is Verdict.ASK:
            async with place.questions.one_at_a_time:
                # The answer to another question may have settled this one.
                decision = await asyncio.to_thread(place.authority.decide, intent, place.mode)
                if decision.verdict is Verdict.ASK:
                    return await self._asked(intent, decision, place.authority), decision.confined
        if decision.verdict is Verdict.REFUSE:
            raise _Denied(decision.reason or "This is not allowed here.")
        return intent, decision.confined

    async def _asked(self, intent: Intent, decision: Decision, authority: Authority) -> Intent:
        """The intent as far as the person accepts it."""
        place = self._place
        place.stop.heed()
        about = {"target": intent.target, "reason": decision.reason}
        self._execution = await place.journal.note(self._execution, EventKind.APPROVAL_REQUESTED, about)
        request = ApprovalRequest(
            id="",
            execution_id=self._execution.id,
            tool=self._call.name,
            action=intent.action,
            target=intent.target,
            reason=decision.reason,
            arguments=intent.call.arguments,
            diff=intent.diff,
            offers=decision.offers,
            confined=decision.confined,
        )
        asked, answer = await place.questions.ask(lambda new: ApprovalAsked(replace(request, id=new)))
        if answer.choice is Choice.NO or answer.hunks == frozenset():
            place.emit(Answered(asked, Choice.NO))
            raise _Denied(results.said_no(answer.text))
        choice, line = self._granted(intent, answer, decision, authority)
        place.emit(Answered(asked, choice, line))
        hunks = sorted(answer.hunks) if answer.hunks is not None else None
        accepted = {"choice": choice, "covers": line, "hunks": hunks}
        self._execution = await place.journal.note(self._execution, EventKind.APPROVED, accepted)
        if answer.hunks is None:
            return intent
        self._note = results.in_part(answer.hunks)
        return await place.toolbox.narrowed(intent, answer.hunks)

    def _granted(
        self, intent: Intent, answer: Answer, decision: Decision, authority: Authority
    ) -> tuple[Choice, str]:
        """The answer as it counts: one that was not offered, or can't be remembered, is good for once."""
        if answer.choice not in {offer.choice for offer in decision.offers}:
            return Choice.ONCE, ""
        try:
            return answer.choice, authority.grant(intent, answer.choice)
        except LocalAgentError as error:
            self._place.emit(Notice(str(error)))
            return Choice.ONCE, ""

    async def _start(self, intent: Intent, ready: ReadyTool, confined: bool) -> None:
        """Commit that it starts; when that fails, or an end is wanted meanwhile, nothing runs."""
        facts = {
            "target": intent.target,
            "expected": dict(intent.expected),
            "intended": dict(intent.intended),
            "confined": confined,
            **ready.facts,
        }
        try:
            self._place.stop.heed()
            self._execution = await self._place.journal.start(self._execution, facts)
            self._place.stop.heed()
        except BaseException:
            await ready.drop()
            raise
        self._began = time.monotonic()
        self._place.emit(ToolStarted(self._execution.id, intent.target, confined))

    async def _run(self, ready: ReadyTool) -> ToolResult:
        """Run it to its end. A stop is the tool's to heed; it is waited for no longer than is promised."""
        stop, limits = self._place.stop, self._place.limits
        around = _Around(self._place, self._execution.id)
        task = asyncio.create_task(ready.run(around))
        try:
            await stop.first_of({task})
        except asyncio.CancelledError:
            stop.want()
        harmless = self._execution.effect is Effect.READ_ONLY
        if not task.done():
            await asyncio.wait({task}, timeout=limits.stop_within if harmless else limits.effect_within)
        if task.done() and not task.cancelled():
            return task.result()
        task.cancel()
        return results.STOPPED if harmless else results.LOST

    async def _finish(self, result: ToolResult) -> Ended:
        if self._note and result.status is ResultStatus.OK:
            result = replace(result, text=f"{result.text}\n{self._note}")
        if result.status is ResultStatus.REFUSED and self._intent is not None and not result.diff:
            result = replace(result, diff=self._intent.diff)
        kind = _end(result.status, self._execution.state)
        seconds = time.monotonic() - self._began if self._began is not None else None
        self._execution, entry = await self._place.journal.finish(
            self._execution, kind, results.receipt(result, seconds), result.text, result.changes
        )
        self._place.emit(ToolFinished(self._execution, entry))
        action = self._intent.action if self._intent is not None else None
        return Ended(self._call, result.status, self._execution.effect, action)


class _Around:
    """Implements ``domain.tools.Surroundings`` for one call."""

    def __init__(self, place: Workplace, execution_id: str) -> None:
        self._place = place
        self._execution_id = execution_id

    @property
    def stop(self) -> asyncio.Event:
        return self._place.stop.event

    def progress(self, text: str) -> None:
        self._place.emit(ToolProgress(self._execution_id, text))

    async def ask(self, question: str, options: Sequence[str]) -> str | None:
        questions = self._place.questions
        async with questions.one_at_a_time:
            try:
                asked, answer = await questions.ask(
                    lambda new: QuestionAsked(new, self._execution_id, question, tuple(options))
                )
            except Stopped:
                return None
            self._place.emit(Answered(asked, answer.choice))
            return None if answer.choice is Choice.NO else answer.text


def _end(status: ResultStatus, state: EventKind) -> EventKind:
    """The terminal event of a call that ended so, after ``state``."""
    kind = {
        ResultStatus.OK: EventKind.COMPLETED,
        ResultStatus.FAILED: EventKind.FAILED,
        ResultStatus.REFUSED: EventKind.DENIED,
        ResultStatus.CANCELLED: EventKind.CANCELLED,
        ResultStatus.UNCERTAIN: EventKind.OUTCOME_UNKNOWN,
    }[status]
    if may_follow(state, kind):
        return kind
    # A tool that refuses while it runs has failed; a question that could not be put is cancelled.
    return EventKind.FAILED if may_follow(state, EventKind.FAILED) else EventKind.CANCELLED
