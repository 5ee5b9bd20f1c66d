"""``write``: a whole file."""

from __future__ import annotations

import codecs
from collections.abc import Mapping

from local_agent.domain.tools import Effect, ToolFailed, ToolSpec
from local_agent.tools.changing.disk import held
from local_agent.tools.changing.endings import Text, dressed, main_ending, with_line_feeds
from local_agent.tools.changing.rewriting import (
    Rewrite,
    Rewrites,
    carry_out,
    narrow,
    new_file,
    preview,
    text_of,
)
from local_agent.tools.changing.targets import file_target, require_known
from local_agent.tools.changing.tool import ChangingTool, Preview
from local_agent.tools.folder import Folder

SPEC = ToolSpec(
    "write",
    "Write a whole text file. Read it first if it is there; to change a part, use edit.",
    {
        "type": "object",
        "properties": {"path": {"type": "string"}, "content": {"type": "string"}},
        "required": ["path", "content"],
    },
    Effect.EFFECTFUL,
    example={"path": "src/hello.py", "content": 'print("hello")\n'},
)
_MARK = codecs.BOM_UTF8.decode()


def _preview(arguments: Mapping[str, object], folder: Folder) -> Preview[Rewrites]:
    content = str(arguments["content"])
    if "\0" in content:
        raise ToolFailed("content holds a zero byte: only text can be written.")
    located = file_target(arguments["path"], folder)
    found = held(folder, located)
    if found is None:
        return preview((new_file(folder, located, Text(content)),))
    require_known(folder, located, found)
    before = text_of(found.data, located)
    plain = with_line_feeds(content.removeprefix(_MARK) if before.mark else content)
    body = dressed(plain, before.body, main_ending(before.body)) if before.body else content
    return preview((Rewrite(located, before, before.with_body(body), found.status),))


WRITE = ChangingTool(SPEC, _preview, carry_out, narrow)
