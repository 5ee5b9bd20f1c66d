"""A picture as large as its place: drawn by terminals that can, in half blocks by the others.

Kitty's protocol is used where the environment names a terminal that has its placeholders: those are
characters like any other to the screen, so that scrolling, covering and clearing need nothing of ours.
Asking the terminal would race with the person's keys.
"""

from __future__ import annotations

import asyncio
import base64
import io
import os
from collections.abc import Iterator, Mapping, Sequence
from itertools import count
from typing import TYPE_CHECKING, NamedTuple

from rich.color import Color as RichColor
from rich.segment import Segment
from rich.style import Style
from textual import work
from textual.geometry import Size
from textual.message import Message
from textual.strip import Strip
from textual.widget import Widget

from local_agent.tui.look.glyphs import ASCII, UNICODE, Glyphs

if TYPE_CHECKING:
    from PIL.Image import Image

CELL_RATIO = 2
"""How much higher a cell is than wide, nearly everywhere."""
CELL_PIXELS = 10
"""Pixels of a cell's width that are sent where the terminal draws: enough for what is only looked at."""
SHARPEST = 1_600
"""Pixels of a side that are kept."""
LARGER = 4
"""How much a small picture is enlarged at most."""
_RAMP = " .:-=+*#%@"
_PLACEHOLDER = "\U0010eeee"
_PIECE = 4_096
# The first of Kitty's marks that say which row and column of a picture a placeholder stands for.
_MARKS = [
    *(0x305, 0x30D, 0x30E, 0x310, 0x312, 0x33D, 0x33E, 0x33F, 0x346, 0x34A, 0x34B, 0x34C, 0x350, 0x351),
    *(0x352, 0x357, 0x35B, *range(0x363, 0x370), *range(0x483, 0x488), *range(0x592, 0x596), 0x597, 0x598),
    *(0x599, *range(0x59C, 0x5A2), 0x5A8, 0x5A9, 0x5AB, 0x5AC, 0x5AF, 0x5C4, *range(0x610, 0x618), 0x657),
    *(*range(0x658, 0x65C), 0x65D, 0x65E, *range(0x6D6, 0x6DD), *range(0x6DF, 0x6E3), 0x6E4, 0x6E7, 0x6E8),
    *(0x6EB, 0x6EC, 0x730, 0x732, 0x733, 0x735, 0x736, 0x73A, 0x73D, 0x73F, 0x740, 0x741, 0x743, 0x745),
    *(0x747, 0x749, 0x74A, *range(0x7EB, 0x7F2), 0x7F3),
]
_numbers = count(os.getpid() % 50_000 * 256 + 1)


class Drawn(NamedTuple):
    """A picture for one place."""

    size: Size
    """Cells."""
    rows: Sequence[Strip]
    transmission: str = ""
    """What the terminal is to be told before the rows are drawn."""
    number: int = 0


class PictureView(Widget):
    """Shows one picture in the middle of its place."""

    DEFAULT_CSS = """
    PictureView { width: 1fr; height: 1fr; }
    """

    class Undrawable(Message):
        """The bytes are no picture that can be decoded."""

    def __init__(self, glyphs: Glyphs = UNICODE, environment: Mapping[str, str] = os.environ) -> None:
        super().__init__()
        self._in_ascii = glyphs is ASCII
        self._placeholders = not self._in_ascii and has_placeholders(environment)
        self._data = b""
        self._picture: Image | None = None
        self._drawn: Drawn | None = None

    def show(self, data: bytes) -> None:
        """Draw the picture that these bytes are."""
        self._data, self._picture = data, None
        self._draw()

    def clear(self) -> None:
        """Show nothing."""
        self._data = b""
        self._put(None)

    def on_resize(self) -> None:
        self._draw()

    def on_unmount(self) -> None:
        self._put(None)

    def render_line(self, y: int) -> Strip:
        width, base = self.size.width, self.visual_style.rich_style
        drawn = self._drawn
        if drawn is None:
            return Strip.blank(width, base)
        row = y - (self.size.height - drawn.size.height) // 2
        if not 0 <= row < drawn.size.height:
            return Strip.blank(width, base)
        left = max(0, width - drawn.size.width) // 2
        return Strip([Segment(" " * left, base), *drawn.rows[row]]).adjust_cell_length(width, base)

    @work(group="picture", exclusive=True)
    async def _draw(self) -> None:
        if not self._data or not self.size:
            return
        size, background = self.size, self.background_colors[1].rgb
        in_ascii = self._in_ascii or self.app.no_color
        try:
            if self._picture is None:
                self._picture = await asyncio.to_thread(opened, self._data)
            if self._placeholders:
                drawn = await asyncio.to_thread(in_placeholders, self._picture, size)
            else:
                drawn = await asyncio.to_thread(in_cells, self._picture, size, background, in_ascii=in_ascii)
        except (OSError, ValueError, SyntaxError, MemoryError):  # what decoders raise
            self._put(None)
            self.post_message(self.Undrawable())
        else:
            self._put(drawn)

    def _put(self, drawn: Drawn | None) -> None:
        before, self._drawn = self._drawn, drawn
        if before is not None and before.number:
            self._tell(f"\x1b_Ga=d,d=I,i={before.number},q=2\x1b\\")
        if drawn is not None and drawn.transmission:
            self._tell(drawn.transmission)
        self.refresh()

    def _tell(self, sequence: str) -> None:
        driver = self.app._driver
        if driver is not None:
            driver.write(sequence)


def has_placeholders(environment: Mapping[str, str]) -> bool:
    """Whether this is a terminal that draws pictures in place of characters; no multiplexer hands them on."""
    if environment.get("TMUX") or environment.get("STY") or environment.get("ZELLIJ"):
        return False
    names = (environment.get("TERM", ""), environment.get("TERM_PROGRAM", "").lower())
    return bool(environment.get("KITTY_WINDOW_ID")) or not {
        "xterm-kitty",
        "xterm-ghostty",
        "ghostty",
    }.isdisjoint(names)


def opened(data: bytes) -> Image:
    """Decode, and keep no more than any screen shows. Raises what Pillow's decoders raise."""
    from PIL import Image, ImageOps  # 60 ms that only somebody with a picture pays

    with Image.open(io.BytesIO(data)) as file:
        file.draft("RGB", (SHARPEST, SHARPEST))
        picture = ImageOps.exif_transpose(file).convert("RGBA")
    picture.thumbnail((SHARPEST, SHARPEST))
    return picture


def fitted(picture: tuple[int, int], place: Size) -> Size:
    """The cells that a picture of so many pixels takes in a place, its proportions kept."""
    width, height = picture
    scale = min(place.width / width, place.height * CELL_RATIO / height, LARGER)
    return Size(max(1, round(width * scale)), max(1, round(height * scale / CELL_RATIO)))


def in_cells(
    picture: Image, place: Size, background: tuple[int, int, int], *, in_ascii: bool = False
) -> Drawn:
    """Two pixels above each other in each cell; one, as a letter of its lightness, in ASCII."""
    from PIL import Image

    size = fitted(picture.size, place)
    paper = Image.new("RGBA", picture.size, (*background, 255))
    whole = Image.alpha_composite(paper, picture).convert("RGB")
    pixels = whole.resize((size.width, size.height * (1 if in_ascii else 2)), Image.Resampling.LANCZOS)
    data = pixels.tobytes()
    lines = [
        [(data[at], data[at + 1], data[at + 2]) for at in range(begin, begin + size.width * 3, 3)]
        for begin in range(0, len(data), size.width * 3)
    ]
    if in_ascii:
        return Drawn(size, [Strip(_letters(line), size.width) for line in lines])
    pairs = zip(lines[::2], lines[1::2], strict=True)
    return Drawn(size, [Strip(_halves(above, below), size.width) for above, below in pairs])


def in_placeholders(picture: Image, place: Size) -> Drawn:
    """Placeholders, and the picture for the terminal to draw there."""
    most = Size(min(place.width, len(_MARKS)), min(place.height, len(_MARKS)))
    size = fitted(picture.size, most)
    small = picture.copy()
    small.thumbnail((size.width * CELL_PIXELS, size.height * CELL_PIXELS * CELL_RATIO))
    file = io.BytesIO()
    small.save(file, "PNG")
    number = next(_numbers) & 0xFFFFFF or 1
    style = Style(color=RichColor.from_rgb(number >> 16, number >> 8 & 255, number & 255))
    columns = [chr(mark) for mark in _MARKS[: size.width]]
    rows = [
        Strip([Segment("".join(_PLACEHOLDER + chr(mark) + column for column in columns), style)], size.width)
        for mark in _MARKS[: size.height]
    ]
    return Drawn(size, rows, _transmission(number, size, file.getvalue()), number)


def _transmission(number: int, size: Size, png: bytes) -> str:
    """In pieces; ``q=2`` keeps the terminal from answering, which would look like keys."""
    payload = base64.b64encode(png).decode("ascii")
    pieces = [payload[at : at + _PIECE] for at in range(0, len(payload), _PIECE)]
    first = f"a=T,U=1,f=100,i={number},c={size.width},r={size.height},q=2,"
    return "".join(
        f"\x1b_G{first * (not place)}m={int(place < len(pieces) - 1)};{piece}\x1b\\"
        for place, piece in enumerate(pieces)
    )


def _halves(
    above: Sequence[tuple[int, int, int]], below: Sequence[tuple[int, int, int]]
) -> Iterator[Segment]:
    for ink, paper in zip(above, below, strict=True):
        yield Segment("▀", Style(color=RichColor.from_rgb(*ink), bgcolor=RichColor.from_rgb(*paper)))


def _letters(line: Sequence[tuple[int, int, int]]) -> Iterator[Segment]:
    for red, green, blue in line:
        lightness = (2 * red + 5 * green + blue) // 8
        letter = _RAMP[lightness * (len(_RAMP) - 1) // 255]
        yield Segment(letter, Style(color=RichColor.from_rgb(red, green, blue)))
