"""Terminals and people without colours, without a mouse, without more than ASCII."""

from __future__ import annotations

import re

import pytest

from tests.support.machine import Machine
from tests.support.ollama_server import OllamaServer
from tests.support.terminal import Key, Terminal
from tests.terminal.steps import ask, leave, submit

pytestmark = pytest.mark.terminal

_RENDITIONS = re.compile(rb"\x1b\[([0-9;:]*)m")
MOUSE = re.compile(rb"\x1b\[\?(?:1000|1002|1003|1015|1006|1016)h")


def colours(raw: bytes) -> set[bytes]:
    """Every rendition that sets a colour; the terminal's own (39, 49) is none."""
    return {
        found[0]
        for found in _RENDITIONS.finditer(raw)
        if any(code in _COLOURS for code in re.split(rb"[;:]", found[1]))
    }


_COLOURS = {str(code).encode() for code in (*range(30, 39), *range(40, 49), *range(90, 98), *range(100, 108))}


def tour(terminal: Terminal) -> None:
    """A conversation, four screens and a dialog's worth of keys."""
    ask(terminal, "Does it work?")
    terminal.wait_for("It does.")
    for command, shows in (
        ("/sessions", "Sessions"),
        ("/runtime", "Runtime"),
        ("/settings", "ollama.num_ctx"),
        ("/help", "Commands"),
    ):
        submit(terminal, command)
        terminal.wait_for(lambda shown, shows=shows: shows in shown.text and "NORMAL" not in shown.text)  # type: ignore[misc]  # mypy wants no defaults
        terminal.send(Key.DOWN, Key.ESCAPE)
        terminal.wait_for("NORMAL")


def submit_plainly(terminal: Terminal, text: str) -> None:
    terminal.send(text)
    terminal.wait_for(f"> {text}"[:20])
    terminal.send(Key.ENTER)


def test_no_color_means_none(machine: Machine, server: OllamaServer) -> None:
    server.script("# It does.\n\n```python\ndef f(): return 'x'\n```\n")
    machine.variables["NO_COLOR"] = "1"
    with machine.terminal() as terminal:
        tour(terminal)
        leave(terminal)
        assert not colours(terminal.raw)
        told = {code for found in _RENDITIONS.finditer(terminal.raw) for code in found[1].split(b";")}
        assert told >= {b"1", b"2", b"7"}, "bold, dim and reverse tell things apart"


def test_with_colours_there_are_some(machine: Machine, server: OllamaServer) -> None:
    server.script("It does.")
    with machine.terminal() as terminal:
        ask(terminal, "Does it work?")
        terminal.wait_for("It does.")
        leave(terminal)
        assert colours(terminal.raw)
        assert MOUSE.search(terminal.raw)


def test_the_mouse_is_left_to_the_terminal(machine: Machine, server: OllamaServer) -> None:
    server.script("It does.")
    machine.home.mkdir(parents=True, mode=0o700)
    (machine.home / "config.yaml").write_text("ui: {mouse: false}\n")
    with machine.terminal() as terminal:
        tour(terminal)
        leave(terminal)
        assert not MOUSE.search(terminal.raw)


def test_a_terminal_that_is_not_utf8_gets_ascii(machine: Machine, server: OllamaServer) -> None:
    server.script("It does.")
    machine.variables["LC_ALL"] = "en_US.ISO-8859-1"
    with machine.terminal() as terminal:
        terminal.wait_for("> ")
        submit_plainly(terminal, "Does it work?")
        terminal.wait_for("It does.")
        terminal.send(Key.CTRL_S)
        terminal.wait_for(lambda shown: "Sessions" in shown.text and "NORMAL" not in shown.text)
        assert terminal.text.isascii(), {char for char in terminal.text if not char.isascii()}
        terminal.send(Key.ESCAPE)
        terminal.wait_for("NORMAL")
        submit_plainly(terminal, "/exit")
        assert terminal.wait_exit() == 0
