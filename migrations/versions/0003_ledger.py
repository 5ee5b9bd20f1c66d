"""The ledger: calls, what is known of them event by event, how uncertain ones were settled, changed files."""

from alembic import op

revision = "0003"
down_revision = "0002"
branch_labels = None
depends_on = None

STATEMENTS = (
    """
    CREATE TABLE executions (
        number INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT,
        id TEXT NOT NULL,
        session_id INTEGER NOT NULL REFERENCES sessions (id),
        turn_id INTEGER REFERENCES turns (id),
        entry_id INTEGER REFERENCES entries (id),
        call_number INTEGER,
        tool TEXT NOT NULL,
        effect TEXT NOT NULL,
        origin TEXT NOT NULL,
        recovered BOOLEAN NOT NULL,
        arguments_digest TEXT NOT NULL,
        CONSTRAINT executions_id UNIQUE (id),
        CONSTRAINT executions_of_call UNIQUE (entry_id, call_number)
    )
    """,
    "CREATE INDEX executions_of_session ON executions (session_id)",
    "CREATE INDEX executions_of_turn ON executions (turn_id)",
    """
    CREATE TRIGGER executions_never_change BEFORE UPDATE ON executions
    BEGIN
        SELECT RAISE(ABORT, 'an execution never changes');
    END
    """,
    """
    CREATE TRIGGER executions_never_go BEFORE DELETE ON executions
    BEGIN
        SELECT RAISE(ABORT, 'an execution is never deleted');
    END
    """,
    """
    CREATE TABLE execution_events (
        number INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT,
        execution_id TEXT NOT NULL REFERENCES executions (id),
        session_id INTEGER NOT NULL REFERENCES sessions (id),
        kind TEXT NOT NULL,
        detail TEXT NOT NULL,
        digest TEXT NOT NULL,
        created_at TEXT NOT NULL
    )
    """,
    "CREATE INDEX execution_events_of_execution ON execution_events (execution_id, kind)",
    """
    CREATE INDEX execution_events_uncertain ON execution_events (kind, session_id, execution_id)
    WHERE kind = 'outcome_unknown'
    """,
    """
    CREATE TRIGGER execution_events_never_change BEFORE UPDATE ON execution_events
    BEGIN
        SELECT RAISE(ABORT, 'an event of the ledger never changes');
    END
    """,
    """
    CREATE TRIGGER execution_events_never_go BEFORE DELETE ON execution_events
    BEGIN
        SELECT RAISE(ABORT, 'an event of the ledger is never deleted');
    END
    """,
    """
    CREATE TABLE reconciliations (
        execution_id TEXT NOT NULL PRIMARY KEY REFERENCES executions (id),
        observation TEXT NOT NULL,
        source TEXT NOT NULL,
        reference TEXT NOT NULL,
        summary TEXT NOT NULL,
        observed_at TEXT NOT NULL,
        digest TEXT NOT NULL,
        created_at TEXT NOT NULL
    )
    """,
    """
    CREATE TRIGGER reconciliations_never_change BEFORE UPDATE ON reconciliations
    BEGIN
        SELECT RAISE(ABORT, 'a reconciliation never changes');
    END
    """,
    """
    CREATE TRIGGER reconciliations_never_go BEFORE DELETE ON reconciliations
    BEGIN
        SELECT RAISE(ABORT, 'a reconciliation is never deleted');
    END
    """,
    """
    CREATE TABLE file_changes (
        event_number INTEGER NOT NULL REFERENCES execution_events (number),
        place INTEGER NOT NULL,
        execution_id TEXT NOT NULL REFERENCES executions (id),
        path TEXT NOT NULL,
        kind TEXT NOT NULL,
        before_digest TEXT NOT NULL,
        after_digest TEXT NOT NULL,
        mode_before INTEGER,
        PRIMARY KEY (event_number, place)
    )
    """,
    "CREATE INDEX file_changes_of_execution ON file_changes (execution_id)",
    """
    CREATE TRIGGER file_changes_never_change BEFORE UPDATE ON file_changes
    BEGIN
        SELECT RAISE(ABORT, 'a file change never changes');
    END
    """,
    """
    CREATE TRIGGER file_changes_never_go BEFORE DELETE ON file_changes
    BEGIN
        SELECT RAISE(ABORT, 'a file change is never deleted');
    END
    """,
)


def upgrade() -> None:
    for statement in STATEMENTS:
        op.execute(statement)
