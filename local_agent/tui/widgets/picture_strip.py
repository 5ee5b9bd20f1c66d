"""The pictures that go along with what is being written: a badge for each, above the composer."""

from __future__ import annotations

from collections.abc import Sequence

from textual.content import Content
from textual.widgets import Static

from local_agent.domain.pictures import Picture
from local_agent.domain.text import one_line
from local_agent.tui.glyphs import UNICODE, Glyphs
from local_agent.tui.quantities import size


class PictureStrip(Static):
    """Hidden while there is none."""

    DEFAULT_CSS = """
    PictureStrip { height: auto; padding: 0 2; color: $text-muted; display: none; }
    PictureStrip.-any { display: block; }
    """

    def __init__(self, glyphs: Glyphs = UNICODE) -> None:
        super().__init__()
        self._glyphs = glyphs

    def show(self, pictures: Sequence[Picture], checking: Sequence[str]) -> None:
        """Draw a line for each picture, and for each file that is being looked at."""
        self.set_class(bool(pictures or checking), "-any")
        width = max(8, self.app.size.width - 4)
        lines = [badge(number, picture, width) for number, picture in enumerate(pictures, 1)]
        for name in checking:
            line = Content(f"checking {one_line(name, 200)} {self._glyphs.ellipsis}")
            lines.append(line.truncate(width, ellipsis=True))
        self.update(Content("\n").join(lines))


def badge(number: int, picture: Picture, width: int) -> Content:
    """``[1] name.png 640x480 120 kB``, its name cut where it is too long for ``width`` cells."""
    facts = f"{picture.width}x{picture.height} {size(picture.size)}"
    first = f"[{number}] "
    room = max(width - len(first) - len(facts) - 1, 8)
    name = Content.styled(one_line(picture.name, 200), "$text").truncate(room, ellipsis=True)
    return Content.assemble((first, "$text-primary"), name, f" {facts}").truncate(width, ellipsis=True)
