"""Checkpoints, restore, undo and redo in the whole program, with tools that write files."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from local_agent.domain.drafts import Prompt
from local_agent.domain.modes import Mode
from local_agent.tui.screens.checkpoints import CheckpointsScreen
from local_agent.tui.screens.journey import JourneyDialog
from local_agent.tui.screens.stop_turn import StopTurnDialog
from local_agent.tui.screens.viewer import ViewerScreen
from local_agent.tui.widgets.remarks import Remark
from local_agent.tui.widgets.welcome import WelcomeView
from tests.support.ollama_server import OllamaServer, Turn, call, gate
from tests.terminal.steps import conversation
from tests.tui.chatting import Chat, chatting
from tests.tui.pilots import listening, screen_text, until


def writes(text: str, name: str = "note.txt") -> Turn:
    return Turn(call("write", {"path": name, "content": text}))


@asynccontextmanager
async def talk(
    home: Path, server: OllamaServer, size: tuple[int, int] = (100, 30)
) -> AsyncIterator[tuple[Chat, Path]]:
    """A conversation in which edits run without a question, and its folder."""
    async with chatting(home, server.url, size=size) as chat:
        await chat.ready()
        assert chat.screen.conversation is not None
        await chat.screen.conversation.set_mode(Mode.AUTO)
        yield chat, home.parent / "api-server"


def told(chat: Chat) -> str:
    """All that the program says in passing, in the transcript and on the screen, however it is broken."""
    notes = [note.message for note in chat.app._notifications]
    return " ".join(" ".join([*notes, *chat.remarks, screen_text(chat.pilot)]).split())


def handle_of(chat: Chat) -> str:
    return chat.screen.conversation.handle if chat.screen.conversation is not None else ""


async def said(chat: Chat, words: str) -> None:
    """Wait until it is said somewhere."""
    await until(chat.pilot, lambda: words in told(chat))


async def asked(chat: Chat) -> JourneyDialog:
    await listening(chat.pilot, JourneyDialog)
    assert isinstance(chat.app.screen, JourneyDialog)
    return chat.app.screen


async def test_a_checkpoint_is_restored_with_its_files_and_that_is_undone(
    home: Path, server: OllamaServer
) -> None:
    server.script(writes("one\n"), "First.", writes("two\n"), "Second.", writes("new", "b.txt"), "Third.")
    async with talk(home, server) as (chat, folder):
        note, other = folder / "note.txt", folder / "b.txt"
        await chat.send("one")
        await chat.answered(1)
        await chat.send("/checkpoint before two")
        await said(chat, "Checkpoint 1 · before two · 3 messages. Back to it: /restore 1")
        await chat.send("two")
        await chat.answered(2)
        await chat.send("b")
        await chat.answered(3)

        chat.screen.action_command("/restore 1")
        dialog = await asked(chat)
        text = screen_text(chat.pilot)
        assert "2 files are not as they were then." in text
        assert "change back  note.txt" in text and "remove       b.txt" in text
        await chat.pilot.press("escape")
        await until(chat.pilot, lambda: chat.app.screen is chat.screen)
        assert chat.replies == ["First.", "Second.", "Third."] and note.read_text() == "two\n"

        chat.screen.action_command("/restore 1")
        dialog = await asked(chat)
        await chat.pilot.press("down", "down", "down", "down", "v")
        await until(chat.pilot, lambda: isinstance(chat.app.screen, ViewerScreen))
        await until(
            chat.pilot, lambda: "-two" in screen_text(chat.pilot) and "+one" in screen_text(chat.pilot)
        )
        await chat.pilot.press("escape")
        await until(chat.pilot, lambda: chat.app.screen is dialog)
        await chat.pilot.press("b", "enter")
        await until(chat.pilot, lambda: chat.replies == ["First."])
        assert note.read_text() == "one\n" and not other.exists()
        await said(chat, "/undo takes it back.")

        chat.screen.action_command("/undo --both")
        await until(chat.pilot, lambda: chat.replies == ["First.", "Second.", "Third."])
        assert note.read_text() == "two\n" and other.read_text() == "new"
        chat.screen.action_command("/redo --files")
        await until(chat.pilot, lambda: note.read_text() == "one\n" and not other.exists())
        assert chat.replies == ["First.", "Second.", "Third."]


async def test_an_undone_question_returns_to_the_composer_and_is_sent_again(
    home: Path, server: OllamaServer
) -> None:
    server.script("First.", writes("two\n"), "Second.", "Again.")
    async with talk(home, server, (30, 12)) as (chat, folder):
        await chat.send("one")
        await chat.answered(1)
        await chat.send("two")
        await chat.answered(2)
        (folder / "note.txt").write_text("mine\n")
        chat.screen.action_command("/undo")
        await asked(chat)
        await until(chat.pilot, lambda: "keep" in screen_text(chat.pilot))
        await chat.pilot.press("3", "enter")
        await until(chat.pilot, lambda: chat.screen.composer.text == "two")
        await until(chat.pilot, lambda: chat.replies == ["First."])
        assert (folder / "note.txt").read_text() == "mine\n"
        await chat.pilot.press("enter")
        await until(chat.pilot, lambda: chat.replies == ["First.", "Again."] and not chat.screen.busy)
        assert [text for role, text in conversation(server.chats[-1]) if role == "assistant"] == ["First."]


async def test_undo_and_redo_typed_behind_a_question_that_came_back_are_commands(
    home: Path, server: OllamaServer
) -> None:
    server.script("First.", "Second.")
    async with talk(home, server) as (chat, _):
        for count, text in enumerate(("one", "two"), 1):
            await chat.send(text)
            await chat.answered(count)
        await chat.send("/undo")
        await until(chat.pilot, lambda: chat.screen.composer.text == "two")
        await chat.send("/undo")
        await until(chat.pilot, lambda: chat.screen.composer.text == "one")
        await chat.send("/redo")
        await until(chat.pilot, lambda: chat.replies == ["First."] and chat.screen.composer.text == "")
        await chat.send("/redo")
        await until(chat.pilot, lambda: chat.replies == ["First.", "Second."])
        assert len(server.chats) == 2 and chat.screen.composer.text == ""


async def test_a_file_that_changes_while_it_is_asked_about_stays_with_a_warning(
    home: Path, server: OllamaServer
) -> None:
    server.script(writes("one\n"), "First.", writes("new", "b.txt"), writes("two\n"), "Second.")
    async with talk(home, server) as (chat, folder):
        for count, text in enumerate(("one", "two"), 1):
            await chat.send(text)
            await chat.answered(count)
        chat.screen.action_command("/undo")
        await asked(chat)
        (folder / "note.txt").write_text("mine\n")
        await chat.pilot.press("b", "enter")
        await said(chat, "1 restored, 1 kept")
        assert [remark.kind for remark in chat.screen.query(Remark)] == ["warning"]
        assert (folder / "note.txt").read_text() == "mine\n" and not (folder / "b.txt").exists()


async def test_an_undo_of_the_first_turn_leaves_the_welcome_and_what_was_typed(
    home: Path, server: OllamaServer
) -> None:
    server.script("First.")
    async with talk(home, server) as (chat, _):
        chat.screen.action_command("/undo")
        await said(chat, "There is no conversation yet. Ask something first.")
        await chat.send("one")
        await chat.answered(1)
        assert chat.screen.header.facts.used
        await chat.type("more")
        chat.screen.action_command("/undo")
        await until(chat.pilot, lambda: chat.screen.composer.text == "one\n\nmore")
        await until(chat.pilot, lambda: not chat.replies and chat.screen.query(WelcomeView))
        assert chat.screen.header.facts.used is None
        chat.screen.action_command("/undo")
        await until(chat.pilot, lambda: any("undo" in remark for remark in chat.remarks))
        chat.screen.action_command("/redo")
        await until(chat.pilot, lambda: chat.replies == ["First."] and not chat.screen.query(WelcomeView))
        assert chat.screen.composer.text == "one\n\nmore"


async def test_a_running_turn_is_stopped_first_or_left_alone(home: Path, server: OllamaServer) -> None:
    server.script("First.", Turn("Seco", gate("never")))
    async with talk(home, server) as (chat, _):
        await chat.send("one")
        await chat.answered(1)
        await chat.send("two")
        await until(chat.pilot, lambda: chat.replies[-1:] == ["Seco"])
        chat.screen.action_command("/undo")
        await listening(chat.pilot, StopTurnDialog)
        await chat.pilot.press("escape")
        await until(chat.pilot, lambda: chat.app.screen is chat.screen)
        assert chat.screen.busy and chat.replies == ["First.", "Seco"]
        chat.screen.action_command("/undo")
        await listening(chat.pilot, StopTurnDialog)
        await chat.pilot.press("s")
        await until(chat.pilot, lambda: chat.screen.composer.text == "two")
        await until(chat.pilot, lambda: chat.replies == ["First."] and not chat.screen.busy)


async def test_checkpoints_are_listed_compared_and_forked_from(home: Path, server: OllamaServer) -> None:
    server.script(writes("one\n"), "First.", writes("two\n"), "Second.")
    async with talk(home, server) as (chat, folder):
        await chat.send("one")
        await chat.answered(1)
        chat.screen.action_command("/checkpoint")
        await said(chat, "Checkpoint 1 · 3 messages.")
        await chat.send("two")
        await chat.answered(2)
        chat.screen.action_command("/checkpoint later")
        await said(chat, "Checkpoint 2 · later · 6 messages.")
        first = handle_of(chat)
        chat.screen.action_command("/checkpoints")
        await until(chat.pilot, lambda: isinstance(chat.app.screen, CheckpointsScreen))
        await said(chat, "1 file")
        await chat.pilot.press("d")
        await said(chat, "No file has changed since checkpoint 2.")
        await chat.pilot.press("down", "d")
        await until(chat.pilot, lambda: isinstance(chat.app.screen, ViewerScreen))
        await until(
            chat.pilot, lambda: "-one" in screen_text(chat.pilot) and "+two" in screen_text(chat.pilot)
        )
        await chat.pilot.press("escape")
        await until(chat.pilot, lambda: isinstance(chat.app.screen, CheckpointsScreen))
        await said(chat, "First.")
        assert "Second." not in screen_text(chat.pilot)
        await chat.pilot.press("f")
        await until(chat.pilot, lambda: handle_of(chat) not in ("", first))
        await until(chat.pilot, lambda: chat.replies == ["First."])
        assert (folder / "note.txt").read_text() == "two\n"
        chat.screen.action_command("/restore 2")
        await until(chat.pilot, lambda: any("checkpoint 2" in remark for remark in chat.remarks))
        assert chat.replies == ["First."]


async def test_a_prompt_that_is_sent_while_the_head_moves_is_asked_where_it_arrives(
    home: Path, server: OllamaServer
) -> None:
    server.script("First.", writes("two\n"), "Second.", "Third.")
    async with talk(home, server) as (chat, _):
        await chat.send("one")
        await chat.answered(1)
        await chat.send("two")
        await chat.answered(2)
        chat.screen.action_command("/undo")
        await asked(chat)
        chat.screen.send_prompt(Prompt("three"))
        await chat.pilot.press("enter")
        await until(chat.pilot, lambda: chat.replies == ["First.", "Third."] and not chat.screen.busy)
        assert [text for role, text in conversation(server.chats[-1]) if role == "assistant"] == ["First."]
        assert chat.screen.composer.text == "two"
        # A new question empties what could be done again; its branch is still in the tree.
        chat.screen.action_command("/redo")
        await until(chat.pilot, lambda: any("redo" in remark or "again" in remark for remark in chat.remarks))
        assert chat.replies == ["First.", "Third."]


async def test_a_command_of_ones_own_comes_back_as_it_was_typed(home: Path, server: OllamaServer) -> None:
    server.script("First.")
    async with talk(home, server) as (chat, _):
        await chat.send("one")
        await chat.answered(1)
        chat.screen.send_prompt(Prompt("!echo hi"))
        await until(chat.pilot, lambda: chat.questions == ["one", "!echo hi"] and not chat.screen.busy)
        chat.screen.action_command("/undo")
        await until(chat.pilot, lambda: chat.screen.composer.text == "!echo hi")
        await until(chat.pilot, lambda: chat.questions == ["one"])
        for line, words in (
            ("/redo --conversation", "Done again"),
            ("/restore 1", "checkpoint 1"),
            ("/restore 99999999999999999999", "This session has no checkpoint 99999999999999999999."),
            ("/restore one", "'one' is no checkpoint's number, such as 12. /checkpoints shows them."),
            ("/restore 1 2", "Which checkpoint? /checkpoints shows them."),
            ("/undo twice", "/undo goes by one step; 'twice' is too much."),
        ):
            chat.screen.action_command(line)
            await said(chat, words)
