"""The pseudo-terminal driver itself, against programs small enough to be sure of."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.support.emulator import Emulator
from tests.support.terminal import Key, Terminal

pytestmark = pytest.mark.terminal

APP = """
from textual.app import App
from textual.widgets import Input, Label

class Small(App):
    def compose(self):
        yield Input()
        yield Label("ready")
    def on_input_changed(self, event):
        self.query_one(Label).update("seen " + event.value)
    def on_input_submitted(self):
        self.exit()
    def on_resize(self, event):
        self.query_one(Label).update(f"{event.size.width}x{event.size.height}")

Small().run()
print("left")
"""


def run(source: str, folder: Path, size: tuple[int, int] = (80, 24)) -> Terminal:
    program: Sequence[str] = (sys.executable, "-c", source)
    return Terminal(env={"PATH": os.environ["PATH"]}, cwd=folder, size=size, program=program)


def test_types_reads_and_leaves(tmp_path: Path) -> None:
    with run(APP, tmp_path) as terminal:
        terminal.wait_for("80x24")
        terminal.send("hello")
        terminal.wait_for("seen hello")
        terminal.resize(60, 20)
        terminal.wait_for("60x20")
        terminal.send(Key.ENTER)
        assert terminal.wait_exit() == 0
        terminal.assert_restored()
        assert terminal.lines[0] == "left"


def test_sees_a_terminal_left_in_disorder(tmp_path: Path) -> None:
    with run(APP, tmp_path) as terminal:
        terminal.wait_for("80x24")
        terminal.signal(signal.SIGKILL)
        assert terminal.wait_exit() == -signal.SIGKILL
        with pytest.raises(AssertionError, match="terminal modes left changed"):
            terminal.assert_restored()


def test_sees_echo_left_off(tmp_path: Path) -> None:
    with run("import tty; tty.setraw(0)", tmp_path) as terminal:
        terminal.wait_exit()
        with pytest.raises(AssertionError, match="line discipline"):
            terminal.assert_restored()


def test_sees_a_child_left_behind(tmp_path: Path) -> None:
    # In a process group of its own: the kernel hangs up only the foreground one when the leader exits.
    source = "import subprocess; subprocess.Popen(['sleep', '60'], process_group=0)"
    with run(source, tmp_path) as terminal:
        terminal.wait_exit()
        with pytest.raises(AssertionError, match="processes left behind"):
            terminal.assert_restored()


def test_a_closed_window_hangs_the_program_up(tmp_path: Path) -> None:
    # Not input(): a read may fail before the signal comes.
    with run("import signal; print('up', flush=True); signal.pause()", tmp_path) as terminal:
        terminal.wait_for("up")
        terminal.hangup()
        assert terminal.wait_exit() == -signal.SIGHUP


def test_a_wait_that_fails_shows_the_screen(tmp_path: Path) -> None:
    with run("print('something else', flush=True); input()", tmp_path) as terminal:
        terminal.wait_for("something else")
        with pytest.raises(AssertionError, match="something else"):
            terminal.wait_for("never", timeout=0.1)


def test_sequences_cut_anywhere_are_understood() -> None:
    data = b"plain\x1b[?1049h\x1b[>1u\x1b[2;3Hfull\x1b]52;c;aGk=\x07\x1bP1$r\x1b\\\x1b[<u\x1b[?1049l"
    whole, cut = Emulator(20, 4), Emulator(20, 4)
    whole.feed(data)
    for byte in data:
        cut.feed(bytes([byte]))
    for shown in (whole, cut):
        assert shown.text == "plain"
        assert shown.clipboard == [b"aGk="]
        assert shown.keyboard_depth == 0
        assert not shown.alternate
