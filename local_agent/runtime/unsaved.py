"""Turns that are not on disk yet: they wait in memory, in order, under ids of their own."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from local_agent.domain.entries import Entry, ErrorRecord, Kind, Origin, Slice, Turn, TurnStatus, Usage
from local_agent.domain.ports import Opening, OpenTurn, Outcome
from local_agent.store.clock import utc_now

FIRST_ID = 1 << 52
"""Above every id that a database gives, so that order by id stays order in time; exact in JSON, too."""


class UnsavedTurn:
    """One turn from its question to the write of its end."""

    def __init__(self, opening: Opening, turn: OpenTurn) -> None:
        self.opening = opening
        self.turn = turn
        self.began_as = turn
        """The turn as it was given out before its question was written."""
        self.stored = False
        self.given_out = False
        """True once others know it, or its reply, by an id of ours."""
        self.outcome: Outcome | None = None
        self.reply: Entry | None = None

    @property
    def writable(self) -> bool:
        """True while there is something of it to write."""
        return not self.stored or self.outcome is not None

    @property
    def waiting_entries(self) -> list[Entry]:
        """What of it is not on disk."""
        entries = [] if self.stored else [self.turn.question]
        return entries if self.reply is None else [*entries, self.reply]

    @property
    def record(self) -> Turn:
        """The turn as the screen reads it from the database."""
        outcome = self.outcome
        return Turn(
            id=self.turn.id,
            session_id=self.turn.session_id,
            status=outcome.status if outcome is not None else TurnStatus.RUNNING,
            stop_reason=outcome.stop_reason if outcome is not None else None,
            model=self.opening.model,
            usage=outcome.usage if outcome is not None else Usage(),
            started_at=self.turn.question.created_at,
            ended_at=outcome.ended_at if outcome is not None else None,
        )


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
            kind=Kind.QUESTION,
            origin=opening.origin,
            text=opening.text,
            context=opening.context,
            pictures=opening.pictures,
            created_at=opening.asked_at,
        )
        turn = UnsavedTurn(opening, OpenTurn(number, session_id, handle, question))
        self.turns.append(turn)
        return turn

    def begun(self, turn: UnsavedTurn, stored: OpenTurn) -> None:
        """Its question is on disk."""
        self._now_known_as(turn, turn.turn.question, stored.question)
        turn.turn, turn.stored = stored, True

    def end(self, turn: UnsavedTurn, outcome: Outcome) -> None:
        """How it ended, to be written."""
        turn.outcome = outcome = replace(outcome, ended_at=utc_now())
        if not outcome.reply.empty:
            turn.reply = Entry(
                id=self._next_id(),
                session_id=turn.turn.session_id,
                turn_id=turn.turn.id,
                parent=turn.turn.question.id,
                kind=Kind.ASSISTANT,
                origin=Origin.MODEL,
                text=outcome.reply.text,
                thinking=outcome.reply.thinking,
                calls=outcome.reply.calls,
                status=outcome.entry_status,
                created_at=outcome.ended_at,
            )

    def ended(self, turn: UnsavedTurn, reply: Entry | None) -> None:
        """Its end is on disk: it waits no more."""
        if turn.reply is not None and reply is not None:
            self._now_known_as(turn, turn.reply, reply)
        turn.reply = reply
        self.turns.remove(turn)

    def find(self, turn: OpenTurn) -> UnsavedTurn:
        """The turn that was given out as ``turn``, before or after its question was written."""
        return next(each for each in self.turns if turn.id in (each.began_as.id, each.turn.id))

    def path(self, leaf: int | None) -> tuple[list[Entry], int | None]:
        """The end of the path to ``leaf`` that waits, oldest first, and the stored entry before it."""
        here = {entry.id: entry for turn in self.turns for entry in turn.waiting_entries}
        found: list[Entry] = []
        leaf = self.real(leaf)
        while leaf is not None and leaf in here:
            found.append(here[leaf])
            leaf = self.real(here[leaf].parent)
        return found[::-1], leaf

    def onto(self, stored: Slice, end: list[Entry], *, more: bool) -> Slice:
        """A stored part of a path and the end of it that waits, with the turns as they stand here."""
        turns = {turn.turn.id: turn.record for turn in self.turns}
        errors = dict(self._errors())
        return Slice(
            entries=(*stored.entries, *end),
            turns={**stored.turns, **turns},
            errors={**stored.errors, **errors},
            more=stored.more or more,
        )

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
