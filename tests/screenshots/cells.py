"""A screen as text: its rows, and below them how each of their cells looks in dark and in light.

Smaller than a picture by a factor of ten, the same on every machine, and a change can be read in a diff.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import groupby
from string import ascii_letters, digits
from typing import Any

from rich.style import Style
from textual.app import App
from textual.geometry import Region

# By something of the same width, as in the pictures.
FIXED = (
    (r"\b\d\d:\d\d\b", "14:02"),
    (r"http://127\.0\.0\.1:\d+", "http://127.0.0.1:11434"),
    (r"\b0\.[67]( s)\b", r"0.6\g<1>"),
    (r"\b[67]\d\d( ms)\b", r"600\g<1>"),
    (r"\b[2-9]( min)\b", r"3\g<1>"),
    (r"\b(Jan 1|Dec 31),", "Jan 1,"),
)
_SIGNS = ascii_letters + digits

Cells = list[list[tuple[str, Style]]]


def cells(app: App[Any]) -> Cells:
    """Every cell that is drawn, but for scrollbars, whose place says nothing about a screen."""
    rows: Cells = [
        [(char, part.style or Style()) for part in strip for char in part.text]
        for strip in app.screen._compositor.render_strips()
    ]
    for bar in scrollbars(app):
        for row in rows[bar.y : bar.bottom]:
            row[bar.x : bar.right] = [(" ", Style())] * bar.width
    return rows


def scrollbars(app: App[Any]) -> Iterator[Region]:
    """Where they are, on the screen and on those below it."""
    for screen in app.screen_stack:
        for widget in [screen, *screen.query("*")]:
            if widget.is_attached and widget.show_vertical_scrollbar:
                region = widget.region
                yield Region(region.right - 1, region.y, 1, region.height)


def written(dark: Cells, light: Cells) -> str:
    """Both looks of one screen; where their texts differ, both are there."""
    texts = [_text(row) for row in dark]
    others = [_text(row) for row in light]
    texts = [one if one == other else f"{one}  ||  {other}" for one, other in zip(texts, others, strict=True)]
    looks: dict[str, str] = {}
    styles = [
        "".join(looks.setdefault(look, _SIGNS[len(looks) % len(_SIGNS)]) for look in _looks(*pair))
        for pair in zip(dark, light, strict=True)
    ]
    legend = [f"{sign}  {look}" for look, sign in looks.items()]
    return "\n".join([*map(settled, texts), "", *map(_runs, styles), "", *legend]) + "\n"


def settled(text: str) -> str:
    """What differs from run to run replaced by something of the same width, or nearly."""
    for pattern, fixed in FIXED:
        text = re.sub(pattern, fixed, text)
    return text.rstrip()


def _text(row: Sequence[tuple[str, Style]]) -> str:
    return "".join(char for char, _ in row).rstrip()


def _looks(dark: Sequence[tuple[str, Style]], light: Sequence[tuple[str, Style]]) -> Iterator[str]:
    for (_, one), (_, other) in zip(dark, light, strict=True):
        yield f"{_named(one)}   {_named(other)}"


def _named(style: Style) -> str:
    """Colours and attributes, without what only the mouse needs."""
    ink = style.color.name if style.color is not None else "none"
    paper = style.bgcolor.name if style.bgcolor is not None else "none"
    marks = [
        name for name in ("bold", "dim", "italic", "underline", "strike", "reverse") if getattr(style, name)
    ]
    return " ".join([ink, "on", paper, *marks])


def _runs(signs: str) -> str:
    """``4a12b``: four cells of one look and twelve of another."""
    return "".join(f"{len(list(group))}{sign}" for sign, group in groupby(signs))
