"""Notes of a folder: some that count, and two that a person has yet to decide about."""

from __future__ import annotations

from typing import Any

from textual.pilot import Pilot

from local_agent.domain.notes import Notes
from local_agent.runtime.notes import FolderNotes, utc_now
from local_agent.tui.app import LocalAgentApp
from local_agent.tui.screens.notes import NotesScreen
from tests.tui.pilots import screen_text, until

KEPT = (
    ("Tests run with make check; the slow ones need make check-all.", "a1b2c3d"),
    ("The staging database listens on port 5544, and is wiped every night.", ""),
    ("Restores go through src/restore.py alone: nothing else may write below objects/.", "0ff1ce5"),
)
PROPOSED = ("Prefers pathlib to os.path.", "Release notes are written on Fridays.")


async def fill(notes: FolderNotes) -> None:
    """Note all of them, once."""
    for text, session in KEPT:
        await notes.add(text, session)

    def propose(known: Notes) -> Notes:
        for text in PROPOSED:
            known = known.added(text, utc_now(), session="a1b2c3d", proposed=True)
        return known

    await notes._changed(propose)


async def notes_screen(app: LocalAgentApp, pilot: Pilot[Any]) -> None:
    """The notes, with the pointer at the first one."""
    assert app.chat.runtime is not None
    await fill(app.chat.runtime.notes)
    app.chat.action_command("/memory")
    await until(pilot, lambda: isinstance(app.screen, NotesScreen) and "Prefers" in screen_text(pilot))


async def edited_note(app: LocalAgentApp, pilot: Pilot[Any]) -> None:
    """One of them being changed."""
    await notes_screen(app, pilot)
    await pilot.press("down", "down", "enter")
    await until(pilot, lambda: isinstance(app.screen, NotesScreen) and app.screen.editing)
