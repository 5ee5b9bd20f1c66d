"""Processes of one user that are killed one after another, and what must hold after each.

Every run goes on with the database that the kill before it left: what was ever told as kept stays
in the books, and all of it is looked for each time.
"""

from __future__ import annotations

import asyncio
import json
import sqlite3
import subprocess
import sys
import time
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from local_agent.config.launch import LaunchOptions
from local_agent.config.load import load_without_files
from local_agent.config.paths import Paths
from local_agent.domain.drafts import Prompt
from local_agent.domain.entries import Entry, EntryStatus, Kind, TurnStatus
from local_agent.domain.events import TurnEnded
from local_agent.runtime.conversation import Conversation
from local_agent.runtime.runtime import Runtime
from tests.proofs.kill_life import digest, settle_pending
from tests.runtime.opened import events_of
from tests.support.machine import Machine
from tests.support.ollama_server import OllamaServer, RequestRecord, Turn, When
from tests.support.terminal import patience
from tests.terminal.steps import assert_valid, conversation

ROOT = Path(__file__).parents[2]
LIFE_LIMIT = 60.0
LOST_AT_MOST = 0.5
"""Seconds of streamed text, from the moment the server sent it."""


class Life:
    """A process that runs ``kill_life`` until it dies; ``told`` is what it said before."""

    def __init__(self, machine: Machine, *arguments: str, crash_at: str = "") -> None:
        self.told: list[dict[str, Any]] = []
        self.errors = machine.person / "errors.txt"
        with self.errors.open("w") as errors:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "tests.proofs.kill_life", *arguments],
                cwd=machine.workspace,
                env=machine.environment | {"PYTHONPATH": str(ROOT), "LOCAL_AGENT_CRASH_AT": crash_at},
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=errors,
                text=True,
            )

    def kill_after(self, seconds: float) -> float:
        """Kill it then; the moment of it."""
        time.sleep(seconds)
        assert self.process.poll() is None, self.errors.read_text()
        at = time.monotonic()
        self.process.kill()
        self._bury()
        return at

    def wait_death(self) -> float:
        """Wait until it has died by itself; the moment of it, and ``process.returncode`` says of what."""
        self.process.wait(patience(LIFE_LIMIT))
        at = time.monotonic()
        self._bury()
        return at

    def _bury(self) -> None:
        with self.process as dead:
            assert dead.stdout is not None
            for line in dead.stdout:
                self._hear(line)

    def _hear(self, line: str) -> None:
        # The last line may be cut off.
        if line.endswith("\n"):
            self.told.append(json.loads(line))


@dataclass
class Books:
    """One user's machine, what was told as kept on it, and what was counted."""

    machine: Machine
    server: OllamaServer
    settled: dict[int, str] = field(default_factory=dict)
    """Entry id to digest of its text."""
    handle: str = ""
    kills: int = 0
    partial: int = 0
    """Kills that left a reply half arrived."""
    checks: int = 0
    missing: int = 0
    worst: float = 0.0
    """Seconds."""
    lost_at_most: float = LOST_AT_MOST

    def note(self, line: str) -> None:
        """Say what comes, for the report of a run that fails."""
        sys.stdout.write(f"{line}\n")

    def after(self, told: list[dict[str, Any]], died_at: float) -> None:
        """Check everything after a death, and go on with the session as a person would."""
        self.kills += 1
        for line in told:
            self.handle = line.get("handle", self.handle)
            if "settled" in line:
                self.settled[line["settled"]] = line["digest"]
        if self.machine.database.exists():
            self._check_file(told)
        else:
            assert not self.settled
        # A session in the trash is no latest one, but still what this process talked in.
        asyncio.run(self._go_on(next((line["handle"] for line in told if "handle" in line), ""), died_at))
        self.server.reset()

    @property
    def summary(self) -> str:
        """The counts, for people."""
        return (
            f"{self.kills} kills, {self.partial} with a reply half arrived; {len(self.settled)} settled"
            f" entries, {self.checks} times looked for, {self.missing} missing;"
            f" worst loss {self.worst * 1000:.0f} ms of streamed text"
        )

    def _check_file(self, told: list[dict[str, Any]]) -> None:
        with closing(sqlite3.connect(self.machine.database)) as database:
            if not database.execute("SELECT 1 FROM sqlite_master WHERE name = 'entries'").fetchall():
                assert not self.settled
                return
            assert database.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
            assert database.execute("PRAGMA foreign_key_check").fetchall() == []
            rows = database.execute("SELECT id, CAST(text AS BLOB) FROM entries WHERE status = 'settled'")
            stored = {row: digest(text.decode("utf-8", "surrogatepass")) for row, text in rows}
            drafts = {row[0] for row in database.execute("SELECT text FROM drafts")}
        missing = {row: text for row, text in self.settled.items() if stored.get(row) != text}
        self.checks += len(self.settled)
        self.missing += len(missing)
        assert not missing, f"settled entries that are gone or changed: {missing}"
        if told and "draft" in told[-1]:
            assert told[-1]["draft"] in drafts

    async def _go_on(self, handle: str, died_at: float) -> None:
        options = LaunchOptions(workspace=self.machine.workspace)
        paths = Paths(self.machine.home, self.machine.person / ".cache")
        settings = load_without_files(self.machine.environment).settings
        runtime = await Runtime.open(options, settings, paths)
        try:
            latest = await runtime.library.latest()
            if handle or latest is not None:
                handle = handle or (latest.handle if latest is not None else "")
                await self._take_up(await runtime.resume(handle), died_at)
            else:
                assert not self.settled
        finally:
            await runtime.close()

    async def _take_up(self, resumed: Conversation, died_at: float) -> None:
        tail = await resumed.tail(1000)
        assert all(turn.status is not TurnStatus.RUNNING for turn in tail.turns.values())
        for record in self.server.chats:
            self._weigh(record, tail.entries, died_at)
        if (left := await resumed.time.unfinished()) is not None:
            await resumed.time.complete(left)
        await settle_pending(resumed)
        self.server.script(Turn("Going on.", when=When(contains="And then?")))
        last = (await events_of(resumed.ask(Prompt("And then?"))))[-1]
        assert isinstance(last, TurnEnded) and last.status is TurnStatus.SETTLED and last.reply is not None
        self.settled[last.reply.id] = digest("Going on.")
        assert_valid(conversation(self.server.chats[-1]))

    def _weigh(self, request: RequestRecord, path: tuple[Entry, ...], died_at: float) -> None:
        """What the server had sent of a reply, against what is kept of it."""
        said = conversation(request)
        last = max(place for place, (role, _) in enumerate(said) if role == "user")
        asked = said[last][1]
        question = next(e for e in path if e.kind is Kind.QUESTION and asked.endswith(e.text))
        replies = [e for e in path if e.turn_id == question.turn_id and e.kind is Kind.ASSISTANT]
        # A turn with calls has a reply for each request.
        replies = replies[sum(role == "assistant" for role, _ in said[last:]) :]
        kept = replies[0].text if replies else ""
        assert request.text_sent.startswith(kept), "what is kept is not what was sent"
        whole = request.last_byte is not None and request.disconnected is None
        if replies and replies[0].status is EntryStatus.INTERRUPTED:
            self.partial += 1
        elif replies:
            assert whole and kept == request.text_sent
        arrived = 0
        for moment, piece in request.sent:
            arrived += len(piece)
            if arrived > len(kept) and moment < died_at:
                self.worst = max(self.worst, died_at - moment)
                break
        assert self.worst <= self.lost_at_most, f"{self.worst:.3f} s of streamed text lost"
