"""A session that another process holds: read along, live, and change nothing."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from pathlib import Path

from local_agent.domain.ports import Opening, Reply
from local_agent.store.store import Store
from local_agent.tui.screens.held import HeldDialog
from tests.runtime.opened import paths_in
from tests.store.samples import VERSION, talk
from tests.support.ollama_server import OllamaServer
from tests.tui.chatting import chatting
from tests.tui.pilots import screen_text, until


async def test_a_held_session_is_mirrored(home: Path, server: OllamaServer) -> None:
    other = Store.open(paths_in(home).database, program_version=VERSION)
    held = await talk(other, "asked elsewhere", root=str(home.parent / "api-server"))
    handle = held.info.handle
    async with chatting(home, server.url, resume=handle) as chat:
        await until(chat.pilot, lambda: isinstance(chat.app.screen, HeldDialog))
        await chat.pilot.press("r")
        await until(chat.pilot, lambda: chat.questions == ["asked elsewhere"])
        assert "READ-ONLY" in screen_text(chat.pilot)
        turn = await held.begin(Opening("second one", held.info.head, "llama3.2:3b"))
        await held.keep(turn, Reply(text="being written"))
        await until(chat.pilot, lambda: "being written" in screen_text(chat.pilot))
        assert chat.questions == ["asked elsewhere", "second one"]
        await chat.send("let me in")
        await until(chat.pilot, lambda: chat.remarks)
        assert "read-only" in chat.remarks[0] and chat.screen.composer.text == "let me in"
        assert not server.chats
    await other.close()


TAKE_OVER = """
import asyncio, sys
from pathlib import Path
from local_agent.store.store import Store

async def main():
    store = Store.open(Path(sys.argv[1]), program_version="test")
    await store.take_over(sys.argv[2])
    print("taken", flush=True)
    await asyncio.to_thread(sys.stdin.read)

asyncio.run(main())
"""


async def test_a_session_taken_over_becomes_a_mirror(home: Path, server: OllamaServer) -> None:
    server.script("One.")
    async with chatting(home, server.url, size=(100, 30)) as chat:
        await chat.ready()
        await chat.send("mine")
        await chat.answered(1)
        handle = chat.screen.conversation.handle
        taker = await asyncio.create_subprocess_exec(
            sys.executable,
            "-c",
            TAKE_OVER,
            str(paths_in(home).database),
            handle,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )
        try:
            assert taker.stdout is not None and await taker.stdout.readline() == b"taken\n"
            await chat.send("still mine?")
            await until(chat.pilot, lambda: "READ-ONLY" in screen_text(chat.pilot))
            assert len(server.chats) == 1, "nothing was sent for a session that is no longer ours"
            assert any("taken this session over" in remark for remark in chat.remarks)
        finally:
            await taker.communicate(b"")
