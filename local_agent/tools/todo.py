"""``todo``: the list of steps that the model keeps, whole in each call."""

from __future__ import annotations

from collections.abc import Mapping

from local_agent.domain.text import one_line
from local_agent.domain.tools import ResultStatus, Surroundings, ToolFailed, ToolResult, ToolSpec
from local_agent.tools.output import cut_bytes
from local_agent.tools.talking import TalkingTool

SPEC = ToolSpec(
    "todo",
    "Set your list of steps. Give the whole list each time.",
    {
        "type": "object",
        "properties": {
            "items": {
                "type": "array",
                "description": "[ ] to do, [>] doing, [x] done",
                "items": {},
            },
        },
        "required": ["items"],
    },
    example={"items": ["[x] read the code", "[>] fix the bug", "[ ] run the tests"]},
)
ITEMS = 50
ITEM_LENGTH = 200

_MARKS = {"[ ]": "[ ]", "[]": "[ ]", "[x]": "[x]", "[>]": "[>]", "[~]": "[>]", "[-]": "[>]"}
_STATES = {
    "done": "[x]",
    "completed": "[x]",
    "complete": "[x]",
    "doing": "[>]",
    "in_progress": "[>]",
    "in progress": "[>]",
    "active": "[>]",
}


def listed(items: object) -> list[str]:
    """A list of steps in the form ``[x] words``, however the model wrote it; raises ``ToolFailed``."""
    lines = [_item(each) for each in items] if isinstance(items, list | tuple) else []
    if len(lines) > ITEMS:
        raise ToolFailed(f"The list has {len(lines):,} items, at most {ITEMS}: put small steps together.")
    return lines


def _item(each: object) -> str:
    match each:
        case str():
            words = each.strip().removeprefix("- ").removeprefix("* ")
            mark, bracket, rest = words.partition("]")
            state = _MARKS.get(f"{mark}{bracket}".lower(), "")
            words = rest if state else words
        case Mapping():
            named = (each.get(key) for key in ("text", "content", "title", "task", "step"))
            words = next((str(value) for value in named if value), "")
            said = str(each.get("status") or each.get("state") or "").lower()
            state = "[x]" if each.get("done") is True else _STATES.get(said, "")
        case _:
            words, state = "", ""
    if not words.strip():
        raise ToolFailed('An item of the list has no words. Right: "[ ] run the tests"')
    return f"{state or '[ ]'} {one_line(words, ITEM_LENGTH)}"


def _aim(arguments: Mapping[str, object]) -> str:
    lines = listed(arguments["items"])
    return f"{sum(line.startswith('[x]') for line in lines)} of {len(lines)} done" if lines else "cleared"


async def _talk(arguments: Mapping[str, object], most_bytes: int, around: Surroundings) -> ToolResult:
    text = "\n".join(listed(arguments["items"])) or "The list is empty."
    return ToolResult(ResultStatus.OK, cut_bytes(text, most_bytes), _aim(arguments))


TODO = TalkingTool(SPEC, _aim, _talk)
