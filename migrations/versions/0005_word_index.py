"""An index of the words that were said, and sessions that stand above the others."""

from alembic import op

revision = "0005"
down_revision = "0004"
branch_labels = None
depends_on = None

STATEMENTS = (
    "ALTER TABLE sessions ADD COLUMN pinned BOOLEAN NOT NULL DEFAULT 0",
    # Terms are made by the program, which fills this at the end of an update: what is stored of them is
    # which entries have them, nothing more.
    """
    CREATE VIRTUAL TABLE entry_terms USING fts5 (
        terms, content = '', detail = none, columnsize = 0, tokenize = "ascii tokenchars '_'"
    )
    """,
    "CREATE VIRTUAL TABLE entry_term_counts USING fts5vocab (entry_terms, row)",
)


def upgrade() -> None:
    for statement in STATEMENTS:
        op.execute(statement)
