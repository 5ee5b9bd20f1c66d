"""``remove``: a file, a link itself, or a folder; one that is not empty only on demand."""

from __future__ import annotations

import os
import threading
from collections.abc import Mapping
from typing import NamedTuple

from local_agent.domain.text import one_line
from local_agent.domain.tools import (
    Action,
    Effect,
    ResultStatus,
    ToolFailed,
    ToolResult,
    ToolSpec,
)
from local_agent.tools.changing.disk import MOST_TEXT, held, state_of, sync, void, words
from local_agent.tools.changing.endings import NoText, decode
from local_agent.tools.changing.hunks import hunks_between, lines_of, unified
from local_agent.tools.changing.keeping import with_loss
from local_agent.tools.changing.targets import target
from local_agent.tools.changing.tool import STOPPED, ChangingTool, Preview
from local_agent.tools.changing.trees import Leaf, Tree, gone, keep_tree, tree_at, words_for
from local_agent.tools.folder import Folder, Located
from local_agent.tools.paths import outside_of, similar

SPEC = ToolSpec(
    "remove",
    "Remove a file or an empty folder. recursive removes a folder with all in it.",
    {
        "type": "object",
        "properties": {"path": {"type": "string"}, "recursive": {"type": "boolean"}},
        "required": ["path"],
    },
    Effect.EFFECTFUL,
    example={"path": "old.txt"},
)
_VERB = "remove"


class Removal(NamedTuple):
    """What is to go."""

    located: Located
    tree: Tree
    diff: str


def _preview(arguments: Mapping[str, object], folder: Folder) -> Preview[Removal]:
    located = target(arguments["path"], folder, through=False)
    tree = tree_at(folder, located, _VERB)
    if not tree:
        close = similar(folder, located)
        raise ToolFailed(f"There is no {located.shown}." + f" Close to it: {', '.join(close)}." * bool(close))
    if tree[0].folder:
        folder.check(located, folder=True)
    if len(tree) > 1 and arguments.get("recursive") is not True:
        raise ToolFailed(
            f"{located.shown} is not empty ({words_for(tree)}): set recursive=true to remove all of it."
        )
    path = str(located.absolute)
    diff = _diff(folder, tree)
    return Preview(
        Action.REMOVE,
        located.shown,
        Removal(located, tree, diff),
        diff,
        outside_of(located),
        {path: tree[0].state},
        {path: ""},
    )


def _diff(folder: Folder, tree: Tree) -> str:
    """Of one text file its lines; of a folder the names of what is in it."""
    first = tree[0]
    if first.folder:
        return "".join(f"deleted {_name(leaf)}\n" for leaf in tree)
    head = f"deleted {_name(first)}\n"
    if first.link or first.size > MOST_TEXT:
        return head
    found = held(folder, first.located)
    try:
        lines = lines_of(decode(found.data if found is not None else b"").body)
    except NoText:
        return head
    return f"{head}--- {_name(first)}\n+++ /dev/null\n{unified(lines, [], hunks_between(lines, []))}"


def _name(leaf: Leaf) -> str:
    shown = one_line(leaf.located.relative)
    return f"{shown}/" if leaf.folder else shown


def _carry_out(removal: Removal, folder: Folder, ended: threading.Event) -> ToolResult:
    located, tree, diff = removal
    if ended.is_set():
        return STOPPED
    if tree_at(folder, located, _VERB) != tree:
        raise void(located)
    unkept = keep_tree(folder, tree, ended, durable=True)
    if ended.is_set():
        return STOPPED
    done: list[Leaf] = []
    failure = ""
    for leaf in reversed(tree):
        if ended.is_set():
            failure = "Stopped by the person."
            break
        try:
            _remove(folder, leaf)
        except (OSError, ToolFailed) as error:
            failure = words(error, leaf.located) if isinstance(error, OSError) else str(error)
            break
        done.append(leaf)
        folder.forget(leaf.located)
    if not done:
        raise ToolFailed(failure)
    changes = tuple(gone(tuple(reversed(done))))
    losses = [unkept.get(leaf.state, "") for leaf in done]
    if not failure:
        said, summary = f"Removed {located.shown}.", with_loss(words_for(tree), losses)
        return ToolResult(ResultStatus.OK, said, summary, diff=diff, changes=changes)
    status = ResultStatus.CANCELLED if ended.is_set() else ResultStatus.FAILED
    said = f"{failure} {len(done)} of {len(tree)} files and folders were removed, the others are there."
    summary = with_loss(f"{len(done)} of {len(tree)}", losses)
    return ToolResult(status, said, summary, changes=changes)


def _remove(folder: Folder, leaf: Leaf) -> None:
    """Remove one, if it is what it was."""
    if state_of(folder, leaf.located) != leaf.state:
        raise void(leaf.located)
    with folder.parent_of(leaf.located) as (parent, name):
        if leaf.folder:
            os.rmdir(name, dir_fd=parent)
        else:
            os.unlink(name, dir_fd=parent)
        sync(parent)


REMOVE = ChangingTool(SPEC, _preview, _carry_out)
