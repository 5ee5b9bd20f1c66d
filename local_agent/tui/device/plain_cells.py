"""What is drawn, for terminals and people without colours, or without more than ASCII."""

from __future__ import annotations

from collections.abc import Sequence

from rich.segment import Segment
from rich.style import Style
from textual.color import Color
from textual.filter import LineFilter

from local_agent.tui.look.themes import Palette

COLOURLESS = Palette(
    "colourless", "no colour at all", True,
    ("#000000", "#000000", "#000000"), "#ffffff", "#808080",
    accent="#c0c0c0", good="#ffffff", warn="#c0c0c0", bad="#c0c0c0",
    code=("#c0c0c0", "#ffffff", "#ffffff"),
)  # fmt: skip
"""Grey levels that ``WithoutColour`` turns into attributes: dim, bold, and reversed grounds."""
_DIM_BELOW, _BOLD_BELOW, _REVERSED_FROM = 0.62, 0.9, 0.1
_IN_ASCII = str.maketrans({"…": "."} | dict.fromkeys("▁▂▃▄▅▆▇█▉▊▋▌▍▎▏", " "))


class WithoutColour(LineFilter):
    """Bold, dim and reverse tell apart what colours would; no colour code reaches the terminal."""

    def apply(self, segments: list[Segment], background: Color) -> list[Segment]:
        return [
            Segment(text, _plain(style) if style is not None else None, control)
            for text, style, control in segments
        ]


class InAscii(LineFilter):
    """Signs that Textual draws by itself: where a text is cut, and the ends of a scrollbar."""

    def apply(self, segments: list[Segment], background: Color) -> list[Segment]:
        return [
            Segment(text if text.isascii() else text.translate(_IN_ASCII), style, control)
            for text, style, control in segments
        ]


def filters(*, no_color: bool, ascii_only: bool) -> Sequence[LineFilter]:
    """What has to be put over everything that is drawn."""
    return [*([WithoutColour()] if no_color else []), *([InAscii()] if ascii_only else [])]


def _plain(style: Style) -> Style:
    ground, ink = _level(style.bgcolor, 0.0), _level(style.color, 1.0)
    lifted = ground >= _REVERSED_FROM
    return style.without_color + Style(
        reverse=bool(style.reverse) is not lifted,
        bold=style.bold or (not lifted and _DIM_BELOW <= ink < _BOLD_BELOW),
        dim=style.dim or (not lifted and ink < _DIM_BELOW),
    )


def _level(color: object, absent: float) -> float:
    """How bright it is, from 0 to 1."""
    from rich.color import Color as RichColor

    if not isinstance(color, RichColor) or color.is_default:
        return absent
    return max(color.get_truecolor()) / 255
