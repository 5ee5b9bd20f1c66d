"""``ls``: what lies in one folder."""

from __future__ import annotations

import os
import stat
import threading
from collections.abc import Mapping

from local_agent.config.secrets import is_secret
from local_agent.domain.sizes import size_words
from local_agent.domain.text import one_line
from local_agent.domain.tools import ResultStatus, ToolResult, ToolSpec
from local_agent.tools.folder import Folder, Located
from local_agent.tools.listing import hidden_words
from local_agent.tools.looking import STOPPED, Aim, LookingTool
from local_agent.tools.output import first_lines
from local_agent.tools.paths import aimed, open_folder, outside_of
from local_agent.workspace.agentignore import AgentIgnore
from local_agent.workspace.ignore import FILES, VERSION_CONTROL, ignored, rules_above, rules_of

SPEC = ToolSpec(
    "ls",
    "List one folder with sizes.",
    {
        "type": "object",
        "properties": {"path": {"type": "string", "description": "folder"}},
    },
    example={"path": "src"},
)
_ROOM_FOR_WORDS = 300
_MOST = 50_000
"""Names that are looked at."""


def _aim(arguments: Mapping[str, object], folder: Folder) -> Aim[Located]:
    where = aimed(arguments.get("path"), folder, is_folder=True)
    return Aim(where.shown, where, outside_of(where))


def _look(where: Located, folder: Folder, ended: threading.Event) -> ToolResult:
    root = where.absolute if where.outside else folder.root
    below = "" if where.outside or where.relative == "." else f"{where.relative}/"
    ignoring = AgentIgnore(root)
    own = [rules_of(where.absolute / name, below) for name in FILES]
    rules = [*rules_above(root, below), *(each for each in own if each)]
    folders: list[str] = []
    files: list[str] = []
    hidden = 0
    descriptor = open_folder(folder, where)
    try:
        with os.scandir(descriptor) as entries:
            for entry, _ in zip(entries, range(_MOST), strict=False):
                if ended.is_set():
                    return STOPPED
                is_folder = entry.is_dir(follow_symlinks=False)
                path = below + entry.name
                if is_secret(root / path) or (not where.outside and ignoring.hides(path, is_folder)):
                    hidden += 1
                    continue
                mark = (
                    "  (ignored)" if entry.name in VERSION_CONTROL or ignored(path, is_folder, rules) else ""
                )
                lines = folders if is_folder else files
                lines.append(f"{one_line(entry.name)}{_what(entry, is_folder)}{mark}")
    finally:
        os.close(descriptor)
    lines = sorted(folders) + sorted(files)
    shown, kept = first_lines(lines, folder.result_bytes - _ROOM_FOR_WORDS, folder.outputs)
    count = f"{len(lines):,} {'name' if len(lines) == 1 else 'names'}"
    cut = f", the first {len(shown):,} here" if kept.size else ""
    said = "; ".join(part for part in (f"{where.shown}: {count}{cut}", hidden_words(hidden)) if part)
    return ToolResult(
        ResultStatus.OK, f"[{said}]\n{kept.text}".rstrip("\n"), count, size=kept.size, output=kept.output
    )


def _what(entry: os.DirEntry[str], is_folder: bool) -> str:
    """What follows a name: a slash, a size, or what else it is."""
    if is_folder:
        return "/"
    try:
        status = entry.stat(follow_symlinks=False)
    except OSError:
        return "  (gone)"
    if stat.S_ISREG(status.st_mode):
        return f"  {size_words(status.st_size)}"
    return "  (link)" if stat.S_ISLNK(status.st_mode) else "  (no file)"


LS = LookingTool(SPEC, _aim, _look)
