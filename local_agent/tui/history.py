"""Fills the transcript from the store: the end first, older and newer parts as the person scrolls."""

from __future__ import annotations

from typing import TYPE_CHECKING

from local_agent.tui.glyphs import Glyphs
from local_agent.tui.widgets.transcript import Cut, Transcript

if TYPE_CHECKING:
    from local_agent.domain.entries import Slice
    from local_agent.runtime.conversation import Conversation
    from local_agent.tui.widgets.transcript import Item

TAIL_ENTRIES = 40
FALLBACK_WIDTH = 76


class History:
    """The stored part of what the transcript shows."""

    def __init__(self, transcript: Transcript, glyphs: Glyphs) -> None:
        self._transcript = transcript
        self._glyphs = glyphs

    async def show(self, tail: Slice) -> None:
        """Show the end of a conversation, whose tail is ``tail``."""
        await self._transcript.show(await self._items(tail), more_above=tail.more)

    async def older(self, conversation: Conversation, before: int) -> None:
        """Put the entries before one above it."""
        part = await conversation.before(before, TAIL_ENTRIES)
        if self._transcript.items and self._transcript.items[0].entry_id == before:
            await self._transcript.prepend(await self._items(part), more_above=part.more)

    async def newer(self, conversation: Conversation, cut: Cut) -> None:
        """Put back what was dropped below."""
        if cut.before:
            part = await conversation.before(cut.before, cut.count)
        else:
            part = await conversation.tail(cut.count)
        await self._transcript.extend(await self._items(part))

    async def to_end(self, conversation: Conversation) -> None:
        """Go to the end, reading it again when it was dropped."""
        if not self._transcript.end_mounted:
            await self.show(await conversation.tail(TAIL_ENTRIES))
        self._transcript.follow()

    async def _items(self, part: Slice) -> list[Item]:
        from local_agent.tui.turn_view import stored_items  # Markdown and Pygments: after the first paint

        width = self._transcript.content_width or FALLBACK_WIDTH
        return await stored_items(part, width - 2, self._glyphs)
