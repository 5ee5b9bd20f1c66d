"""The real small model on the screen: asked for, offered when no server is there, and come back to."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from local_agent.llm.demo import MODEL_FILE
from tests.support.emulator import Emulator
from tests.support.machine import Machine
from tests.support.model import model_cache, small_model
from tests.support.ollama_server import free_port
from tests.support.terminal import Key, Terminal
from tests.terminal.steps import drawn, farewell

pytestmark = [pytest.mark.terminal, pytest.mark.engine]

PATIENCE = 60.0
"""Seconds for a real answer on a machine that may be busy."""


@pytest.fixture
def alone(tmp_path: Path) -> Machine:
    """A machine without an Ollama, on which the demo model was fetched before."""
    small_model()
    machine = Machine.make(tmp_path, f"127.0.0.1:{free_port()}")
    cache = machine.person / ".cache" / "local-agent"
    cache.mkdir(parents=True)
    for fetched in model_cache().glob(f"{MODEL_FILE}*"):
        shutil.copy2(fetched, cache / fetched.name)
    machine.home.mkdir(parents=True)
    (machine.home / "config.yaml").write_text("embedded: {threads: 1}\nmodel: {max_output: 24}\n")
    return machine


def settled(shown: Emulator, answers: int = 1) -> bool:
    """A receipt stands under each answer, and nothing runs."""
    return shown.text.count("tok/s") == answers and "enter send" in shown.text


def ask_and_leave(terminal: Terminal) -> str:
    terminal.send("Name one colour.", Key.ENTER)
    terminal.wait_for(settled, PATIENCE)
    terminal.send("/exit", Key.ENTER)
    assert terminal.wait_exit() == 0
    return farewell(terminal)["command"]


def test_the_demo_model_answers_and_comes_back(alone: Machine) -> None:
    with alone.terminal("--demo") as terminal:
        terminal.wait_for("SmolLM2")
        resume = ask_and_leave(terminal)
    handle = resume.split()[-1]
    before = alone.json("session", "show", handle, "--json")["messages"]
    assert before[-1]["role"] == "assistant" and before[-1]["content"].strip()
    with alone.terminal(shell=resume) as terminal:
        terminal.wait_for("Name one colour.")
        terminal.wait_for("SmolLM2")
        terminal.send("And another?", Key.ENTER)
        terminal.wait_for(lambda shown: settled(shown, answers=2), PATIENCE)
        terminal.send("/exit", Key.ENTER)
        assert terminal.wait_exit() == 0
    after = alone.json("session", "show", handle, "--json")["messages"]
    assert after[: len(before)] == before and len(after) == len(before) + 2


def test_without_a_server_the_demo_is_one_key_away(alone: Machine) -> None:
    with alone.terminal() as terminal:
        terminal.wait_for(drawn)
        terminal.wait_for("ollama serve")
        terminal.send(Key.F3)
        # The screen that fetches it names it, too, and takes what is typed there.
        terminal.wait_for(("SmolLM2", "in this process"), PATIENCE)
        ask_and_leave(terminal)


def test_a_session_whose_model_file_is_gone_can_be_read(alone: Machine) -> None:
    gguf = alone.person / "small.gguf"
    shutil.copy2(model_cache() / MODEL_FILE, gguf)
    with alone.terminal("--gguf", str(gguf)) as terminal:
        terminal.wait_for("small")
        resume = ask_and_leave(terminal)
    gguf.unlink()
    with alone.terminal(shell=resume, size=(120, 30)) as terminal:
        terminal.wait_for("Name one colour.")
        terminal.send("Still there?", Key.ENTER)
        terminal.wait_for("is gone")
        terminal.send("/exit", Key.ENTER)
        assert terminal.wait_exit() == 0
