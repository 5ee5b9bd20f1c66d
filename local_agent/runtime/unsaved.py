"""Turns that are not on disk yet: they wait in memory, in order, under ids of their own."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

from local_agent.domain.entries import Entry, EntryStatus, ErrorRecord, Kind, Origin, Slice
from local_agent.domain.executions import (
    LedgerEvent,
    advanced,
    bounded,
    new_executions,
    require_allowed,
    result_entry,
)
from local_agent.domain.ledger import EventKind, Execution, Receipt
from local_agent.domain.ports import Opening, OpenTurn, Outcome, Reply
from local_agent.domain.tools import Effect, FileChange
from local_agent.runtime.unsaved_turn import Finished, Noted, Recorded, UnsavedTurn, placed
from local_agent.store.clock import utc_now

FIRST_ID = 1 << 52
"""Above every id that a database gives, so that order by id stays order in time; exact in JSON, too."""


class UnsavedTurns:
    """The end of a conversation that only this process has, and where it joins what is stored."""

    def __init__(self) -> None:
        self.turns: list[UnsavedTurn] = []
        self.ids: dict[int, int] = {}
        """From the ids that entries had while they waited to the ids they were stored under."""
        self._newest = FIRST_ID

    @property
    def waiting(self) -> list[UnsavedTurn]:
        """Those of which something has to be written, in order."""
        return [turn for turn in self.turns if turn.writable]

    def real(self, entry_id: int | None) -> int | None:
        """The id an entry is stored under, if it is by now."""
        return entry_id if entry_id is None else self.ids.get(entry_id, entry_id)

    def begin(self, opening: Opening, session_id: int, handle: str) -> UnsavedTurn:
        """A turn whose question is not written yet."""
        opening = replace(opening, asked_at=utc_now())
        number = self._next_id()
        question = Entry(
            id=self._next_id(),
            session_id=session_id,
            turn_id=number,
            parent=opening.parent,
            kind=Kind.QUESTION if opening.command is None else Kind.COMMAND,
            origin=opening.origin,
            text=opening.text,
            context=opening.context,
            calls=() if opening.command is None else (opening.command,),
            pictures=opening.pictures,
            created_at=opening.asked_at,
        )
        commands = new_executions(question, (Effect.UNKNOWN,), (opening.execution_id,))
        turn = UnsavedTurn(opening, OpenTurn(number, session_id, handle, question), commands)
        self.turns.append(turn)
        return turn

    def begun(self, turn: UnsavedTurn, stored: OpenTurn) -> None:
        """Its question is on disk."""
        self._now_known_as(turn, turn.turn.question, stored.question)
        if turn.last == turn.turn.question.id:
            turn.last = stored.question.id
        turn.turn, turn.stored = stored, True
        turn.moved(turn.began_as.question.id, stored.question)

    def record(self, turn: UnsavedTurn, reply: Reply, effects: Sequence[Effect]) -> Recorded:
        """A reply that asks for tools, and its calls, to be written."""
        entry = self._answer(turn, reply, EntryStatus.SETTLED, utc_now())
        found = new_executions(entry, effects)
        step = Recorded(reply, tuple(effects), tuple(each.id for each in found), entry)
        turn.last = entry.id
        turn.executions |= {each.id: each for each in found}
        turn.steps.append(step)
        return step

    def recorded(self, turn: UnsavedTurn, step: Recorded, stored: Entry) -> None:
        """That reply is on disk."""
        self._now_known_as(turn, step.entry, stored)
        if turn.last == step.entry.id:
            turn.last = stored.id
        turn.moved(step.entry.id, stored)
        step.entry = stored
        turn.steps.remove(step)

    def note(
        self, turn: UnsavedTurn, execution_id: str, kind: EventKind, detail: Mapping[str, object]
    ) -> Noted:
        """An event that ends nothing, to be written. Raises ``NotAllowed``."""
        before = turn.executions[execution_id]
        require_allowed(before, kind)
        step = Noted(execution_id, LedgerEvent(kind, detail, utc_now()), before)
        turn.executions[execution_id] = advanced(before, step.event)
        turn.steps.append(step)
        return step

    def take_back(self, turn: UnsavedTurn, step: Noted) -> None:
        """The newest event of a call is not to be written: it did not happen."""
        turn.steps.remove(step)
        now = turn.executions[step.execution_id]
        turn.executions[now.id] = placed(step.before, now.session_id, now.turn_id, now.entry_id)

    def finish(
        self,
        turn: UnsavedTurn,
        execution_id: str,
        kind: EventKind,
        receipt: Receipt,
        text: str,
        changes: Sequence[FileChange],
    ) -> Finished:
        """The end of a call and its result, to be written. Raises ``NotAllowed``."""
        before = turn.executions[execution_id]
        require_allowed(before, kind)
        now = utc_now()
        kept = bounded(receipt, text)
        ended = replace(before, state=kind, receipt=kept, ended_at=now, changes=tuple(changes))
        entry = result_entry(before, text, Origin.TOOL, now)
        if kind is not EventKind.OUTCOME_UNKNOWN:
            entry = replace(entry, id=self._next_id())
        step = Finished(execution_id, kind, kept, tuple(changes), entry)
        turn.executions[execution_id] = ended
        turn.steps.append(step)
        return step

    def finished(self, turn: UnsavedTurn, step: Finished, stored: Entry) -> None:
        """That end is on disk."""
        if stored.id:
            self._now_known_as(turn, step.entry, stored)
        step.entry = stored
        turn.steps.remove(step)

    def end(self, turn: UnsavedTurn, outcome: Outcome) -> None:
        """How it ended, to be written."""
        turn.outcome = outcome = replace(outcome, ended_at=utc_now())
        if not outcome.reply.empty:
            turn.reply = self._answer(turn, outcome.reply, outcome.entry_status, outcome.ended_at)

    def ended(self, turn: UnsavedTurn, reply: Entry | None) -> None:
        """Its end is on disk: it waits no more."""
        if turn.reply is not None and reply is not None:
            self._now_known_as(turn, turn.reply, reply)
        turn.reply = reply
        self.turns.remove(turn)

    def find(self, turn: OpenTurn) -> UnsavedTurn:
        """The turn that was given out as ``turn``, before or after its question was written."""
        return next(each for each in self.turns if turn.id in (each.began_as.id, each.turn.id))

    def with_call(self, execution: Execution) -> UnsavedTurn | None:
        """The turn of a call; None once all of that turn is written."""
        return next((each for each in self.turns if execution.id in each.executions), None)

    def path(self, leaf: int | None) -> tuple[list[Entry], int | None]:
        """The end of the path to ``leaf`` that waits, oldest first, and the stored entry before it."""
        here = {entry.id: entry for entry in self._unwritten() if entry.kind is not Kind.RESULT}
        found: list[Entry] = []
        leaf = self.real(leaf)
        while leaf is not None and leaf in here:
            found.append(here[leaf])
            leaf = self.real(here[leaf].parent)
        return found[::-1], leaf

    def with_results(self, path: Iterable[Entry]) -> list[Entry]:
        """A part of a path with the results that wait, each behind the entry that holds its call."""
        waiting: dict[int | None, list[Entry]] = {}
        for entry in self._unwritten():
            if entry.kind is Kind.RESULT:
                waiting.setdefault(self.real(entry.parent), []).append(entry)
        found: list[Entry] = []
        behind: list[Entry] = []
        for entry in path:
            if entry.kind is not Kind.RESULT:
                found += behind
                behind = waiting.get(entry.id, [])
            found.append(entry)
        return found + behind

    def onto(self, stored: Slice, end: Sequence[Entry] = (), *, more: bool = False) -> Slice:
        """A stored part of a path and the end of it that waits, with turns and calls as they stand here."""
        if not self.turns:
            return stored
        entries = self.with_results((*stored.entries, *end))
        ids = {entry.id for entry in entries}
        calls = [each for turn in self.turns for each in turn.executions.values() if each.entry_id in ids]
        return Slice(
            entries=tuple(entries),
            turns={**stored.turns, **{turn.turn.id: turn.record for turn in self.turns}},
            errors={**stored.errors, **dict(self._errors())},
            more=stored.more or more,
            executions={
                **stored.executions,
                **{(each.entry_id, each.call_number): each for each in calls},
            },
            marks=stored.marks,
        )

    def _answer(self, turn: UnsavedTurn, reply: Reply, status: EntryStatus, at: str) -> Entry:
        return Entry(
            id=self._next_id(),
            session_id=turn.turn.session_id,
            turn_id=turn.turn.id,
            parent=turn.last,
            kind=Kind.ASSISTANT,
            origin=Origin.MODEL,
            text=reply.text,
            thinking=reply.thinking,
            calls=reply.calls,
            status=status,
            created_at=at,
        )

    def _unwritten(self) -> Iterator[Entry]:
        for turn in self.turns:
            yield from turn.unwritten

    def _now_known_as(self, turn: UnsavedTurn, ours: Entry, stored: Entry) -> None:
        if turn.given_out:
            self.ids[ours.id] = stored.id

    def _errors(self) -> Iterator[tuple[int, ErrorRecord]]:
        for turn in self.turns:
            if turn.outcome is not None and turn.outcome.error is not None:
                yield turn.turn.id, turn.outcome.error

    def _next_id(self) -> int:
        self._newest += 1
        return self._newest
