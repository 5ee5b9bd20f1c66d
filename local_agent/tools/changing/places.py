"""From where to where something is moved or copied; nothing is ever overwritten by that."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import NamedTuple

from local_agent.domain.text import one_line
from local_agent.domain.tools import FOLDER, Action, ToolFailed
from local_agent.tools.changing.disk import missing_folders, state_of
from local_agent.tools.changing.targets import target
from local_agent.tools.changing.tool import Preview
from local_agent.tools.changing.trees import Tree, moved, tree_at
from local_agent.tools.folder import Folder, Located
from local_agent.tools.paths import outside_of, similar

PARAMETERS = {
    "type": "object",
    "properties": {"path": {"type": "string"}, "to": {"type": "string", "description": "the whole new path"}},
    "required": ["path", "to"],
}


class Places(NamedTuple):
    """What goes where."""

    source: Located
    tree: Tree
    target: Located
    folders: tuple[Located, ...]
    """Folders to be made for the target, the topmost first."""
    respelled: bool
    """The target is the source, written with other capitals on a disk that takes them for the same."""

    @property
    def shown(self) -> str:
        """Both on one line."""
        return f"{self.source.shown} -> {self.target.shown}"


def places(arguments: Mapping[str, object], folder: Folder, verb: str, *, through: bool) -> Places:
    """Look at both; ``through`` takes what a link leads to for the link. Raises ``ToolFailed``."""
    source = target(arguments["path"], folder, through=through)
    tree = tree_at(folder, source, verb)
    if not tree:
        close = similar(folder, source)
        raise ToolFailed(f"There is no {source.shown}." + f" Close to it: {', '.join(close)}." * bool(close))
    if through and tree[0].link:
        raise ToolFailed(f"{source.shown} is a link that leads in a circle.")
    is_folder = tree[0].folder
    to = target(arguments["to"], folder, through=False, is_folder=is_folder)
    folder.check(source, folder=is_folder)
    if to.absolute == source.absolute:
        raise ToolFailed(f"{source.shown} is there already: path and to are the same.")
    if is_folder and to.absolute.is_relative_to(source.absolute):
        raise ToolFailed(f"{to.shown} lies inside {source.shown}: a folder can't go into itself.")
    respelled = _respelled(folder, source, to)
    state = "" if respelled else state_of(folder, to, hashed=False)
    if state == FOLDER:
        raise ToolFailed(f"{to.shown} is a folder that is there already: {_whole(source, to)}.")
    if state:
        way_out = "remove it, or take another name"
        raise ToolFailed(f"{to.shown} is there already and is not overwritten: {way_out}.")
    if not is_folder and str(arguments["to"]).endswith("/"):
        raise ToolFailed(f"There is no folder {to.shown}: {_whole(source, to)}.")
    return Places(source, tree, to, missing_folders(folder, to), respelled)


def previewed(
    found: Places, action: Action, word: str, expected: Mapping[str, str], intended: Mapping[str, str]
) -> Preview[Places]:
    """What taking it there would do; ``word`` is Git's, such as ``rename``."""
    source, target = one_line(found.source.relative), one_line(found.target.relative)
    return Preview(
        action,
        found.shown,
        found,
        f"{word} from {source}\n{word} to {target}\n",
        outside_of(found.source, found.target),
        expected,
        intended,
    )


def still(each: Places, folder: Folder, verb: str) -> bool:
    """Whether the source is what it was."""
    return tree_at(folder, each.source, verb) == each.tree


def know_copies(each: Places, folder: Folder) -> None:
    """What was read of the source is known of the target."""
    for leaf in each.tree:
        if folder.known(leaf.located) == leaf.state:
            folder.note_read(moved(leaf.located, each.source, each.target, folder), leaf.state)


def _whole(source: Located, to: Located) -> str:
    inside = f"{to.relative}/{source.absolute.name}"
    return f"give the whole new path, such as {one_line(inside, 200)}"


def _respelled(folder: Folder, source: Located, to: Located) -> bool:
    one, other = source.absolute, to.absolute
    if one.parent != other.parent or one.name.casefold() != other.name.casefold():
        return False
    with folder.parent_of(source) as (parent, name):
        try:
            seen = os.stat(other.name, dir_fd=parent, follow_symlinks=False)
        except FileNotFoundError:
            return False
        return os.path.samestat(seen, os.stat(name, dir_fd=parent, follow_symlinks=False))
