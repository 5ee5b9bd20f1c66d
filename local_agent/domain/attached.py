"""What a question was given of the files that it mentions: how that is written down, and read back.

The written form is what the model reads, and it is stored with the question: the screen derives from it
what to show, so that a resumed conversation shows the same. A file's own text can't pass for a part of
the form: its fence is longer than any in it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

HEADING = "Mentioned with @, as it was when this was sent:"

_LABEL = r'(?P<label>"(?:[^"\\\n]|\\[^\n])*"(?::[\d-]+)?|[^\s"]\S*)'
_READ = re.compile(rf"{_LABEL} \((?P<note>[^\n]+)\):\n(?P<fence>`{{3,}})\n")
_UNREAD = re.compile(rf"{_LABEL} was not read: (?P<note>[^\n]+)\n?")
_BACKTICKS = re.compile("`{3,}")


@dataclass(frozen=True, slots=True)
class Attached:
    """One thing that a question mentions."""

    label: str
    """Its path as it is written behind the ``@``: one line, quoted where it must be."""
    note: str
    """How much of it was read, such as ``lines 1-200 of 3,412``; or why it was not."""
    text: str | None = None
    """None when it was not read."""


def written(attached: Iterable[Attached]) -> str:
    """The form that goes before a question; empty when nothing was mentioned."""
    parts = [_written(each) for each in attached]
    return "\n\n".join((HEADING, *parts)) if parts else ""


def read_back(context: str) -> Sequence[Attached]:
    """What ``written`` wrote at the end of a question's context; nothing where something else stands."""
    begin = 0 if context.startswith(HEADING) else context.find(f"\n\n{HEADING}\n\n")
    if begin < 0:
        return ()
    found: list[Attached] = []
    place = context.index(HEADING, begin) + len(HEADING) + 2
    while place < len(context):
        if (unread := _UNREAD.match(context, place)) is not None:
            found.append(Attached(unread["label"], unread["note"].removesuffix(".")))
            place = unread.end() + 1
        elif (read := _READ.match(context, place)) is not None:
            end = context.find(f"\n{read['fence']}", read.end() - 1)
            if end < 0:
                break
            text = context[read.end() : max(end, read.end())]
            found.append(Attached(read["label"], read["note"], text))
            place = end + 1 + len(read["fence"]) + 2
        else:
            break
    return found


def _written(attached: Attached) -> str:
    if attached.text is None:
        return f"{attached.label} was not read: {attached.note}."
    longest = max((len(run) for run in _BACKTICKS.findall(attached.text)), default=2)
    fence = "`" * (longest + 1)
    body = attached.text + "\n" if attached.text else ""
    return f"{attached.label} ({attached.note}):\n{fence}\n{body}{fence}"
