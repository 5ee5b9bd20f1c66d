"""A kill while earlier turns are summarised, in a real terminal: the question comes back, nothing changed."""

from __future__ import annotations

import signal
from pathlib import Path

import pytest

from tests.support.machine import Machine
from tests.support.ollama_server import HostedServer, ModelSpec, OllamaServer, Turn, When, gate, say
from tests.support.terminal import Key, until
from tests.terminal.steps import LEAVING_LIMIT, ask, leave, submit

pytestmark = pytest.mark.terminal

LONG = " ".join(f"{number} fills it." for number in range(1000, 1150))
SUMMARY = When(contains="Summarise")


def test_the_question_that_waited_for_a_summary_is_kept_when_the_program_is_killed(tmp_path: Path) -> None:
    with HostedServer(OllamaServer([ModelSpec("tiny:1b", ("completion",))])) as server:
        machine = Machine.make(tmp_path, server.url)
        machine.home.mkdir(parents=True, mode=0o700)
        (machine.home / "config.yaml").write_text("ollama: {num_ctx: 2048}\n")
        server.script(*(f"{LONG} End of {number}." for number in range(1, 4)))
        server.script(Turn(say("They"), gate("never"), when=SUMMARY))
        kept = "SELECT text || char(10) || queue FROM drafts"
        entries = "SELECT kind, count(*) FROM entries GROUP BY kind"
        with machine.terminal(size=(100, 30)) as terminal:
            for number in range(1, 4):
                ask(terminal, f"question {number}")
                terminal.wait_for((f"End of {number}.", "enter send"))
            before = machine.query(entries)
            submit(terminal, "question of mine")
            terminal.wait_for("summarising earlier turns")
            until(
                lambda: any("question of mine" in text for (text,) in machine.query(kept)), what="the draft"
            )
            terminal.signal(signal.SIGKILL)
            terminal.wait_exit(LEAVING_LIMIT)
        assert machine.query(entries) == before
        server.script(Turn("They filled it.", when=SUMMARY), "Fourth.")
        with machine.terminal("--resume", "latest", size=(100, 30)) as terminal:
            terminal.wait_for("held  question of mine")
            terminal.send(Key.UP)
            terminal.wait_for("❯ question of mine")
            terminal.send(Key.ENTER)
            terminal.wait_for("Fourth.")
            terminal.wait_for("Earlier turns summarised")
            leave(terminal)
