"""Keys as a terminal sends them: in bursts, ahead of the screen, and into a screen that fails."""

from __future__ import annotations

import base64
import sys
import textwrap

import pytest

from tests.support.machine import Machine
from tests.support.ollama_server import OllamaServer, Turn, gate
from tests.support.terminal import Key, Terminal, until
from tests.terminal.steps import conversation, drawn, farewell

pytestmark = pytest.mark.terminal


def test_a_burst_of_keys_is_taken_in_order(machine: Machine, server: OllamaServer) -> None:
    server.script("One.", "Two.")
    with machine.terminal() as terminal:
        terminal.wait_for(drawn)
        terminal.send("first\nline two", Key.ENTER, "second", Key.ENTER)
        terminal.wait_for("Two.")
        terminal.send("/exit", Key.ENTER)
        assert terminal.wait_exit() == 0
        farewell(terminal)
    assert conversation(server.chats[0])[-1][1].endswith("first\nline two")
    assert conversation(server.chats[1])[-1] == ("user", "second")


def test_leaving_in_the_same_breath_loses_nothing(machine: Machine, server: OllamaServer) -> None:
    server.script(Turn(gate("never")))
    with machine.terminal() as terminal:
        terminal.wait_for("llama3.2:3b")
        terminal.send("asked at the door", Key.ENTER, "and half a", Key.CTRL_Q)
        assert terminal.wait_exit() == 0
        handle = farewell(terminal)["command"].split()[-1]
    (asked,) = machine.json("session", "show", handle, "--json")["entries"]
    assert asked["text"] == "asked at the door"
    with machine.terminal("--resume", handle) as terminal:
        terminal.wait_for("❯ and half a")


def test_what_is_typed_before_the_first_paint_is_kept(machine: Machine, server: OllamaServer) -> None:
    server.script("Good morning.")
    with machine.terminal() as terminal:
        terminal.send("early bird", Key.ENTER)
        terminal.wait_for("Good morning.")


def test_alt_keys_of_a_plain_terminal(machine: Machine, server: OllamaServer) -> None:
    server.script("The *answer*.")
    with machine.terminal() as terminal:
        terminal.wait_for(drawn)
        terminal.send("upper\x1b\rlower", Key.ENTER)
        terminal.wait_for("The answer.")
        terminal.send("\x1bc")
        until(lambda: base64.b64encode(b"The *answer*.") in terminal.clipboard)
        assert "❯ Ask anything" in terminal.text
    assert conversation(server.chats[0])[-1][1].endswith("upper\nlower")


def test_a_fault_of_the_screen_is_one_line_and_the_conversation_is_kept(
    machine: Machine, server: OllamaServer
) -> None:
    server.script("Kept.")
    program = """
        import sys
        from local_agent.cli.root import main
        from local_agent.tui.screens.chat import ChatScreen

        def broken(self):
            secret = "words of the conversation"
            raise RuntimeError("no such thing")

        ChatScreen.open_help = broken
        sys.argv = ["local-agent"]
        main()
    """
    with Terminal(
        env=machine.environment,
        cwd=machine.workspace,
        program=(sys.executable, "-c", textwrap.dedent(program)),
    ) as terminal:
        terminal.wait_for(drawn)
        terminal.send("Keep this", Key.ENTER)
        terminal.wait_for("Kept.")
        until(lambda: machine.json("session", "list", "--json"))
        terminal.send(Key.F1)
        assert terminal.wait_exit() == 1
        terminal.assert_restored()
        said = " ".join(terminal.text.split())
        assert "the screen failed" in said and "local-agent logs" in said
        assert "Traceback" not in said and "secret" not in said
    (session,) = machine.json("session", "list", "--json")
    messages = machine.json("session", "show", session["handle"], "--json")["messages"]
    assert messages[-1] == {"role": "assistant", "content": "Kept."}
