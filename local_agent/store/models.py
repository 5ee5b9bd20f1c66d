"""The tables, typed; ``migrations/`` builds them and a test holds both to each other."""

from __future__ import annotations

from sqlalchemy import Boolean, ForeignKey, Index, UniqueConstraint, text
from sqlalchemy.orm import DeclarativeBase, Mapped, mapped_column

from local_agent.store.stored_text import Real, StoredText, Whole, Word


class Base(DeclarativeBase):
    """All tables of the database."""

    type_annotation_map = {  # noqa: RUF012  # SQLAlchemy's own declaration
        str: Word,
        int: Whole,
        bool: Boolean,
        float: Real,
    }


class WorkspaceRow(Base):
    __tablename__ = "workspaces"
    __table_args__ = (
        UniqueConstraint("root", name="workspaces_root"),
        Index("workspaces_by_commit", "git_root_commit"),
    )

    id: Mapped[int] = mapped_column(primary_key=True)
    root: Mapped[str] = mapped_column(StoredText)
    git_root_commit: Mapped[str | None] = mapped_column(Word(None))
    created_at: Mapped[str]


class SessionRow(Base):
    __tablename__ = "sessions"
    __table_args__ = (
        UniqueConstraint("handle", name="sessions_handle"),
        Index("sessions_of_workspace", "workspace_id", "trashed", "last_entry"),
        Index("sessions_by_activity", "trashed", "last_entry"),
    )

    id: Mapped[int] = mapped_column(primary_key=True)
    handle: Mapped[str]
    title: Mapped[str] = mapped_column(StoredText)
    title_source: Mapped[str]
    workspace_id: Mapped[int] = mapped_column(ForeignKey("workspaces.id"))
    # Sessions and entries point at each other: use_alter lets SQLAlchemy order the tables.
    head: Mapped[int | None] = mapped_column(
        Whole(None), ForeignKey("entries.id", name="sessions_head", use_alter=True)
    )
    mode: Mapped[str]
    backend: Mapped[str]
    host: Mapped[str] = mapped_column(StoredText)
    model: Mapped[str] = mapped_column(StoredText)
    model_pinned: Mapped[bool]
    headless: Mapped[bool]
    trashed: Mapped[bool]
    parent_session: Mapped[int | None] = mapped_column(Whole(None), ForeignKey("sessions.id"))
    fork_entry: Mapped[int | None] = mapped_column(
        Whole(None), ForeignKey("entries.id", name="sessions_fork_entry", use_alter=True)
    )
    created_at: Mapped[str]
    last_activity: Mapped[str]
    last_entry: Mapped[int]
    turn_count: Mapped[int]
    branch_count: Mapped[int] = mapped_column(default=0)
    pinned: Mapped[bool] = mapped_column(default=False)


class PromptTextRow(Base):
    __tablename__ = "prompt_texts"

    digest: Mapped[str] = mapped_column(primary_key=True)
    text: Mapped[str] = mapped_column(StoredText)


class TurnRow(Base):
    __tablename__ = "turns"
    __table_args__ = (Index("turns_of_session", "session_id", "status"),)

    id: Mapped[int] = mapped_column(primary_key=True)
    session_id: Mapped[int] = mapped_column(ForeignKey("sessions.id"))
    status: Mapped[str]
    stop_reason: Mapped[str | None] = mapped_column(Word(None))
    model: Mapped[str] = mapped_column(StoredText)
    model_digest: Mapped[str]
    prompt_digest: Mapped[str | None] = mapped_column(Word(None), ForeignKey("prompt_texts.digest"))
    prompt_tokens: Mapped[int | None] = mapped_column(Whole(None))
    reply_tokens: Mapped[int | None] = mapped_column(Whole(None))
    load_seconds: Mapped[float | None]
    prompt_seconds: Mapped[float | None]
    reply_seconds: Mapped[float | None]
    first_token_seconds: Mapped[float | None]
    started_at: Mapped[str]
    ended_at: Mapped[str | None] = mapped_column(Word(None))


class EntryRow(Base):
    """Insert only: triggers refuse UPDATE and DELETE. The short columns come first, the texts last."""

    __tablename__ = "entries"
    __table_args__ = (
        Index("entries_path", "id", "parent", "kind", "turn_id"),
        Index("entries_of_parent", "parent", "kind"),
        Index("entries_of_session", "session_id", "kind"),
        Index("entries_of_turn", "turn_id", "kind"),
    )

    id: Mapped[int] = mapped_column(primary_key=True)
    session_id: Mapped[int] = mapped_column(ForeignKey("sessions.id"))
    turn_id: Mapped[int | None] = mapped_column(Whole(None), ForeignKey("turns.id"))
    parent: Mapped[int | None] = mapped_column(Whole(None), ForeignKey("entries.id"))
    kind: Mapped[str]
    origin: Mapped[str]
    status: Mapped[str]
    call_number: Mapped[int | None] = mapped_column(Whole(None))
    kept_from: Mapped[int | None] = mapped_column(Whole(None), ForeignKey("entries.id"))
    created_at: Mapped[str]
    text: Mapped[str] = mapped_column(StoredText)
    context: Mapped[str] = mapped_column(StoredText)
    thinking: Mapped[str] = mapped_column(StoredText)
    calls: Mapped[str]


class AttachmentRow(Base):
    """A picture of an entry. Insert only: triggers refuse UPDATE and DELETE."""

    __tablename__ = "attachments"
    __table_args__ = (Index("attachments_of_object", "sha256"),)

    entry_id: Mapped[int] = mapped_column(ForeignKey("entries.id"), primary_key=True)
    number: Mapped[int] = mapped_column(primary_key=True)
    sha256: Mapped[str]
    name: Mapped[str] = mapped_column(StoredText)
    mime: Mapped[str]
    size: Mapped[int]
    width: Mapped[int]
    height: Mapped[int]


class OpenReplyRow(Base):
    """The reply that is streaming now; gone once it is an entry."""

    __tablename__ = "open_replies"

    session_id: Mapped[int] = mapped_column(ForeignKey("sessions.id"), primary_key=True)
    turn_id: Mapped[int] = mapped_column(ForeignKey("turns.id"))
    parent: Mapped[int] = mapped_column(ForeignKey("entries.id"))
    text: Mapped[str] = mapped_column(StoredText)
    thinking: Mapped[str] = mapped_column(StoredText)
    calls: Mapped[str]
    token: Mapped[str]
    updated_at: Mapped[str]


class HeadMoveRow(Base):
    """Append only: triggers refuse UPDATE and DELETE. What ``moves`` says of the last five is unknown, and
    None, in rows that were written before there was undo.
    """

    __tablename__ = "head_moves"
    __table_args__ = (Index("head_moves_to_entry", "to_entry", "session_id", "number"),)

    session_id: Mapped[int] = mapped_column(ForeignKey("sessions.id"), primary_key=True)
    number: Mapped[int] = mapped_column(primary_key=True)
    from_entry: Mapped[int | None] = mapped_column(Whole(None), ForeignKey("entries.id"))
    to_entry: Mapped[int | None] = mapped_column(Whole(None), ForeignKey("entries.id"))
    cause: Mapped[str]
    turn_id: Mapped[int | None] = mapped_column(Whole(None), ForeignKey("turns.id"))
    created_at: Mapped[str]
    ledger_number: Mapped[int | None] = mapped_column(Whole(None))
    messages: Mapped[int | None] = mapped_column(Whole(None))
    step: Mapped[int | None] = mapped_column(Whole(None))
    undo_below: Mapped[int | None] = mapped_column(Whole(None))
    redo_below: Mapped[int | None] = mapped_column(Whole(None))


class LeaseRow(Base):
    """The holder as it described itself; ``token`` is None once the session was let go."""

    __tablename__ = "leases"

    # A session without a lease is told by this column, which is None then.
    session_id: Mapped[int] = mapped_column(Whole(None), ForeignKey("sessions.id"), primary_key=True)
    generation: Mapped[int]
    token: Mapped[str | None] = mapped_column(Word(None))
    pid: Mapped[int]
    process_start: Mapped[str]
    machine_id: Mapped[str]
    boot_id: Mapped[str]
    host: Mapped[str]
    terminal: Mapped[str]
    since: Mapped[str]


class DraftRow(Base):
    __tablename__ = "drafts"
    __table_args__ = (Index("drafts_by_place", "workspace_id", "session_id"),)

    id: Mapped[int] = mapped_column(primary_key=True)
    workspace_id: Mapped[int] = mapped_column(ForeignKey("workspaces.id"))
    session_id: Mapped[int | None] = mapped_column(Whole(None), ForeignKey("sessions.id"))
    pid: Mapped[int]
    process_start: Mapped[str]
    machine_id: Mapped[str]
    boot_id: Mapped[str]
    text: Mapped[str] = mapped_column(StoredText)
    queue: Mapped[str]
    pictures: Mapped[str]
    updated_at: Mapped[str]


class ErrorRow(Base):
    __tablename__ = "error_records"
    __table_args__ = (
        Index("error_records_of_session", "session_id"),
        Index("error_records_of_turn", "turn_id"),
    )

    id: Mapped[int] = mapped_column(primary_key=True)
    session_id: Mapped[int] = mapped_column(ForeignKey("sessions.id"))
    turn_id: Mapped[int | None] = mapped_column(Whole(None), ForeignKey("turns.id"))
    kind: Mapped[str]
    line: Mapped[str] = mapped_column(StoredText)
    raw: Mapped[str] = mapped_column(StoredText)
    question: Mapped[str] = mapped_column(StoredText)
    model: Mapped[str] = mapped_column(StoredText)
    provider: Mapped[str]
    created_at: Mapped[str]


class ExecutionRow(Base):
    """One call of an entry, whose arguments stand there. Insert only: triggers refuse UPDATE and DELETE."""

    __tablename__ = "executions"
    __table_args__ = (
        UniqueConstraint("id", name="executions_id"),
        UniqueConstraint("entry_id", "call_number", name="executions_of_call"),
        Index("executions_of_session", "session_id"),
        Index("executions_of_turn", "turn_id"),
        Index("executions_without_call", "session_id", sqlite_where=text("entry_id IS NULL")),
    )

    number: Mapped[int] = mapped_column(primary_key=True)
    id: Mapped[str]
    session_id: Mapped[int] = mapped_column(ForeignKey("sessions.id"))
    # What is not done by a call, such as putting files back, has none of these three.
    turn_id: Mapped[int] = mapped_column(ForeignKey("turns.id"), nullable=True)
    entry_id: Mapped[int] = mapped_column(ForeignKey("entries.id"), nullable=True)
    call_number: Mapped[int] = mapped_column(nullable=True)
    tool: Mapped[str] = mapped_column(StoredText)
    effect: Mapped[str]
    origin: Mapped[str]
    recovered: Mapped[bool]
    arguments_digest: Mapped[str]


class ExecutionEventRow(Base):
    """Append only: triggers refuse UPDATE and DELETE. ``number`` is the ledger's, over all sessions."""

    __tablename__ = "execution_events"
    __table_args__ = (
        Index("execution_events_of_execution", "execution_id", "kind"),
        Index(
            "execution_events_uncertain",
            "kind",
            "session_id",
            "execution_id",
            sqlite_where=text("kind = 'outcome_unknown'"),
        ),
    )

    number: Mapped[int] = mapped_column(primary_key=True)
    execution_id: Mapped[str] = mapped_column(ForeignKey("executions.id"))
    session_id: Mapped[int] = mapped_column(ForeignKey("sessions.id"))
    kind: Mapped[str]
    detail: Mapped[str]
    digest: Mapped[str]
    created_at: Mapped[str]


class ReconciliationRow(Base):
    """How an uncertain execution was settled. Insert only: triggers refuse UPDATE and DELETE."""

    __tablename__ = "reconciliations"

    execution_id: Mapped[str] = mapped_column(ForeignKey("executions.id"), primary_key=True)
    observation: Mapped[str]
    source: Mapped[str]
    reference: Mapped[str] = mapped_column(StoredText)
    summary: Mapped[str] = mapped_column(StoredText)
    observed_at: Mapped[str] = mapped_column(StoredText)
    digest: Mapped[str]
    created_at: Mapped[str]


class FileChangeRow(Base):
    """What an execution did to a file. Insert only: triggers refuse UPDATE and DELETE."""

    __tablename__ = "file_changes"
    __table_args__ = (Index("file_changes_of_execution", "execution_id"),)

    event_number: Mapped[int] = mapped_column(ForeignKey("execution_events.number"), primary_key=True)
    place: Mapped[int] = mapped_column(primary_key=True)
    execution_id: Mapped[str] = mapped_column(ForeignKey("executions.id"))
    path: Mapped[str] = mapped_column(StoredText)
    kind: Mapped[str]
    before_digest: Mapped[str]
    after_digest: Mapped[str]
    mode_before: Mapped[int | None] = mapped_column(Whole(None))
    mode_after: Mapped[int | None] = mapped_column(Whole(None))


class MigrationRow(Base):
    __tablename__ = "schema_migrations"

    revision: Mapped[str] = mapped_column(primary_key=True)
    file_name: Mapped[str]
    digest: Mapped[str]
    applied_at: Mapped[str]
    program_version: Mapped[str]
