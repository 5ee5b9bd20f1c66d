"""Calls of tools where a conversation is mirrored, searched, copied and paged through."""

from __future__ import annotations

from pathlib import Path

from local_agent.domain.entries import ToolCall
from local_agent.domain.ledger import EventKind, Receipt
from local_agent.domain.ports import Opening, Reply
from local_agent.domain.tools import Effect
from local_agent.store.store import Store
from local_agent.tui.tools.cards import Card
from tests.runtime.opened import paths_in
from tests.store.samples import VERSION, settled, talk
from tests.support.ollama_server import ModelSpec, OllamaServer, Turn, call, say
from tests.tui.chatting import chatting
from tests.tui.pilots import listening, screen_text, until

TOOLS = ModelSpec("qwen3:4b", ("completion", "tools"), "qwen3")


async def test_a_mirror_shows_how_far_calls_have_come(home: Path, server: OllamaServer) -> None:
    other = Store.open(paths_in(home).database, program_version=VERSION)
    held = await talk(other, "asked elsewhere", root=str(home.parent / "api-server"))
    async with chatting(
        home, server.url, resume=held.info.handle, model="llama3.2:3b", size=(80, 30)
    ) as chat:
        await listening(chat.pilot)
        await chat.pilot.press("r")
        await until(chat.pilot, lambda: chat.questions == ["asked elsewhere"])
        turn = await held.begin(Opening("run it", held.info.head, "llama3.2:3b"))
        calls = (ToolCall("a", "read", {"path": "x.py"}), ToolCall("b", "bash", {"command": "make"}))
        effects = (Effect.READ_ONLY, Effect.EFFECTFUL)
        _, (read, bash) = await held.record(turn, Reply("Let me look.", calls=calls), effects)
        await until(chat.pilot, lambda: "◇ bash  make" in screen_text(chat.pilot))
        read = await held.start(read, {"target": "x.py"})
        await held.finish(read, EventKind.COMPLETED, Receipt("ok", "9 lines", seconds=0.01), "1 x", ())
        bash = await held.start(bash, {"target": "make"})
        await until(chat.pilot, lambda: "✓ read  x.py  9 lines" in screen_text(chat.pilot))
        await until(chat.pilot, lambda: "bash  make  running" in screen_text(chat.pilot))
        await held.finish(bash, EventKind.FAILED, Receipt("failed", "exit 2", 2, 1.0), "no rule", ())
        await until(chat.pilot, lambda: "✗ bash  make  exit 2" in screen_text(chat.pilot))
        await held.settle(turn, settled("It fails."))
        await until(chat.pilot, lambda: chat.replies[1:] == ["Let me look.", "It fails."])
        await until(chat.pilot, lambda: screen_text(chat.pilot).count("bash  make") == 1)
        assert len(chat.screen.query(Card)) == 2
    await held.release()
    await other.close()


async def test_replies_in_mid_turn_are_found_copied_and_paged(home: Path) -> None:
    look = Turn(say("Let me look around."), call("ls", {"path": "."}))
    async with OllamaServer([TOOLS]) as server:
        server.script(*[turn for number in range(12) for turn in (look, f"That was round {number}.")])
        async with chatting(home, server.url, size=(60, 20)) as chat:
            await chat.ready()
            for number in range(12):
                await chat.send(f"go {number}")
                await until(chat.pilot, lambda n=number: f"That was round {n}." in chat.replies)  # type: ignore[misc]  # mypy wants no defaults
                await until(chat.pilot, lambda: not chat.screen.busy)
            await chat.pilot.press("alt+c")
            await until(chat.pilot, lambda: chat.app.clipboard == "That was round 11.")
            await chat.send("/copy 2")
            await until(chat.pilot, lambda: chat.app.clipboard == "Let me look around.")
            await chat.send("/find around")
            await until(chat.pilot, lambda: "1 of 12" in screen_text(chat.pilot))
            await chat.pilot.press("escape")
            assert chat.screen.conversation is not None
            handle = chat.screen.conversation.handle
            items = [item.entry_id for item in chat.screen.transcript.window.items]
            await chat.leave()
        async with chatting(home, server.url, size=(60, 20), resume=handle) as chat:
            await chat.ready()
            await until(chat.pilot, lambda: "That was round 11." in chat.replies)
            transcript = chat.screen.transcript
            while transcript.window.more_above:
                transcript.scroll_to(y=0, animate=False, immediate=True)
                await chat.pilot.pause()
            assert [item.entry_id for item in transcript.window.items] == items
            assert len(chat.screen.query(Card)) == 12 and chat.replies.count("Let me look around.") == 12
