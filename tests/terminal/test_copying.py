"""Copying in a real terminal: the bytes that reach it, alone, in tmux and in GNU screen."""

from __future__ import annotations

import base64
import re
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from tests.support.machine import Machine
from tests.support.ollama_server import OllamaServer
from tests.support.terminal import Key, Terminal, until
from tests.terminal.steps import ask, leave, submit

pytestmark = pytest.mark.terminal

CODE = "all:\n\tmake it  "
ANSWER = f"So:\n\n```make\n{CODE}\n```"


def osc52(text: str) -> bytes:
    """The sequence that sets the clipboard of a terminal."""
    return b"\x1b]52;c;" + base64.b64encode(text.encode()) + b"\x07"


def in_screen(raw: bytes) -> bytes:
    """What GNU screen hands on of what it is sent."""
    return b"".join(re.findall(rb"\x1bP(?!tmux;)(.*?)\x1b\\", raw, re.DOTALL))


def copied(terminal: Terminal) -> None:
    """Ask, and copy the answer, then its code out of the focused reply."""
    ask(terminal, "how?")
    terminal.wait_for("make it")
    terminal.send("\x1bc")
    until(lambda: osc52(ANSWER) in terminal.raw)
    terminal.send("\t")
    terminal.wait_for("copy c")
    terminal.send("c")
    until(lambda: osc52(CODE) in terminal.raw)


def back_and_leave(terminal: Terminal) -> None:
    """From the reply back to the prompt, and out."""
    terminal.send(Key.ESCAPE)
    terminal.wait_for(lambda shown: "copy c" not in shown.text)
    leave(terminal)


@pytest.mark.parametrize("inside", ["nothing", "tmux", "screen"])
def test_the_terminal_is_sent_what_was_written(machine: Machine, server: OllamaServer, inside: str) -> None:
    server.script(ANSWER)
    machine.variables |= {"tmux": {"TMUX": "/tmp/tmux/default,1,0"}, "screen": {"STY": "1.pts"}}.get(
        inside, {}
    )
    with machine.terminal() as terminal:
        copied(terminal)
        wrapped = {
            "nothing": lambda: osc52(CODE) in terminal.raw,
            "tmux": lambda: b"\x1bPtmux;\x1b" + osc52(CODE) + b"\x1b\\" in terminal.raw,
            "screen": lambda: osc52(ANSWER) + osc52(CODE) in in_screen(terminal.raw),
        }[inside]
        until(wrapped)
        if inside == "nothing":
            assert b"\x1bP" not in terminal.raw
        back_and_leave(terminal)


@contextmanager
def tmux_socket() -> Iterator[str]:
    """Where a tmux of our own listens, which is gone in the end; a path of at most 107 bytes."""
    with TemporaryDirectory(prefix="la-") as folder:
        try:
            yield f"{folder}/s"
        finally:
            subprocess.run(["tmux", "-S", f"{folder}/s", "kill-server"], capture_output=True)


@pytest.mark.skipif(shutil.which("tmux") is None, reason="tmux is not installed")
def test_a_tmux_as_it_comes_hands_it_on(machine: Machine, server: OllamaServer) -> None:
    server.script(ANSWER)
    with (
        tmux_socket() as socket,
        machine.terminal(shell=f"tmux -S {socket} -f /dev/null new-session local-agent") as terminal,
    ):
        ask(terminal, "how?")
        terminal.wait_for("make it")
        terminal.send("\x1bc")
        until(lambda: base64.b64encode(ANSWER.encode()) in terminal.clipboard)
        submit(terminal, "/exit")
        assert terminal.wait_exit() == 0


def test_a_tool_of_the_desktop_gets_it_unless_the_person_sits_elsewhere(
    machine: Machine, server: OllamaServer, tmp_path: Path
) -> None:
    tool = tmp_path / "tools" / "xclip"
    tool.parent.mkdir()
    # Like the real one it goes on in the background, with whatever it was given as its output.
    tool.write_text(f'#!/bin/sh\ncat > {tmp_path}/"$$" && mv {tmp_path}/"$$" {tmp_path}/taken\nsleep 3 &\n')
    tool.chmod(0o755)
    machine.variables |= {"DISPLAY": ":7", "PATH": f"{tool.parent}:{machine.environment['PATH']}"}
    server.script(ANSWER)
    with machine.terminal() as terminal:
        copied(terminal)
        until(lambda: (tmp_path / "taken").exists() and (tmp_path / "taken").read_text() == CODE)
        back_and_leave(terminal)
