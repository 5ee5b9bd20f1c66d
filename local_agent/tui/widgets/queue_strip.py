"""The prompts that wait behind a running turn, or are held back after a failed one."""

from __future__ import annotations

from textual.content import Content

from local_agent.domain.drafts import Prompt
from local_agent.domain.text import one_line
from local_agent.tui.look.glyphs import UNICODE, Glyphs
from local_agent.tui.look.quantities import counted
from local_agent.tui.prompt.prompt_queue import PromptQueue
from local_agent.tui.widgets.composer_strip import ComposerStrip

SHOWN = 3


class QueueStrip(ComposerStrip):
    """Hidden while nothing waits; a click opens all of it."""

    def __init__(self, glyphs: Glyphs = UNICODE) -> None:
        super().__init__()
        self._glyphs = glyphs
        self._shown: tuple[tuple[Prompt, ...], bool, bool, bool] = ((), False, False, False)

    def show(self, queue: PromptQueue, *, typing: bool = False) -> None:
        """Draw the newest of what waits; while one is ``typing``, Up means the questions of the past."""
        prompts = queue.prompts
        # It is asked to at every key; each update lays the screen out again.
        editing = queue.editing is not None and not queue.editing.asked
        if (shown := (prompts, bool(queue.held), typing, editing)) == self._shown:
            return
        self._shown = shown
        if editing:
            self._draw_editing()
            return
        word = "held" if queue.held else "next"
        lines = [Content.assemble(f"{word}  ", (_words(prompt), "$text")) for prompt in prompts[-SHOWN:]]
        if len(prompts) > SHOWN:
            more = f"{self._glyphs.ellipsis} {len(prompts) - SHOWN} more before"
            lines.insert(0, Content(f"{more} {self._glyphs.dot} alt+q shows all"))
        if queue.held:
            hints = ("up takes it back", "esc drops it", "alt+q shows all")[typing:]
            lines.append(Content(f" {self._glyphs.dot} ".join(hints)))
        short = (
            Content.assemble(f"{len(prompts)} {word}  ", (_words(prompts[-1]), "$text")) if prompts else None
        )
        self.draw(lines, short)

    def _draw_editing(self) -> None:
        from local_agent.tui.prompt.editing import EDITING, LETS_BE, SENDS  # only while one is

        hints = f" {self._glyphs.dot} ".join((SENDS, LETS_BE))
        self.draw([Content.assemble((EDITING, "$text"), f": {hints}")], Content(f"Editing: {hints}"))

    async def on_click(self) -> None:
        await self.screen.run_action("command('/queue')")


def _words(prompt: Prompt) -> str:
    """What it says; of one without words, what goes along."""
    return one_line(prompt.text[:400], 200) or counted(len(prompt.pictures), "picture")
