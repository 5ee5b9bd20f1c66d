"""What a call would do, drawn: its diff, or its arguments."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence

from textual.content import Content

from local_agent.domain.approvals import ApprovalRequest
from local_agent.domain.text import one_line, sanitise
from local_agent.tui.look.glyphs import Glyphs
from local_agent.tui.look.growing_lines import PlainLines
from local_agent.tui.look.lines import Line, decoration
from local_agent.tui.tools.diffs import Hunk, count_words, drawn, hunk_rows, hunks_of, typeset
from local_agent.tui.widgets.lines_view import LinesView

SHOWN_CHARACTERS = 200_000
"""Of one argument; the viewer has no more of it either, and says so."""


class RequestBody(LinesView, can_focus=False):
    """What would be done: the diff, or the arguments."""

    def __init__(self, request: ApprovalRequest, glyphs: Glyphs) -> None:
        super().__init__()
        self.hunks = hunks_of(request.diff)
        self.exact = False
        """Whether the arguments are shown as they are, every character of them."""
        self.at: int | None = None
        """The hunk that the person is at while some are chosen."""
        self.chosen: frozenset[int] = frozenset(hunk.number for hunk in self.hunks)
        self._request = request
        self._glyphs = glyphs
        self._cached: tuple[object, Sequence[Line]] = (None, ())

    def lines_for(self, width: int) -> Sequence[Line]:
        key = (width, self.exact, self.at, self.chosen)
        if self._cached[0] != key:
            self._cached = (key, self._typeset(width))
        return self._cached[1]

    def row_of(self, number: int) -> int:
        """The row on which a hunk begins, while some are chosen."""
        width, row = self.size.width, 0
        for hunk in self.hunks[:number]:
            row += len(self._choice(hunk, width))
        return row

    def _typeset(self, width: int) -> Sequence[Line]:
        if self.exact:
            return PlainLines(width, exact_words(self._request.arguments))
        if self.at is not None:
            return [row for hunk in self.hunks for row in self._choice(hunk, width)]
        if self.hunks:
            return typeset(self.hunks, width, self._glyphs)
        return argument_rows(self._request.arguments, width, self._glyphs)

    def _choice(self, hunk: Hunk, width: int) -> list[Line]:
        taken, here = hunk.number in self.chosen, hunk.number == self.at
        sign = self._glyphs.done if taken else self._glyphs.todo
        pointer = f"{self._glyphs.prompt} " if here else "  "
        words = f"{pointer}{sign} {one_line(hunk.path)} {count_words([hunk])} {drawn(hunk.about)}".rstrip()
        style = "bold $text-primary" if here else "$text" if taken else "$text-muted"
        head = Content.styled(words, style).truncate(max(width, 2), ellipsis=True)
        return [Line(head, gutter=len(head)), *hunk_rows(hunk, width, self._glyphs)]


def exact_words(arguments: Mapping[str, object]) -> str:
    """Arguments as JSON in which every character that could hide or reorder text is spelled out."""
    return json.dumps(dict(arguments), ensure_ascii=True, indent=2, default=str)


def argument_rows(arguments: Mapping[str, object], width: int, glyphs: Glyphs) -> list[Line]:
    """Each argument, whole; a warning where something in it can't be seen."""
    lines: list[Line] = []
    hidden = False
    for name, value in arguments.items():
        text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)
        safe = sanitise(text[:SHOWN_CHARACTERS])
        hidden = hidden or safe != text.expandtabs(4)
        label = Content.styled(f"{one_line(name, 40)}: ", "$text-muted")
        rows = PlainLines(width - label.cell_length, safe.strip("\n"))
        rest = Content(" " * label.cell_length)
        lines += [row.behind(rest if place else label) for place, row in enumerate(rows)]
    if hidden:
        warning = f"{glyphs.warning} something in it can't be drawn as it is: d spells it out"
        lines.insert(0, decoration(warning, "$text-warning"))
    return lines
