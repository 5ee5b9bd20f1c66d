"""A person who looks elsewhere is called back, and nothing of the conversation is in the call."""

from __future__ import annotations

import re
import sys

import pytest

from tests.support.machine import Machine
from tests.support.ollama_server import OllamaServer, Turn, error, gate, say
from tests.support.terminal import Key, Terminal
from tests.terminal.steps import ask, leave, submit

pytestmark = pytest.mark.terminal

BLUR, FOCUS = "\x1b[O", "\x1b[I"
_TOLD = re.compile(rb"\x1b\][^\x07\x1b]*\x07")
"""What is said to the terminal and not rung, though it ends with the same character."""


def bells(raw: bytes) -> int:
    """How often it rang."""
    return _TOLD.sub(b"", bytes(raw)).count(b"\a")


def program(machine: Machine, long_seconds: float, **environment: str) -> Terminal:
    """The program, to which a turn of so many seconds is a long one."""
    code = (
        "import sys, local_agent.tui.device.attention as attention\n"
        f"attention.LEAST_SECONDS = {long_seconds}\n"
        "from local_agent.cli.root import main\n"
        "sys.exit(main())"
    )
    return Terminal(
        env={**machine.environment, **environment},
        cwd=machine.workspace,
        program=(sys.executable, "-c", code),
    )


def test_a_long_turn_and_a_failed_one_ring_while_nobody_looks(machine: Machine, server: OllamaServer) -> None:
    server.script(Turn(say("It took "), gate("later"), say("a while.")))
    server.script("Seen at once.")
    server.script(Turn(say("Half of "), gate("broken"), error("out of memory")))
    with program(machine, 0.0) as terminal:
        ask(terminal, "Slow?")
        terminal.wait_for("It took")
        assert not bells(terminal.raw)
        terminal.send(BLUR)
        server.release("later")
        terminal.wait_for(lambda shown: bells(shown.raw) == 1)
        terminal.send(FOCUS)
        submit(terminal, "Quick?")
        terminal.wait_for("Seen at once.")
        assert bells(terminal.raw) == 1
        submit(terminal, "Again?")
        terminal.wait_for("Half of")
        terminal.send(BLUR)
        server.release("broken")
        terminal.wait_for(lambda shown: bells(shown.raw) == 2)
        leave(terminal)


def test_a_notification_says_nothing_of_the_conversation(machine: Machine, server: OllamaServer) -> None:
    server.script(Turn(say("Secret "), gate("later"), say("words.")))
    with program(machine, 0.0, TERM_PROGRAM="iTerm.app") as terminal:
        ask(terminal, "Hidden?")
        terminal.wait_for("Secret")
        terminal.send(BLUR)
        server.release("later")
        terminal.wait_for_bytes(b"\x1b]9;local-agent: the answer is there\x07")
        leave(terminal)


def test_a_short_turn_rings_no_bell(machine: Machine, server: OllamaServer) -> None:
    server.script(Turn(say("One "), gate("later"), say("moment.")))
    with program(machine, 60.0) as terminal:
        ask(terminal, "Quick?")
        terminal.wait_for("One")
        terminal.send(BLUR)
        server.release("later")
        terminal.wait_for("moment.")
        leave(terminal)
        assert not bells(terminal.raw)


def test_a_question_rings_whatever_the_time(machine: Machine, server: OllamaServer) -> None:
    server.script(Turn(say("Still "), gate("later"), say("writing.")))
    with program(machine, 60.0) as terminal:
        ask(terminal, "Slow?")
        terminal.wait_for("Still")
        submit(terminal, "/new")
        terminal.wait_for("❯ let it run")
        assert not bells(terminal.raw)
        terminal.send(Key.ESCAPE)
        terminal.wait_for(lambda shown: "let it run" not in shown.text)
        terminal.send("/new", Key.ENTER, BLUR)
        terminal.wait_for(lambda shown: bells(shown.raw) == 1 and "❯ let it run" in shown.text)
        terminal.send(FOCUS, Key.ESCAPE)
        terminal.wait_for(lambda shown: "let it run" not in shown.text)
        server.release("later")
        terminal.wait_for("writing.")
        leave(terminal)
