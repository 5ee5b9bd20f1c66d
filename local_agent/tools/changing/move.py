"""``move``: another name or place for a file, a link itself, or a folder."""

from __future__ import annotations

import os
import threading
from collections.abc import Mapping

from local_agent.domain.tools import Action, Effect, ResultStatus, ToolFailed, ToolResult, ToolSpec
from local_agent.tools.changing.changes import made_folders
from local_agent.tools.changing.disk import made, present, put_new, sync, void, words
from local_agent.tools.changing.keeping import with_loss
from local_agent.tools.changing.places import PARAMETERS, Places, know_copies, places, previewed, still
from local_agent.tools.changing.tool import STOPPED, ChangingTool, Preview
from local_agent.tools.changing.trees import come, gone, keep_tree, words_for
from local_agent.tools.folder import Folder

SPEC = ToolSpec(
    "move",
    "Move or rename a file or folder. Never overwrites.",
    PARAMETERS,
    Effect.EFFECTFUL,
    example={"path": "old.py", "to": "src/new.py"},
)
_VERB = "move"


def _preview(arguments: Mapping[str, object], folder: Folder) -> Preview[Places]:
    found = places(arguments, folder, _VERB, through=False)
    source, target = str(found.source.absolute), str(found.target.absolute)
    state = found.tree[0].state
    expected = {source: state} if found.respelled else {source: state, target: ""}
    intended = {} if found.respelled else {source: "", target: state}
    return previewed(found, Action.REMOVE, "rename", expected, intended)


def _carry_out(found: Places, folder: Folder, ended: threading.Event) -> ToolResult:
    if ended.is_set():
        return STOPPED
    if not still(found, folder, _VERB):
        raise void(found.source)
    unkept = keep_tree(folder, found.tree, ended, durable=True)
    if ended.is_set():
        return STOPPED
    try:
        with made(folder, found.folders) as new:
            _rename(found, folder)
    except FileExistsError as error:
        raise void(found.target) from error
    except OSError as error:
        raise ToolFailed(words(error, found.source)) from error
    know_copies(found, folder)
    for leaf in found.tree:
        folder.forget(leaf.located)
    changes = made_folders(folder, new)
    changes += gone(found.tree) + come(found.tree, found.source, found.target, folder)
    summary = with_loss(words_for(found.tree), unkept.values())
    said = f"Moved {found.source.shown} to {found.target.shown}."
    return ToolResult(ResultStatus.OK, said, summary, changes=tuple(changes))


def _rename(found: Places, folder: Folder) -> None:
    with folder.parent_of(found.source) as (source, name), folder.parent_of(found.target) as (target, new):
        if found.respelled:
            os.rename(name, new, src_dir_fd=source, dst_dir_fd=target)
        elif not found.tree[0].folder:
            put_new(source, name, target, new)
        elif present(target, new):
            raise FileExistsError(new)
        else:
            os.rename(name, new, src_dir_fd=source, dst_dir_fd=target)
        sync(target)
        sync(source)


MOVE = ChangingTool(SPEC, _preview, _carry_out)
