"""Every failure a person can meet, as a type with one clear line and the way out."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING

from local_agent.domain.text import one_line
from local_agent.domain.times import local_time

if TYPE_CHECKING:
    from local_agent.domain.sessions import Holder


class LocalAgentError(Exception):
    """A failure to be shown: ``line`` says what happened, ``hint`` the way out, ``raw`` its source."""

    exit_code = 1

    def __init__(self, line: str, hint: str = "", raw: str = "") -> None:
        super().__init__(line)
        self.line = line
        self.hint = hint
        self.raw = raw

    def __str__(self) -> str:
        return f"{self.line} {self.hint}".strip()


class UsageError(LocalAgentError):
    """The person asked in a way that cannot be carried out; exit code 2."""

    exit_code = 2


class ModelErrorKind(StrEnum):
    """What went wrong between us and a model."""

    UNREACHABLE = "unreachable"
    NO_MODEL = "no_model"
    NO_TOOLS = "no_tools"
    NO_THINKING = "no_thinking"
    CONTEXT_OVERFLOW = "context_overflow"
    BUSY = "busy"
    UNAUTHORIZED = "unauthorized"
    MALFORMED = "malformed"
    CUT_OFF = "cut_off"
    EMPTY = "empty"
    ONLY_THINKING = "only_thinking"
    REPEATING = "repeating"
    LIMIT = "limit"
    SILENT = "silent"
    NO_MEMORY = "no_memory"
    ENGINE = "engine"
    SERVER = "server"


class ModelError(LocalAgentError):
    """A model request failed; ``kind`` decides what happens next, ``line`` is what the person reads."""

    def __init__(self, kind: ModelErrorKind, line: str, hint: str = "", raw: str = "") -> None:
        super().__init__(line, hint, raw)
        self.kind = kind


class CloudConsentNeeded(ModelError):
    """The model does not run on its server: what is asked would go on to somebody else, and nobody agreed."""

    def __init__(self, model: str, where: str) -> None:
        shown = one_line(model, 80)
        line = f"{shown} runs {where}: this conversation would leave your machine, and you have not agreed."
        way_out = "Choose it with /model to agree to that, or start with --allow-cloud."
        super().__init__(ModelErrorKind.UNAUTHORIZED, line, way_out)
        self.model = model
        self.where = where
        """Such as ``in Ollama's cloud``."""


class OutcomeUnknown(LocalAgentError):
    """A call was begun and its end is not known; somebody has to look."""

    kind = "outcome_unknown"


class StoreError(LocalAgentError):
    """The database refused: locked, read-only, full, foreign, newer, damaged."""

    kind = "store"


class NotSaved(StoreError):
    """A write did not reach the disk; what it held is still in memory."""


class OnlyReadable(NotSaved):
    """The database can't be opened for writing; what it holds may be read from a copy."""


class Damaged(StoreError):
    """A part of the database can't be read; other parts may be."""


class Outdated(NotSaved):
    """A newer program has migrated the database meanwhile; this process writes no more."""


class LeaseLost(StoreError):
    """Another process took the session over; this one may read it and write it no more."""

    kind = "lease_lost"


class SessionHeld(StoreError):
    """Another process holds the session."""

    def __init__(self, handle: str, holder: Holder) -> None:
        where = f" on {holder.terminal}" if holder.terminal else ""
        super().__init__(
            f"Session {handle} is open in process {holder.pid}{where} since {local_time(holder.since)}.",
            f"Close it there, or fork it with: local-agent session fork {handle}; to read along or take it "
            f"over: local-agent --resume {handle}",
        )
        self.handle = handle
        self.holder = holder


class UnknownSession(UsageError):
    """No session has this handle."""


class ConfigError(UsageError):
    """A setting, variable or flag cannot be used; names the file, line and key where there is one."""
