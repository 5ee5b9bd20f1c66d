"""Unsent work: it belongs to a session, or to the process that typed it while there is none yet."""

from __future__ import annotations

import json
import re

from sqlalchemy import ColumnElement, delete, select
from sqlalchemy.orm import Session

from local_agent.domain.drafts import Draft, Prompt
from local_agent.store import attachments, sessions
from local_agent.store.clock import utc_now
from local_agent.store.models import DraftRow
from local_agent.store.processes import ProcessIdentity, this_process

_DIGEST = re.compile(r"[0-9a-f]{64}", re.ASCII)


def save(db: Session, root: str, session_id: int | None, draft: Draft) -> None:
    """Replace what is kept for this place; an empty draft removes it and writes nothing.

    What this process kept without a session becomes the session's with it.
    """
    place = sessions.workspace(db, root)
    if place is not None and session_id is not None:
        db.execute(delete(DraftRow).where(*_ours(place.id, None)))
    if draft.empty:
        if place is not None:
            db.execute(delete(DraftRow).where(*_ours(place.id, session_id)))
        return
    workspace_id = place.id if place is not None else sessions.workspace_id(db, root)
    row = db.scalars(select(DraftRow).where(*_ours(workspace_id, session_id))).first()
    if row is None:
        row = DraftRow(workspace_id=workspace_id, session_id=session_id)
        db.add(row)
    _own(row)
    row.text = draft.text
    row.queue, row.pictures = _columns(draft)
    row.updated_at = utc_now()


def take(db: Session, root: str, session_id: int | None) -> Draft | None:
    """The draft of a session, or one without a session: our own, else the newest whose process is dead.

    It becomes this process's own and stays stored until it is saved again.
    """
    place = sessions.workspace(db, root)
    if place is None:
        return None
    row = db.scalars(select(DraftRow).where(*_ours(place.id, session_id))).first()
    if row is None and session_id is None:
        row = _orphan(db, place.id)
    if row is None:
        return None
    _own(row)
    return draft_of(row.text, row.queue, row.pictures)


def digests(db: Session) -> set[str]:
    """Of whatever unsent work may refer to; what can't be read as it should counts, too."""
    kept = db.execute(select(DraftRow.pictures, DraftRow.queue))
    return {digest for texts in kept for text in texts for digest in _DIGEST.findall(text)}


def draft_of(text: str, queue: str, pictures: str) -> Draft:
    """Unsent work from its columns, without what can't be read."""
    return Draft(text, _queued(queue), attachments.from_json(attachments.loads(pictures)))


def is_whole(text: str, queue: str, pictures: str) -> bool:
    """Whether these columns are what ``save`` writes of some draft."""
    draft = draft_of(text, queue, pictures)
    return not draft.empty and (queue, pictures) == _columns(draft)


def _columns(draft: Draft) -> tuple[str, str]:
    """Queue and pictures."""
    queue = json.dumps([_stored(prompt) for prompt in draft.queue])
    return queue, json.dumps(attachments.to_json(draft.pictures))


def _stored(prompt: Prompt) -> object:
    """A prompt of words alone is a string, as it always was."""
    if not prompt.pictures:
        return prompt.text
    return {"text": prompt.text, "pictures": attachments.to_json(prompt.pictures)}


def _queued(text: str) -> tuple[Prompt, ...]:
    """The prompts behind a running turn; none where they can't be read."""
    prompts = attachments.loads(text)
    return tuple(map(_prompt, prompts)) if isinstance(prompts, list) else ()


def _prompt(value: object) -> Prompt:
    if isinstance(value, dict):
        return Prompt(str(value.get("text", "")), attachments.from_json(value.get("pictures")))
    return Prompt(str(value))


def _orphan(db: Session, workspace_id: int) -> DraftRow | None:
    loose = DraftRow.workspace_id == workspace_id, DraftRow.session_id.is_(None)
    rows = db.scalars(select(DraftRow).where(*loose).order_by(DraftRow.id.desc()))
    return next((row for row in rows if not _owner(row).alive()), None)


def _ours(workspace_id: int, session_id: int | None) -> list[ColumnElement[bool]]:
    place = [DraftRow.workspace_id == workspace_id, DraftRow.session_id.is_not_distinct_from(session_id)]
    if session_id is not None:
        return place
    process = this_process()
    return [
        *place,
        DraftRow.pid == process.pid,
        DraftRow.process_start == process.process_start,
        DraftRow.machine_id == process.machine_id,
        DraftRow.boot_id == process.boot_id,
    ]


def _owner(row: DraftRow) -> ProcessIdentity:
    return ProcessIdentity(row.pid, row.process_start, row.machine_id, row.boot_id)


def _own(row: DraftRow) -> None:
    process = this_process()
    row.pid = process.pid
    row.process_start = process.process_start
    row.machine_id = process.machine_id
    row.boot_id = process.boot_id
