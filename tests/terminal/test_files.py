"""Files of the folder in a real terminal: found, sent, shown again after a resume; and pictures drawn."""

from __future__ import annotations

import os
import re

import pytest

from tests.support.machine import Machine
from tests.support.ollama_server import ModelSpec, OllamaServer
from tests.support.pictures import drawn as picture
from tests.support.terminal import Key, Terminal
from tests.terminal.steps import conversation, drawn, leave, submit

pytestmark = pytest.mark.terminal

SEEING = ModelSpec("gemma3:4b", ("completion", "vision"), arch="gemma3")


def test_a_file_is_completed_sent_and_named_again_after_a_resume(
    machine: Machine, server: OllamaServer
) -> None:
    server.script("It prints.", "It still does.")
    (machine.workspace / "src").mkdir()
    (machine.workspace / "src" / "main.py").write_text("print('hello')\n")
    hostile = os.fsencode(machine.workspace) + b"/evil\x1b]0;title\x07\n\xe2\x80\xae\xff.txt"
    with open(hostile, "w") as file:
        file.write("quiet\n")
    with machine.terminal() as terminal:
        terminal.wait_for(drawn)
        terminal.wait_for("llama3.2:3b")
        terminal.send("explain @ma")
        terminal.wait_for("src/main.py")
        terminal.send("\t")
        terminal.wait_for("explain @src/main.py")
        terminal.send("and @evil")
        terminal.wait_for("evil␛]0;title")
        terminal.send(Key.ENTER)
        terminal.wait_for(lambda shown: re.search(r"adds about \d+ tokens", shown.text) is not None)
        terminal.send(Key.ENTER)
        terminal.wait_for("It prints.")
        assert b"\x1b]0;title" not in terminal.raw
        leave(terminal)
        handle = terminal.text.split()[-1]
    (_, asked) = conversation(server.chats[0])[-1]
    assert "src/main.py (1 line):\n```\nprint('hello')\n```" in asked and "quiet" in asked
    with machine.terminal("--resume", handle) as terminal:
        terminal.wait_for("src/main.py 1 line")
        terminal.wait_for("llama3.2:3b")
        terminal.send("and now?\r")
        terminal.wait_for("It still does.")
        leave(terminal)
    assert conversation(server.chats[1])[0] == ("user", asked)


def test_keys_that_come_all_at_once_are_taken_in_their_order(machine: Machine, server: OllamaServer) -> None:
    server.script("Read.")
    (machine.workspace / "notes.md").write_text("remember\n")
    with machine.terminal() as terminal:
        terminal.wait_for(drawn)
        terminal.wait_for("llama3.2:3b")
        terminal.send("sum up @notes.md please\r")
        terminal.wait_for("Read.")
        leave(terminal)
    assert "remember" in conversation(server.chats[0])[-1][1]


def test_a_terminal_that_draws_is_given_the_picture_and_told_to_forget_it(
    machine: Machine, server: OllamaServer
) -> None:
    server.models = {SEEING.name: SEEING}
    server.script("A tree.")
    (machine.workspace / "tree.png").write_bytes(picture(size=(64, 48)))
    environment = {**machine.environment, "KITTY_WINDOW_ID": "1"}
    with Terminal(env=environment, cwd=machine.workspace) as terminal:
        terminal.wait_for("gemma3:4b")
        submit(terminal, "/image tree.png")
        terminal.wait_for("[1] tree.png 64x48")
        submit(terminal, "what is it?")
        terminal.wait_for("A tree.")
        row = next(row for row, line in enumerate(terminal.lines, 1) if "tree.png  64x48" in line)
        terminal.send(f"\x1b[<0;6;{row}M\x1b[<0;6;{row}m")
        terminal.wait_for_bytes(b"\x1b_Ga=T,U=1,f=100,i=")
        terminal.send("q")
        terminal.wait_for_bytes(b"\x1b_Ga=d,d=I,i=")
        terminal.wait_for("A tree.")
        leave(terminal)
