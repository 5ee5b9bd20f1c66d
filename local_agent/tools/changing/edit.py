"""``edit``: one text of a file in the place of another."""

from __future__ import annotations

from collections.abc import Mapping

from local_agent.domain.tools import Effect, ToolSpec
from local_agent.tools.changing.replacing import replaced
from local_agent.tools.changing.rewriting import Rewrite, Rewrites, carry_out, narrow, preview, text_of
from local_agent.tools.changing.targets import file_target, known_file
from local_agent.tools.changing.tool import ChangingTool, Preview
from local_agent.tools.folder import Folder

SPEC = ToolSpec(
    "edit",
    "Replace text in a file that you have read. old must stand there exactly once.",
    {
        "type": "object",
        "properties": {
            "path": {"type": "string"},
            "old": {"type": "string", "description": "exact text of the file"},
            "new": {"type": "string"},
            "all": {"type": "boolean", "description": "replace every one"},
        },
        "required": ["path", "old", "new"],
    },
    Effect.EFFECTFUL,
    example={"path": "src/main.py", "old": "count = 1", "new": "count = 2"},
)


def _preview(arguments: Mapping[str, object], folder: Folder) -> Preview[Rewrites]:
    located = file_target(arguments["path"], folder)
    found = known_file(folder, located)
    before = text_of(found.data, located)
    old, new = str(arguments["old"]), str(arguments["new"])
    body, _ = replaced(before.body, old, new, everywhere=arguments.get("all") is True, shown=located.shown)
    return preview((Rewrite(located, before, before.with_body(body), found.status),))


EDIT = ChangingTool(SPEC, _preview, carry_out, narrow)
