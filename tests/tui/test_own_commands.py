"""``!command``: the person's own command, from the composer to the transcript and back."""

from __future__ import annotations

from pathlib import Path

from local_agent.tui.widgets.prompt_pane import PromptPane
from tests.support.ollama_server import OllamaServer, Turn, gate, say
from tests.tui.chatting import chatting
from tests.tui.pilots import screen_text, until


async def test_a_command_runs_shows_its_output_and_comes_back_with_up(
    home: Path, server: OllamaServer
) -> None:
    server.script("I see two.")
    async with chatting(home, server.url, size=(80, 30)) as chat:
        await chat.ready()
        await chat.type("!echo one; echo two")
        assert chat.screen.query_one(PromptPane).has_class("-command")
        await chat.pilot.press("enter")
        await until(chat.pilot, lambda: "│ two" in screen_text(chat.pilot) and not chat.screen.busy)
        assert chat.questions == ["!echo one; echo two"] and not server.chats
        assert not chat.screen.query_one(PromptPane).has_class("-command")
        await chat.pilot.press("up")
        await until(chat.pilot, lambda: chat.screen.composer.text == "!echo one; echo two")
        assert chat.screen.conversation is not None
        await chat.pilot.press("ctrl+c")
        await chat.send("what did it say?")
        await chat.answered(1)
        assert "    one\n    two" in server.chats[-1].body["messages"][-1]["content"]
        await until(chat.pilot, lambda: "first" in screen_text(chat.pilot))
        handle, live = chat.screen.conversation.handle, screen_text(chat.pilot).splitlines()
        await chat.leave()
    async with chatting(home, server.url, size=(80, 30), resume=handle) as chat:
        await chat.ready()
        await until(chat.pilot, lambda: "I see two." in chat.replies)
        await chat.pilot.pause()
        assert screen_text(chat.pilot).splitlines()[2:] == live[2:]


async def test_a_command_waits_behind_a_turn_and_esc_stops_it(home: Path, server: OllamaServer) -> None:
    server.script(Turn(say("One."), gate("first")))
    async with chatting(home, server.url, size=(80, 30)) as chat:
        await chat.ready()
        await chat.send("a")
        await until(chat.pilot, lambda: chat.replies)
        await chat.send("!echo begun; sleep 60")
        assert "next  !echo begun" in screen_text(chat.pilot)
        server.release("first")
        await until(chat.pilot, lambda: "│ begun" in screen_text(chat.pilot))
        await chat.pilot.press("escape")
        await until(chat.pilot, lambda: not chat.screen.busy)
        assert "cancelled" in screen_text(chat.pilot)


async def test_the_mark_alone_asks_for_a_command(home: Path, server: OllamaServer) -> None:
    async with chatting(home, server.url) as chat:
        await chat.ready()
        await chat.send("!")
        await until(chat.pilot, lambda: any("Type a command behind the !" in line for line in chat.remarks))
        assert chat.screen.composer.text == "!" and not server.chats
