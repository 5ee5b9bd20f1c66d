"""A session that another process holds: read along, live, and change nothing."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from local_agent.domain.ports import Opening, Reply
from local_agent.store.store import Store
from local_agent.tui.screens.held import HeldDialog
from tests.runtime.opened import paths_in
from tests.store.samples import VERSION, fill, settled, talk
from tests.support.ollama_server import OllamaServer
from tests.tui.chatting import chatting
from tests.tui.pilots import listening, screen_text, until
from tests.tui.test_transcript import page_down, page_up


async def test_a_held_session_is_mirrored(home: Path, server: OllamaServer) -> None:
    other = Store.open(paths_in(home).database, program_version=VERSION)
    held = await talk(other, "asked elsewhere", root=str(home.parent / "api-server"))
    handle = held.info.handle
    async with chatting(home, server.url, resume=handle, model="llama3.2:3b") as chat:
        await listening(chat.pilot, HeldDialog)
        await chat.pilot.press("r")
        await until(chat.pilot, lambda: chat.questions == ["asked elsewhere"])
        assert "READ-ONLY" in screen_text(chat.pilot)
        turn = await held.begin(Opening("second one", held.info.head, "llama3.2:3b"))
        await held.keep(turn, Reply(text="being written"))
        await until(chat.pilot, lambda: "being written" in screen_text(chat.pilot))
        assert chat.questions == ["asked elsewhere", "second one"]
        assert "interrupted" not in screen_text(chat.pilot), "it is being written, not left behind"
        await chat.send("let me in")
        await until(chat.pilot, lambda: chat.remarks)
        assert "read-only" in chat.remarks[0] and chat.screen.composer.text == "let me in"
        assert not server.chats
        await held.settle(turn, settled("being written no more"))
        await until(chat.pilot, lambda: chat.replies == ["On asked elsewhere", "being written no more"])
        await held.begin(Opening("second one", turn.question.parent, "llama3.2:3b"))
        # A retry is another branch.
        await until(chat.pilot, lambda: chat.replies == ["On asked elsewhere"] and len(chat.questions) == 2)
        assert "read-only" in chat.remarks[0], "what was said stays while entries are drawn again"
        await held.release()
        words = f"Process {os.getpid()} no longer holds this session: send a prompt to go on with it here."
        await until(chat.pilot, lambda: words in chat.remarks)
        await until(chat.pilot, lambda: "interrupted" in screen_text(chat.pilot))
        server.script("Now it is mine.")
        chat.screen.composer.load("")
        await chat.send("let me in")
        await chat.answered(2)
        await until(chat.pilot, lambda: "READ-ONLY" not in screen_text(chat.pilot))
        assert chat.questions[-1] == "let me in" and chat.replies[-1] == "Now it is mine."
    await other.close()


async def test_a_held_session_is_forked_from_the_dialog(home: Path, server: OllamaServer) -> None:
    other = Store.open(paths_in(home).database, program_version=VERSION)
    held = await talk(other, "asked elsewhere", root=str(home.parent / "api-server"))
    turn = await held.begin(Opening("second one", held.info.head, "llama3.2:3b"))
    await held.keep(turn, Reply(text="being written"))
    async with chatting(home, server.url, resume=held.info.handle, model="llama3.2:3b") as chat:
        await listening(chat.pilot, HeldDialog)
        await until(chat.pilot, lambda: "leave it there" in screen_text(chat.pilot))
        text = screen_text(chat.pilot)
        for words in (f"Process {os.getpid()}", "read along", "fork it", "take it over", "leave it there"):
            assert words in text
        await chat.pilot.press("f")
        await until(chat.pilot, lambda: chat.questions == ["asked elsewhere"])
        server.script("On my own way.")
        await chat.send("and now?")
        await chat.answered(2)
        fork = chat.screen.conversation.info
        assert fork.forked_from == held.info.handle and chat.screen.conversation.handle == fork.handle
    assert (await other.find(fork.handle)).turn_count == 2
    await held.settle(turn, settled())
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
    await store.close()

asyncio.run(main())
"""


@asynccontextmanager
async def taken_over(home: Path, handle: str) -> AsyncIterator[asyncio.subprocess.Process]:
    """Another process takes a session over, and holds it."""
    command = [sys.executable, "-c", TAKE_OVER, str(paths_in(home).database), handle]
    taker = await asyncio.create_subprocess_exec(*command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    try:
        assert taker.stdout is not None and await taker.stdout.readline() == b"taken\n"
        yield taker
    finally:
        if taker.returncode is None:
            await taker.communicate(b"")


async def test_a_session_taken_over_becomes_a_mirror(home: Path, server: OllamaServer) -> None:
    server.script("One.")
    async with chatting(home, server.url, size=(100, 30)) as chat:
        await chat.ready()
        await chat.send("mine")
        await chat.answered(1)
        async with taken_over(home, chat.screen.conversation.handle) as taker:
            chat.screen.composer.load("still mine?")
            await chat.pilot.press("enter")
            await until(chat.pilot, lambda: "READ-ONLY" in screen_text(chat.pilot))
            assert len(server.chats) == 1, "nothing was sent for a session that is no longer ours"
            line = f"Process {taker.pid} has taken this session over: it is read-only here."
            await until(chat.pilot, lambda: line in chat.remarks)
            taker.send_signal(signal.SIGKILL)
            await taker.wait()
            words = f"Process {taker.pid} no longer holds this session"
            await until(chat.pilot, lambda: any(words in remark for remark in chat.remarks))


async def test_typing_finds_out_that_the_session_was_taken_over(home: Path, server: OllamaServer) -> None:
    server.script("One.")
    async with chatting(home, server.url, size=(100, 30)) as chat:
        await chat.ready()
        await chat.send("mine")
        await chat.answered(1)
        async with taken_over(home, chat.screen.conversation.handle):
            await chat.type("half a thought")
            await until(chat.pilot, lambda: "READ-ONLY" in screen_text(chat.pilot))
            assert chat.screen.composer.text == "half a thought"
            assert len(chat.remarks) == 1


async def test_what_was_written_while_one_read_far_above_leaves_no_gap(
    home: Path, server: OllamaServer
) -> None:
    other = Store.open(paths_in(home).database, program_version=VERSION)
    held = await talk(other, "question 0", root=str(home.parent / "api-server"))
    fill(paths_in(home).database, held.info.id, 600, says=lambda place: f"entry {place}")
    async with chatting(home, server.url, resume=held.info.handle) as chat:
        await listening(chat.pilot, HeldDialog)
        await chat.pilot.press("r")
        await until(chat.pilot, lambda: "entry 600" in screen_text(chat.pilot))
        transcript = chat.screen.transcript
        while transcript.end_mounted:
            await page_up(chat)
        head = await other.head(held.info.id)
        for number in range(30):
            turn = await held.begin(Opening(f"later {number}", head, "tiny:1b"))
            reply = await held.settle(turn, settled(f"answer {number}"))
            assert reply is not None
            head = reply.id
        while not transcript.end_mounted:
            await page_down(chat, set())
        window = [item.entry_id for item in transcript.window.items]
        assert head is not None and window == (await other.path_ids(head))[-len(window) :]
    await other.close()
