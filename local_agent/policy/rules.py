"""What was allowed or forbidden beforehand, and which calls that covers."""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import TypeAlias

from local_agent.domain.modes import Mode
from local_agent.domain.text import one_line
from local_agent.policy.commands import forbidden_in

ANY_TOOL = "*"
EVERYWHERE = "**"


@dataclass(frozen=True, slots=True)
class Considered:
    """A call as rules see it."""

    tool: str
    mode: Mode
    digest: str
    """Of the tool, its arguments and what it leads to."""
    paths: tuple[str, ...] = ()
    """What it is done to: relative to the workspace where it lies in it."""
    outside: tuple[str, ...] = ()
    command: str = ""
    prefix: tuple[str, ...] | None = None
    named: tuple[str, ...] = ()
    """Of a command: what it names in the workspace, as far as it can be told."""
    project_code: bool = False
    """It runs code of the project and nothing else that would be asked about."""


@dataclass(frozen=True, slots=True)
class CommandPrefix:
    """Commands that begin with these words."""

    words: tuple[str, ...]

    @property
    def covers(self) -> str:
        return f"every command {shlex.join(self.words)} ..., alone and inside the workspace"

    def allows(self, call: Considered) -> bool:
        return call.prefix is not None and call.prefix[: len(self.words)] == self.words

    def forbids(self, call: Considered) -> bool:
        return bool(call.command) and forbidden_in(call.command, self.words)


@dataclass(frozen=True, slots=True)
class ToolPath:
    """A tool on one path."""

    tool: str
    path: str

    @property
    def covers(self) -> str:
        return f"{self.tool} on {one_line(self.path, 200)}"

    def allows(self, call: Considered) -> bool:
        return call.tool == self.tool and call.paths == (self.path,) and not call.outside

    def forbids(self, call: Considered) -> bool:
        # A command that names the path could do to it whatever the tool does.
        own = call.paths if self.tool in (call.tool, ANY_TOOL) else ()
        return self.path.casefold() in (path.casefold() for path in (*own, *call.named))


@dataclass(frozen=True, slots=True)
class ToolPattern:
    """A tool on every path that a pattern matches, as a person writes it by hand: ``src/**``, ``*.md``."""

    tool: str
    pattern: str

    @property
    def covers(self) -> str:
        tool = "every tool" if self.tool == ANY_TOOL else self.tool
        return f"{tool} on {one_line(self.pattern, 200)}"

    def allows(self, call: Considered) -> bool:
        own = self.tool in (call.tool, ANY_TOOL) and bool(call.paths)
        return own and not call.outside and all(map(self._fits, call.paths))

    def forbids(self, call: Considered) -> bool:
        own = self.tool in (call.tool, ANY_TOOL)
        if self.pattern == EVERYWHERE:
            return own
        return any(map(self._fits, (*(call.paths if own else ()), *call.named)))

    def _fits(self, path: str) -> bool:
        return _compiled(self.pattern.casefold()).fullmatch(path.casefold()) is not None


@dataclass(frozen=True, slots=True)
class ExactRequest:
    """The same call again."""

    tool: str
    target: str
    digest: str

    @property
    def covers(self) -> str:
        return f"exactly this again: {self.tool} {one_line(self.target, 200)}"

    def allows(self, call: Considered) -> bool:
        return call.digest == self.digest

    forbids = allows


@dataclass(frozen=True, slots=True)
class OutsidePaths:
    """A tool on these paths outside the workspace; never kept."""

    tool: str
    paths: tuple[str, ...]

    @property
    def covers(self) -> str:
        return f"{self.tool} on {one_line(', '.join(self.paths), 200)}, outside the workspace"

    def allows(self, call: Considered) -> bool:
        return call.tool == self.tool and bool(call.outside) and call.outside == self.paths

    forbids = allows


@dataclass(frozen=True, slots=True)
class ProjectCode:
    """What runs the project's own code, in AUTO where nothing can confine it; never kept."""

    covers = "every command that runs project code, unconfined, in AUTO"

    def allows(self, call: Considered) -> bool:
        return call.project_code and call.mode is Mode.AUTO

    forbids = allows


Subject: TypeAlias = CommandPrefix | ToolPath | ToolPattern | ExactRequest | OutsidePaths | ProjectCode
Keepable: TypeAlias = CommandPrefix | ToolPath | ToolPattern


@dataclass(frozen=True, slots=True)
class Rule:
    """One answer that is remembered, or one line that the person wrote."""

    subject: Subject
    allows: bool
    kept: bool
    """It holds in every session of this workspace; else until this session ends."""
    since: str = ""
    """UTC, ISO 8601; empty where nobody noted it."""

    @property
    def covers(self) -> str:
        """The line that says what it covers."""
        return self.subject.covers


def entry_of(subject: Keepable, since: str) -> dict[str, str]:
    """A rule as ``permissions.json`` holds it."""
    match subject:
        case CommandPrefix(words):
            entry = {"command": shlex.join(words)}
        case ToolPath(tool, path):
            entry = {"tool": tool, "path": path}
        case ToolPattern(tool, pattern):
            entry = {"tool": tool, "paths": pattern}
    return entry | ({"since": since} if since else {})


def subject_of(entry: object) -> Keepable:
    """What an entry of ``permissions.json`` is about; ``ValueError`` when that can't be told."""
    if not isinstance(entry, Mapping):
        raise ValueError("an entry is no object")
    known = {name: value for name, value in entry.items() if name != "since"}
    if not all(isinstance(value, str) and value.strip() for value in known.values()):
        raise ValueError("an entry has a value that is no text")
    match known:
        case {"command": command, **rest} if not rest:
            return CommandPrefix(tuple(shlex.split(command)))
        case {"tool": tool, "path": path, **rest} if not rest:
            return ToolPath(tool, path)
        case {"tool": tool, "paths": pattern, **rest} if not rest:
            return ToolPattern(tool, pattern)
        case {"tool": tool, **rest} if not rest:
            return ToolPattern(tool, EVERYWHERE)
    raise ValueError(f"an entry has {one_line(', '.join(map(str, known)), 80) or 'nothing in it'}")


@lru_cache(maxsize=256)
def _compiled(pattern: str) -> re.Pattern[str]:
    """``*`` and ``?`` stay within a name, ``**`` doesn't; a folder covers all below it."""
    meanings = {"**/": "(?:.*/)?", "**": ".*", "*": "[^/]*", "?": "[^/]"}
    body = pattern.strip("/")
    pieces = re.split(r"(\*\*/|\*\*|\*|\?)", body)
    anywhere = "" if "/" in body else "(?:.*/)?"
    return re.compile(
        f"{anywhere}{''.join(meanings.get(each) or re.escape(each) for each in pieces)}(?:/.*)?", re.S
    )
