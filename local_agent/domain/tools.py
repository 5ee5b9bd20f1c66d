"""What a model may call: how tools describe themselves, what a call would do, and what came of it."""

from __future__ import annotations

import asyncio
import stat
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import NamedTuple, Protocol

from local_agent.domain.entries import ToolCall


class Effect(StrEnum):
    """Whether a tool can change anything; ``UNKNOWN`` is treated as if it did."""

    READ_ONLY = "read_only"
    EFFECTFUL = "effectful"
    UNKNOWN = "unknown"


class Action(StrEnum):
    """What a call is to the person who is asked about it."""

    READ = "read"
    """Read, search, list."""
    WRITE = "write"
    """Write, edit, copy, make a folder."""
    REMOVE = "remove"
    """Remove or move."""
    RUN = "run"
    """Run a command."""
    REMEMBER = "remember"
    """Note, change or delete what is noted of the folder."""
    TALK = "talk"
    """Keep a list, ask the person: nothing outside the conversation."""


class ResultStatus(StrEnum):
    """How a call ended."""

    OK = "ok"
    FAILED = "failed"
    REFUSED = "refused"
    """Nobody, or nothing, allowed it: it did not run."""
    CANCELLED = "cancelled"
    """Stopped; what it did until then stands."""
    UNCERTAIN = "uncertain"
    """What it started could not be ended: what it does is not known."""


@dataclass(frozen=True, slots=True)
class ToolSpec:
    """What a model is told of a tool. The same bytes in every request of a conversation."""

    name: str
    description: str
    """One line."""
    parameters: Mapping[str, object]
    """A JSON Schema object with flat properties."""
    effect: Effect = Effect.READ_ONLY
    example: Mapping[str, object] = field(default_factory=dict)
    """Arguments that are right, for errors."""


FOLDER = "folder"
"""What stands in the place of a SHA-256 for a path that is a folder."""
UNKNOWN = "unknown"
"""What stands there for a file that nobody has read: it never equals a content, nor is one kept."""


@dataclass(frozen=True, slots=True)
class FileState:
    """What is at a path at one moment. Without a digest there is nothing."""

    digest: str = ""
    """SHA-256 of a file's content, of a link's target behind ``link to ``; ``FOLDER``; ``UNKNOWN``; empty for
    nothing.
    """
    mode: int | None = None
    """``st_mode``: permissions, and the bits that say file, link or folder. None where it is not known."""

    @property
    def link(self) -> bool:
        """Whether it is a symbolic link."""
        return self.mode is not None and stat.S_ISLNK(self.mode)

    @property
    def folder(self) -> bool:
        """Whether it is a folder."""
        return self.digest == FOLDER

    def same_content(self, other: FileState) -> bool:
        """Whether both are the same kind of thing, where both kinds are known, and hold the same, whatever
        their permissions.
        """
        kinds = {stat.S_IFMT(each.mode or 0) for each in (self, other)} - {0}
        return self.digest == other.digest and len(kinds) < 2


@dataclass(frozen=True, slots=True)
class FileChange:
    """What a call did to one file. ``path`` is relative to the workspace where it lies in it."""

    path: str
    kind: str
    """``created``, ``changed``, ``removed``, ``folder`` (made)."""
    before: str = ""
    """SHA-256 of the content, or ``UNKNOWN``; empty when there was no file."""
    after: str = ""
    mode_before: int | None = None
    """``st_mode``; of what was written by earlier versions permission bits alone."""
    mode_after: int | None = None

    @property
    def state_before(self) -> FileState:
        """What was there."""
        if self.kind == "removed" and not self.before and self.mode_before is not None:
            return FileState(FOLDER, self.mode_before)
        return FileState(self.before, self.mode_before)

    @property
    def state_after(self) -> FileState:
        """What is there now."""
        return FileState(FOLDER if self.kind == FOLDER else self.after, self.mode_after)


class Sizes(NamedTuple):
    """How large a changed file was and is."""

    before: int | None
    """Bytes; None where there was no file."""
    after: int | None
    kept: bool
    """Whether what it held before was kept."""


@dataclass(frozen=True, slots=True)
class Intent:
    """What a call would do. Preparing it has changed nothing."""

    call: ToolCall
    spec: ToolSpec
    action: Action
    target: str
    """One line: a path relative to the workspace, a pattern, or the command."""
    diff: str = ""
    """Of a change to files: unified, whole."""
    command: str = ""
    """Of ``bash``: as the shell will get it."""
    outside: tuple[str, ...] = ()
    """Resolved paths that it would touch outside the workspace."""
    expected: Mapping[str, str] = field(default_factory=dict)
    """What the preview rests on and a probe looks at later: absolute path to SHA-256, empty for no file."""
    intended: Mapping[str, str] = field(default_factory=dict)
    """What the same paths will hold afterwards."""
    plan: object = None
    """What the tool itself keeps to carry it out."""


@dataclass(frozen=True, slots=True)
class ToolResult:
    """What came of a call."""

    status: ResultStatus
    text: str
    """What the model reads, already bounded."""
    summary: str = ""
    """A few words for the card, such as ``7 hits in 3 files``."""
    exit_code: int | None = None
    size: int | None = None
    """Bytes of the whole output where ``text`` is a part of it."""
    output: str = ""
    """Digest of the whole output in the object store where ``text`` is a part of it."""
    diff: str = ""
    changes: tuple[FileChange, ...] = ()
    sizes: tuple[Sizes, ...] = ()
    """Of ``changes``, one each, where they are known."""
    unscanned: str = ""
    """What is not known of the files that a command changed, and why."""


class ToolFailed(Exception):
    """A call can't be carried out; ``str()`` is the sentence that the model reads."""


class Surroundings(Protocol):
    """What a running tool gets from the loop."""

    @property
    def stop(self) -> asyncio.Event:
        """Set when the person wants an end: the tool ends what it does within 150 ms and returns."""

    def progress(self, text: str) -> None:
        """Show more output to the person while it runs."""

    async def ask(self, question: str, options: Sequence[str]) -> str | None:
        """Put a question to the person; None when nobody answers it."""


class ReadyTool(Protocol):
    """A call with everything done but its effect."""

    @property
    def facts(self) -> Mapping[str, object]:
        """What the ledger keeps of its start: pid, process group and start time of a command."""

    async def run(self, around: Surroundings) -> ToolResult:
        """Do it. Never raises for what a tool can meet; raises ``ToolFailed`` when it did nothing."""

    async def drop(self) -> None:
        """It won't be run: let go of what was prepared."""


class Toolbox(Protocol):
    """The tools of one conversation, and what they remember of it."""

    @property
    def specs(self) -> Sequence[ToolSpec]:
        """All tools, in a fixed order."""

    async def prepare(self, call: ToolCall) -> Intent:
        """Look what a call would do. Raises ``ToolFailed``, also for an unknown tool or bad arguments."""

    async def narrowed(self, intent: Intent, hunks: frozenset[int]) -> Intent:
        """The same with those hunks of its diff alone, counted from 0."""

    async def ready(self, intent: Intent, execution_id: str, *, confined: bool) -> ReadyTool:
        """Do all but the effect. Raises ``ToolFailed`` when what the preview rests on has changed."""
