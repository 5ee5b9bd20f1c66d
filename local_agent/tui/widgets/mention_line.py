"""A line above the composer: what the files that are mentioned would add, before it is sent."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from pathlib import Path

from textual import work
from textual.content import Content
from textual.widgets import Static

from local_agent.domain.attached import Attached
from local_agent.domain.budget import mentioned_bytes, text_tokens
from local_agent.tui.look.glyphs import Glyphs
from local_agent.tui.look.quantities import tokens
from local_agent.tui.widgets.question import mentions
from local_agent.workspace.reading import read_mentions

PAUSE_SECONDS = 0.2
"""How long the text must stand still before files are looked at."""
UNKNOWN_WINDOW = 4096


class MentionLine(Static):
    """Hidden while nothing is mentioned. ``window`` gives the tokens that a request may have now."""

    DEFAULT_CSS = """
    MentionLine { height: auto; max-height: 2; padding: 0 2; display: none; }
    """

    def __init__(self, root: Path, window: Callable[[], int], glyphs: Glyphs) -> None:
        super().__init__()
        self._root = root
        self._window = window
        self._glyphs = glyphs
        self._prompt = ""
        self.attached: Sequence[Attached] = ()
        """What would go along with the prompt."""

    def show(self, prompt: str) -> None:
        """Look at what ``prompt`` mentions as soon as the person pauses."""
        if prompt != self._prompt:
            self._prompt = prompt
            self._weigh()

    @work(group="mentions", exclusive=True)
    async def _weigh(self) -> None:
        if "@" not in self._prompt:
            self.display = False
            self.attached = ()
            return
        await asyncio.sleep(PAUSE_SECONDS)
        window = self._window() or UNKNOWN_WINDOW
        most = mentioned_bytes(window)
        self.attached = await asyncio.to_thread(read_mentions, self._root, self._prompt, most)
        self.update(self._drawn(window))
        self.display = bool(self.attached)

    def _drawn(self, window: int) -> Content:
        """What is wrong comes first, then the weight: the rest of a long line is cut."""
        read = [each for each in self.attached if each.text is not None]
        unread = [each for each in self.attached if each.text is None]
        weight = sum(text_tokens(each.text or "") for each in read)
        share = f"adds about {tokens(weight)} tokens, {-(-100 * weight // window)}% of the window: "
        added = Content.assemble((share, "$text-muted"), mentions(read, self._glyphs))
        parts = [mentions(unread, self._glyphs)] * bool(unread) + [added] * bool(read)
        return Content.styled(f"  {self._glyphs.dot}  ", "$text-muted").join(parts)
