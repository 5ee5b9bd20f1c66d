"""Facts as labelled lines: a dim label on the left, its value wrapped beside it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from textual.content import Content

from local_agent.domain.text import one_line
from local_agent.tui.look.lines import Line, indented, wrap
from local_agent.tui.look.quantities import clock, left, seconds, size, tokens
from local_agent.tui.look.workspace_names import short_path
from local_agent.tui.widgets.row_list import fit

LABEL_WIDTH = 18
_NARROW_LABEL = 11

_BYTES = frozenset({"needs", "size", "in video memory"})
_TOKENS = frozenset({"window", "trained window", "loaded window", "used", "prompt", "reply"})
_TIMES = frozenset({"started"})
_PATHS = frozenset({"folder", "path"})
_ABSENT = {"last backup": "none yet", "problem": "none", "branch": "none"}
_DURATIONS = frozenset({"load", "reading prompt", "writing", "first token"})


def labelled_lines(title: str, facts: Mapping[str, object], width: int) -> list[Line]:
    """A titled group; a fact that is not known says so."""
    label_width = LABEL_WIDTH if width >= 44 else _NARROW_LABEL
    lines = [Line(Content.styled(one_line(title), "bold"))]
    for name, value in facts.items():
        label = name.replace("_", " ")
        head = fit(Content.styled(one_line(label), "$text-muted"), label_width - 1) + " "
        text = wrap(_content(label, value), max(width - label_width, 8))
        lines += indented(text, head, Content(" " * label_width))
    return lines


def _content(label: str, value: object) -> Content:
    if value is None or value == "":
        return Content.styled(_ABSENT.get(label, "not known"), "$text-muted")
    if isinstance(value, bool):
        return Content("yes" if value else "no")
    if isinstance(value, Sequence) and not isinstance(value, str):
        return Content(", ".join(one_line(str(part)) for part in value) or "none")
    return Content(one_line(_written(label, value)))


def _written(label: str, value: object) -> str:
    if isinstance(value, int) and label in _BYTES:
        return size(value)
    if isinstance(value, int) and label in _TOKENS:
        return f"{tokens(value)} tokens"
    if isinstance(value, int | float) and label in _DURATIONS:
        return seconds(value)
    if isinstance(value, str) and label in _TIMES:
        return clock(value) or value
    if isinstance(value, str) and label == "kept until":
        return left(value) or value
    return short_path(value) if isinstance(value, str) and label in _PATHS else str(value)
