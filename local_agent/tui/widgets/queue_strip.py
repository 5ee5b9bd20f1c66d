"""The prompts that wait behind a running turn, or are held back after a failed one."""

from __future__ import annotations

from textual.content import Content
from textual.widgets import Static

from local_agent.domain.text import one_line
from local_agent.tui.glyphs import UNICODE, Glyphs
from local_agent.tui.prompt_queue import PromptQueue

SHOWN = 3


class QueueStrip(Static):
    """Hidden while nothing waits."""

    DEFAULT_CSS = """
    QueueStrip { height: auto; padding: 0 2; color: $text-muted; display: none; }
    QueueStrip.-waiting { display: block; }
    """

    def __init__(self, glyphs: Glyphs = UNICODE) -> None:
        super().__init__()
        self._glyphs = glyphs

    def show(self, queue: PromptQueue) -> None:
        """Draw the newest of what waits."""
        self.set_class(bool(queue), "-waiting")
        prompts = queue.prompts
        word = "held" if queue.held else "next"
        lines = [
            Content.assemble(f"{word}  ", (one_line(prompt.text, 200), "$text")).truncate(
                max(8, self.app.size.width - 4), ellipsis=True
            )
            for prompt in prompts[-SHOWN:]
        ]
        if len(prompts) > SHOWN:
            lines.insert(0, Content(f"{self._glyphs.ellipsis} {len(prompts) - SHOWN} more before"))
        if queue.held:
            lines.append(Content(f"up takes it back {self._glyphs.dot} esc drops it"))
        self.update(Content("\n").join(lines))
