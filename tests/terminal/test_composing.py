"""What one writes, in a real terminal: pictures, pastes, the queue, recall, and a kill in between."""

from __future__ import annotations

import base64
import signal

import pytest

from tests.support.machine import Machine
from tests.support.ollama_server import ModelSpec, OllamaServer, Turn, gate, say
from tests.support.pictures import drawn as picture
from tests.support.terminal import Key, until
from tests.terminal.steps import ask, conversation, drawn, leave, submit

pytestmark = pytest.mark.terminal

SEEING = ModelSpec("gemma3:4b", ("completion", "vision"), arch="gemma3")
CTRL_R = "\x12"
ALT_Q = "\x1bq"
DELETE = "\x1b[3~"


def bracketed(text: str) -> str:
    """What a terminal sends for a paste, or for files that are dropped on it."""
    return f"\x1b[200~{text}\x1b[201~"


def test_a_draft_with_pictures_and_pastes_survives_a_kill(machine: Machine, server: OllamaServer) -> None:
    server.models = {SEEING.name: SEEING}
    data = picture(size=(64, 48))
    path = machine.workspace / "my tree.png"
    path.write_bytes(data)
    lines = "".join(f"line {number}\n" for number in range(500)) + "\x1b]0;no title\x07"
    with machine.terminal() as terminal:
        terminal.wait_for("gemma3:4b")
        terminal.send(bracketed(f"'{path}' "))
        terminal.wait_for(("[1] my tree.png 64x48", "❯ Ask anything"))
        terminal.send("what is it? ", bracketed(lines))
        terminal.wait_for("what is it? [pasted #1: 501 lines]")
        until(lambda: any("no title" in str(text) for (text,) in machine.query("SELECT text FROM drafts")))
        assert b"\x1b]0;no title" not in terminal.raw
        terminal.process.send_signal(signal.SIGKILL)
        terminal.process.wait()
    server.script("A tree.")
    with machine.terminal() as terminal:
        terminal.wait_for(("[1] my tree.png 64x48", "[pasted #1: 501 lines]"))
        terminal.wait_for("gemma3:4b")
        terminal.send(Key.ENTER)
        terminal.wait_for("A tree.")
        leave(terminal)
    (asked,) = server.chats
    message = asked.body["messages"][-1]
    assert base64.b64decode(message["images"][0]) == data
    assert message["content"].endswith("what is it? " + lines)


def test_queue_recall_and_search(machine: Machine, server: OllamaServer) -> None:
    server.script(Turn(say("Half"), gate("go")), "Two.", "Three.", "Four.")
    with machine.terminal() as terminal:
        ask(terminal, "where do apples grow?")
        terminal.wait_for("Half")
        for text in ("second", "never mind", "third"):
            submit(terminal, text)
            terminal.wait_for(f"next  {text}")
        terminal.send(ALT_Q)
        terminal.wait_for(("Queue · 3 prompts", "❯ next  second"))
        terminal.send(Key.DOWN)
        terminal.wait_for("❯ next  never mind")
        terminal.send(DELETE)
        terminal.wait_for(("Queue · 2 prompts", "❯ next  third"))
        terminal.send(Key.ENTER)
        terminal.wait_for(lambda shown: "❯ third" in shown.text and "Queue" not in shown.text)
        terminal.send(", edited", Key.ENTER)
        terminal.wait_for("next  third, edited")
        server.release("go")
        terminal.wait_for("Three.")
        terminal.send(Key.UP)
        terminal.wait_for("❯ never mind")
        terminal.send("\x15", Key.UP)
        terminal.wait_for("❯ third, edited")
        terminal.send("\x15", CTRL_R)
        terminal.wait_for(("Questions · api-server · 3", "❯ third, edited"))
        terminal.send("APPLES")
        terminal.wait_for("❯ where do apples grow?")
        terminal.send(Key.ENTER)
        terminal.wait_for(
            lambda shown: "❯ where do apples grow?" in shown.text and "Questions" not in shown.text
        )
        terminal.send(" again", Key.ENTER)
        terminal.wait_for("Four.")
        leave(terminal)
    said = [conversation(request)[-1][1].rpartition("\n\n")[2] for request in server.chats]
    assert said == ["where do apples grow?", "second", "third, edited", "where do apples grow? again"]


def test_keys_typed_into_a_dialog_that_just_came_up_answer_nothing(
    machine: Machine, server: OllamaServer
) -> None:
    server.script(Turn(say("Half"), gate("never")))
    with machine.terminal() as terminal:
        ask(terminal, "go")
        terminal.wait_for("Half")
        # The list is there; Enter takes a row of it before the next letters are read.
        terminal.send("/ne")
        terminal.wait_for("Begin a new")
        # The s of "stop it" would end the turn.
        terminal.send("w", Key.ENTER, "so it", Key.ENTER)
        terminal.wait_for("❯ let it run")
        terminal.wait_for(drawn)
        terminal.send(Key.ESCAPE)
        terminal.wait_for(lambda shown: "let it run" not in shown.text)
        assert "Half" in terminal.text and "stopped" not in terminal.text


def test_the_editor_leaves_pictures_and_pastes_as_they_are(machine: Machine, server: OllamaServer) -> None:
    server.models = {SEEING.name: SEEING}
    server.script("Seen.")
    (machine.workspace / "tree.png").write_bytes(picture())
    editor = machine.person / "editor"
    editor.write_text('#!/bin/sh\nsed -i "1s/^/Please: /" "$1"\n')
    editor.chmod(0o755)
    machine.variables["VISUAL"] = str(editor)
    lines = "".join(f"line {number}\n" for number in range(20))
    with machine.terminal() as terminal:
        terminal.wait_for("gemma3:4b")
        terminal.send(bracketed(str(machine.workspace / "tree.png")))
        terminal.wait_for("[1] tree.png 8x6")
        terminal.send("count ", bracketed(lines), " now")
        terminal.wait_for("❯ count [pasted #1: 21 lines] now")
        terminal.send(Key.CTRL_G)
        terminal.wait_for(("❯ Please: count [pasted #1: 21 lines] now", "[1] tree.png 8x6"))
        terminal.send(Key.ENTER)
        terminal.wait_for("Seen.")
        leave(terminal)
    message = server.chats[0].body["messages"][-1]
    assert message["content"].endswith(f"Please: count {lines} now") and len(message["images"]) == 1
