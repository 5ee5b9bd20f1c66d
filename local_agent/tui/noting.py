"""What commands do about the notes of the folder."""

from __future__ import annotations

from typing import TYPE_CHECKING

from local_agent.domain.errors import LocalAgentError
from local_agent.domain.text import one_line

if TYPE_CHECKING:
    from local_agent.runtime.runtime import Runtime
    from local_agent.tui.screens.doors import Doors


class Noting:
    """Opens the notes, or changes one at once and says so."""

    def __init__(self, screen: Doors, runtime: Runtime) -> None:
        self._screen = screen
        self._runtime = runtime

    @property
    def _untold(self) -> str:
        """Why models hear of no note; empty where they do."""
        if self._runtime.workshop.notes is not None:
            return ""
        why = "memory.notes is off" if self._runtime.saved else "Nothing is saved here"
        return f"{why}: models are told of no notes."

    def open(self, *, only_inbox: bool = False, editing: int | None = None) -> None:
        """The notes; ``editing``: with one of them to be edited, or with a new one (0)."""
        from local_agent.tui.screens.notes import NotesScreen

        source, glyphs = self._runtime.notes, self._screen.glyphs
        screen = NotesScreen(
            source, remark=self._untold, only_inbox=only_inbox, editing=editing, glyphs=glyphs
        )
        self._screen.app.push_screen(screen)

    async def add(self, text: str) -> None:
        """Note something."""
        conversation = self._screen.conversation
        try:
            await self._runtime.notes.add(text, (conversation.handle or "") if conversation else "")
        except LocalAgentError as error:
            self._screen.notify_line(str(error), "error")
        else:
            heard = self._untold or "Models hear of it with your next question."
            self._screen.notify_line(f"Noted: /memory shows it. {heard}")

    async def delete(self, note_id: int) -> None:
        """Delete a note, and say what it said."""
        try:
            note = (await self._runtime.notes.read()).find(note_id)
            await self._runtime.notes.delete(note_id)
        except LocalAgentError as error:
            self._screen.notify_line(str(error), "error")
        else:
            self._screen.notify_line(f"Note {note_id} is deleted. It said: {one_line(note.text, 200)}")
