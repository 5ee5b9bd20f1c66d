"""One turn as this process knows it: what of it happened, in order, and what of that is not on disk."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from local_agent.domain.entries import Entry, Turn, TurnStatus, Usage
from local_agent.domain.executions import LedgerEvent
from local_agent.domain.ledger import EventKind, Execution, Receipt
from local_agent.domain.ports import Opening, OpenTurn, Outcome, Reply
from local_agent.domain.tools import Effect, FileChange


@dataclass(slots=True, eq=False)
class Recorded:
    """A reply that asks for tools."""

    reply: Reply
    effects: tuple[Effect, ...]
    ids: tuple[str, ...]
    """Of its executions."""
    entry: Entry
    """Under an id of ours until it is written."""


@dataclass(slots=True, eq=False)
class Noted:
    """An event of a call that does not end it."""

    execution_id: str
    event: LedgerEvent
    before: Execution
    """How the call stood until then."""


@dataclass(slots=True, eq=False)
class Finished:
    """The end of a call, and its result."""

    execution_id: str
    kind: EventKind
    receipt: Receipt
    changes: tuple[FileChange, ...]
    entry: Entry
    """Under an id of ours until it is written; of an uncertain end there is none, and this has the id 0."""


Step = Recorded | Noted | Finished


class UnsavedTurn:
    """One turn from its question to the write of its end."""

    def __init__(self, opening: Opening, turn: OpenTurn, executions: Sequence[Execution] = ()) -> None:
        self.opening = opening
        self.turn = turn
        self.began_as = turn
        """The turn as it was given out before its question was written."""
        self.last = turn.question.id
        """What the next reply follows: the question, or the newest reply that asked for tools."""
        self.executions: dict[str, Execution] = {each.id: each for each in executions}
        """All calls of the turn as they stand."""
        self.steps: list[Step] = []
        """What of it waits between its question and its end."""
        self.stored = False
        """True once the question is."""
        self.given_out = False
        """True once others know it, or a part of it, by an id of ours."""
        self.outcome: Outcome | None = None
        self.reply: Entry | None = None

    @property
    def writable(self) -> bool:
        """True while there is something of it to write."""
        return not self.stored or bool(self.steps) or self.outcome is not None

    @property
    def unwritten(self) -> list[Entry]:
        """What of it is not on disk, in order."""
        question = [] if self.stored else [self.turn.question]
        between = [step.entry for step in self.steps if not isinstance(step, Noted) and step.entry.id]
        return [*question, *between, *([self.reply] if self.reply is not None else [])]

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

    def moved(self, entry_id: int, stored: Entry) -> None:
        """What waited under ``entry_id`` is on disk: its calls are there now."""
        for key, each in self.executions.items():
            if each.entry_id == entry_id:
                self.executions[key] = placed(each, stored.session_id, stored.turn_id or 0, stored.id)


def placed(execution: Execution, session_id: int, turn_id: int, entry_id: int) -> Execution:
    """The execution where its call is by now."""
    return replace(execution, session_id=session_id, turn_id=turn_id, entry_id=entry_id)
