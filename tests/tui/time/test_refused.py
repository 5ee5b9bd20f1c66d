"""Moves that can't be made now are refused in a line; one that was cut off is settled first."""

from __future__ import annotations

import asyncio
from pathlib import Path

from local_agent.domain.moves import Scope
from local_agent.domain.restoring import RestoreIntent
from local_agent.store.store import Store
from local_agent.tui.screens.checkpoints import CheckpointsScreen
from local_agent.tui.screens.held import HeldDialog
from local_agent.tui.screens.restoring import RestoringScreen
from local_agent.tui.screens.unfinished import UnfinishedDialog
from local_agent.tui.screens.unsaved import UnsavedDialog
from tests.runtime.opened import opened, paths_in
from tests.runtime.travelling import Worker
from tests.store.samples import VERSION, talk
from tests.support.ollama_server import OllamaServer
from tests.tui.chatting import Chat, chatting
from tests.tui.pilots import listening, screen_text, until
from tests.tui.test_saving import spoil
from tests.tui.time.test_travelling import said

MOVES = ("/checkpoint", "/undo", "/redo", "/restore 1")


async def cut_off(home: Path, server: OllamaServer) -> tuple[str, Path]:
    """A session that went back to checkpoint 1 and died between the first file and the second."""
    folder = home.parent / "api-server"
    folder.mkdir(parents=True)
    async with opened(home, server.url, workspace=folder) as runtime:
        conversation = runtime.new_conversation()
        worker = Worker(conversation, server, folder)
        await worker.turn(*writes("old\n"))
        await conversation.time.checkpoint("both are old")
        await worker.turn(*writes("new\n"))
        journey = await conversation.time.to_checkpoint(1)
        held = await conversation._journal.saved()
        intent = RestoreIntent(journey.landing.what, journey.files.steps)
        await held.travel(journey.landing, Scope.BOTH, intent)
        (folder / "a").write_text("old\n")
        handle = conversation.handle
        await conversation.close()
    return handle, folder


def writes(text: str) -> list[tuple[str, dict[str, object]]]:
    return [("write", {"path": name, "content": text}) for name in ("a", "b")]


def files(folder: Path) -> list[str]:
    return [(folder / name).read_text() for name in ("a", "b")]


async def dialog_of(chat: Chat) -> str:
    """What is asked about the restore that was cut off."""
    await listening(chat.pilot, UnfinishedDialog)
    return " ".join(screen_text(chat.pilot).split())


async def test_a_restore_that_was_cut_off_is_asked_about_put_off_and_completed(
    home: Path, server: OllamaServer
) -> None:
    handle, folder = await cut_off(home, server)
    asked = len(server.chats)
    async with chatting(home, server.url, resume=handle) as chat:
        text = await dialog_of(chat)
        assert 'cut off: checkpoint 1 "both are old"' in text
        assert "Done: 1 file (a). Not done: 1 file (b)." in text
        await chat.pilot.press("escape")
        await until(chat.pilot, lambda: chat.app.screen is chat.screen)
        assert files(folder) == ["old\n", "new\n"]
        await chat.send("go on")
        await said(chat, "Complete it or take it back: /restore.")
        assert len(server.chats) == asked
        chat.screen.action_command("/restore")
        await dialog_of(chat)
        await chat.pilot.press("c")
        await said(chat, "The restore is complete")
        assert files(folder) == ["old\n", "old\n"] and chat.replies == ["Answer 1."]
        # The prompt that was refused is held back: it is let go.
        await chat.pilot.press("escape")
        await until(chat.pilot, lambda: not chat.screen.turns.queue.held)
        chat.screen.action_command("/undo --both")
        await until(chat.pilot, lambda: chat.replies == ["Answer 1.", "Answer 2."])
        assert files(folder) == ["new\n", "new\n"]
        chat.screen.action_command("/restore")
        await said(chat, "Which checkpoint? /checkpoints shows them.")


async def test_a_restore_that_was_cut_off_is_taken_back(home: Path, server: OllamaServer) -> None:
    handle, folder = await cut_off(home, server)
    async with chatting(home, server.url, resume=handle, size=(30, 12)) as chat:
        await dialog_of(chat)
        await chat.pilot.press("t")
        await said(chat, "The restore is taken back")
        assert files(folder) == ["new\n", "new\n"] and chat.replies == ["Answer 1.", "Answer 2."]


async def test_a_view_is_only_looked_at(home: Path, server: OllamaServer) -> None:
    other = Store.open(paths_in(home).database, program_version=VERSION)
    held = await talk(other, "asked elsewhere", root=str(home.parent / "api-server"))
    await held.make_checkpoint("theirs")
    async with chatting(home, server.url, resume=held.info.handle, model="llama3.2:3b") as chat:
        await listening(chat.pilot, HeldDialog)
        await chat.pilot.press("r")
        await until(chat.pilot, lambda: chat.questions == ["asked elsewhere"])
        for count, move in enumerate(MOVES, 1):
            chat.screen.action_command(move)
            await until(chat.pilot, lambda count=count: len(chat.remarks) == count)  # type: ignore[misc]  # bound here
            assert "read-only" in chat.remarks[-1], move
        chat.screen.action_command("/checkpoints")
        await until(chat.pilot, lambda: isinstance(chat.app.screen, CheckpointsScreen))
        await until(chat.pilot, lambda: "theirs" in screen_text(chat.pilot))
        await chat.pilot.press("enter")
        await until(chat.pilot, lambda: len(chat.remarks) == len(MOVES) + 1)
        assert chat.questions == ["asked elsewhere"]
    await other.close()


async def test_nothing_moves_while_something_is_not_saved(home: Path, server: OllamaServer) -> None:
    server.script("One.")
    async with chatting(home, server.url) as chat:
        await chat.ready()
        locks = spoil(home)
        await chat.send("first")
        await listening(chat.pilot, UnsavedDialog)
        await chat.pilot.press("u")
        await chat.answered(1)
        for count, move in enumerate(MOVES, 1):
            chat.screen.action_command(move)
            await until(chat.pilot, lambda count=count: len(chat.remarks) == count)  # type: ignore[misc]  # bound here
            assert "not saved yet" in chat.remarks[-1], move
        assert chat.replies == ["One."]
        locks.unlink()


async def test_whoever_leaves_stops_what_is_put_back(home: Path, server: OllamaServer) -> None:
    stopped: list[str] = []
    server.script("One.")
    async with chatting(home, server.url) as chat:
        await chat.ready()
        travelling = chat.screen.travelling

        async def work(progress: object, stop: asyncio.Event) -> None:
            try:
                await stop.wait()
            except asyncio.CancelledError:
                stopped.append("at the file at hand")
                raise

        chat.screen.run_worker(travelling.while_shown("Working", work))
        await until(chat.pilot, lambda: isinstance(chat.app.screen, RestoringScreen))
        await chat.leave()
    assert stopped == ["at the file at hand"]
