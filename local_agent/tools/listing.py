"""Lists what tools may see below a folder: not ignored, not hidden, and matching a pattern."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import PurePosixPath
from typing import NamedTuple

from local_agent.config.secrets import is_secret
from local_agent.domain.text import one_line
from local_agent.domain.tools import ToolFailed
from local_agent.tools.folder import Folder, Located
from local_agent.workspace.agentignore import AgentIgnore
from local_agent.workspace.ignore import rules_from
from local_agent.workspace.walk import walk

SECONDS = 10.0
_BRACES = 64
"""Patterns that the braces of one may stand for."""

Matcher = Callable[[str, bool], bool]
"""Whether a path relative to where the search begins, a folder or not, is wanted."""


class Listing(NamedTuple):
    """What was found."""

    paths: list[str]
    """In order; folders end in ``/``. From the workspace's root; absolute where that lies outside."""
    hidden: int
    """How many are there that no tool may see."""
    whole: bool
    """False when it took too long, or there were too many to look through."""


def listing(folder: Folder, where: Located, wanted: Matcher, ended: threading.Event) -> Listing:
    """Everything below a folder that is wanted."""
    root = where.absolute if where.outside else folder.root
    below = "" if where.outside or where.relative == "." else f"{where.relative}/"
    ignoring = AgentIgnore(root)

    def hide(path: str, is_folder: bool) -> bool:
        return (not where.outside and ignoring.hides(path, is_folder)) or (
            is_folder and is_secret(root / path)
        )

    found = walk(root, lambda _: not ended.is_set(), below=below, hide=hide, seconds=SECONDS)
    lead = f"{str(root).rstrip('/')}/" if where.outside else ""
    paths, secret = [], 0
    for path in sorted(found.paths):
        is_folder = path.endswith("/")
        if not wanted(path.removesuffix("/")[len(below) :], is_folder):
            continue
        if not is_folder and is_secret(root / path):
            secret += 1
        else:
            paths.append(lead + path)
    return Listing(paths, found.hidden + secret, found.whole)


def matcher(pattern: str, folder: Folder) -> Matcher:
    """What a pattern wants, read as in a ``.gitignore``: without a slash it counts in every folder below.

    Braces stand for alternatives. Raises ``ToolFailed`` for what is no such pattern.
    """
    plain = pattern.strip().removeprefix(f"{folder.root}/").removeprefix("./")
    if ".." in PurePosixPath(plain).parts:
        raise ToolFailed('A pattern can\'t hold "..": give the folder as path.')
    if plain == "*":
        plain = "/*"
    lines = [f"\\{line}" if line.startswith(("!", "#")) else line for line in _alternatives(plain)]
    rules = rules_from(lines)
    if rules is None or len(lines) >= _BRACES:
        raise ToolFailed(
            f'"{one_line(pattern, 60)}" is no pattern for paths. Right: **/*.py or src/*.{{ts,tsx}}'
        )
    return lambda path, is_folder: bool(rules.verdict(path, is_folder))


def everything(path: str, is_folder: bool) -> bool:
    """Wants all."""
    return True


def hidden_words(count: int) -> str:
    """What is said of what no tool may see; empty for nothing."""
    return "" if not count else f"{count:,} {'path is' if count == 1 else 'paths are'} hidden from tools"


def _alternatives(pattern: str) -> list[str]:
    """``a.{b,c}`` as ``a.b`` and ``a.c``; inner braces first."""
    done: list[str] = []
    waiting = [pattern]
    while waiting and len(done) + len(waiting) < _BRACES:
        each = waiting.pop()
        end = each.find("}")
        start = each.rfind("{", 0, max(end, 0))
        inner = each[start + 1 : end]
        if start < 0 or "," not in inner:
            done.append(each)
        else:
            waiting += [each[:start] + option + each[end + 1 :] for option in inner.split(",")]
    return done + waiting
