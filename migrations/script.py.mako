"""${message}."""

from alembic import op

revision = ${repr(up_revision)}
down_revision = ${repr(down_revision)}
branch_labels = None
depends_on = None

STATEMENTS = (
)


def upgrade() -> None:
    for statement in STATEMENTS:
        op.execute(statement)
