"""Keeps the list above the composer in step with the word at the cursor, and takes what is chosen there."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import TYPE_CHECKING, NamedTuple, cast

from textual.containers import Horizontal, Vertical

from local_agent.domain.errors import LocalAgentError
from local_agent.tui.look.glyphs import Glyphs
from local_agent.tui.prompt.offers import (
    MOST,
    Place,
    argument_offers,
    command_offers,
    file_offers,
    files_note,
    place_at,
)
from local_agent.tui.widgets.completion import CompletionList, Offer
from local_agent.tui.widgets.composer import Composer
from local_agent.tui.widgets.mention_line import MentionLine
from local_agent.workspace.index import FileIndex

if TYPE_CHECKING:
    from local_agent.tui.screens.chat import ChatScreen

AGAIN_SECONDS = 0.15
"""How often one looks again while more is being found."""
PATIENCE_SECONDS = 0.2
"""How long a key waits for what is to be offered; it is shown when it comes."""


class _Shown(NamedTuple):
    row: int
    place: Place
    offers: Sequence[Offer]
    note: str = ""
    unfinished: bool = False


class Completing:
    """Belongs to the pane that holds the composer; every method runs among its messages, one at a time."""

    def __init__(self, pane: Vertical, composer: Composer, glyphs: Glyphs) -> None:
        self._pane = pane
        self._composer = composer
        self._list = CompletionList(glyphs)
        self._glyphs = glyphs
        self._shown: _Shown | None = None
        self._seen: object = None
        self._dismissed: tuple[int, int] | None = None
        """Row and column of the word whose list was closed."""
        self._files: FileIndex | None = None
        self._asked: tuple[object, asyncio.Future[Sequence[str]]] | None = None
        self._again = pane.set_interval(AGAIN_SECONDS, self._look_again, pause=True)
        self._line_above = MentionLine(self._screen.launch.options.workspace, self._window, glyphs)

    async def look(self, *, edited: bool = True) -> None:
        """Offer what the word at the cursor may become; where nothing was typed a list is never opened."""
        await self._weigh()
        edited = edited and bool(self._composer.history.undo_stack)
        if not edited and self._shown is None:
            return
        while (state := self._state) != self._seen:
            shown = await self._found(edited)
            if state == self._state:
                # A key moves the cursor first and is told as an edit after that.
                self._seen = state if edited or shown is not None else None
                await self._show(shown)
                return

    async def close(self) -> None:
        """Close the list until another word begins."""
        if (here := self._here()) is not None:
            self._dismissed = (here[0], here[1].start)
        await self._show(None)

    def move(self, step: int) -> None:
        """Choose another row."""
        self._list.move(step)

    def point(self, row: int) -> None:
        """Choose a row."""
        self._list.highlighted = row

    async def take(self, *, submit: bool) -> str | None:
        """Write the chosen row in the place of the word; the line of a command that is to be run now."""
        await self.look()
        shown, offer = self._shown, self._list.chosen
        if shown is None or offer is None:
            return None
        if submit and offer.sends:
            line = self._line(shown.row)[: shown.place.start] + offer.text
            self._composer.load("")
            return line.strip()
        if submit and self._line(shown.row)[shown.place.start : shown.place.end] == offer.text:
            await self.close()
            self._composer.submit()
            return None
        self._write(shown, offer)
        return None

    def _write(self, shown: _Shown, offer: Offer) -> None:
        row, place = shown.row, shown.place
        text = offer.text
        folder = text.removesuffix('"').endswith("/")
        rest = self._line(row)[place.end :]
        if place.mention:
            text += "" if folder or rest[:1].isspace() else " "
            if self._files is not None:
                self._files.used(offer.label)
        composer = self._composer
        composer.replace(text, (row, place.start), (row, place.end), maintain_selection_offset=False)
        behind = place.start + len(text) - (folder and text.endswith('"') and place.mention)
        composer.move_cursor((row, behind))

    async def _found(self, edited: bool) -> _Shown | None:
        here = self._here()
        if here is None:
            self._dismissed = None
            return None
        row, place = here
        if (row, place.start) == self._dismissed:
            return None
        self._dismissed = None
        before = self._shown
        same = before is not None and (before.row, before.place.start) == (row, place.start)
        if not edited and not same:
            return None
        if not same:
            self._list.moved = False
        if place.mention:
            return await self._mentions(row, place, begins=not same)
        if place.command is None:
            return _Shown(row, place, command_offers(place.query))
        return await self._arguments(row, place)

    async def _mentions(self, row: int, place: Place, *, begins: bool) -> _Shown:
        if self._files is None:
            self._files = FileIndex(self._screen.launch.options.workspace)
        if begins:
            self._files.refresh()
        matches = await asyncio.to_thread(self._files.find, place.query, MOST)
        note = files_note(matches) if matches.paths or matches.building else ""
        return _Shown(row, place, file_offers(matches), note, matches.building)

    async def _arguments(self, row: int, place: Place) -> _Shown:
        assert place.command is not None and place.command.completer is not None
        completer, screen = place.command.completer, self._screen
        words = await self._answer((place.command.name, place.query), lambda: completer(screen, place.query))
        if words is None:
            return _Shown(row, place, (), unfinished=True)
        return _Shown(row, place, argument_offers(words[:MOST]))

    async def _answer(self, key: object, ask: Callable[[], Awaitable[Sequence[str]]]) -> Sequence[str] | None:
        """What ``ask`` gives; None while it takes its time, so that no key waits for a slow server."""
        if self._asked is None or self._asked[0] != key:
            if self._asked is not None:
                self._asked[1].cancel()
            self._asked = (key, asyncio.ensure_future(ask()))
        task = self._asked[1]
        await asyncio.wait({task}, timeout=PATIENCE_SECONDS)
        if not task.done():
            return None
        self._asked = None
        try:
            return task.result()
        except (LocalAgentError, asyncio.CancelledError):
            return ()

    async def _show(self, shown: _Shown | None) -> None:
        if shown is not None and not (shown.offers or shown.note or shown.unfinished):
            shown = None
        self._shown = shown
        offers, note = (shown.offers, shown.note) if shown is not None else ((), "")
        if (offers or note) and not self._list.is_attached:
            await self._pane.mount(self._list, before=0)
        if self._list.is_attached:
            self._list.show(offers, note)
        self._composer.completing = bool(offers)
        if shown is not None and shown.unfinished:
            self._again.resume()
        else:
            self._again.pause()

    async def _weigh(self) -> None:
        """Say what the prompt's mentions would add."""
        prompt = self._composer.prompt
        if "@" in prompt and not self._line_above.is_attached:
            await self._pane.mount(self._line_above, before=self._pane.query_one(Horizontal))
        if self._line_above.is_attached:
            self._line_above.show(prompt)

    def _window(self) -> int:
        conversation = self._screen.conversation
        return conversation.window if conversation is not None else 0

    async def _look_again(self) -> None:
        self._seen = None
        await self.look(edited=False)

    def _here(self) -> tuple[int, Place] | None:
        if not self._composer.selection.is_empty:
            return None
        row, column = self._composer.cursor_location
        place = place_at(self._line(row), column, only=self._composer.document.line_count == 1)
        return (row, place) if place is not None else None

    def _line(self, row: int) -> str:
        return self._composer.document.get_line(row)

    @property
    def _state(self) -> object:
        return self._composer.text, self._composer.selection

    @property
    def _screen(self) -> ChatScreen:
        return cast("ChatScreen", self._pane.screen)
