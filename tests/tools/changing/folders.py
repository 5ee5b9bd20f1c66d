"""Workspaces for the tests of the changing tools, and what lies in them."""

from __future__ import annotations

import os
from pathlib import Path

from local_agent.domain.tools import FileChange, Intent, ToolFailed, ToolResult
from local_agent.tools.box import Box
from local_agent.tools.changing.offered import changing_tools
from local_agent.tools.reading import reading_tools
from tests.tools import calling


def workspace(tmp_path: Path, files: dict[str, bytes] | None = None) -> tuple[Path, Box]:
    """A workspace with these files, and its tools."""
    root = tmp_path / "work"
    root.mkdir()
    for name, data in (files or {}).items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_bytes(data)
    return root, calling.box(root, tools=[*reading_tools(), *changing_tools()])


def knows(tools: Box, *names: str) -> Box:
    """The session has read these files as they are."""
    from hashlib import sha256

    for name in names:
        located = tools.folder.locate(name)
        tools.folder.note_read(located, sha256(located.absolute.read_bytes()).hexdigest())
    return tools


def seen(root: Path) -> dict[str, str]:
    """Everything below a folder: the content of files, where links lead, ``/`` for folders."""
    found = {}
    for path in sorted(root.rglob("*")):
        name = path.relative_to(root).as_posix()
        if path.is_symlink():
            found[name] = f"-> {os.readlink(path)}"
        elif path.is_dir():
            found[name] = "/"
        else:
            found[name] = path.read_bytes().decode("latin-1") if path.is_file() else "special"
    return found


def folders_made(root: Path, *names: str) -> list[FileChange]:
    """The changes of folders that were made and are there."""
    return [FileChange(name, "folder", mode_after=(root / name).lstat().st_mode) for name in names]


def file_made(root: Path, name: str, after: str) -> FileChange:
    """The change of a file or link that was made and is there."""
    return FileChange(name, "created", "", after, mode_after=(root / name).lstat().st_mode)


async def allowed(tools: Box, name: str, **arguments: object) -> tuple[Intent, ToolResult]:
    """A call that a person allows, wherever it leads."""
    intent = await calling.prepared(tools, name, **arguments)
    return intent, await calling.run(tools, intent)


async def refusal(tools: Box, name: str, **arguments: object) -> str:
    """The sentence of a call that does nothing even when a person allows it."""
    try:
        intent, result = await allowed(tools, name, **arguments)
    except ToolFailed as failed:
        return str(failed)
    raise AssertionError(f"{intent.target}: {result.text[:200]}")
