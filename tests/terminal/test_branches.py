"""Branches in a real terminal: an earlier question asked otherwise, the tree, a kill in between."""

from __future__ import annotations

import signal
from pathlib import Path

import pytest

from tests.support.machine import Machine
from tests.support.ollama_server import HostedServer, ModelSpec, OllamaServer
from tests.support.terminal import Key, until
from tests.terminal.steps import ask, conversation, leave, submit

pytestmark = pytest.mark.terminal

MODEL = ModelSpec("qwen3:4b", ("completion", "tools"), "qwen3")


def test_an_edited_question_survives_a_kill_and_becomes_a_branch_of_its_own(tmp_path: Path) -> None:
    with HostedServer(OllamaServer([MODEL])) as server:
        machine = Machine.make(tmp_path, server.url)
        server.script("First try.", "Second try.")
        with machine.terminal() as terminal:
            ask(terminal, "Say it well")
            terminal.wait_for(("First try.", "enter send"))
            submit(terminal, "/edit")
            terminal.wait_for(("Editing an earlier question", "❯ Say it well"))
            terminal.send(" again")
            until(
                lambda: "Say it well again" in str(machine.query("SELECT * FROM drafts")),
                what="the edited text on disk",
            )
            terminal.signal(signal.SIGKILL)
            terminal.wait_exit()
        with machine.terminal("--resume", "latest") as terminal:
            terminal.wait_for(("First try.", "Say it well again"))
            # The editing has died with the process, and nothing that was typed.
            terminal.send(Key.CTRL_C)
            terminal.wait_for("❯ Ask anything")
            submit(terminal, "/edit")
            terminal.wait_for(("Editing an earlier question", "❯ Say it well"))
            terminal.send(" again", Key.ENTER)
            terminal.wait_for(lambda shown: "Second try." in shown.text and "First try." not in shown.text)
            submit(terminal, "/tree")
            terminal.wait_for(("2 branches", "├   Say it well", "• Say it well again"))
            terminal.send(Key.UP, Key.ENTER)
            terminal.wait_for(lambda shown: "First try." in shown.text and "Second try." not in shown.text)
            leave(terminal)
        assert [conversation(chat)[-1][1].rpartition("\n")[2] for chat in server.chats] == [
            "Say it well",
            "Say it well again",
        ]
        listed = machine.json("session", "list", "--json")
        assert [session["branches"] for session in listed] == [2]
