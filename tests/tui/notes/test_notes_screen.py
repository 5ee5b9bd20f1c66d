"""The notes on screen, by the keys of somebody in a hurry; and ``/memory`` with everything it takes."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from local_agent.config.settings import MemorySettings
from local_agent.runtime.notes import FolderNotes
from local_agent.tui.screens.notes import NotesScreen
from local_agent.tui.screens.sessions import SessionsScreen
from tests.runtime.opened import settings_for
from tests.support.ollama_server import OllamaServer
from tests.tui.chatting import Chat, chatting
from tests.tui.notes.shown import fill
from tests.tui.pilots import screen_text, until


@asynccontextmanager
async def noted(home: Path, *replies: str, full: bool = True) -> AsyncIterator[tuple[Chat, FolderNotes]]:
    async with OllamaServer() as server, chatting(home, server.url) as chat:
        server.script(*replies)
        await chat.ready()
        assert chat.screen.runtime is not None
        notes = chat.screen.runtime.notes
        if full:
            await fill(notes)
        yield chat, notes


async def opened(chat: Chat, line: str = "/memory") -> NotesScreen:
    await chat.send(line)
    await until(chat.pilot, lambda: isinstance(chat.app.screen, NotesScreen))
    screen = chat.app.screen
    assert isinstance(screen, NotesScreen)
    await until(chat.pilot, lambda: "Notes" in screen_text(chat.pilot))
    return screen


async def texts(notes: FolderNotes) -> list[str]:
    return [note.text for note in (await notes.read()).kept]


async def said(chat: Chat, words: str) -> None:
    """On the screen, or in its corner."""

    def seen() -> bool:
        notices = [notice.message for notice in chat.app._notifications]
        return words in " ".join([*screen_text(chat.pilot).split(), *notices])

    await until(chat.pilot, seen)


async def test_a_note_is_added_changed_deleted_and_brought_back(home: Path) -> None:
    async with noted(home, full=False) as (chat, notes):
        screen = await opened(chat)
        await said(chat, "Nothing is noted of this folder yet.")
        await chat.pilot.press("f2", *"Port 5544", "enter")
        await until(chat.pilot, lambda: not screen.editing and screen.selected is not None)
        await chat.pilot.press("f2", *"Second", "enter")
        await until(
            chat.pilot, lambda: not screen.editing and screen.selected is not None and screen.selected.id == 2
        )
        assert await texts(notes) == ["Second", "Port 5544"]
        await chat.pilot.press(*"5544", "enter", "end", *"5", "enter")
        await until(chat.pilot, lambda: screen.selected is not None and screen.selected.text == "Port 55445")
        await chat.pilot.press("f8")
        await said(chat, "ctrl+z brings it back")
        assert await texts(notes) == ["Second"]
        await chat.pilot.press("ctrl+z")
        await said(chat, "It is back.")
        assert (await notes.read()).find(1).text == "Port 55445"
        await chat.pilot.press("escape")
        assert chat.app.screen is chat.screen


async def test_what_was_looked_for_in_vain_is_the_beginning_of_a_note(home: Path) -> None:
    async with noted(home) as (chat, notes):
        screen = await opened(chat)
        await chat.pilot.press(*"zebra")
        await said(chat, "No note says that.")
        await chat.pilot.press("f2", *" crossing", "enter")
        await until(chat.pilot, lambda: not screen.editing)
        assert (await texts(notes))[0] == "zebra crossing"
        assert screen.filter_input.value == ""


async def test_a_proposal_is_accepted_edited_or_dropped(home: Path) -> None:
    async with noted(home) as (chat, notes):
        screen = await opened(chat, "/memory inbox")
        await until(chat.pilot, lambda: screen.selected is not None)
        assert "staging" not in screen_text(chat.pilot)
        first = screen.selected
        assert first is not None and first.proposed
        await chat.pilot.press("f4")
        await said(chat, f"Note {first.id} counts from now on.")
        assert first.text in await texts(notes)
        await chat.pilot.press("f8")
        await said(chat, "The proposal is deleted")
        await said(chat, "The inbox is empty.")
        assert (await notes.read()).inbox == []


async def test_a_line_that_is_no_note_is_said_and_stays(home: Path) -> None:
    async with noted(home, full=False) as (chat, notes):
        screen = await opened(chat, "/memory add")
        await until(chat.pilot, lambda: screen.editing)
        await chat.pilot.press("space", "enter")
        await said(chat, "A note needs words.")
        assert screen.editing
        await chat.pilot.press("escape")
        assert not screen.editing and await texts(notes) == []


async def test_a_damaged_file_is_said_and_stays(home: Path) -> None:
    async with noted(home, full=False) as (chat, notes):
        notes.path.parent.mkdir()
        notes.path.write_text("{")
        screen = await opened(chat)
        await said(chat, "can't be read")
        await chat.pilot.press("f2", *"x", "enter")
        await said(chat, "until then nothing is noted here")
        assert screen.editing and screen.text_input.value == "x" and notes.path.read_text() == "{"


async def test_a_note_that_could_not_be_brought_back_can_be_once_it_is_possible(home: Path) -> None:
    async with noted(home) as (chat, notes):
        screen = await opened(chat)
        await until(chat.pilot, lambda: screen.selected is not None)
        await chat.pilot.press("down", "down", "f8")
        await said(chat, "ctrl+z brings it back")
        good = notes.path.read_text()
        notes.path.write_text("{")
        await chat.pilot.press("ctrl+z")
        await said(chat, "can't be read")
        notes.path.write_text(good)
        await chat.pilot.press("ctrl+z")
        await said(chat, "It is back.")
        assert len(await texts(notes)) == 3


async def test_it_is_said_where_models_hear_of_no_note(home: Path) -> None:
    async with OllamaServer() as server:
        off = replace(settings_for(server.url), memory=MemorySettings(notes=False))
        async with chatting(home, server.url, settings=off) as chat:
            await chat.ready()
            await opened(chat)
            await said(chat, "memory.notes is off: models are told of no notes.")
        async with chatting(home, server.url, save=False) as chat:
            await chat.ready()
            await chat.send("/memory add One.")
            await said(chat, "Nothing is saved here: models are told of no notes.")


async def test_the_command_notes_deletes_and_edits_at_once(home: Path) -> None:
    async with noted(home, full=False) as (chat, notes):
        await chat.send("/memory add The port is 5544.")
        await said(chat, "Noted: /memory shows it. Models hear of it with your next question.")
        assert await texts(notes) == ["The port is 5544."]
        screen = await opened(chat, "/memory edit 1")
        await until(chat.pilot, lambda: screen.editing)
        await chat.pilot.press("end", *"!", "enter")
        await until(chat.pilot, lambda: not screen.editing)
        await chat.pilot.press("escape")
        await chat.send("/memory delete 1")
        await said(chat, "Note 1 is deleted. It said: The port is 5544.!")
        assert await texts(notes) == []
        await chat.send("/memory delete 1")
        await said(chat, "There is no note 1.")
        await chat.send("/memory delete everything")
        await said(chat, "Say the number of a note.")
        await opened(chat, "/memory edit 7")
        await said(chat, "There is no note 7.")


@pytest.mark.parametrize("line", ["/memory database port", "/memory search database port"])
async def test_any_other_words_are_searched(home: Path, line: str) -> None:
    async with noted(home) as (chat, _notes):
        await chat.send(line)
        await until(chat.pilot, lambda: isinstance(chat.app.screen, SessionsScreen))
        assert isinstance(chat.app.screen, SessionsScreen)
        assert chat.app.screen.filter_input.value == "/database port"


async def test_the_question_says_that_notes_were_told(home: Path) -> None:
    async with noted(home, "Hi.", "Hi again.") as (chat, _notes):
        await chat.send("Hello")
        await chat.answered(1)
        await said(chat, "told of 3 notes of this folder")
        await chat.send("Again")
        await chat.answered(2)
        assert screen_text(chat.pilot).count("told of") == 1
