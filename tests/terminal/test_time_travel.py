"""Files and questions come back in a real terminal."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.machine import Machine
from tests.support.ollama_server import HostedServer, ModelSpec, OllamaServer, Turn, call
from tests.support.terminal import Key, Terminal, until
from tests.terminal.steps import ask, conversation, leave, submit

pytestmark = pytest.mark.terminal

MODEL = ModelSpec("qwen3:4b", ("completion", "tools"), "qwen3")


def allow(terminal: Terminal) -> None:
    """Answer the question that a tool asks, once it has taken the composer's place."""
    terminal.wait_for(lambda shown: "❯" not in shown.text and "y once" in shown.text)
    terminal.send("y")


def answered(terminal: Terminal, reply: str) -> None:
    """Wait until a reply is there and its turn is over."""
    terminal.wait_for((reply, "enter send"))


def test_a_checkpoint_brings_a_file_back_that_a_tool_has_edited(tmp_path: Path) -> None:
    with HostedServer(OllamaServer([MODEL])) as server:
        machine = Machine.make(tmp_path, server.url)
        target = machine.workspace / "notes.md"
        target.write_text("mine\n")
        server.script(
            "Good morning.",
            Turn(call("read", {"path": "notes.md"})),
            Turn(call("write", {"path": "notes.md", "content": "theirs\n"})),
            "Rewritten.",
        )
        with machine.terminal() as terminal:
            ask(terminal, "Hello")
            answered(terminal, "Good morning.")
            submit(terminal, "/checkpoint before it")
            terminal.wait_for("Back to it: /restore 1")
            ask(terminal, "Rewrite my notes")
            allow(terminal)
            answered(terminal, "Rewritten.")
            assert target.read_text() == "theirs\n"
            submit(terminal, "/restore 1 --both")
            terminal.wait_for(lambda shown: "Rewritten." not in shown.text and "Good morning." in shown.text)
            until(lambda: target.read_text() == "mine\n", what="the file as it was")
            terminal.wait_for(lambda shown: "/undo takes it back." in " ".join(shown.text.split()))
            leave(terminal)
        assert target.read_text() == "mine\n"


def test_an_undone_question_is_sent_again_with_enter(tmp_path: Path) -> None:
    with HostedServer(OllamaServer([MODEL])) as server:
        machine = Machine.make(tmp_path, server.url)
        server.script("First try.", "Second try.")
        with machine.terminal() as terminal:
            ask(terminal, "Say it well")
            answered(terminal, "First try.")
            submit(terminal, "/undo")
            terminal.wait_for(lambda shown: "❯ Say it well" in shown.text and "First try." not in shown.text)
            terminal.send(Key.ENTER)
            answered(terminal, "Second try.")
            leave(terminal)
        assert [len(conversation(chat)) for chat in server.chats] == [1, 1]
