"""What was sent or queued but has not begun comes back after a kill: once, and never beside its question."""

from __future__ import annotations

import random
import signal
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.support.machine import Machine
from tests.support.ollama_server import Fault, OllamaServer, Turn, gate, say
from tests.support.terminal import Key, Terminal, until
from tests.terminal.steps import LEAVING_LIMIT, ask, submit

pytestmark = pytest.mark.terminal
Proven = Callable[[str], None]

FIRST = "alpha question"
QUEUED = ["bravo question", "charlie question", "delta question"]


@pytest.fixture
def machine(tmp_path: Path, server: OllamaServer) -> Machine:
    return Machine.make(tmp_path, server.url)


def stored(machine: Machine, prompt: str) -> list[str]:
    """Where a prompt is on disk, whole or in part, as often as it is there."""
    if not machine.database.exists() or not machine.query(
        "SELECT 1 FROM sqlite_master WHERE name = 'drafts'"
    ):
        return []
    word = prompt.split()[0]
    asked = machine.query("SELECT text FROM entries WHERE kind = 'question'")
    drafts = machine.query("SELECT text || char(10) || queue FROM drafts")
    found = ["asked" for (text,) in asked if word in text]
    return found + ["unsent" for (text,) in drafts for _ in range(text.count(word))]


def kill(terminal: Terminal) -> None:
    terminal.signal(signal.SIGKILL)
    terminal.wait_exit(LEAVING_LIMIT)


def send_and_queue(machine: Machine, server: OllamaServer, terminal: Terminal) -> None:
    """Ask the first question and queue the others behind it, until all are on disk; then let it settle."""
    server.script(Turn(say("Half an answer"), gate("end")), "Two.", "Three.", "Four.")
    ask(terminal, FIRST)
    terminal.wait_for("Half an answer")
    for prompt in QUEUED:
        submit(terminal, prompt)
        terminal.wait_for(f"next  {prompt}")
    # As text it may be there before Enter is.
    queues = "SELECT queue FROM drafts"
    until(lambda: any(QUEUED[-1] in text for (text,) in machine.query(queues)), what="the queue on disk")
    server.release("end")


def assert_once(machine: Machine, *prompts: str) -> None:
    """Each is on disk exactly once, as a question or as unsent work."""
    found = {prompt: stored(machine, prompt) for prompt in prompts}
    assert all(len(places) == 1 for places in found.values()), found


def test_a_first_question_survives_while_the_server_does_not_answer(
    machine: Machine, server: OllamaServer
) -> None:
    server.fault(*[Fault("accept_and_hang", path=None)] * 20)
    with machine.terminal() as terminal:
        ask(terminal, FIRST)
        terminal.wait_for("❯ Ask anything")
        terminal.wait_for(f"▌ {FIRST}")
        terminal.send("and then")
        until(lambda: stored(machine, "and then") == ["unsent"], what="what was typed after it")
        kill(terminal)
    assert stored(machine, FIRST) == ["unsent"]
    server.reset()
    server.script("Here I am.")
    with machine.terminal() as terminal:
        terminal.wait_for(f"held  {FIRST}")
        terminal.wait_for("❯ and then")
        terminal.send(Key.CTRL_C)
        terminal.wait_for("❯ Ask anything")
        terminal.send(Key.UP)
        terminal.wait_for(f"❯ {FIRST}")
        terminal.send(Key.ENTER)
        terminal.wait_for("Here I am.")
        kill(terminal)
    assert stored(machine, FIRST) == ["asked"]


@pytest.mark.slow
@pytest.mark.parametrize("side", ["before-commit", "after-commit"])
def test_the_session_and_the_end_of_its_draft_are_one(
    machine: Machine, server: OllamaServer, proven: Proven, side: str
) -> None:
    server.fault(*[Fault("slow_headers", path=None, seconds=1.0)] * 20)
    machine.variables["LOCAL_AGENT_CRASH_AT"] = f"session.create:{side}"
    with machine.terminal() as terminal:
        ask(terminal, FIRST)
        assert terminal.wait_exit() == -signal.SIGKILL
    assert stored(machine, FIRST) == ["asked" if side == "after-commit" else "unsent"]
    proven(f"killed at session.create:{side}: the question is kept once")


@pytest.mark.slow
@pytest.mark.parametrize("visit", [1, 2, 3])
@pytest.mark.parametrize("side", ["before-commit", "after-commit"])
def test_a_queued_prompt_is_asked_or_unsent(
    machine: Machine, server: OllamaServer, proven: Proven, side: str, visit: int
) -> None:
    machine.variables["LOCAL_AGENT_CRASH_AT"] = f"turn.begin:{side}:{visit}"
    with machine.terminal() as terminal:
        send_and_queue(machine, server, terminal)
        assert terminal.wait_exit() == -signal.SIGKILL
    assert_once(machine, FIRST, *QUEUED)
    begun = visit if side == "after-commit" else visit - 1
    assert [stored(machine, prompt)[0] for prompt in QUEUED].count("asked") == begun
    proven(f"killed at turn.begin:{side}:{visit}: four prompts kept once each")


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(6))
def test_a_queue_comes_back_as_held_prompts(
    machine: Machine, server: OllamaServer, proven: Proven, seed: int
) -> None:
    with machine.terminal() as terminal:
        send_and_queue(machine, server, terminal)
        time.sleep(random.Random(seed).uniform(0, 0.5))
        kill(terminal)
    assert_once(machine, FIRST, *QUEUED)
    unsent = [prompt for prompt in QUEUED if stored(machine, prompt) == ["unsent"]]
    with machine.terminal("--resume", "latest") as terminal:
        terminal.wait_for("Half an answer")
        for prompt in unsent:
            terminal.wait_for(f"held  {prompt}")
    assert_once(machine, FIRST, *QUEUED)
    proven(f"killed behind a queue, seed {seed}: {len(unsent)} of 3 came back as held, the others were asked")
