"""Pictures that were attached to questions, and those of unsent work."""

from alembic import op

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None

STATEMENTS = (
    """
    CREATE TABLE attachments (
        entry_id INTEGER NOT NULL REFERENCES entries (id),
        number INTEGER NOT NULL,
        sha256 TEXT NOT NULL,
        name TEXT NOT NULL,
        mime TEXT NOT NULL,
        size INTEGER NOT NULL,
        width INTEGER NOT NULL,
        height INTEGER NOT NULL,
        PRIMARY KEY (entry_id, number)
    )
    """,
    "CREATE INDEX attachments_of_object ON attachments (sha256)",
    """
    CREATE TRIGGER attachments_never_change BEFORE UPDATE ON attachments
    BEGIN
        SELECT RAISE(ABORT, 'an attachment never changes');
    END
    """,
    """
    CREATE TRIGGER attachments_never_go BEFORE DELETE ON attachments
    BEGIN
        SELECT RAISE(ABORT, 'an attachment is never deleted');
    END
    """,
    "ALTER TABLE drafts ADD COLUMN pictures TEXT NOT NULL DEFAULT '[]'",
)


def upgrade() -> None:
    for statement in STATEMENTS:
        op.execute(statement)
