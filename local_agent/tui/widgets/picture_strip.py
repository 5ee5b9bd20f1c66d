"""The pictures that go along with what is being written: a badge for each, above the composer."""

from __future__ import annotations

from collections.abc import Sequence

from textual.content import Content

from local_agent.domain.pictures import Picture
from local_agent.domain.text import one_line
from local_agent.tui.look.glyphs import UNICODE, Glyphs
from local_agent.tui.look.quantities import size
from local_agent.tui.widgets.composer_strip import ComposerStrip

SHORT_CELLS = 12
"""Of a name, where all of them share a line."""
LEAST_CELLS = 8
SIDES = 4


class PictureStrip(ComposerStrip):
    """Hidden while there is none; a click shows them."""

    def __init__(self, glyphs: Glyphs = UNICODE) -> None:
        super().__init__()
        self._glyphs = glyphs

    def show(self, pictures: Sequence[Picture], checking: Sequence[str]) -> None:
        """Draw a line for each picture, and for each file that is being looked at."""
        width = self.app.size.width - SIDES
        lines = [badge(number, picture, width) for number, picture in enumerate(pictures, 1)]
        lines += [Content(f"checking {one_line(name, 200)} {self._glyphs.ellipsis}") for name in checking]
        if len(lines) < 2:
            self.draw(lines)
            return
        named = (_named(number, each, SHORT_CELLS) for number, each in enumerate(pictures, 1))
        self.draw(lines, Content("  ").join([*lines[len(pictures) :], *named]))

    async def on_click(self) -> None:
        await self.screen.run_action("command('/image show')")


def badge(number: int, picture: Picture, width: int) -> Content:
    """``[1] name.png 640x480 120 kB``, the name cut where there is no room for it."""
    facts = f" {picture.width}x{picture.height} {size(picture.size)}"
    room = max(width - len(facts) - len(f"[{number}] "), LEAST_CELLS)
    return Content.assemble(_named(number, picture, room), facts)


def _named(number: int, picture: Picture, cells: int) -> Content:
    name = Content.styled(one_line(picture.name, 200), "$text").truncate(cells, ellipsis=True)
    return Content.assemble((f"[{number}] ", "$text-primary"), name)
