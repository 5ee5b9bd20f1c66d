"""Fills the transcript from the store: the end first, older and newer parts as the person scrolls."""

from __future__ import annotations

import logging
from dataclasses import replace
from typing import TYPE_CHECKING

from local_agent.domain.errors import LocalAgentError
from local_agent.tui.glyphs import Glyphs
from local_agent.tui.widgets.transcript import Cut, Transcript

if TYPE_CHECKING:
    from local_agent.domain.entries import Slice
    from local_agent.runtime.conversation import Conversation
    from local_agent.tui.widgets.transcript import Item

TAIL_ENTRIES = 40
INDENT = 3
"""Cells at both sides of a reply."""
FALLBACK_WIDTH = 76

_log = logging.getLogger(__name__)


class History:
    """The stored part of what the transcript shows."""

    def __init__(self, transcript: Transcript, glyphs: Glyphs) -> None:
        self.conversation: Conversation | None = None
        self._transcript = transcript
        self._glyphs = glyphs

    async def show(self, conversation: Conversation, tail: Slice) -> None:
        """Show the end of a conversation, whose tail is ``tail``."""
        self.conversation = conversation
        await self._transcript.show(await self._items(tail), more_above=tail.more)

    async def older(self, before: int) -> None:
        """Put the entries before one above it."""
        conversation, transcript = self.conversation, self._transcript
        if conversation is None:
            return
        part = await self._read(conversation, before, TAIL_ENTRIES)
        still_there = bool(transcript.items) and transcript.items[0].entry_id == before
        if part is not None and conversation is self.conversation and still_there:
            await transcript.prepend(await self._items(part), more_above=part.more)

    async def newer(self, cut: Cut) -> None:
        """Put back what was dropped below."""
        conversation = self.conversation
        if conversation is None:
            return
        part = await self._read(conversation, cut.before, cut.count)
        if part is not None and conversation is self.conversation:
            await self._transcript.extend(await self._items(part))

    async def to_end(self) -> None:
        """Go to the end, reading it again when it was dropped."""
        conversation = self.conversation
        if conversation is not None and not self._transcript.end_mounted:
            tail = await self._read(conversation, 0, TAIL_ENTRIES)
            if tail is not None and conversation is self.conversation:
                await self.show(conversation, tail)
        self._transcript.follow()

    async def follow(self, conversation: Conversation) -> None:
        """Mirror a session that another process writes, until another conversation is shown."""
        from local_agent.domain.entries import Slice
        from local_agent.tui.turn_view import OpenReply  # Markdown and Pygments: after the first paint

        open_reply = OpenReply(self._transcript, self._glyphs)
        try:
            async for seen in conversation.follow():
                if conversation is not self.conversation:
                    return
                if isinstance(seen, Slice):
                    await open_reply.remove()
                    await self._append(seen)
                else:
                    await open_reply.show(seen)
        except LocalAgentError as error:
            _log.warning("the mirror ended: %s", error)

    def last_answer(self) -> str | None:
        """The newest answer that is mounted, as Markdown."""
        from local_agent.tui.widgets.reply import Reply  # Markdown and Pygments: after the first paint

        for item in reversed(self._transcript.items):
            for widget in reversed(item.widgets):
                if isinstance(widget, Reply) and widget.source.strip():
                    return widget.source
        return None

    async def _append(self, tail: Slice) -> None:
        """Add what is new of a tail."""
        items = self._transcript.items
        last = max((item.entry_id for item in items), default=0)
        fresh = [entry for entry in tail.entries if entry.id > last]
        if not self._transcript.end_mounted or not fresh:
            return
        await self._transcript.append(await self._items(replace(tail, entries=tuple(fresh))))

    async def _read(self, conversation: Conversation, before: int, count: int) -> Slice | None:
        try:
            return await (conversation.before(before, count) if before else conversation.tail(count))
        except LocalAgentError as error:
            _log.warning("a part of the conversation can't be read: %s", error)
            return None

    async def _items(self, part: Slice) -> list[Item]:
        from local_agent.tui.turn_view import stored_items  # Markdown and Pygments: after the first paint

        width = self._transcript.content_width or FALLBACK_WIDTH
        return await stored_items(part, width - INDENT, self._glyphs)
