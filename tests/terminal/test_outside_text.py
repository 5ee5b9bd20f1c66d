"""Nothing that a model, a title or a server says reaches the terminal as a control."""

from __future__ import annotations

import pytest

from tests.support.machine import Machine
from tests.support.ollama_server import OllamaServer, Turn, error
from tests.terminal.steps import ask, leave

pytestmark = pytest.mark.terminal

NASTY = (
    "start \x1b]0;owned-title\x07 \x1b]52;c;b3duZWQ=\x07 \x1b[31mred \x1b[2J \x9b2Jc1 \x90dcs\x9c"
    " \u202egnp.exe\u202c \u2066isolate\u2069 \x07\x08\x7f [bold]brackets[/] [/nothing] finish"
)
NEVER_WRITTEN = [
    b"\x1b]0;owned",
    b"\x1b]52;c;b3duZWQ=",
    b"\x1b[31mred",
    b"\xc2\x9b",
    b"\xc2\x90",
    "\u202e".encode(),
    "\u2066".encode(),
    b"\x7f",
]


def assert_harmless(raw: bytes) -> None:
    assert [sequence for sequence in NEVER_WRITTEN if sequence in raw] == []


def test_what_a_model_says(machine: Machine, server: OllamaServer) -> None:
    server.script(Turn(NASTY))
    with machine.terminal(size=(120, 36)) as terminal:
        ask(terminal, "Say something nasty")
        terminal.wait_for("finish")
        assert "[bold]brackets[/] [/nothing]" in terminal.text
        leave(terminal)
        assert_harmless(terminal.raw)
    with machine.terminal("--resume", "latest", size=(120, 36)) as terminal:
        terminal.wait_for("finish")
        leave(terminal)
        assert_harmless(terminal.raw)


def test_what_a_server_says_when_it_fails(machine: Machine, server: OllamaServer) -> None:
    server.script(Turn(error(NASTY, 500)))
    with machine.terminal(size=(120, 36)) as terminal:
        ask(terminal, "Fail, please")
        terminal.wait_for("finish")
        leave(terminal)
        assert_harmless(terminal.raw)


def test_what_a_person_pastes(machine: Machine, server: OllamaServer) -> None:
    server.script("Read.")
    with machine.terminal(size=(120, 36)) as terminal:
        terminal.wait_for("llama3.2:3b")
        terminal.paste("look: \u202egnp.exe\u202c and \x9b2J and [/nothing] end")
        terminal.wait_for("end")
        terminal.send("\r")
        terminal.wait_for("Read.")
        leave(terminal)
        assert_harmless(terminal.raw)


def test_titles_in_the_farewell_and_in_the_list(machine: Machine, server: OllamaServer) -> None:
    server.script("Yes.")
    done = machine.run("-p", NASTY)
    assert done.returncode == 0, done.stderr
    listed = machine.run("session", "list")
    assert_harmless(listed.stdout.encode())
    assert "\x1b" not in listed.stdout
