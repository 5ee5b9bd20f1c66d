"""A question in the middle of a turn, in a real terminal: what is typed is never an answer."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.machine import Machine
from tests.support.ollama_server import HostedServer, ModelSpec, OllamaServer, Turn, call, gate
from tests.support.terminal import Key
from tests.terminal.steps import ask, leave
from tests.terminal.test_attention import BLUR, FOCUS, bells

pytestmark = pytest.mark.terminal

MODEL = ModelSpec("qwen3:4b", ("completion", "tools"), "qwen3")


def test_a_burst_of_keys_at_the_question_grants_nothing_and_stays_typed(tmp_path: Path) -> None:
    with HostedServer(OllamaServer([MODEL])) as server:
        machine = Machine.make(tmp_path, server.url)
        target = machine.workspace / "made.txt"
        server.script(Turn(gate("now"), call("write", {"path": "made.txt", "content": "made\n"})), "Made.")
        with machine.terminal() as terminal:
            ask(terminal, "Make it")
            terminal.wait_for("esc stop")
            server.release("now")
            terminal.wait_for("y once")
            terminal.send("yyyy y", Key.ENTER, "y", BLUR)
            terminal.wait_for("❯ yyyy yy")
            assert not target.exists()
            # The composer gives its place to the question once nobody types.
            terminal.wait_for(lambda shown: "❯" not in shown.text and "y once" in shown.text)
            assert not target.exists()
            terminal.send(FOCUS, "y")
            terminal.wait_for("Made.")
            assert target.read_text() == "made\n"
            terminal.wait_for("❯ yyyy yy")
            terminal.send(Key.CTRL_C)
            terminal.wait_for("❯ Ask anything")
            leave(terminal)


def test_a_question_rings_while_nobody_looks(tmp_path: Path) -> None:
    with HostedServer(OllamaServer([MODEL])) as server:
        machine = Machine.make(tmp_path, server.url)
        server.script(
            Turn(gate("now"), call("write", {"path": "made.txt", "content": "made\n"})), "Not made."
        )
        with machine.terminal() as terminal:
            ask(terminal, "Make it")
            terminal.wait_for("esc stop")
            terminal.send(BLUR)
            server.release("now")
            terminal.wait_for(lambda shown: bells(shown.raw) == 1)
            terminal.send(FOCUS)
            terminal.wait_for(lambda shown: "❯" not in shown.text and "y once" in shown.text)
            terminal.send(Key.ESCAPE)
            terminal.wait_for("Not made.")
            leave(terminal)
        assert not (machine.workspace / "made.txt").exists()
