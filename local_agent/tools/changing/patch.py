"""``patch``: a unified diff over one or more files.

A tool of its own and no argument of ``edit``: with it, ``old`` and ``new`` could not be required there, and a
small model that may leave them out does.
"""

from __future__ import annotations

from collections.abc import Mapping

from local_agent.domain.text import one_line
from local_agent.domain.tools import Effect, ToolFailed, ToolSpec
from local_agent.tools.changing.disk import held
from local_agent.tools.changing.endings import Text
from local_agent.tools.changing.patches import FilePatch, applied, parse
from local_agent.tools.changing.rewriting import (
    Rewrite,
    Rewrites,
    carry_out,
    narrow,
    new_file,
    preview,
    text_of,
)
from local_agent.tools.changing.targets import file_target, known_file
from local_agent.tools.changing.tool import ChangingTool, Preview
from local_agent.tools.folder import Folder, Located

SPEC = ToolSpec(
    "patch",
    "Apply a unified diff to files that you have read.",
    {"type": "object", "properties": {"patch": {"type": "string"}}, "required": ["patch"]},
    Effect.EFFECTFUL,
    example={"patch": "--- a/main.py\n+++ b/main.py\n@@ -1,2 +1,2 @@\n import sys\n-count = 1\n+count = 2\n"},
)


def _preview(arguments: Mapping[str, object], folder: Folder) -> Preview[Rewrites]:
    patches: dict[Located, FilePatch] = {}
    for each in parse(str(arguments["patch"])):
        located = file_target(each.path, folder)
        if any(located.absolute == other.absolute for other in patches):
            raise ToolFailed(f"The patch names {located.shown} twice: put its hunks under one head.")
        patches[located] = each
    return preview(tuple(_rewrite(patch, located, folder) for located, patch in patches.items()))


def _rewrite(patch: FilePatch, located: Located, folder: Folder) -> Rewrite:
    only_new = not any(hunk.old for hunk in patch.hunks)
    if patch.created or (only_new and held(folder, located) is None):
        if held(folder, located) is not None:
            name = one_line(patch.path, 200)
            raise ToolFailed(f"{name} is there already: name it instead of /dev/null to change it.")
        return new_file(folder, located, Text(applied("", patch.hunks, located.shown)))
    found = known_file(folder, located)
    before = text_of(found.data, located)
    body = applied(before.body, patch.hunks, located.shown)
    return Rewrite(located, before, before.with_body(body), found.status)


PATCH = ChangingTool(SPEC, _preview, carry_out, narrow)
