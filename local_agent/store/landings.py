"""Where moves of a head would lead, and the moves themselves."""

from __future__ import annotations

from dataclasses import replace

from sqlalchemy import select
from sqlalchemy.orm import Session

from local_agent.domain.checkpoints import LABEL_LENGTH, CheckpointKind
from local_agent.domain.entries import PICTURES_FORGOTTEN, Entry, Kind, TurnStatus
from local_agent.domain.errors import StoreError, UsageError
from local_agent.domain.marks import Mark, mark_of
from local_agent.domain.moves import Cause, Landing, Scope, Travelled
from local_agent.domain.own_command import as_typed
from local_agent.domain.restoring import RestoreIntent
from local_agent.domain.text import one_line
from local_agent.domain.titles import cut
from local_agent.store import branches, checkpoints, entries, measures, moves, restores
from local_agent.store.clock import utc_now
from local_agent.store.entries import Node
from local_agent.store.history import TYPED
from local_agent.store.models import EntryRow, HeadMoveRow, SessionRow, TurnRow

NAMED = 60
"""Characters of a question by which its turn is called."""
_NAMES = {Cause.RESTORE: "the restore", Cause.COMPACTION: "the compaction", Cause.SWITCH: "the switch"}
_MARKERS = {Mark.PIN: "the pin", Mark.DROP: "the leaving out", Mark.FREE: "the taking off of a mark"}


def undo(db: Session, session_id: int) -> Landing:
    """To before the step, also where it was done again; ``UsageError`` where nothing is left to undo."""
    last = moves.newest(db, session_id)
    top = moves.undo_top(last)
    move = moves.numbered(db, session_id, top) if top else None
    if last is None or move is None:
        raise UsageError("There is nothing to undo.", _left_to_do(db, session_id, last))
    first, step = moves.first_of(db, move), moves.step_of(db, move)
    question = _question(db, step)
    return Landing(
        cause=Cause.UNDO,
        entry_id=step.from_entry,
        ledger_number=step.ledger_number,
        newest_move=last.number,
        what=_name(db, step, question),
        question=question,
        undone=first.number,
    )


def redo(db: Session, session_id: int) -> Landing:
    """Raises ``UsageError`` where nothing was undone, or something else came since."""
    last = moves.newest(db, session_id)
    top = moves.redo_top(last)
    undone = moves.numbered(db, session_id, top) if top else None
    if last is None or undone is None:
        raise UsageError("There is nothing to redo.", "What was left behind is in the tree: /tree")
    step = moves.step_of(db, undone)
    return Landing(
        cause=Cause.REDO,
        entry_id=undone.from_entry,
        ledger_number=undone.ledger_number,
        newest_move=last.number,
        what=_name(db, step, _question(db, step)),
        undone=undone.number,
    )


def checkpoint(db: Session, session_id: int, checkpoint_id: int) -> Landing:
    """Raises ``UsageError`` where the session has no checkpoint of this number."""
    found = checkpoints.by_id(db, session_id, checkpoint_id)
    # The label of one from before a restore quotes another one's.
    named = found.label and found.kind is not CheckpointKind.BEFORE_RESTORE
    label = f' "{one_line(found.label, NAMED)}"' if named else ""
    landing = _to(db, session_id, Cause.RESTORE, found.entry_id, f"checkpoint {found.id}{label}")
    return replace(landing, ledger_number=found.ledger_number)


def entry(db: Session, session_id: int, entry_id: int, cause: Cause) -> Landing:
    """To an entry of the session's tree; of a result, to what called it. Raises ``UsageError`` elsewhere."""
    node, writer = branches.require_in_tree(db, session_id, entry_id)
    landing = _to(db, session_id, cause, node.id, _place(db, node))
    return replace(landing, ledger_number=measures.ledger_number_at(db, node.id, writer))


def travel(
    db: Session, session_id: int, landing: Landing, scope: Scope, intent: RestoreIntent | None
) -> Travelled:
    """Go there; with ``intent`` a restore of files begins. Raises ``StoreError`` where something has happened
    since the landing was looked up, or must come to its end first.
    """
    last = moves.newest(db, session_id)
    if (last.number if last is not None else 0) != landing.newest_move:
        raise StoreError("Something happened meanwhile.", "Look again.")
    require_settled(db, session_id)
    now = utc_now()
    made = None
    if landing.cause is Cause.RESTORE:
        label = cut(f"before {landing.what}", LABEL_LENGTH)
        made = checkpoints.make(db, session_id, label, CheckpointKind.BEFORE_RESTORE).id
    session = db.get_one(SessionRow, session_id)
    to = landing.entry_id if scope.moves_head else session.head
    move = moves.record(db, session, to, landing.cause, now, undone=landing.undone)
    session.last_activity = now
    begun = restores.begin(db, session_id, intent, move.number, now) if intent is not None else None
    return Travelled(move.number, to, made, begun.id if begun is not None else "")


def take_back(db: Session, session_id: int, number: int) -> None:
    """Undo a move of the head if it is still the newest; of an undo, do again what it took back."""
    last = moves.newest(db, session_id)
    if last is None or last.number != number:
        return
    session = db.get_one(SessionRow, session_id)
    before = moves.newest(db, session_id, number)
    cause, top = Cause.UNDO, moves.redo_top(before) if last.cause == Cause.REDO else 0
    if last.cause == Cause.UNDO:
        cause, top = Cause.REDO, moves.undo_top(before)
    # The files are where they were: what is gone back to next is what this move began with.
    again = moves.numbered(db, session_id, top) if top else None
    files = moves.first_of(db, again).ledger_number if again is not None else None
    now = utc_now()
    moves.record(db, session, last.from_entry, cause, now, undone=number, files_as_at=files)
    session.last_activity = now


def require_settled(db: Session, session_id: int) -> None:
    """Raise ``StoreError`` while a turn of the session runs, or a restore of files is not ended."""
    running = TurnRow.session_id == session_id, TurnRow.status == TurnStatus.RUNNING
    if db.scalar(select(TurnRow.id).where(*running).limit(1)) is not None:
        raise StoreError("A turn of this session still runs.", "Stop it first.")
    if restores.unfinished(db, session_id) is not None:
        raise StoreError(
            "Files are still being put back, or that was cut off.", "Finish it or take it back: /restore"
        )


def _to(db: Session, session_id: int, cause: Cause, entry_id: int | None, what: str) -> Landing:
    last = moves.newest(db, session_id)
    number = last.number if last is not None else 0
    return Landing(cause, entry_id, None, number, what, redoable=moves.redo_top(last) != 0)


def _left_to_do(db: Session, session_id: int, last: HeadMoveRow | None) -> str:
    if moves.redo_top(last):
        return "What was undone can be done again: /redo"
    session = db.get_one(SessionRow, session_id)
    if session.fork_entry is not None:
        return "A fork begins where it was made; what came before is in the tree: /tree"
    return "Nothing has happened in this conversation yet."


def _question(db: Session, step: HeadMoveRow) -> Entry | None:
    """What was asked, or ordered, in the turn that a step is."""
    if step.cause != Cause.TURN or step.turn_id is None:
        return None
    return _question_of(db, step.turn_id)


def _question_of(db: Session, turn_id: int) -> Entry | None:
    mine = EntryRow.turn_id == turn_id, EntryRow.kind.in_(TYPED)
    columns = select(EntryRow.id, EntryRow.parent, EntryRow.kind, EntryRow.session_id)
    row = db.execute(columns.where(*mine).limit(1)).one_or_none()
    if row is None:
        return None
    return entries.read(db, [Node(row.id, row.parent, Kind(row.kind), turn_id)], row.session_id)[0]


def _name(db: Session, step: HeadMoveRow, question: Entry | None) -> str:
    if question is not None:
        return f"the turn {_said(question)}"
    if step.cause == Cause.MARKER:
        return _marker(entries.read(db, [Node(step.to_entry or 0, None, Kind.MARKER, None)])[0])
    return next((name for cause, name in _NAMES.items() if step.cause == cause), "the last step")


def _place(db: Session, node: Node) -> str:
    if node.turn_id is not None and (question := _question_of(db, node.turn_id)) is not None:
        return f"the turn {_said(question)}"
    (found,) = entries.read(db, [node])
    return _marker(found) if found.kind is Kind.MARKER else "the summary"


def _said(question: Entry) -> str:
    text = as_typed(question.text) if question.kind is Kind.COMMAND else question.text
    line = cut(one_line(text[:1_000]), NAMED)
    return f'"{line}"' if line else "with pictures alone" if question.pictures else "without words"


def _marker(found: Entry) -> str:
    if found.text == PICTURES_FORGOTTEN:
        return "the forgetting of pictures"
    said = mark_of(found)
    return _MARKERS[said[0]] if said is not None else "the marker"
