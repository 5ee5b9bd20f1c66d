"""What one can go to in typeset lines: blocks of code, to copy them, and links, to follow them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from local_agent.tui.look.lines import Code, Line
from local_agent.tui.markdown.inline import links


@dataclass(frozen=True, slots=True)
class Stop:
    """``target`` is a block of code or the address of a link; it stands from row ``top`` to ``bottom``."""

    target: Code | str
    top: int
    bottom: int


def stops(lines: Iterable[Line]) -> list[Stop]:
    """In the order in which one reads; a link that wraps is one, and so is a block."""
    found: list[Stop] = []
    for y, line in enumerate(lines):
        targets: list[Code | str] = [url for _, _, url in links(line.content)]
        if isinstance(line.part, Code):
            targets = [line.part]
        for place, target in enumerate(targets):
            last = found[-1] if found and place == 0 else None
            if last is not None and last.bottom == y - 1 and last.target == target:
                found[-1] = Stop(target, last.top, y)
            else:
                found.append(Stop(target, y, y))
    return found
