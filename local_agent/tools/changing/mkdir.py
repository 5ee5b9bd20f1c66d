"""``mkdir``: a folder, with those above it."""

from __future__ import annotations

import threading
from collections.abc import Mapping

from local_agent.domain.tools import (
    FOLDER,
    Action,
    Effect,
    ResultStatus,
    ToolFailed,
    ToolResult,
    ToolSpec,
)
from local_agent.tools.changing.changes import made_folders
from local_agent.tools.changing.disk import made, missing_folders, state_of, words
from local_agent.tools.changing.targets import target
from local_agent.tools.changing.tool import STOPPED, ChangingTool, Preview
from local_agent.tools.folder import Folder, Located
from local_agent.tools.paths import outside_of

SPEC = ToolSpec(
    "mkdir",
    "Make a folder, and the folders above it. write does that by itself.",
    {"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]},
    Effect.EFFECTFUL,
    example={"path": "src/new"},
)


def _preview(arguments: Mapping[str, object], folder: Folder) -> Preview[tuple[Located, ...]]:
    located = target(arguments["path"], folder, is_folder=True)
    state = state_of(folder, located, hashed=False)
    if state:
        what = "is there already" if state == FOLDER else "is a file, no folder"
        raise ToolFailed(f"{located.shown} {what}.")
    folders = (*missing_folders(folder, located), located)
    paths = [str(each.absolute) for each in folders]
    return Preview(
        Action.WRITE,
        located.shown,
        folders,
        outside=outside_of(located),
        expected=dict.fromkeys(paths, ""),
        intended=dict.fromkeys(paths, FOLDER),
    )


def _carry_out(folders: tuple[Located, ...], folder: Folder, ended: threading.Event) -> ToolResult:
    if ended.is_set():
        return STOPPED
    try:
        with made(folder, folders) as new:
            pass
    except OSError as error:
        raise ToolFailed(words(error, folders[-1])) from error
    changes = tuple(made_folders(folder, new))
    return ToolResult(ResultStatus.OK, f"Made the folder {folders[-1].shown}.", "made", changes=changes)


MKDIR = ChangingTool(SPEC, _preview, _carry_out)
