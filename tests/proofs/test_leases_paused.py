"""A holder that was stopped and wakes after another process took its session over writes nothing more."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from local_agent.store.store import Store
from tests.store.samples import VERSION, opening, settled
from tests.support.machine import Machine
from tests.support.ollama_server import OllamaServer, Turn, gate, say
from tests.support.terminal import Key, patience, until
from tests.terminal.steps import ask, assert_valid, conversation, drawn, submit

PROJECT = Path(__file__).parents[2]
CANCELLED_WITHIN = 2.0
"""Seconds from its waking to the end of the request that the old holder was streaming."""

Tell = Callable[[str], None]


@pytest.fixture
def machine(tmp_path: Path, server: OllamaServer) -> Machine:
    return Machine.make(tmp_path, server.url)


def entries(machine: Machine) -> list[tuple[str, str]]:
    """Text and status of all that was ever written, in its order."""
    return [(text, status) for text, status in machine.query("SELECT text, status FROM entries ORDER BY id")]


def until_cancelled(server: OllamaServer, woken: float) -> float:
    """Wait until the server sees its first request given up; seconds from the waking to that."""
    until(lambda: server.chats[0].disconnected is not None, what="the end of the old holder's request")
    ended = server.chats[0].disconnected
    assert ended is not None
    assert ended - woken < patience(CANCELLED_WITHIN)
    return ended - woken


async def test_a_prompt_that_was_paused_says_that_its_session_is_gone(
    machine: Machine, server: OllamaServer, proven: Tell
) -> None:
    server.script(Turn(say("before "), gate("more"), say("after "), gate("never")))
    command = [sys.executable, "-m", "local_agent", "-p", "Count", "--output", "jsonl"]
    with subprocess.Popen(  # noqa: ASYNC220  # it answers nobody but the scripted server, on its thread
        command,
        cwd=machine.workspace,
        env={"PYTHONPATH": os.fspath(PROJECT), **machine.environment},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as old:
        try:
            until(lambda: server.chats, what="the request")
            until(lambda: "before" in machine.open_replies(), what="the reply on disk")
            old.send_signal(signal.SIGSTOP)
            server.release("more")
            store = Store.open(machine.database, program_version=VERSION)
            ((handle,),) = machine.query("SELECT handle FROM sessions")
            held = await store.take_over(handle)
            turn = await held.begin(opening("And now?", held.info.head))
            woken = time.monotonic()
            old.send_signal(signal.SIGCONT)
            cancelled = until_cancelled(server, woken)
            output, errors = old.communicate(timeout=60)
            await held.settle(turn, settled("Mine."))
            await store.close()
        finally:
            old.kill()
    events = [json.loads(line) for line in output.splitlines()]
    (failure,) = [event for event in events if event["event"] == "turn_failed"]
    sentence = f"Session {handle} was taken over by process {os.getpid()}; nothing more is written here."
    assert (failure["kind"], failure["line"]) == ("lease_lost", sentence)
    assert failure["hint"].startswith(f"Take it back with: local-agent --resume {handle}")
    (aside,) = (machine.home / "unsaved").iterdir()
    assert "before after" in aside.read_text(), "what came too late for the session is the person's still"
    assert events[-1]["error"]["kind"] == "lease_lost"
    assert (old.returncode, "Traceback" in errors) == (1, False)
    assert entries(machine) == [
        ("Count", "settled"), ("before ", "interrupted"), ("And now?", "settled"), ("Mine.", "settled"),
    ]  # fmt: skip
    proven(f"leases: a paused -p that woke after a take-over gave its request up within {cancelled:.2f} s")


@pytest.mark.terminal
def test_a_screen_that_was_stopped_goes_on_and_ends_as_it_should(
    machine: Machine, server: OllamaServer
) -> None:
    server.script("Still here.")
    with machine.terminal() as terminal:
        terminal.wait_for(drawn)
        terminal.signal(signal.SIGSTOP)
        terminal.send("ab")
        terminal.signal(signal.SIGCONT)
        terminal.wait_for("❯ ab")
        terminal.send("c", Key.ENTER)
        terminal.wait_for("Still here.")
        terminal.send("/exit", Key.ENTER)
        assert terminal.wait_exit() == 0
        terminal.assert_restored()


@pytest.mark.slow
@pytest.mark.terminal
def test_a_paused_screen_becomes_the_mirror_of_the_one_that_took_over(
    machine: Machine, server: OllamaServer, proven: Tell
) -> None:
    server.script(
        "A first answer.",
        Turn(say("before "), gate("more"), say("after ", pause=0.05), gate("never")),
        "I have it now.",
        "And I keep it.",
        "Back again.",
    )
    with machine.terminal(size=(110, 30)) as old:
        ask(old, "First question")
        old.wait_for("A first answer.")
        submit(old, "Count")
        until(lambda: "before" in machine.open_replies(), what="the reply on disk")
        old.signal(signal.SIGSTOP)
        ((handle, terminal),) = machine.query("SELECT handle, terminal FROM sessions, leases")
        with machine.terminal("--resume", handle, size=(110, 30)) as new:
            process = f"Process {old.process.pid} on {terminal}"
            new.wait_for((f"{handle} is open elsewhere.", process, "❯ leave it there"))
            new.send("t")
            new.wait_for("Type 'take over'")
            new.send("take over", Key.ENTER)
            new.wait_for("interrupted")
            assert "before" in new.text
            # The server answers one at a time: this waits until the old one's request is given up.
            submit(new, "Whose is it?")
            server.release("more")
            woken = time.monotonic()
            old.signal(signal.SIGCONT)
            old.wait_for("READ-ONLY")
            sentence = f"Process {new.process.pid} has taken this session over: it is read-only here."
            old.wait_for(sentence)
            seen = time.monotonic() - woken
            cancelled = [chat.disconnected for chat in server.chats if chat.disconnected is not None]
            new.wait_for("I have it now.")
            old.wait_for("I have it now.")
            assert "after" not in old.text
            submit(new, "Still?")
            new.wait_for("And I keep it.")
            old.wait_for("And I keep it.")
            assert len(cancelled) == 1
            new.send("/exit", Key.ENTER)
            assert new.wait_exit() == 0
        old.wait_for(f"Process {new.process.pid} no longer holds this session")
        submit(old, "Mine again?")
        old.wait_for("Back again.")
        old.wait_for(lambda shown: "READ-ONLY" not in shown.text)
        old.send("/exit", Key.ENTER)
        assert old.wait_exit() == 0, "nothing that the stop left behind keeps it"
        old.assert_restored()
    said = conversation(server.chats[-1])
    assert_valid(said)
    # What the program added to a question stands before it.
    assert [text.rpartition("\n\n")[2] for _, text in said] == [
        "First question", "A first answer.", "Count", "before ", "Whose is it?", "I have it now.",
        "Still?", "And I keep it.", "Mine again?",
    ]  # fmt: skip
    assert [text for text, _ in entries(machine)] == [
        *(text.rpartition("\n\n")[2] for _, text in said), "Back again.",
    ]  # fmt: skip
    proven(f"leases: a paused screen was the mirror of the new holder {seen:.2f} s after its waking")
