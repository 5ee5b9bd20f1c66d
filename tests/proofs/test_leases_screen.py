"""A second program on a session that another holds: what it is told, what it may choose, what it sees."""

from __future__ import annotations

import signal
import time
from collections.abc import Callable, Iterator
from datetime import datetime
from pathlib import Path

import pytest

from tests.store.other_process import OtherProcess
from tests.support.machine import Machine
from tests.support.ollama_server import OllamaServer, Turn, gate, say
from tests.support.terminal import Key, Terminal, patience
from tests.terminal.steps import ask, conversation, leave, submit

pytestmark = pytest.mark.terminal

MODEL = "llama3.2:3b"
SIZE = (110, 30)
SEEN_WITHIN = 1.0
"""Seconds from the moment that text is on disk to its being on the other screen."""

Tell = Callable[[str], None]


@pytest.fixture
def machine(tmp_path: Path, server: OllamaServer) -> Machine:
    return Machine.make(tmp_path, server.url)


@pytest.fixture
def holder(machine: Machine) -> Iterator[OtherProcess]:
    """Another process that has answered one question and is in the middle of the next answer."""
    with OtherProcess(machine.database) as process:
        process.tell("create", "First question", str(machine.workspace))
        process.tell("settle", "A first answer.")
        process.tell("begin", "Second question")
        process.tell("keep", "Half an ans")
        yield process


def handle_of(machine: Machine) -> str:
    ((handle,),) = machine.query("SELECT handle FROM sessions")
    return str(handle)


def opened(machine: Machine, handle: str) -> Terminal:
    return machine.terminal("--model", MODEL, "--resume", handle, size=SIZE)


def wait_for_dialog(terminal: Terminal, machine: Machine, handle: str) -> None:
    """The dialog names the holder and offers what can be done."""
    ((pid, place, since),) = machine.query("SELECT pid, terminal, since FROM leases")
    where = f" on {place}" if place else ""
    clock = datetime.fromisoformat(since).astimezone().strftime("%H:%M")
    holder = f"Process {pid}{where}", f"has held it since {clock}"
    choices = "❯ leave it there", "read along", "fork it", "take it over"
    terminal.wait_for((f"{handle} is open elsewhere.", *holder, *choices))


def seconds_until(terminal: Terminal, text: str) -> float:
    started = time.monotonic()
    terminal.wait_for(text)
    return time.monotonic() - started


def test_a_second_screen_reads_along(
    machine: Machine, server: OllamaServer, holder: OtherProcess, proven: Tell
) -> None:
    handle = handle_of(machine)
    waits = []
    with opened(machine, handle) as terminal:
        wait_for_dialog(terminal, machine, handle)
        terminal.send("r")
        terminal.wait_for("READ-ONLY")
        terminal.wait_for("Half an ans")
        for number in range(3):
            holder.tell("keep", f"Half an answer, {number}")
            waits.append(seconds_until(terminal, f"Half an answer, {number}"))
        assert "interrupted" not in terminal.text
        holder.tell("settle", "A second answer.")
        waits.append(seconds_until(terminal, "A second answer."))
        holder.tell("begin", "Third question")
        waits.append(seconds_until(terminal, "Third question"))
        holder.tell("keep", "Never fini")
        terminal.wait_for("Never fini")
        holder.die()
        waits.append(
            seconds_until(
                terminal,
                f"Process {holder.process.pid} no longer holds this session: "
                "send a prompt to go on with it here.",
            )
        )
        assert "Never fini" in terminal.text
        server.script("It is mine now.")
        submit(terminal, "Fourth question")
        terminal.wait_for("interrupted")
        terminal.wait_for("It is mine now.")
        terminal.wait_for(lambda shown: "READ-ONLY" not in shown.text)
        leave(terminal)
    assert max(waits) < patience(SEEN_WITHIN)
    proven(f"leases: {len(waits)} steps of a writer were in the mirror within {max(waits):.2f} s")


def cancel(terminal: Terminal, server: OllamaServer, holder: OtherProcess) -> None:
    terminal.send(Key.ESCAPE)
    terminal.wait_for(lambda shown: "leave it there" not in shown.text)
    server.script("Somewhere else.")
    submit(terminal, "Then this")
    terminal.wait_for("Somewhere else.")
    assert "First question" not in terminal.text
    assert holder.tell("keep", "Half an answer") == {}


def fork(terminal: Terminal, server: OllamaServer, holder: OtherProcess) -> None:
    terminal.send("f")
    terminal.wait_for("A first answer.")
    server.script("On the fork.")
    submit(terminal, "Another second question")
    terminal.wait_for("On the fork.")
    assert "Half an ans" not in terminal.text
    assert holder.tell("settle", "A second answer.") == {}


def take_over(terminal: Terminal, server: OllamaServer, holder: OtherProcess) -> None:
    terminal.send("t")
    terminal.wait_for("Type 'take over'")
    terminal.send("take it", Key.ENTER)
    terminal.wait_for("Nothing was changed.")
    assert holder.tell("keep", "Half an answer") == {}
    terminal.send("take over", Key.ENTER)
    terminal.wait_for("interrupted")
    assert "Half an answer" in terminal.text
    assert holder.tell("keep", "Half an answer, and more")["error"] == "LeaseLost"
    server.script("I have it.")
    submit(terminal, "Third question")
    terminal.wait_for("I have it.")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("choose", "answers"),
    [
        (cancel, [(1, "A first answer."), (2, "Somewhere else.")]),
        (fork, [(1, "A first answer."), (2, "On the fork."), (1, "A second answer.")]),
        (take_over, [(1, "A first answer."), (1, "Half an answer"), (1, "I have it.")]),
    ],
)
def test_each_choice_works(
    choose: Callable[[Terminal, OllamaServer, OtherProcess], None],
    answers: list[tuple[int, str]],
    machine: Machine,
    server: OllamaServer,
    holder: OtherProcess,
) -> None:
    handle = handle_of(machine)
    with opened(machine, handle) as terminal:
        wait_for_dialog(terminal, machine, handle)
        choose(terminal, server, holder)
        leave(terminal)
    # Who wrote what: the one that had the session, and the one that opened another.
    assert machine.query("SELECT session_id, text FROM entries WHERE kind = 'assistant'") == answers


@pytest.mark.slow
def test_a_screen_mirrors_another_one_that_is_killed(
    machine: Machine, server: OllamaServer, proven: Tell
) -> None:
    words = [f"word{number}" for number in range(12)]
    steps = [step for word in words for step in (gate(word), say(f"{word} "))]
    server.script("A first answer.", Turn(say("Here: "), *steps, gate("never")), "It is mine now.")
    waits = []
    with machine.terminal(size=SIZE) as writer:
        ask(writer, "First question")
        writer.wait_for("A first answer.")
        with opened(machine, handle_of(machine)) as reader:
            wait_for_dialog(reader, machine, handle_of(machine))
            reader.send("r")
            reader.wait_for("READ-ONLY")
            submit(writer, "Count")
            reader.wait_for("Here:")
            for word in words:
                server.release(word)
                writer.wait_for(word)
                waits.append(seconds_until(reader, word))
            writer.signal(signal.SIGKILL)
            writer.wait_exit()
            reader.wait_for(f"Process {writer.process.pid} no longer holds this session")
            assert words[-1] in reader.text
            submit(reader, "And now?")
            reader.wait_for("It is mine now.")
            leave(reader)
    # What the program added to a question stands before it.
    assert [text.rpartition("\n\n")[2] for _, text in conversation(server.chats[-1])] == [
        "First question", "A first answer.", "Count", f"Here: {' '.join(words)} ", "And now?",
    ]  # fmt: skip
    # A reply is saved every quarter of a second, and the mirror looks every half.
    assert max(waits) < patience(SEEN_WITHIN)
    proven(f"leases: {len(waits)} words of a streaming screen were in the mirror within {max(waits):.2f} s")
