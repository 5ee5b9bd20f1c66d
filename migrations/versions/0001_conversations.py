"""Workspaces, sessions and their trees of entries, leases, drafts and the trail of errors."""

from alembic import op

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None

STATEMENTS = (
    """
    CREATE TABLE schema_migrations (
        revision TEXT NOT NULL PRIMARY KEY,
        file_name TEXT NOT NULL,
        digest TEXT NOT NULL,
        applied_at TEXT NOT NULL,
        program_version TEXT NOT NULL
    )
    """,
    """
    CREATE TABLE workspaces (
        id INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT,
        root TEXT NOT NULL,
        git_root_commit TEXT,
        created_at TEXT NOT NULL,
        CONSTRAINT workspaces_root UNIQUE (root)
    )
    """,
    "CREATE INDEX workspaces_by_commit ON workspaces (git_root_commit)",
    """
    CREATE TABLE sessions (
        id INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT,
        handle TEXT NOT NULL,
        title TEXT NOT NULL,
        title_source TEXT NOT NULL,
        workspace_id INTEGER NOT NULL REFERENCES workspaces (id),
        head INTEGER CONSTRAINT sessions_head REFERENCES entries (id),
        mode TEXT NOT NULL,
        backend TEXT NOT NULL,
        host TEXT NOT NULL,
        model TEXT NOT NULL,
        model_pinned BOOLEAN NOT NULL,
        headless BOOLEAN NOT NULL,
        trashed BOOLEAN NOT NULL,
        parent_session INTEGER REFERENCES sessions (id),
        fork_entry INTEGER CONSTRAINT sessions_fork_entry REFERENCES entries (id),
        created_at TEXT NOT NULL,
        last_activity TEXT NOT NULL,
        last_entry INTEGER NOT NULL,
        turn_count INTEGER NOT NULL,
        CONSTRAINT sessions_handle UNIQUE (handle)
    )
    """,
    "CREATE INDEX sessions_of_workspace ON sessions (workspace_id, trashed, last_entry)",
    "CREATE INDEX sessions_by_activity ON sessions (trashed, last_entry)",
    """
    CREATE TABLE prompt_texts (
        digest TEXT NOT NULL PRIMARY KEY,
        text TEXT NOT NULL
    )
    """,
    """
    CREATE TABLE turns (
        id INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT,
        session_id INTEGER NOT NULL REFERENCES sessions (id),
        status TEXT NOT NULL,
        stop_reason TEXT,
        model TEXT NOT NULL,
        model_digest TEXT NOT NULL,
        prompt_digest TEXT REFERENCES prompt_texts (digest),
        prompt_tokens INTEGER,
        reply_tokens INTEGER,
        load_seconds FLOAT,
        prompt_seconds FLOAT,
        reply_seconds FLOAT,
        first_token_seconds FLOAT,
        started_at TEXT NOT NULL,
        ended_at TEXT
    )
    """,
    "CREATE INDEX turns_of_session ON turns (session_id, status)",
    """
    CREATE TABLE entries (
        id INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT,
        session_id INTEGER NOT NULL REFERENCES sessions (id),
        turn_id INTEGER REFERENCES turns (id),
        parent INTEGER REFERENCES entries (id),
        kind TEXT NOT NULL,
        origin TEXT NOT NULL,
        status TEXT NOT NULL,
        call_number INTEGER,
        kept_from INTEGER REFERENCES entries (id),
        created_at TEXT NOT NULL,
        text TEXT NOT NULL,
        context TEXT NOT NULL,
        thinking TEXT NOT NULL,
        calls TEXT NOT NULL
    )
    """,
    "CREATE INDEX entries_path ON entries (id, parent, kind, turn_id)",
    "CREATE INDEX entries_of_parent ON entries (parent, kind)",
    "CREATE INDEX entries_of_session ON entries (session_id, kind)",
    "CREATE INDEX entries_of_turn ON entries (turn_id, kind)",
    """
    CREATE TRIGGER entries_never_change BEFORE UPDATE ON entries
    BEGIN
        SELECT RAISE(ABORT, 'an entry never changes');
    END
    """,
    """
    CREATE TRIGGER entries_never_go BEFORE DELETE ON entries
    BEGIN
        SELECT RAISE(ABORT, 'an entry is never deleted');
    END
    """,
    """
    CREATE TABLE open_replies (
        session_id INTEGER NOT NULL PRIMARY KEY REFERENCES sessions (id),
        turn_id INTEGER NOT NULL REFERENCES turns (id),
        parent INTEGER NOT NULL REFERENCES entries (id),
        text TEXT NOT NULL,
        thinking TEXT NOT NULL,
        calls TEXT NOT NULL,
        token TEXT NOT NULL,
        updated_at TEXT NOT NULL
    )
    """,
    """
    CREATE TABLE head_moves (
        session_id INTEGER NOT NULL REFERENCES sessions (id),
        number INTEGER NOT NULL,
        from_entry INTEGER REFERENCES entries (id),
        to_entry INTEGER REFERENCES entries (id),
        cause TEXT NOT NULL,
        turn_id INTEGER REFERENCES turns (id),
        created_at TEXT NOT NULL,
        PRIMARY KEY (session_id, number)
    )
    """,
    """
    CREATE TRIGGER head_moves_never_change BEFORE UPDATE ON head_moves
    BEGIN
        SELECT RAISE(ABORT, 'a move of the head never changes');
    END
    """,
    """
    CREATE TRIGGER head_moves_never_go BEFORE DELETE ON head_moves
    BEGIN
        SELECT RAISE(ABORT, 'a move of the head is never deleted');
    END
    """,
    """
    CREATE TABLE leases (
        session_id INTEGER NOT NULL PRIMARY KEY REFERENCES sessions (id),
        generation INTEGER NOT NULL,
        token TEXT,
        pid INTEGER NOT NULL,
        process_start TEXT NOT NULL,
        machine_id TEXT NOT NULL,
        boot_id TEXT NOT NULL,
        host TEXT NOT NULL,
        terminal TEXT NOT NULL,
        since TEXT NOT NULL
    )
    """,
    """
    CREATE TABLE drafts (
        id INTEGER NOT NULL PRIMARY KEY,
        workspace_id INTEGER NOT NULL REFERENCES workspaces (id),
        session_id INTEGER REFERENCES sessions (id),
        pid INTEGER NOT NULL,
        process_start TEXT NOT NULL,
        machine_id TEXT NOT NULL,
        boot_id TEXT NOT NULL,
        text TEXT NOT NULL,
        queue TEXT NOT NULL,
        updated_at TEXT NOT NULL
    )
    """,
    "CREATE INDEX drafts_by_place ON drafts (workspace_id, session_id)",
    """
    CREATE TABLE error_records (
        id INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT,
        session_id INTEGER NOT NULL REFERENCES sessions (id),
        turn_id INTEGER REFERENCES turns (id),
        kind TEXT NOT NULL,
        line TEXT NOT NULL,
        raw TEXT NOT NULL,
        question TEXT NOT NULL,
        model TEXT NOT NULL,
        provider TEXT NOT NULL,
        created_at TEXT NOT NULL
    )
    """,
    "CREATE INDEX error_records_of_session ON error_records (session_id)",
    "CREATE INDEX error_records_of_turn ON error_records (turn_id)",
)


def upgrade() -> None:
    for statement in STATEMENTS:
        op.execute(statement)
