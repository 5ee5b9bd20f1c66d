"""A person's machine: a home, a folder to work in, and the installed program, started as they would."""

from __future__ import annotations

import json
import os
import shutil
import sqlite3
import subprocess
import sys
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.support.terminal import Terminal

COMMAND_LIMIT = 60
MIGRATION_TABLES = {"alembic_version", "schema_migrations"}


@dataclass
class Machine:
    """All paths lie under ``person``; ``variables`` are added to the environment of every run."""

    person: Path
    workspace: Path
    variables: dict[str, str] = field(default_factory=dict)

    @classmethod
    def make(cls, folder: Path, ollama_host: str) -> Machine:
        """Set one up under ``folder``, with an Ollama at ``ollama_host``."""
        person = folder / "person"
        workspace = person / "api-server"
        workspace.mkdir(parents=True)
        person.chmod(0o700)
        return cls(person, workspace, {"OLLAMA_HOST": ollama_host})

    @property
    def home(self) -> Path:
        """What ``LOCAL_AGENT_HOME`` says."""
        return self.person / ".config" / "local-agent"

    @property
    def database(self) -> Path:
        return self.home / "local-agent.db"

    @property
    def environment(self) -> dict[str, str]:
        """Nothing of the machine that runs the tests but the search path, with our interpreter's first."""
        return {
            "PATH": os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]]),
            "LANG": "C.UTF-8",
            "HOME": str(self.person),
            "XDG_CONFIG_HOME": str(self.person / ".config"),
            "XDG_CACHE_HOME": str(self.person / ".cache"),
            "XDG_STATE_HOME": str(self.person / ".local" / "state"),
            "LOCAL_AGENT_HOME": str(self.home),
            **self.variables,
        }

    def terminal(
        self, *arguments: str, size: tuple[int, int] = (80, 24), shell: str = "", cwd: Path | None = None
    ) -> Terminal:
        """Start the program in a terminal, or the command line ``shell`` as a shell reads it."""
        found = shutil.which("local-agent", path=self.environment["PATH"])
        assert found, "the program is not installed beside this interpreter: pip install -e ."
        program = ["/bin/sh", "-c", f"exec {shell}"] if shell else [found]
        return Terminal(
            arguments, env=self.environment, cwd=cwd or self.workspace, size=size, program=program
        )

    def run(
        self, *arguments: str, input: str | None = None, cwd: Path | None = None
    ) -> subprocess.CompletedProcess[str]:
        """Run the program without a terminal."""
        return subprocess.run(
            [sys.executable, "-m", "local_agent", *arguments],
            input=input,
            stdin=subprocess.DEVNULL if input is None else None,
            capture_output=True,
            text=True,
            timeout=COMMAND_LIMIT,
            cwd=cwd or self.workspace,
            env=self.environment,
        )

    def json(self, *arguments: str) -> Any:
        """What a command that must succeed prints as JSON."""
        done = self.run(*arguments)
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)

    def files(self) -> list[str]:
        """Every file and link of the person's, relative to ``person``."""
        found = (path for path in self.person.rglob("*") if path.is_symlink() or not path.is_dir())
        return sorted(str(path.relative_to(self.person)) for path in found)

    def open_replies(self) -> str:
        """The text on disk of replies that are still streaming."""
        return "".join(row[0] for row in self.query("SELECT text FROM open_replies"))

    def query(self, sql: str) -> list[Any]:
        """Rows of the database, read without disturbing it."""
        with closing(sqlite3.connect(f"file:{self.database}?mode=ro", uri=True)) as database:
            return database.execute(sql).fetchall()

    def filled_tables(self) -> dict[str, int]:
        """Rows of each table that has any, but for the migrations' own."""
        names = [row[0] for row in self.query("SELECT name FROM sqlite_master WHERE type = 'table'")]
        # The index of words follows from the entries; one of nothing has rows of its own.
        theirs = ("sqlite_", "entry_term")
        own = (name for name in names if name not in MIGRATION_TABLES and not name.startswith(theirs))
        counts = {name: int(self.query(f'SELECT count(*) FROM "{name}"')[0][0]) for name in own}
        return {name: count for name, count in counts.items() if count}
