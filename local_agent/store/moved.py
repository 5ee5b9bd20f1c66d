"""Projects whose folder has moved: found by the first commit of their Git repository, and linked anew."""

from __future__ import annotations

from sqlalchemy import func, select, update
from sqlalchemy.orm import Session

from local_agent.domain.sessions import RecordedFolder
from local_agent.store import sessions
from local_agent.store.models import DraftRow, SessionRow, WorkspaceRow


def same_project(db: Session, root: str, git_root_commit: str) -> list[RecordedFolder]:
    """Other folders of the same repository that have sessions, the one used last first; none where ``root``
    is recorded already.
    """
    if sessions.workspace(db, root) is not None:
        return []
    query = (
        select(WorkspaceRow.root, func.count(), func.max(SessionRow.last_activity))
        .join(SessionRow, SessionRow.workspace_id == WorkspaceRow.id)
        .where(WorkspaceRow.git_root_commit == git_root_commit, ~SessionRow.trashed)
        .group_by(WorkspaceRow.id)
        .order_by(func.max(SessionRow.last_activity).desc())
    )
    return [RecordedFolder(*row) for row in db.execute(query).tuples()]


def sessions_of(db: Session, root: str) -> list[int]:
    """The ids of all sessions of a folder, those in the trash too."""
    query = select(SessionRow.id).join(WorkspaceRow, WorkspaceRow.id == SessionRow.workspace_id)
    return list(db.scalars(query.where(WorkspaceRow.root == root)))


def relink(db: Session, old_root: str, new_root: str, git_root_commit: str) -> None:
    """Let the sessions and drafts of one folder be another's."""
    old = sessions.workspace(db, old_root)
    if old is None:
        return
    new = sessions.workspace_id(db, new_root, git_root_commit)
    for table in (SessionRow, DraftRow):
        db.execute(update(table).where(table.workspace_id == old.id).values(workspace_id=new))


def record(db: Session, root: str, git_root_commit: str) -> None:
    """Know a folder, so that it is not asked about again."""
    sessions.workspace_id(db, root, git_root_commit)
