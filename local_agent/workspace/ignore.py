"""What ``.gitignore`` files say, and the ``.agentignore`` files that mean the same for a model.

A pattern comes from whatever was cloned: no pattern can make matching slow, and what can't be read as a
pattern ignores nothing.
"""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

from local_agent.domain.text import decode

AGENT_IGNORE = ".agentignore"
FILES = (".gitignore", AGENT_IGNORE)
VERSION_CONTROL = frozenset({".git", ".hg", ".svn", ".jj"})
"""Folders that are never looked into, whatever a pattern says."""
JUNK = (
    "node_modules/",
    "__pycache__/",
    ".venv/",
    "venv/",
    ".tox/",
    ".nox/",
    ".cache/",
    ".mypy_cache/",
    ".pytest_cache/",
    ".ruff_cache/",
    ".DS_Store",
    "*.pyc",
)
"""Ignored where no pattern brings it back."""
READ_BYTES = 256 * 1024
PATTERNS = 2_000
DOUBLE_STARS = 3
"""Each ``**`` of a pattern multiplies the work of matching."""

_NOTHING = "(?!)"


class Rules(NamedTuple):
    """The patterns of one file, as runs of one kind in reverse order: the last that matches decides."""

    base: str
    """The folder that they count from, relative to the root and ending in ``/``; empty for the root."""
    runs: tuple[tuple[bool, re.Pattern[str]], ...]
    """True ignores, False brings back."""
    lead: str = ""
    """For a file above the root: the way from its folder down to the root, ending in ``/``."""

    def verdict(self, path: str, folder: bool) -> bool | None:
        """Whether a path below ``base`` is ignored; None when nothing is said of it."""
        name = self.lead + path[len(self.base) :] + "/" * folder
        return next((ignores for ignores, pattern in self.runs if pattern.match(name)), None)


def ignored(path: str, folder: bool, rules: Sequence[Rules]) -> bool:
    """Whether a path is ignored by rules that are ordered from the least to the most specific."""
    for each in reversed(rules):
        verdict = each.verdict(path, folder) if path.startswith(each.base) else None
        if verdict is not None:
            return verdict
    return False


def rules_from(lines: Iterable[str], base: str = "") -> Rules | None:
    """The rules of these lines; None when there is none among them."""
    runs: list[tuple[bool, list[str]]] = []
    for _, line in zip(range(PATTERNS), lines, strict=False):
        found = _translated(line)
        if found is None:
            continue
        ignores, pattern = found
        if not runs or runs[-1][0] is not ignores:
            runs.append((ignores, []))
        runs[-1][1].append(pattern)
    if not runs:
        return None
    compiled = ((ignores, re.compile(f"(?s:{'|'.join(patterns)})")) for ignores, patterns in reversed(runs))
    return Rules(base, tuple(compiled))


def rules_of(file: Path, base: str = "") -> Rules | None:
    """The rules of a file; None when it is not there, no regular file, or can't be read."""
    try:
        descriptor = os.open(file, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        with open(descriptor, "rb") as opened:
            if not stat.S_ISREG(os.fstat(descriptor).st_mode):
                return None
            data = opened.read(READ_BYTES)
    except OSError:
        return None
    return rules_from(decode(data.removeprefix(b"\xef\xbb\xbf")).split("\n"), base)


def rules_above(root: Path, below: str = "") -> list[Rules]:
    """What counts before the own files of the folder ``below``: its parents' up to the root, and outside it
    junk, the person's excludes, and the repository's.
    """
    junk = rules_from(JUNK)
    config = os.environ.get("XDG_CONFIG_HOME") or os.path.expanduser("~/.config")
    found = [junk, rules_of(Path(config) / "git" / "ignore")]
    top = next((folder for folder in (root, *root.parents) if (folder / ".git").exists()), None)
    if top is not None:
        above = root.relative_to(top).parts
        found.append(_lifted(rules_of(top / ".git" / "info" / "exclude"), above))
        for depth in range(len(above)):
            folder = top.joinpath(*above[:depth])
            found += [_lifted(rules_of(folder / name), above[depth:]) for name in FILES]
    for inner in ("", *_ancestors(below.rstrip("/"))) if below else ():
        found += [rules_of(root / inner / name, f"{inner}/" * bool(inner)) for name in FILES]
    return [rules for rules in found if rules is not None]


def agent_rules(root: Path, path: str) -> list[Rules]:
    """The ``.agentignore`` files from the root down to the folder that holds ``path``."""
    folders = ["", *_ancestors(path)]
    found = (rules_of(root / folder / AGENT_IGNORE, f"{folder}/" * bool(folder)) for folder in folders)
    return [rules for rules in found if rules is not None]


def hidden_from_models(root: Path, path: str, folder: bool) -> bool:
    """Whether an ``.agentignore`` keeps a path, or a folder that it lies in, from every model."""
    rules = agent_rules(root, path)
    return bool(rules) and (
        ignored(path, folder, rules) or any(ignored(above, True, rules) for above in _ancestors(path))
    )


def _lifted(rules: Rules | None, below: Sequence[str]) -> Rules | None:
    """Rules of a folder above the root, made to read paths that count from the root."""
    return rules._replace(lead="".join(f"{name}/" for name in below)) if rules is not None else None


def _ancestors(path: str) -> list[str]:
    parts = path.split("/")
    return ["/".join(parts[:end]) for end in range(1, len(parts))]


def _translated(line: str) -> tuple[bool, str] | None:
    """Whether a line ignores, and the expression for paths that end in ``/`` where they are folders."""
    line = line.rstrip("\r")
    while line.endswith(" ") and not line.endswith("\\ "):
        line = line[:-1]
    if line.startswith("#") or line.count("**") > DOUBLE_STARS:
        return None
    ignores = not line.startswith("!")
    line = line[not ignores :]
    folder = line.endswith("/")
    line = line.rstrip("/")
    if not line:
        return None
    anchored = "/" in line
    segments = line.strip("/").split("/")
    if not anchored:
        segments.insert(0, "**")
    return ignores, _joined(segments) + ("/" if folder else "/?") + r"\Z"


def _joined(segments: Sequence[str]) -> str:
    """``**`` is any number of folders; at the end it is everything inside.

    The last name has at least one character: ``a/*`` is not ``a/`` itself.
    """
    parts = []
    *inner, last = segments
    for segment in inner:
        parts.append("(?:.*/)?" if segment == "**" else _segment(segment) + "/")
    parts.append("[^/].*" if last == "**" and inner else "(?=[^/])" + _segment(last))
    return "".join(parts)


def _segment(glob: str) -> str:
    """One name. What stands between two stars is taken at its first place for good, as fnmatch does."""
    literals = [""]
    place = 0
    while place < len(glob):
        piece, place = _piece(glob, place)
        if piece == "*":
            if literals[-1] or len(literals) == 1:
                literals.append("")
        else:
            literals[-1] += piece
    first, *rest = literals
    if not rest:
        return first
    *middle, last = rest
    return first + "".join(f"(?>[^/]*?{literal})" for literal in middle) + f"[^/]*{last}(?=/|\\Z)"


def _piece(glob: str, place: int) -> tuple[str, int]:
    """``*`` for a star, else an expression for one character; and where the next one begins."""
    char = glob[place]
    if char == "*":
        return "*", place + 1
    if char == "?":
        return "[^/]", place + 1
    if char == "\\" and place + 1 < len(glob):
        return re.escape(glob[place + 1]), place + 2
    if char == "[":
        # A bracket that comes first, behind the sign that negates or without it, belongs to the set.
        end = glob.find("]", place + 2 + (glob[place + 1 : place + 2] in ("!", "^")))
        return (_set(glob[place + 1 : end]), end + 1) if end > 0 else (_NOTHING, len(glob))
    return re.escape(char), place + 1


def _set(inside: str) -> str:
    negated = inside[0] in "!^"
    members = inside[negated:].replace("\\", "\\\\").replace("[", "\\[").replace("]", "\\]")
    members = members.replace("^", "\\^").replace("&&", "&\\&").replace("~~", "~\\~").replace("||", "|\\|")
    expression = f"(?!/)[{'^' * negated}{members}]"
    try:
        re.compile(expression)
    except re.error:
        return _NOTHING
    return expression
