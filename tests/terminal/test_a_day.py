"""An hour of a person at one terminal: files, pictures, the queue, recall, search, models, and back."""

from __future__ import annotations

import base64

import pytest

from tests.support.machine import Machine
from tests.support.ollama_server import ModelSpec, OllamaServer, RequestRecord, Turn, gate, say
from tests.support.pictures import drawn as picture
from tests.support.terminal import Key
from tests.terminal.steps import assert_valid, conversation, drawn, farewell, leave, submit

pytestmark = pytest.mark.terminal

FIRST = ModelSpec("gemma3:4b", ("completion", "vision"), arch="gemma3")
OTHER = ModelSpec("qwen3-vl:4b", ("completion", "vision"), arch="qwen3vl")
CTRL_R, CTRL_O, CTRL_U, ALT_Q = "\x12", "\x0f", "\x15", "\x1bq"


def pictures(chat: RequestRecord) -> list[bytes]:
    messages = chat.body["messages"]
    assert isinstance(messages, list)
    return [base64.b64decode(image) for message in messages for image in message.get("images", ())]


def test_everything_that_was_done_is_there_after_a_resume(machine: Machine, server: OllamaServer) -> None:
    server.models = {each.name: each for each in (FIRST, OTHER)}
    server.script(Turn(say("Half of it"), gate("never")), "A tree, and a fixture.", "Two of them.", "Still.")
    source = machine.workspace / "tests" / "restore_helper.py"
    source.parent.mkdir()
    source.write_text("def folder():\n    return 'shared'\n")
    data = picture(size=(64, 48))
    (machine.workspace / "tree.png").write_bytes(data)

    with machine.terminal("--model", FIRST.name, size=(100, 30)) as terminal:
        terminal.wait_for(drawn)
        terminal.wait_for(FIRST.name)
        terminal.send("what is @resthelp")
        terminal.wait_for("tests/restore_helper.py")
        terminal.send(Key.TAB)
        terminal.wait_for("❯ what is @tests/restore_helper.py")
        terminal.paste(str(machine.workspace / "tree.png"))
        terminal.wait_for("[1] tree.png 64x48")
        terminal.send(Key.ENTER)
        terminal.wait_for("Half of it")

        submit(terminal, "how many?")
        terminal.wait_for("next  how many?")
        terminal.send(ALT_Q)
        terminal.wait_for("❯ next  how many?")
        terminal.send(Key.ENTER)
        terminal.wait_for(lambda shown: "❯ how many?" in shown.text and "Queue" not in shown.text)
        terminal.send(" exactly", Key.ENTER)
        terminal.wait_for("next  how many? exactly")
        terminal.send(Key.ESCAPE)
        terminal.wait_for(("interrupted", "held  how many? exactly"))

        terminal.send(Key.UP)
        terminal.wait_for("❯ how many? exactly")
        terminal.send(CTRL_U)
        terminal.wait_for("❯ Ask anything")
        terminal.send(CTRL_R)
        terminal.wait_for("Questions · api-server")
        terminal.send("helper")
        terminal.wait_for("❯ what is @tests/restore_helper.py")
        terminal.send(Key.ENTER)
        terminal.wait_for(lambda shown: "❯ what is" in shown.text and "Questions" not in shown.text)
        terminal.send(Key.ENTER)
        terminal.wait_for("A tree, and a fixture.")
        terminal.send(Key.UP)
        terminal.wait_for("❯ what is @tests/restore_helper.py")
        terminal.send(CTRL_U)

        terminal.send(CTRL_O)
        terminal.wait_for(("Models", OTHER.name))
        terminal.send("qwen")
        terminal.wait_for(f"❯ {OTHER.name}")
        terminal.send(Key.ENTER)
        terminal.wait_for(lambda shown: OTHER.name in shown.text and "Models" not in shown.text)
        submit(terminal, "how many?")
        terminal.wait_for("Two of them.")
        leave(terminal)
        told = farewell(terminal)

    with machine.terminal(shell=told["command"], size=(100, 30)) as terminal:
        terminal.wait_for(
            ("tree.png  64x48", "tests/restore_helper.py 2 lines", "interrupted", "Two of them.")
        )
        terminal.wait_for(OTHER.name)
        submit(terminal, "and now?")
        terminal.wait_for("Still.")
        leave(terminal)

    assert [chat.body["model"] for chat in server.chats] == [FIRST.name] * 2 + [OTHER.name] * 2
    last = conversation(server.chats[-1])
    assert_valid(last)
    assert sum("return 'shared'" in text for _, text in last) == 2, "a file that was mentioned twice"
    assert [pictures(chat) for chat in server.chats] == [[data]] * 4
