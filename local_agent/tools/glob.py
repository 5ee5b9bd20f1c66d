"""``glob``: the paths that a pattern means."""

from __future__ import annotations

import os
import threading
from collections.abc import Mapping
from typing import NamedTuple

from local_agent.domain.text import one_line
from local_agent.domain.tools import ResultStatus, ToolResult, ToolSpec
from local_agent.tools.folder import Folder, Located
from local_agent.tools.listing import Matcher, hidden_words, listing, matcher
from local_agent.tools.looking import STOPPED, Aim, LookingTool
from local_agent.tools.output import first_lines
from local_agent.tools.paths import aimed, open_folder, outside_of

SPEC = ToolSpec(
    "glob",
    "Find files by name.",
    {
        "type": "object",
        "properties": {
            "pattern": {"type": "string", "description": "such as **/*.py"},
            "path": {"type": "string", "description": "folder to search"},
        },
        "required": ["pattern"],
    },
    example={"pattern": "**/test_*.py"},
)
_ROOM_FOR_WORDS = 300


class GlobPlan(NamedTuple):
    """What is looked for, and where."""

    pattern: str
    wanted: Matcher
    where: Located


def _aim(arguments: Mapping[str, object], folder: Folder) -> Aim[GlobPlan]:
    where = aimed(arguments.get("path"), folder, is_folder=True)
    pattern = str(arguments["pattern"])
    target = pattern if where.relative == "." else f"{pattern} in {where.shown}"
    return Aim(target, GlobPlan(pattern, matcher(pattern, folder), where), outside_of(where))


def _look(plan: GlobPlan, folder: Folder, ended: threading.Event) -> ToolResult:
    os.close(open_folder(folder, plan.where))
    found = listing(folder, plan.where, plan.wanted, ended)
    if ended.is_set():
        return STOPPED
    pattern = one_line(plan.pattern, 80)
    lines = [one_line(path) for path in found.paths]
    shown, kept = first_lines(lines, folder.result_bytes - _ROOM_FOR_WORDS, folder.outputs)
    total = f"{len(lines):,}" if found.whole else f"{len(lines):,} or more"
    count = f"{total} {'path' if total == '1' else 'paths'}"
    if not lines:
        count = "no paths"
    cut = f", the first {len(shown):,} here: narrow the pattern for the rest" if kept.size else ""
    said = "; ".join(part for part in (f"{count} for {pattern}{cut}", hidden_words(found.hidden)) if part)
    return ToolResult(
        ResultStatus.OK, f"[{said}]\n{kept.text}".rstrip("\n"), count, size=kept.size, output=kept.output
    )


GLOB = LookingTool(SPEC, _aim, _look)
