"""A person changes the model, fetches another one while talking, and leaves before it is all there."""

from __future__ import annotations

import pytest

from tests.support.machine import Machine
from tests.support.ollama_server import ModelSpec, OllamaServer
from tests.support.terminal import Key, Terminal
from tests.terminal.steps import submit

pytestmark = pytest.mark.terminal


def test_models_are_changed_fetched_and_left_half_way(machine: Machine, server: OllamaServer) -> None:
    server.models["gemma3:12b"] = ModelSpec("gemma3:12b", ("completion", "vision"))
    server.offer(ModelSpec("new:1b", size=2_000_000), gate="half")
    server.script("From the other one.", model="llama3.2:3b")
    with Terminal(env=machine.environment, cwd=machine.workspace) as terminal:
        terminal.wait_for("model   gemma3:12b")
        submit(terminal, "/pull new:1b")
        terminal.wait_for("50% · 1.0 of 2.0 MB")
        terminal.send(Key.ENTER)
        terminal.wait_for(("pulling new:1b · 50%", "f4 shows it"))
        terminal.send(Key.CTRL_O)
        terminal.wait_for(("Models · http", "gemma3:12b"))
        terminal.send("llama")
        terminal.wait_for("❯ llama3.2:3b")
        terminal.send(Key.ENTER)
        terminal.wait_for(lambda shown: "llama3.2:3b" in shown.text.splitlines()[0])
        submit(terminal, "Who are you?")
        terminal.wait_for("From the other one.")
        terminal.send(Key.CTRL_Q)
        assert terminal.wait_exit() == 0
        terminal.assert_restored()
        assert "What has come of new:1b is kept: /pull new:1b goes on" in terminal.text
    with Terminal(env=machine.environment, cwd=machine.workspace) as terminal:
        terminal.wait_for("model   llama3.2:3b")
        server.release("half")
        submit(terminal, "/pull new:1b")
        terminal.wait_for("It is here: new:1b")
        terminal.send(Key.ENTER)
        terminal.wait_for(lambda shown: "new:1b" in shown.text.splitlines()[0])
        terminal.send(Key.CTRL_Q)
        assert terminal.wait_exit() == 0
        assert "is kept" not in terminal.text
