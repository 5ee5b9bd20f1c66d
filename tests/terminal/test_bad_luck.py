"""What a person reads when the home, the server, the handle or another process is in the way."""

from __future__ import annotations

import signal

import pytest

from tests.support.machine import Machine
from tests.support.ollama_server import OllamaServer, Turn, end, free_port, gate, say
from tests.support.terminal import Key, Terminal, until
from tests.terminal.steps import ask, drawn, farewell, leave, submit

pytestmark = pytest.mark.terminal


def assert_one_line(terminal: Terminal, code: int) -> str:
    """The program ended with ``code`` after one sentence, without a traceback."""
    assert terminal.wait_exit() == code, terminal.text
    terminal.assert_restored()
    assert "Traceback" not in terminal.text
    said = " ".join(terminal.text.split())
    assert said
    return said


def test_home_that_cannot_be_written(machine: Machine, server: OllamaServer) -> None:
    # A file where a folder is needed stops even root.
    blocked = machine.person / "file"
    blocked.write_text("")
    machine.variables["LOCAL_AGENT_HOME"] = str(blocked / "home")
    with machine.terminal(size=(120, 24)) as terminal:
        terminal.wait_for("❯ try again")
        assert str(blocked) in "".join(line.strip() for line in terminal.lines)
        terminal.send("l")
        assert terminal.wait_exit() == 1
        terminal.assert_restored()
    server.script("Hello.")
    with machine.terminal(size=(120, 24)) as terminal:
        terminal.wait_for(("❯ try again", "go on unsaved"))
        terminal.send("u")
        terminal.wait_for("not saved")
        terminal.send("Hi", Key.ENTER)
        terminal.wait_for("Hello.")
        terminal.send("/exit", Key.ENTER)
        assert terminal.wait_exit() == 0
        assert terminal.text.strip() == ""
    done = machine.run("-p", "Hello?")
    assert done.returncode == 1 and str(blocked) in done.stderr
    assert "Traceback" not in done.stderr
    assert len(done.stderr.strip().splitlines()) <= 2


def test_no_home_at_all(machine: Machine) -> None:
    machine.variables |= {"HOME": "", "LOCAL_AGENT_HOME": ""}
    environment = machine.environment
    machine.variables |= {name: "" for name in environment if name.startswith("XDG_")}
    with machine.terminal(size=(120, 24)) as terminal:
        assert "LOCAL_AGENT_HOME" in assert_one_line(terminal, 2)


@pytest.mark.parametrize("handle", ["42", "S42", "abcdef", "abcdef01", "a1b2c3z", "../etc", "\x1b[31m"])
def test_malformed_handles(handle: str, machine: Machine) -> None:
    with machine.terminal("--resume", handle, size=(120, 24)) as terminal:
        assert "seven hex digits" in assert_one_line(terminal, 2)
        assert b"\x1b[?1049h" not in terminal.raw, "a screen was opened"


def test_unknown_handle(machine: Machine) -> None:
    with machine.terminal("--resume", "0000000", size=(120, 24)) as terminal:
        assert "0000000" in assert_one_line(terminal, 2)
        assert b"\x1b[?1049h" not in terminal.raw


def test_nothing_to_resume(machine: Machine) -> None:
    with machine.terminal("--resume", "latest", size=(120, 24)) as terminal:
        assert_one_line(terminal, 1)
        assert b"\x1b[?1049h" not in terminal.raw
    assert machine.files() == []


def test_handle_of_another_workspace(machine: Machine, server: OllamaServer) -> None:
    server.script("Here.")
    with machine.terminal() as terminal:
        ask(terminal, "Where am I?")
        terminal.wait_for("Here.")
        leave(terminal)
        handle = farewell(terminal)["handle"]
    elsewhere = machine.person / "elsewhere; true"
    elsewhere.mkdir()
    with machine.terminal("--resume", handle, size=(200, 24), cwd=elsewhere) as terminal:
        said = assert_one_line(terminal, 1)
        assert str(machine.workspace) in said and f"local-agent --resume {handle}" in said
    with machine.terminal("--resume", "latest", size=(200, 24), cwd=elsewhere) as terminal:
        assert_one_line(terminal, 1)


def test_no_server_then_one(machine: Machine) -> None:
    machine.variables["OLLAMA_HOST"] = f"127.0.0.1:{free_port()}"
    with machine.terminal(size=(100, 30)) as terminal:
        terminal.wait_for("ollama serve")
        ask(terminal, "Anyone there?")
        terminal.wait_for(lambda shown: shown.text.count("127.0.0.1") >= 1)
        submit(terminal, "/exit")
        terminal.wait_exit()
        terminal.assert_restored()
        assert "Traceback" not in terminal.text


def test_a_server_that_dies_in_mid_reply(machine: Machine, server: OllamaServer) -> None:
    server.script(Turn(say("It had begun"), end("rst")), "All well.")
    with machine.terminal(size=(100, 30)) as terminal:
        ask(terminal, "Question")
        terminal.wait_for("It had begun")
        terminal.wait_for("/retry")
        submit(terminal, "/retry")
        terminal.wait_for("All well.")
        leave(terminal)


def test_a_second_process_may_read_but_not_write(machine: Machine, server: OllamaServer) -> None:
    server.script("Mine.", Turn(say("Live "), gate("go"), say("mirror works.")))
    with machine.terminal(size=(100, 30)) as first:
        ask(first, "Whose is it?")
        first.wait_for("Mine.")
        handle = machine.json("session", "list", "--json")[0]["handle"]
        with machine.terminal("--resume", handle, size=(100, 30)) as second:
            second.wait_for((f"Process {first.process.pid}", "❯ leave it there"))
            second.send("r")
            second.wait_for("Mine.")
            ask(first, "And now?")
            second.wait_for("Live")
            server.release("go")
            second.wait_for("mirror works.")
            second.send(Key.CTRL_Q)
            second.wait_exit()
            second.assert_restored()
        first.wait_for("mirror works.")
        leave(first)


def test_a_session_that_was_taken_over_is_read_on(machine: Machine, server: OllamaServer) -> None:
    server.script("Mine.", "Mine now.")
    with machine.terminal(size=(100, 30)) as first:
        ask(first, "Whose is it?")
        first.wait_for("Mine.")
        with machine.terminal("--resume", "latest", size=(100, 30)) as second:
            second.wait_for((f"Process {first.process.pid}", "❯ leave it there"))
            second.send("t")
            second.wait_for("take over")
            second.send("take over", Key.ENTER)
            second.wait_for("Mine.")
            ask(second, "And now?")
            second.wait_for("Mine now.")
            ask(first, "Still mine?")
            first.wait_for("has taken this session over")
            assert len(server.chats) == 2, "the first process sent a request for a session it lost"
            leave(second)
        first.send(Key.CTRL_Q)
        first.wait_exit()
        first.assert_restored()


def test_a_second_process_on_another_session_is_no_trouble(machine: Machine, server: OllamaServer) -> None:
    server.script("One.", "Two.")
    with machine.terminal() as first, machine.terminal() as second:
        ask(first, "Question one")
        first.wait_for("One.")
        ask(second, "Question two")
        second.wait_for("Two.")
        leave(second)
        leave(first)
        assert farewell(first)["handle"] != farewell(second)["handle"]
    assert len(machine.json("session", "list", "--json")) == 2


def test_a_draft_outlives_a_kill(machine: Machine) -> None:
    with machine.terminal() as terminal:
        terminal.wait_for("llama3.2:3b")
        terminal.send("half a thought")
        terminal.wait_for("half a thought")
        until(
            lambda: "half a thought" in str(machine.query("SELECT * FROM drafts")), what="the draft on disk"
        )
        terminal.signal(signal.SIGKILL)
        terminal.wait_exit()
    with machine.terminal() as terminal:
        terminal.wait_for(drawn)
        terminal.wait_for("half a thought")
