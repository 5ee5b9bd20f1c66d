"""What is said on the terminal once the screen is gone."""

from __future__ import annotations

import json
import os
import re
import sys
from pathlib import Path

import pytest

from local_agent.cli.screen import exit_message
from tests.cli.program import run
from tests.support.ollama_server import OllamaServer
from tests.support.terminal import Key, Terminal

pytestmark = pytest.mark.terminal


def test_the_exit_message_is_three_lines() -> None:
    assert exit_message("a1b2c3d", "Polish transcript UX") == (
        "Session a1b2c3d · Polish transcript UX\nResume this session with:\n  local-agent --resume a1b2c3d\n"
    )
    assert exit_message("a1b2c3d", "a\nb\x1b[31m").splitlines()[0] == "Session a1b2c3d · a b␛[31m"


def test_leaving_a_conversation_says_how_to_come_back(
    home: Path, project: Path, server: OllamaServer
) -> None:
    server.script("Hello there.")
    with Terminal(cwd=project, env=os.environ) as terminal:
        terminal.wait_for("❯")
        terminal.wait_for("llama3.2:3b")
        terminal.send("hi you")
        terminal.wait_for("❯ hi you")
        terminal.send(Key.ENTER)
        terminal.wait_for("Hello there.")
        terminal.wait_for(lambda shown: re.search(r"[0-9a-f]{7} · hi you", shown.text) is not None)
        terminal.send(Key.CTRL_Q)
        assert terminal.wait_exit() == 0
        after = terminal.raw.rpartition(b"\x1b[?1049l")[2].decode()
    (listed,) = json.loads(run("session", "list", "--json", cwd=project).out)
    assert after.endswith(exit_message(listed["handle"], "hi you").replace("\n", "\r\n"))


@pytest.mark.parametrize("arguments", [(), ("--no-save",)])
def test_leaving_without_a_session_says_nothing(
    home: Path, project: Path, server: OllamaServer, arguments: tuple[str, ...]
) -> None:
    with Terminal(arguments, cwd=project, env=os.environ) as terminal:
        terminal.wait_for("llama3.2:3b")
        terminal.send(Key.CTRL_Q)
        assert terminal.wait_exit() == 0
        assert b"Session" not in terminal.raw.rpartition(b"\x1b[?1049l")[2]


def test_a_refusal_comes_before_any_screen(home: Path, project: Path) -> None:
    with Terminal(["--resume", "latest"], cwd=project, env=os.environ) as terminal:
        assert terminal.wait_exit() == 1
        assert terminal.raw.decode().strip() == (
            "local-agent: No session was saved in this folder yet. Start one with: local-agent"
        )


def test_a_terminal_that_cannot_draw_is_one_line(home: Path, project: Path) -> None:
    script = f"TERM=dumb exec {sys.executable} -m local_agent"
    with Terminal(["-c", script], cwd=project, env=os.environ, program=["/bin/sh"]) as terminal:
        assert terminal.wait_exit() == 2
        assert "This terminal can't show a screen" in terminal.text


def test_a_screen_without_a_keyboard_is_one_line(home: Path, project: Path) -> None:
    script = f"exec {sys.executable} -m local_agent </dev/null"
    with Terminal(["-c", script], cwd=project, env=os.environ, program=["/bin/sh"]) as terminal:
        assert terminal.wait_exit() == 2
        assert "The screen needs a terminal for input and output." in terminal.text.replace("\n", " ")
