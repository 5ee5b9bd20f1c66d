"""The tables of time travel that stand alone; what moves and sessions have of it is in ``models``."""

from __future__ import annotations

from sqlalchemy import ForeignKey, Index, text
from sqlalchemy.orm import Mapped, mapped_column

from local_agent.store.models import Base
from local_agent.store.stored_text import StoredText, Whole


class CheckpointRow(Base):
    """Triggers refuse UPDATE, and DELETE but of those that a compaction made."""

    __tablename__ = "checkpoints"
    __table_args__ = (
        Index("checkpoints_of_session", "session_id"),
        Index("checkpoints_before_compaction", "session_id", sqlite_where=text("kind = 'before compaction'")),
    )

    id: Mapped[int] = mapped_column(primary_key=True)
    session_id: Mapped[int] = mapped_column(ForeignKey("sessions.id"))
    entry_id: Mapped[int | None] = mapped_column(Whole(None), ForeignKey("entries.id"))
    ledger_number: Mapped[int]
    label: Mapped[str] = mapped_column(StoredText)
    kind: Mapped[str]
    message_count: Mapped[int]
    created_at: Mapped[str]
