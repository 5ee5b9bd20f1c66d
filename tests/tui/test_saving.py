"""A conversation that can't be saved: one question, NOT SAVED in the header, and a word when it is over."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest
from textual.app import App, ComposeResult
from textual.screen import Screen

from local_agent.tui.screens.unsaved import UnsavedDialog
from local_agent.tui.widgets.header import Header, HeaderFacts
from tests.runtime.opened import paths_in
from tests.support.ollama_server import OllamaServer
from tests.tui.chatting import chatting
from tests.tui.pilots import listening, screen_text, until
from tests.tui.stage import Stage


def told(app: App[Any]) -> list[str]:
    """What was said in passing; pilots draw no toasts."""
    return [notification.message for notification in app._notifications]


def spoil(home: Path) -> Path:
    """Put a file where the folder of the locks is: no session can be begun, whoever one is."""
    locks = paths_in(home).locks
    shutil.rmtree(locks, ignore_errors=True)
    locks.write_text("")
    return locks


async def test_it_is_asked_once_shown_and_over_when_it_is_saved(home: Path, server: OllamaServer) -> None:
    server.script("One.", "Two.", "Three.")
    async with chatting(home, server.url) as chat:
        await chat.ready()
        locks = spoil(home)
        await chat.send("first")
        await listening(chat.pilot, UnsavedDialog)
        assert "Not saved: Sessions can't be locked" in screen_text(chat.pilot)
        await chat.pilot.press("escape")
        await until(chat.pilot, lambda: any("Still not saved" in remark for remark in chat.remarks))
        await chat.answered(1)
        await until(chat.pilot, lambda: "NOT SAVED" in screen_text(chat.pilot))
        await chat.send("second")
        await chat.answered(2)
        assert chat.app.screen is chat.screen, "asked twice"
        locks.unlink()
        await chat.send("third")
        await chat.answered(3)
        await until(chat.pilot, lambda: "Saved again: 2 turns were written." in told(chat.app))
        assert "NOT SAVED" not in screen_text(chat.pilot)
        conversation = chat.screen.conversation
        assert conversation is not None and conversation.handle
        ids = [item.entry_id for item in chat.screen.transcript.window.items]
        assert ids == [entry.id for entry in (await conversation.tail()).entries]


async def test_trying_again_saves_and_leaving_sets_aside(home: Path, server: OllamaServer) -> None:
    server.script("One.")
    async with chatting(home, server.url) as chat:
        await chat.ready()
        locks = spoil(home)
        await chat.send("first")
        await listening(chat.pilot, UnsavedDialog)
        await chat.pilot.press("u")
        await chat.answered(1)
        await chat.leave()
        report = chat.app.return_value
        assert report is not None and report.aside is not None and not report.handle
        kept = report.aside.read_text("utf-8")
        assert "first" in kept and "One." in kept
    locks.unlink()
    async with chatting(home, server.url) as chat:
        await chat.ready()
        await until(chat.pilot, lambda: any("could not be saved" in remark for remark in chat.remarks))


class Headed(Screen[None]):
    """A header and nothing else."""

    def compose(self) -> ComposeResult:
        yield Header()


@pytest.mark.parametrize("width", [30, 80, 120])
async def test_the_header_says_so_however_narrow_it_is(width: int) -> None:
    app = Stage(screen := Headed())
    async with app.run_test(size=(width, 12)) as pilot:
        await until(pilot, lambda: app.screen is screen)
        facts = HeaderFacts("a-folder-with-a-name", "main", "llama3.2:3b", 6, 32, unsaved=True)
        screen.query_one(Header).facts = facts
        await until(pilot, lambda: "NOT SAVED" in screen_text(pilot))
