"""Short lines in the transcript that nobody asked for: notices, failures, receipts, marks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Literal

from rich.cells import cell_len
from textual.content import Content

from local_agent.domain.text import one_line
from local_agent.tui.look.glyphs import UNICODE, Glyphs
from local_agent.tui.look.lines import Line, decoration, indented, wrap
from local_agent.tui.look.quantities import seconds, tokens
from local_agent.tui.widgets.lines_view import LinesView

if TYPE_CHECKING:
    from local_agent.domain.entries import Usage

NoticeKind = Literal["information", "warning", "error"]

_STYLES: dict[str, str] = {"information": "$text-muted", "warning": "$text-warning", "error": "$text-error"}


MODEL_LIMIT = 40
"""Characters of a model's name."""


class Remark(LinesView):
    """A line with a sign before it and, dimmer below, the way out."""

    DEFAULT_CSS = """
    Remark { margin: 1 1 1 2; }
    """

    def __init__(
        self, text: str, kind: NoticeKind = "information", hint: str = "", glyphs: Glyphs = UNICODE
    ) -> None:
        super().__init__()
        self.text = one_line(text)
        self.kind = kind
        self.hint = one_line(hint)
        self._sign = {"information": glyphs.dot, "warning": glyphs.warning, "error": glyphs.error}[kind]
        self._cached: tuple[int, Sequence[Line]] = (0, ())

    def lines_for(self, width: int) -> Sequence[Line]:
        if self._cached[0] != width:
            style = _STYLES[self.kind]
            rows = wrap(Content.styled(self.text, style), width - 2)
            if self.hint:
                rows.extend(wrap(Content.styled(self.hint, "$text-muted"), width - 2))
            first = Content.styled(self._sign + " ", style)
            self._cached = (width, indented(rows, first, Content("  ")))
        return self._cached[1]


class Receipt(LinesView):
    """What a reply cost, at the right; or, at the left, how it was cut short.

    ``named`` shows the model, too. Where the row is short the last parts are left out.
    """

    DEFAULT_CSS = """
    Receipt { margin: 0 1 1 2; height: 1; }
    """

    def __init__(
        self,
        usage: Usage,
        cut_short: str = "",
        glyphs: Glyphs = UNICODE,
        *,
        model: str = "",
        named: bool = False,
    ) -> None:
        super().__init__()
        self.model = model
        self._parts = [one_line(model, MODEL_LIMIT)] if named and model else []
        self._parts += receipt_parts(usage)
        self._dot = f" {glyphs.dot} "
        mark = f"{glyphs.stopped} {cut_short}" if cut_short else ""
        self._mark = decoration(mark, "$text-warning")

    @property
    def text(self) -> str:
        """All that it can say at the right."""
        return self._dot.join(self._parts)

    def lines_for(self, width: int) -> Sequence[Line]:
        room = width - len(self._mark.content) - 1
        parts = list(self._parts)
        while parts and cell_len(self._dot.join(parts)) > room:
            parts.pop()
        return (replace(self._mark, aside=Content.styled(self._dot.join(parts), "$text-muted")),)


def receipt_parts(usage: Usage) -> list[str]:
    """``214 tok``, ``41 tok/s``, ``first 0.6 s``, as far as they are known."""
    parts = []
    if usage.reply_tokens is not None:
        parts.append(f"{tokens(usage.reply_tokens)} tok")
    if usage.tokens_per_second is not None:
        parts.append(f"{usage.tokens_per_second:.0f} tok/s")
    if usage.first_token_seconds is not None:
        parts.append(f"first {seconds(usage.first_token_seconds)}")
    return parts
