"""Moves of a head that can be undone, checkpoints, branches, and the permissions that changes left."""

from alembic import op

revision = "0004"
down_revision = "0003"
branch_labels = None
depends_on = None

STATEMENTS = (
    # NULL in what was written before: not known. It is found out where it is needed.
    "ALTER TABLE head_moves ADD COLUMN ledger_number INTEGER",
    "ALTER TABLE head_moves ADD COLUMN messages INTEGER",
    "ALTER TABLE head_moves ADD COLUMN step INTEGER",
    "ALTER TABLE head_moves ADD COLUMN undo_below INTEGER",
    "ALTER TABLE head_moves ADD COLUMN redo_below INTEGER",
    "CREATE INDEX head_moves_to_entry ON head_moves (to_entry, session_id, number)",
    "ALTER TABLE sessions ADD COLUMN branch_count INTEGER NOT NULL DEFAULT 0",
    "ALTER TABLE file_changes ADD COLUMN mode_after INTEGER",
    "CREATE INDEX executions_without_call ON executions (session_id) WHERE entry_id IS NULL",
    """
    CREATE TABLE checkpoints (
        id INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT,
        session_id INTEGER NOT NULL REFERENCES sessions (id),
        entry_id INTEGER REFERENCES entries (id),
        ledger_number INTEGER NOT NULL,
        label TEXT NOT NULL,
        kind TEXT NOT NULL,
        message_count INTEGER NOT NULL,
        created_at TEXT NOT NULL
    )
    """,
    "CREATE INDEX checkpoints_of_session ON checkpoints (session_id)",
    """
    CREATE INDEX checkpoints_before_compaction ON checkpoints (session_id)
    WHERE kind = 'before compaction'
    """,
    """
    CREATE TRIGGER checkpoints_never_change BEFORE UPDATE ON checkpoints
    BEGIN
        SELECT RAISE(ABORT, 'a checkpoint never changes');
    END
    """,
    """
    CREATE TRIGGER checkpoints_never_go BEFORE DELETE ON checkpoints
    WHEN OLD.kind <> 'before compaction'
    BEGIN
        SELECT RAISE(ABORT, 'a checkpoint is never deleted');
    END
    """,
)


def upgrade() -> None:
    for statement in STATEMENTS:
        op.execute(statement)
