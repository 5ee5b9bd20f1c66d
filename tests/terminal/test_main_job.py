"""The main job, as a person does it: ask, watch, leave, come back, go on."""

from __future__ import annotations

import pytest

from tests.support.machine import Machine
from tests.support.ollama_server import OllamaServer, Turn, gate, say
from tests.terminal.steps import ask, assert_valid, conversation, drawn, farewell, leave

pytestmark = pytest.mark.terminal

FIRST = "Why does the restore test flake on CI?"
FIRST_ANSWER = "Two writers share **one** temporary folder."
LATER = [
    ("And how do I mend it?", "Give each worker its own."),
    ("Does that cost time?", "Next to none."),
]


def test_ask_leave_resume_and_go_on(machine: Machine, server: OllamaServer) -> None:
    server.script(Turn(say("Two writers "), gate("rest"), say("share **one** temporary folder.")))
    with machine.terminal() as terminal:
        ask(terminal, FIRST)
        shown = terminal.wait_for("Two writers")
        assert "temporary folder" not in shown, "the reply did not stream"
        server.release("rest")
        terminal.wait_for("share one temporary folder.")
        leave(terminal)
        told = farewell(terminal)
    assert told["title"] == FIRST

    listed = machine.json("session", "list", "--json")
    assert [(row["handle"], row["title"]) for row in listed] == [(told["handle"], FIRST)]

    commands = (told["command"], "local-agent --resume latest")
    for command, (question, answer) in zip(commands, LATER, strict=True):
        server.script(answer)
        with machine.terminal(shell=command) as terminal:
            terminal.wait_for("share one temporary folder.")
            assert FIRST in terminal.text
            ask(terminal, question)
            terminal.wait_for(answer)
            leave(terminal)
            assert farewell(terminal) == told

    first, second, third = (conversation(request) for request in server.chats)
    assert second[: len(first)] == first
    assert third[: len(second)] == second
    assert_valid(third)
    said = [FIRST, FIRST_ANSWER, *LATER[0], LATER[1][0]]
    assert all(words in text for words, (_, text) in zip(said, third, strict=True))


def test_a_question_typed_at_once_is_asked(machine: Machine, server: OllamaServer) -> None:
    server.script("Here I am.")
    with machine.terminal() as terminal:
        terminal.wait_for(drawn)
        terminal.send("Are you there?\r")
        terminal.wait_for("Here I am.")
        leave(terminal)
        assert farewell(terminal)["title"] == "Are you there?"


def test_nothing_typed_is_lost(machine: Machine, server: OllamaServer) -> None:
    server.script("First answer.", "Second answer.")
    with machine.terminal() as terminal:
        terminal.wait_for(drawn)
        terminal.send("First question\rSecond question\r/exit")
        terminal.wait_for("Second answer.")
        terminal.wait_for("❯ /exit")
        terminal.send("\r")
        assert terminal.wait_exit() == 0
    assert [conversation(request)[-1][1].endswith("question") for request in server.chats] == [True, True]


def test_no_save_leaves_nothing(machine: Machine, server: OllamaServer) -> None:
    server.script("A secret answer.")
    with machine.terminal("--no-save") as terminal:
        ask(terminal, "A secret question")
        terminal.wait_for("A secret answer.")
        leave(terminal)
        assert terminal.text == ""
    assert machine.files() == []


def test_shows_the_list_of_sessions_as_json_and_text(machine: Machine, server: OllamaServer) -> None:
    server.script("Yes.")
    with machine.terminal() as terminal:
        ask(terminal, "Is this kept?")
        terminal.wait_for("Yes.")
        leave(terminal)
        handle = farewell(terminal)["handle"]
    shown = machine.json("session", "show", "--json", handle)
    assert [message["role"] for message in shown["messages"]][-2:] == ["user", "assistant"]
    assert shown["messages"][-1]["content"] == "Yes."
    plain = machine.run("session", "show", handle)
    assert "Is this kept?" in plain.stdout and "Yes." in plain.stdout
