"""From which sizes on a screen has room for margins and for two columns."""

from __future__ import annotations

from textual.geometry import Size

WIDTHS = [(0, "-narrow"), (60, "-medium"), (100, "-wide")]
HEIGHTS = [(0, "-low"), (18, "-high")]


def size_classes(size: Size) -> list[str]:
    """The classes that Textual gives a screen of this size by our breakpoints."""
    return [
        max((least, name) for least, name in breakpoints if least <= cells)[1]
        for breakpoints, cells in ((WIDTHS, size.width), (HEIGHTS, size.height))
    ]
