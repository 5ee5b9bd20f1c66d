"""The list of what is to be done, above the composer."""

from __future__ import annotations

from pathlib import Path

from local_agent.tui.tools.todo import TodoStrip
from tests.support.ollama_server import ModelSpec, OllamaServer, Turn, call
from tests.tui.chatting import Chat, chatting
from tests.tui.pilots import screen_text, until

TOOLS = ModelSpec("qwen3:4b", ("completion", "tools"), "qwen3")
ITEMS = [f"[{'x' if number < 3 else '>' if number == 3 else ' '}] step {number}" for number in range(9)]


def strip(chat: Chat) -> str:
    """What is drawn above the composer."""
    lines = screen_text(chat.pilot).splitlines()
    region = chat.screen.query_one(TodoStrip).region
    return "\n".join(lines[region.y : region.bottom])


async def test_the_newest_list_stands_above_the_composer_and_goes_when_all_is_done(home: Path) -> None:
    async with OllamaServer([TOOLS]) as server:
        server.script(
            Turn(call("todo", {"items": ITEMS})),
            "Begun.",
            Turn(call("todo", {"items": ["[x] all of it"]})),
            "Done.",
        )
        async with chatting(home, server.url, size=(80, 30)) as chat:
            await chat.ready()
            await chat.send("plan it")
            await chat.answered(1)
            await until(chat.pilot, lambda: chat.screen.query(TodoStrip) and "step 3" in strip(chat))
            assert "☑ step 2" in strip(chat) and "step 1" not in strip(chat)
            assert "… 3 more" in strip(chat) and strip(chat).count("\n") == 4
            await chat.pilot.press("alt+l")
            await until(chat.pilot, lambda: "3 of 9  step 3" in strip(chat))
            assert "\n" not in strip(chat)
            assert chat.screen.conversation is not None
            handle = chat.screen.conversation.handle
            await chat.leave()
        async with chatting(home, server.url, size=(30, 12), resume=handle) as chat:
            await chat.ready()
            await until(chat.pilot, lambda: chat.screen.query(TodoStrip) and "3 of 9" in strip(chat))
            assert "\n" not in strip(chat), "a low terminal has one row for it"
            await chat.send("go on")
            await until(chat.pilot, lambda: "Done." in chat.replies)
            await until(chat.pilot, lambda: not chat.screen.query_one(TodoStrip).region)
