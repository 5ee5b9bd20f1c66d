"""Fills the transcript from the store: the end first, older and newer parts as the person scrolls."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from local_agent.domain.errors import LocalAgentError
from local_agent.tui.look.glyphs import Glyphs
from local_agent.tui.widgets.transcript import Transcript
from local_agent.tui.widgets.window import Cut, Item, Window

if TYPE_CHECKING:
    from local_agent.domain.entries import Entry, Slice
    from local_agent.domain.marks import Mark
    from local_agent.runtime.conversation import Conversation
    from local_agent.tui.conversation.find import Find

TAIL_ENTRIES = 40
SLICE_CHARACTERS = 100_000
"""Of a part with more text only the newest entries are taken: all is typeset before any is seen."""
SLICES_WHILE_LIVE = 10
"""How many parts are read upwards to reach an entry while the end must stay mounted."""
INDENT = 3
"""Cells at both sides of a reply."""
FALLBACK_WIDTH = 76

_log = logging.getLogger(__name__)


class History:
    """The stored part of what the transcript shows."""

    def __init__(self, transcript: Transcript, glyphs: Glyphs) -> None:
        self.conversation: Conversation | None = None
        self.transcript = transcript
        self.glyphs = glyphs
        self._find: Find | None = None

    @property
    def mounted(self) -> list[int]:
        """The ids of the entries on screen, oldest first."""
        return [item.entry_id for item in self.transcript.window.items]

    async def show(self, conversation: Conversation, tail: Slice) -> None:
        """Show the end of a conversation, whose tail is ``tail``."""
        self.conversation = conversation
        await self.transcript.show(await self._items(tail), more_above=tail.more)

    async def up_to(self, entry_id: int) -> None:
        """Show what comes before an entry, as far as it can be read."""
        part = await self._read(entry_id, TAIL_ENTRIES)
        await self.transcript.show(
            await self._items(part) if part else (), more_above=bool(part and part.more)
        )

    async def older(self, before: int) -> bool:
        """Put the entries before one above it; False when that was no longer wanted, or failed."""
        conversation = self.conversation
        part = await self._read(before, TAIL_ENTRIES)
        if part is None:
            return False
        part = _bounded(part)
        items = await self._items(part)
        if conversation is not self.conversation:
            return False
        return await self.transcript.prepend(items, before=before, more_above=part.more)

    async def newer(self, cut: Cut) -> bool:
        """Put back what was dropped below; False when that was no longer wanted, or failed."""
        conversation = self.conversation
        try:
            # Another process may have gone on at the end meanwhile.
            count = cut.count if cut.before else max(cut.count, await self._behind_window())
        except LocalAgentError:
            return False
        part = await self._read(cut.before, count)
        if part is None:
            return False
        items = await self._items(part)
        return conversation is self.conversation and await self.transcript.extend(items, cut=cut)

    def mark(self, question_id: int, mark: Mark) -> None:
        """Show at once what is wanted of an exchange; its marker is the end of the path now."""
        from local_agent.tui.conversation.stored import dress
        from local_agent.tui.widgets.question import Question

        window, inside = self.transcript.window, False
        for item in window.items:
            if item.widgets and isinstance(item.widgets[0], Question):
                inside = item.entry_id == question_id
            if inside:
                dress(item.widgets, mark)
        newest = self.conversation.search.newest if self.conversation is not None else None
        if newest is not None and self.transcript.end_mounted:
            window.items.append(Item(newest))

    async def to_end(self) -> None:
        """Go to the end, reading it again when it was dropped."""
        conversation = self.conversation
        if conversation is not None and not self.transcript.end_mounted:
            tail = await self._read(0, TAIL_ENTRIES)
            if tail is not None and conversation is self.conversation:
                await self.show(conversation, tail)
        self.transcript.follow()

    async def show_entry(self, entry_id: int) -> Item | None:
        """Have an entry mounted, and give it; None when it can't be reached now.

        What is far away replaces all that is mounted, but for the end that a turn writes at.
        """
        conversation = self.conversation
        if conversation is None:
            return None
        entry_id = conversation.search.known_as(entry_id)
        if self.transcript.live:
            for _ in range(SLICES_WHILE_LIVE):
                if self._item(entry_id) is not None or not await self._older_still():
                    break
        elif self._item(entry_id) is None:
            path = await conversation.search.path()
            if entry_id not in path:
                return None
            end = path.index(entry_id) + TAIL_ENTRIES // 2
            part = await self._read(path[end] if end < len(path) else 0, TAIL_ENTRIES)
            if part is None or conversation is not self.conversation:
                return None
            items = await self._items(part)
            window = Window.amid(items, more_above=part.more, below=path[end:])
            await self.transcript.show_amid(window)
        return self._item(entry_id)

    async def reveal_entry(self, entry_id: int) -> bool:
        """Have an entry in view; False when the path does not lead through it."""
        item = await self.show_entry(entry_id)
        if item is None or not item.widgets:
            return False
        await self.transcript.laid_out()
        self.transcript.reveal(item.widgets[0])
        return True

    async def to_question(self, step: int) -> None:
        """Put the question before (-1) or after (1) what is on top there; further parts are read."""
        from local_agent.tui.widgets.question import Question

        transcript = self.transcript
        while True:
            rows = {
                item.top: item.widgets[0]
                for item in transcript.window.items
                if item.widgets and isinstance(item.widgets[0], Question)
            }
            top = transcript.scroll_y
            beyond = [row for row in rows if (row < top if step < 0 else row > top)]
            if beyond:
                transcript.reveal(rows[max(beyond) if step < 0 else min(beyond)], above=0)
                return
            if not await (self._older_still() if step < 0 else self._newer_still()):
                break
        if step < 0:
            transcript.scroll_to(y=0, animate=False, immediate=True)
        else:
            transcript.follow()

    async def find(self, words: str = "") -> None:
        """Look for words in all of the conversation, or ask which; the next key is typed there."""
        from local_agent.tui.conversation.find import Find

        if self._find is None or not self._find.is_attached:
            self._find = Find(self, self.glyphs)
            await self.transcript.screen.mount(self._find, after=self.transcript)
        self._find.open(words)

    def end_find(self) -> bool:
        """Look for nothing any more; False when nothing was looked for."""
        find, self._find = self._find, None
        if find is None or not find.is_attached:
            return False
        find.close()
        return True

    def view(self) -> None:
        """Open what has the focus on the whole screen, else the answer in view, else the last one."""
        from local_agent.tui.screens.viewer import ViewerScreen
        from local_agent.tui.tools.cards import Card
        from local_agent.tui.widgets.question import Question
        from local_agent.tui.widgets.reply import Reply
        from local_agent.tui.widgets.thinking import Thinking

        transcript, screen = self.transcript, self.transcript.screen
        shown = screen.focused
        if isinstance(shown, Card):
            shown.action_view()
            return
        if not isinstance(shown, Question | Reply | Thinking):
            # Of several as much in view the last one.
            replies = [reply for reply in transcript.query(Reply) if reply.source.strip()]
            shown = max(reversed(replies), key=transcript.rows_in_view, default=None)
        if shown is None:
            screen.notify("There is no answer to read yet.", markup=False)
            return
        title = {Question: "Question", Thinking: "Thinking"}.get(type(shown), "Answer")
        raw = not isinstance(shown, Reply)
        screen.app.push_screen(ViewerScreen(title, shown.source, raw=raw, glyphs=self.glyphs))

    async def draw_end(self, tail: Slice, place: int) -> None:
        """Put the entries of a new tail from ``place`` on where now something else stands, or nothing."""
        if self.conversation is None:
            return
        if place == 0:
            await self.show(self.conversation, tail)
            return
        await self.transcript.drop_from(tail.entries[place - 1].id + 1)
        await self.transcript.append(await self._items(replace(tail, entries=tail.entries[place:])))

    def _item(self, entry_id: int) -> Item | None:
        return next((item for item in self.transcript.window.items if item.entry_id == entry_id), None)

    async def _older_still(self) -> bool:
        """Have more mounted above; False when there is no more, or it can't be read."""
        first = self.mounted[:1]
        if first and self.transcript.window.more_above:
            await self.older(first[0])
        return self.mounted[:1] != first

    async def _newer_still(self) -> bool:
        """Have more mounted below; False when the end is, or it can't be read."""
        last, cuts = self.mounted[-1:], self.transcript.window.cuts
        if cuts:
            await self.newer(cuts[-1])
        return self.mounted[-1:] != last

    async def _behind_window(self) -> int:
        """How many entries of the path come after the last one that is mounted."""
        path = await self.conversation.search.path() if self.conversation is not None else []
        last = self.mounted[-1]
        return len(path) - 1 - path.index(last) if last in path else 0

    async def _read(self, before: int, count: int) -> Slice | None:
        conversation = self.conversation
        if conversation is None:
            return None
        try:
            return await (conversation.before(before, count) if before else conversation.tail(count))
        except LocalAgentError as error:
            _log.warning("a part of the conversation can't be read: %s", error)
            return None

    async def _items(self, part: Slice) -> list[Item]:
        from local_agent.tui.conversation.stored import (
            stored_items,  # Markdown and Pygments: after the first paint
        )

        width = self.transcript.content_width or FALLBACK_WIDTH
        written = self.conversation is not None and self.conversation.writer is not None
        return await stored_items(part, width - INDENT, self.glyphs, written=written, path=self.conversation)


def _bounded(part: Slice) -> Slice:
    """The newest entries of a part that have no more text than is typeset at once, but two at least.

    A result is not typeset before somebody looks, and stays with the entry that holds its call.
    """
    characters = taken = 0
    for place in range(len(part.entries) - 1, -1, -1):
        entry = part.entries[place]
        if entry.call_number is not None:
            continue
        characters += len(entry.text)
        if characters > SLICE_CHARACTERS and taken >= 2:
            return replace(part, entries=_behind(part.entries, place), more=True)
        taken += 1
    return part


def _behind(entries: Sequence[Entry], place: int) -> tuple[Entry, ...]:
    """What comes behind an entry and its results."""
    return tuple(
        each for each in entries[place + 1 :] if each.parent != entries[place].id or each.call_number is None
    )
