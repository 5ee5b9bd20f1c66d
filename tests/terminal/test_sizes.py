"""A terminal that is too small, and one whose size changes under the program."""

from __future__ import annotations

import pytest

from tests.support.machine import Machine
from tests.support.ollama_server import OllamaServer, Turn, gate, say
from tests.support.terminal import Key
from tests.terminal.steps import LEAVING_LIMIT, ask, leave

pytestmark = pytest.mark.terminal

SMALLEST = (30, 12)


@pytest.mark.parametrize("size", [(29, 12), (30, 11), (10, 3)])
def test_too_small_says_so_and_takes_no_keys(size: tuple[int, int], machine: Machine) -> None:
    with machine.terminal(size=size) as terminal:
        terminal.wait_for("Please")
        terminal.send("unseen")
        terminal.resize(80, 24)
        terminal.wait_for("llama3.2:3b")
        assert "unseen" not in terminal.text
        terminal.send("seen")
        terminal.wait_for("seen")
        terminal.resize(*size)
        terminal.wait_for(lambda shown: "llama3.2:3b" not in shown.text and "Please" in shown.text)
        terminal.send(Key.CTRL_C)
        terminal.send(Key.CTRL_C, Key.CTRL_C)
        assert terminal.wait_exit(LEAVING_LIMIT) == 0
        terminal.assert_restored()


def test_the_smallest_size_is_enough(machine: Machine, server: OllamaServer) -> None:
    server.script("It fits.")
    with machine.terminal(size=SMALLEST) as terminal:
        ask(terminal, "Does it fit?")
        terminal.wait_for("It fits.")
        leave(terminal)


def test_resized_in_the_middle_of_a_reply(machine: Machine, server: OllamaServer) -> None:
    before, after = "words that came before " * 6, "words that came after " * 6
    server.script(Turn(say(before), gate("resized"), say(after)))
    with machine.terminal(size=(120, 36)) as terminal:
        ask(terminal, "A long one, please")
        terminal.wait_for("came before")
        for size in ((40, 20), (29, 8), (100, 30)):
            terminal.resize(*size)
        server.release("resized")
        terminal.wait_for("came after")
        assert "A long one, please" in terminal.text
        leave(terminal)


def test_the_last_of_a_burst_of_sizes_counts(machine: Machine) -> None:
    with machine.terminal(size=(120, 36)) as terminal:
        terminal.wait_for("llama3.2:3b")
        for _ in range(20):
            for _ in range(20):
                terminal.resize(29, 8)
                terminal.resize(100, 30)
            terminal.wait_for(lambda shown: "llama3.2:3b" in shown.text and "Please" not in shown.text)
        leave(terminal)
