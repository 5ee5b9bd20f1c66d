"""Where earlier pictures were forgotten the transcript says so, now and after a resume."""

from __future__ import annotations

from pathlib import Path

from local_agent.domain.drafts import Prompt
from local_agent.domain.pictures import Picture
from tests.support.ollama_server import ModelSpec, OllamaServer, Turn, error
from tests.support.pictures import drawn
from tests.tui.chatting import Chat, chatting
from tests.tui.pilots import until

SEEING = ModelSpec("gemma3:4b", ("completion", "vision"), arch="gemma3")
FORGOTTEN = "Earlier pictures are left out from here on."


async def picture(chat: Chat, name: str) -> Picture:
    assert chat.screen.runtime is not None
    return await chat.screen.runtime.pictures.accept_bytes(drawn(), name)


async def test_the_transcript_tells_where_pictures_were_forgotten(home: Path, server: OllamaServer) -> None:
    server.models = {SEEING.name: SEEING}
    server.script("A tree.", Turn(error("failed to decode image", 500)), "Words.")
    async with chatting(home, server.url) as chat:
        await chat.ready()
        chat.screen.send_prompt(Prompt("", (await picture(chat, "tree.png"),)))
        await chat.answered(1)
        chat.screen.send_prompt(Prompt("And this?", (await picture(chat, "bad.png"),)))
        await until(chat.pilot, lambda: any("failed to decode image" in line for line in chat.remarks))
        await until(chat.pilot, lambda: not chat.screen.busy)
        await chat.send("/image forget-history")
        await until(chat.pilot, lambda: FORGOTTEN in chat.remarks)
        await chat.send("go on")
        await chat.answered(2)
        assert chat.screen.conversation is not None
        handle = chat.screen.conversation.handle
    assert "images" not in server.chats[-1].body["messages"][1]
    async with chatting(home, server.url, resume=handle) as chat:
        await until(chat.pilot, lambda: len(chat.replies) == 2)
        assert chat.remarks.count(FORGOTTEN) == 1
        assert chat.questions == ["(only pictures, forgotten since)", "And this?", "go on"]
        assert not any(question.pictures for question in chat.screen.query("Question"))
