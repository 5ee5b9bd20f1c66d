"""However a reply is cut short: what was settled and what had arrived is kept, and the terminal is whole."""

from __future__ import annotations

import signal
import time
from collections.abc import Callable

import pytest

from tests.support.machine import Machine
from tests.support.ollama_server import Fault, OllamaServer, Turn, gate, say
from tests.support.terminal import Key, Terminal, until
from tests.terminal.steps import (
    LEAVING_LIMIT,
    ask,
    assert_valid,
    conversation,
    drawn,
    farewell,
    leave,
    submit,
)

pytestmark = pytest.mark.terminal

SETTLED = "This one came to its end."
PARTIAL = "This one had only begun"
LOST_AT_MOST = 0.5
"""Seconds of streamed text that a kill may cost."""

End = Callable[[Terminal], int]


def terminated(terminal: Terminal) -> int:
    terminal.signal(signal.SIGTERM)
    return terminal.wait_exit(LEAVING_LIMIT)


def hung_up(terminal: Terminal) -> int:
    terminal.signal(signal.SIGHUP)
    return terminal.wait_exit(LEAVING_LIMIT)


def window_closed(terminal: Terminal) -> int:
    terminal.hangup()
    return terminal.wait_exit(LEAVING_LIMIT)


def quit_by_key(terminal: Terminal) -> int:
    terminal.send(Key.CTRL_Q)
    return terminal.wait_exit(LEAVING_LIMIT)


def stopped_then_left(terminal: Terminal) -> int:
    terminal.send(Key.CTRL_C)
    terminal.wait_for("interrupted")
    terminal.send(Key.CTRL_C, Key.CTRL_C)
    return terminal.wait_exit(LEAVING_LIMIT)


def escaped_then_left(terminal: Terminal) -> int:
    terminal.send(Key.ESCAPE)
    terminal.wait_for("interrupted")
    leave(terminal)
    return 0


def escaped_twice_then_left(terminal: Terminal) -> int:
    terminal.send_slowly(Key.ESCAPE)
    terminal.send_slowly(Key.ESCAPE)
    terminal.wait_for("interrupted")
    leave(terminal)
    return 0


def killed(terminal: Terminal) -> int:
    terminal.signal(signal.SIGKILL)
    return terminal.wait_exit(LEAVING_LIMIT)


CLEAN: list[End] = [quit_by_key, stopped_then_left, escaped_then_left, escaped_twice_then_left]
SIGNALLED: list[End] = [terminated, hung_up]
BRUTAL: list[End] = [window_closed, killed]


@pytest.mark.parametrize("end", [*CLEAN, *SIGNALLED, *BRUTAL])
def test_what_had_arrived_is_kept_and_marked(end: End, machine: Machine, server: OllamaServer) -> None:
    server.script(SETTLED, Turn(say(PARTIAL), gate("never")))
    with machine.terminal() as terminal:
        ask(terminal, "First question")
        terminal.wait_for(SETTLED)
        ask(terminal, "Second question")
        terminal.wait_for(PARTIAL)
        if end is killed:
            until(lambda: PARTIAL in machine.open_replies(), what="the reply on disk")
        end(terminal)
        if end in CLEAN or end in SIGNALLED:
            terminal.assert_restored()
            assert "Traceback" not in terminal.text
        if end in CLEAN:
            assert farewell(terminal)["title"] == "First question"
        terminal.assert_no_child()
    server_saw = server.chats[1]
    assert server_saw.disconnected is not None, "the server was left generating"

    server.script("Going on.")
    with machine.terminal("--resume", "latest") as terminal:
        terminal.wait_for(PARTIAL)
        terminal.wait_for("interrupted")
        assert SETTLED in terminal.text
        ask(terminal, "Third question")
        terminal.wait_for("Going on.")
        leave(terminal)
    said = conversation(server.chats[2])
    assert_valid(said)
    assert said[1] == ("assistant", SETTLED)
    assert said[3] == ("assistant", PARTIAL)


def test_a_kill_costs_at_most_half_a_second_of_text(machine: Machine, server: OllamaServer) -> None:
    words = [f"word{number}" for number in range(400)]
    server.script(Turn(say(" ".join(words), pause=0.02)))
    with machine.terminal() as terminal:
        ask(terminal, "Count, please")
        terminal.wait_for("word90")
        at = time.monotonic()
        terminal.signal(signal.SIGKILL)
        terminal.wait_exit(LEAVING_LIMIT)
    sent_in_time = "".join(piece for moment, piece in server.chats[0].sent if moment < at - LOST_AT_MOST)
    assert len(sent_in_time.split()) > 20
    with machine.terminal("--resume", "latest") as terminal:
        terminal.wait_for("interrupted")
        leave(terminal)
        handle = farewell(terminal)["handle"]
    kept = machine.json("session", "show", "--json", handle)["messages"][-1]["content"]
    assert kept.startswith(sent_in_time)
    assert " ".join(words).startswith(kept)


def test_a_press_that_stopped_a_reply_is_not_the_first_of_two(machine: Machine, server: OllamaServer) -> None:
    server.script(Turn(say(PARTIAL), gate("never")))
    with machine.terminal() as terminal:
        ask(terminal, "Question")
        terminal.wait_for(PARTIAL)
        terminal.send(Key.CTRL_C)
        terminal.wait_for("interrupted")
        terminal.send(Key.CTRL_C)
        terminal.wait_for("again")
        assert terminal.process.poll() is None
        terminal.send(Key.CTRL_C)
        assert terminal.wait_exit(LEAVING_LIMIT) == 0
        terminal.assert_restored()


def test_a_stopped_reply_lets_the_next_question_through(machine: Machine, server: OllamaServer) -> None:
    server.script(Turn(say(PARTIAL), gate("never")), "Better.")
    with machine.terminal() as terminal:
        ask(terminal, "Question")
        terminal.wait_for(PARTIAL)
        terminal.send(Key.ESCAPE)
        terminal.wait_for("interrupted")
        ask(terminal, "Again, please")
        terminal.wait_for("Better.")
        leave(terminal)
    said = conversation(server.chats[1])
    assert_valid(said)
    assert said[1] == ("assistant", PARTIAL)


def test_a_double_escape_drops_nothing_that_waited(machine: Machine, server: OllamaServer) -> None:
    server.script(Turn(say(PARTIAL), gate("never")))
    with machine.terminal() as terminal:
        ask(terminal, "Question")
        terminal.wait_for(PARTIAL)
        submit(terminal, "what waits")
        terminal.wait_for("next  what waits")
        terminal.send_slowly(Key.ESCAPE)
        terminal.wait_for("held  what waits")
        terminal.send_slowly(Key.ESCAPE)
        time.sleep(0.6)  # a lone escape counts once nothing has followed it for a while, and shows nothing
        terminal.paste("x")
        terminal.wait_for("❯ x")
        terminal.wait_for("held  what waits")
        terminal.send(Key.ESCAPE)
        terminal.wait_for(lambda shown: "what waits" not in shown.text)


def test_terminated_as_soon_as_it_has_painted(machine: Machine) -> None:
    with machine.terminal() as terminal:
        terminal.wait_for(drawn)
        terminal.signal(signal.SIGTERM)
        terminal.wait_exit(LEAVING_LIMIT)
        terminal.assert_restored()


def test_terminated_while_the_database_is_built(machine: Machine) -> None:
    with machine.terminal() as terminal:
        until(machine.database.exists, what="the database")
        terminal.signal(signal.SIGTERM)
        terminal.wait_exit(LEAVING_LIMIT)
        terminal.assert_restored()
    assert machine.run("session", "list").returncode == 0


def test_terminated_while_the_server_does_not_answer(machine: Machine, server: OllamaServer) -> None:
    server.fault(*[Fault("accept_and_hang", path=None)] * 4)
    with machine.terminal() as terminal:
        until(lambda: server.log, what="a request")
        terminal.signal(signal.SIGTERM)
        terminal.wait_exit(LEAVING_LIMIT)
        terminal.assert_restored()


EDITORS = {
    "that obeys": "exec sleep 1000",
    "behind a script": "trap '' HUP; sleep 1000; true",
    "that ignores what ends it": "trap '' HUP TERM; while :; do sleep 0.2; done",
}
IN_THE_EDITOR: list[tuple[End, str]] = [
    (terminated, "that ignores what ends it"),
    (window_closed, "behind a script"),
    (killed, "that obeys"),
]


def assert_ends_in_the_editor(machine: Machine, server: OllamaServer, end: End, editor: str) -> None:
    """The editor has the terminal: a signal ends it and us, and what was typed before it is kept."""
    started = machine.person / "started"
    script = machine.person / "editor"
    script.write_text(f"#!/bin/sh\ntouch {started}\n{EDITORS[editor]}\n")
    script.chmod(0o700)
    machine.variables["VISUAL"] = str(script)
    server.script(SETTLED)
    with machine.terminal() as terminal:
        ask(terminal, "First question")
        terminal.wait_for(SETTLED)
        terminal.wait_for("tok/s")
        terminal.send("half a thought", Key.CTRL_G)
        until(started.exists, what="the editor")
        end(terminal)
        if end in SIGNALLED:
            terminal.assert_restored()
            assert "Traceback" not in terminal.text
        if end is not killed:
            terminal.assert_no_child()
    assert machine.query("SELECT text FROM drafts") == [("half a thought",)]


@pytest.mark.parametrize(("end", "editor"), IN_THE_EDITOR)
def test_in_the_editor(machine: Machine, server: OllamaServer, end: End, editor: str) -> None:
    assert_ends_in_the_editor(machine, server, end, editor)


@pytest.mark.slow
@pytest.mark.parametrize("editor", EDITORS)
@pytest.mark.parametrize("end", [terminated, hung_up, window_closed])
def test_in_every_editor(machine: Machine, server: OllamaServer, end: End, editor: str) -> None:
    assert_ends_in_the_editor(machine, server, end, editor)
