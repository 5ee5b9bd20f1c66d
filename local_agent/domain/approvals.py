"""What a person is asked before something is done, and what may be answered."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Protocol

from local_agent.domain.modes import Mode
from local_agent.domain.tools import Action, Intent


class Choice(StrEnum):
    """An answer. Everything but ``NO`` lets the call run."""

    NO = "no"
    ONCE = "once"
    REQUEST = "request"
    """This exact request again in this session."""
    SESSION = "session"
    """This tool, path or command prefix in this session."""
    WORKSPACE = "workspace"
    """Always in this workspace; kept in the person's folder."""


@dataclass(frozen=True, slots=True)
class Offer:
    """A wider answer than once."""

    choice: Choice
    covers: str
    """The line that says what it will cover."""


class Verdict(StrEnum):
    """What the rules say of a call."""

    ALLOW = "allow"
    ASK = "ask"
    REFUSE = "refuse"


@dataclass(frozen=True, slots=True)
class Decision:
    """What the rules say of a call, and why."""

    verdict: Verdict
    reason: str = ""
    """One sentence: for the person who is asked, and for the model whose call is refused."""
    confined: bool = False
    """It runs in the sandbox."""
    offers: tuple[Offer, ...] = ()


@dataclass(frozen=True, slots=True)
class ApprovalRequest:
    """A question to the person about one call."""

    id: str
    execution_id: str
    tool: str
    action: Action
    target: str
    reason: str
    arguments: Mapping[str, object]
    diff: str = ""
    offers: tuple[Offer, ...] = ()
    confined: bool = False


@dataclass(frozen=True, slots=True)
class Answer:
    """What the person said."""

    choice: Choice
    hunks: frozenset[int] | None = None
    """Of a diff those that are accepted, counted from 0; None for all."""
    text: str = field(default="")
    """To a question of the model's the answer; with ``NO`` what the model is told."""


NO = Answer(Choice.NO)


class Authority(Protocol):
    """The rules of one conversation."""

    def decide(self, intent: Intent, mode: Mode) -> Decision:
        """What may be done with a call."""

    def grant(self, intent: Intent, choice: Choice) -> str:
        """Remember a wider answer; the line that says what it covers from now on."""
