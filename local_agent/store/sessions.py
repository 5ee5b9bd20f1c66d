"""Rows of sessions and workspaces as the values that the rest of the program knows."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from itertools import islice

from sqlalchemy import ColumnElement, ScalarSelect, Select, literal, literal_column, select, tuple_, update
from sqlalchemy.orm import Session, aliased

from local_agent.domain.errors import UnknownSession
from local_agent.domain.handles import offer, parse_handle
from local_agent.domain.sessions import ListPlace, NewSession, SessionInfo, Workspace
from local_agent.domain.text import one_line
from local_agent.store import flags
from local_agent.store.clock import utc_now
from local_agent.store.leases import holder_of
from local_agent.store.models import LeaseRow, SessionRow, WorkspaceRow
from local_agent.store.salvage import each_readable, indexed_sessions, or_without, unreadable_session
from local_agent.store.stored_text import StoredText

_Rows = Select[SessionRow, str, int, int, int, LeaseRow, str]

CLOSEST_AMONG = 10_000
"""How many of the newest handles a mistyped one is compared with."""

_PARENT = aliased(SessionRow)
_NEWEST_FIRST = SessionRow.last_entry.desc(), SessionRow.id.desc()


def _rows() -> _Rows:
    return (
        select(
            SessionRow,
            WorkspaceRow.root,
            flags.ERRORS,
            flags.UNCERTAIN,
            flags.LEFT_OPEN,
            LeaseRow,
            _PARENT.handle,
        )
        .join(WorkspaceRow, WorkspaceRow.id == SessionRow.workspace_id)
        .outerjoin(LeaseRow, LeaseRow.session_id == SessionRow.id)
        .outerjoin(_PARENT, _PARENT.id == SessionRow.parent_session)
    )


def _infos(db: Session, query: _Rows) -> list[SessionInfo]:
    return [_info(*row) for row in db.execute(query).all()]


def _found(db: Session, which: ColumnElement[bool]) -> list[SessionInfo]:
    """The session, if there is one; what stands beside its row is left out where it is damaged."""
    found = or_without(lambda: _infos(db, _rows().where(which)), None)
    if found is not None:
        return found
    rows = db.scalars(select(SessionRow).where(which)).all()
    return [_alone(db, row) for row in rows]


def _alone(db: Session, row: SessionRow) -> SessionInfo:
    """The session with each thing beside its row that can be read."""

    def count(flag: ScalarSelect[int]) -> int:
        query = select(flag).select_from(SessionRow).where(SessionRow.id == row.id)
        return or_without(lambda: db.scalar(query), 0) or 0

    lease = or_without(lambda: db.get(LeaseRow, row.id), None)
    counts = count(flags.ERRORS), count(flags.UNCERTAIN), count(flags.LEFT_OPEN)
    return _info(row, root_of(db, row.workspace_id), *counts, lease, None)


def root_of(db: Session, workspace_id: int) -> str:
    """The folder of a workspace; empty where it can't be read."""
    query = select(WorkspaceRow.root).where(WorkspaceRow.id == workspace_id)
    return or_without(lambda: db.scalar(query), None) or ""


def _listed(
    db: Session, query: _Rows, workspace_root: str | None, limit: int | None = None, *, trashed: bool = False
) -> list[SessionInfo]:
    """The rows that ``query`` asks for, newest first, of a folder or of all."""
    query = query.where(SessionRow.trashed.is_(trashed)).order_by(*_NEWEST_FIRST)
    home = select(WorkspaceRow.id).where(WorkspaceRow.root == workspace_root).scalar_subquery()
    here = query if workspace_root is None else query.where(SessionRow.workspace_id == home)
    found = or_without(lambda: _infos(db, here.limit(limit)), None)
    return list(islice(_salvaged(db, query, workspace_root, trashed), limit)) if found is None else found


def _salvaged(db: Session, query: _Rows, workspace_root: str | None, trashed: bool) -> Iterator[SessionInfo]:
    """``query`` answered from what can be read; a session whose row can't is listed as such."""
    here = _workspace_ids(db, workspace_root)
    known = {
        each.id: each
        for each in indexed_sessions(db)
        if each.trashed is trashed and (here is None or each.workspace_id in here)
    }
    yield from each_readable(
        list(known),
        lambda ids: _infos(db, query.where(SessionRow.id.in_(ids))),
        lambda lost: _beside(db, lost) or unreadable_session(db, known[lost], workspace_root or ""),
    )


def _workspace_ids(db: Session, root: str | None) -> Collection[int] | None:
    """The folder's, by index or by table; None for every folder, also where neither can be read."""
    if root is None:
        return None
    by_index = select(WorkspaceRow.id).where(WorkspaceRow.root == root)
    by_table = select(WorkspaceRow.id).where(WorkspaceRow.root.op("||")("") == root)
    found = or_without(lambda: db.scalars(by_index).all(), None)
    return found if found is not None else or_without(lambda: db.scalars(by_table).all(), None)


def _beside(db: Session, session_id: int) -> SessionInfo | None:
    """The session alone, when what is damaged is only what stands beside its row."""
    return next(iter(or_without(lambda: _found(db, SessionRow.id == session_id), [])), None)


def _info(
    row: SessionRow,
    root: str,
    error_count: int,
    uncertain_count: int,
    left_open: int,
    lease: LeaseRow | None,
    parent: str | None,
) -> SessionInfo:
    holder = holder_of(lease)
    return SessionInfo(
        id=row.id,
        handle=one_line(row.handle),
        title=row.title,
        title_source=row.title_source,
        workspace_id=row.workspace_id,
        workspace_root=root,
        head=row.head,
        mode=row.mode,
        backend=row.backend,
        host=row.host,
        model=row.model,
        model_pinned=row.model_pinned,
        headless=row.headless,
        trashed=row.trashed,
        parent_session=row.parent_session,
        fork_entry=row.fork_entry,
        created_at=row.created_at,
        last_activity=row.last_activity,
        last_entry=row.last_entry,
        turn_count=row.turn_count,
        error_count=error_count,
        uncertain_count=uncertain_count + (left_open if holder is None else 0),
        holder=holder,
        forked_from=parent or "",
        branches=row.branch_count + 1,
        pinned=row.pinned,
    )


def by_id(db: Session, session_id: int) -> SessionInfo:
    (info,) = _found(db, SessionRow.id == session_id)
    return info


def by_handle(db: Session, handle: str) -> SessionInfo:
    """Raises ``UsageError`` for what is no handle and ``UnknownSession`` for one that nothing has."""
    exact = parse_handle(handle, _known(db) if len(handle.strip()) != 7 else ())
    found = _found(db, SessionRow.handle == exact)
    if not found:
        raise UnknownSession(f"No session has the handle {exact}.", offer(exact, _known(db)))
    return found[0]


def _known(db: Session) -> list[str]:
    newest = select(SessionRow.handle).where(~SessionRow.trashed).order_by(*_NEWEST_FIRST)
    return list(db.scalars(newest.limit(CLOSEST_AMONG)))


def latest(db: Session, workspace_root: str) -> SessionInfo | None:
    """The workspace's newest session by what was written last; neither trashed nor made by ``-p``."""
    return next(iter(_listed(db, _rows().where(~SessionRow.headless), workspace_root, 1)), None)


def page(
    db: Session, workspace_root: str | None, text_filter: str, limit: int, before: ListPlace | None
) -> list[SessionInfo]:
    """Sessions out of the trash, newest first; ``before`` is where the page before ended.

    The first page begins with the pinned ones, all of them, beyond its ``limit``.
    """
    query = _rows()
    name = SessionRow.handle.op("||")(literal_column("' '")).op("||")(literal_column("sessions.title"))
    for word in text_filter.split():
        query = query.where(name.op("GLOB")(literal(subsequence(word), StoredText)))
    rest = query.where(~SessionRow.pinned)
    if before is not None:
        rest = rest.where(tuple_(SessionRow.last_entry, SessionRow.id) < tuple_(*before))
        return _listed(db, rest, workspace_root, limit)
    above = query.where(SessionRow.pinned, ~SessionRow.trashed).order_by(*_NEWEST_FIRST)
    if workspace_root is not None:
        above = above.where(WorkspaceRow.root == workspace_root)
    pinned = or_without(lambda: _infos(db, above), None)
    if pinned is None:
        # What is damaged is listed once, and in one order.
        return _listed(db, query, workspace_root, limit)
    return pinned + _listed(db, rest, workspace_root, limit)


def trashed(db: Session, workspace_root: str | None) -> list[SessionInfo]:
    return _listed(db, _rows(), workspace_root, trashed=True)


def subsequence(word: str) -> str:
    """A GLOB pattern that finds the letters of ``word`` in order, in either case, with anything between."""
    return f"*{'*'.join(_either_case(char) for char in word)}*"


def _either_case(char: str) -> str:
    if char in "*?[]":
        return f"[{char}]"
    lower, upper = char.lower(), char.upper()
    return f"[{lower}{upper}]" if lower != upper and len(lower + upper) == 2 else char


def workspace(db: Session, root: str) -> Workspace | None:
    row = db.scalars(select(WorkspaceRow).where(WorkspaceRow.root == root)).one_or_none()
    return Workspace(row.id, row.root, row.git_root_commit) if row is not None else None


def workspace_id(db: Session, root: str, git_root_commit: str | None = None) -> int:
    """The workspace of a folder, written with its first session or draft."""
    row = db.scalars(select(WorkspaceRow).where(WorkspaceRow.root == root)).one_or_none()
    if row is None:
        row = WorkspaceRow(root=root, git_root_commit=git_root_commit, created_at=utc_now())
        db.add(row)
        db.flush()
    elif git_root_commit and row.git_root_commit != git_root_commit:
        row.git_root_commit = git_root_commit
    return row.id


def insert_session(db: Session, handle: str, new: NewSession) -> int:
    """Returns the new session's id; its head is set by the first question."""
    now = utc_now()
    row = SessionRow(
        handle=handle,
        title=new.title,
        title_source="task",
        workspace_id=workspace_id(db, new.workspace_root, new.git_root_commit),
        mode=new.mode,
        backend=new.backend,
        host=new.host,
        model=new.model,
        model_pinned=new.model_pinned,
        headless=new.headless,
        trashed=False,
        created_at=now,
        last_activity=now,
        last_entry=0,
        turn_count=0,
    )
    db.add(row)
    db.flush()
    return row.id


def change(db: Session, session_id: int, **values: object) -> None:
    """Set columns of a session's row."""
    db.execute(update(SessionRow).where(SessionRow.id == session_id).values(**values))
