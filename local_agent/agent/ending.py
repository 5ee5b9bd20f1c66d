"""Judges how a turn ended: what is recorded of it and what the person is told."""

from __future__ import annotations

from dataclasses import dataclass

from local_agent.agent import sentences
from local_agent.agent.arriving import ArrivingReply
from local_agent.domain.entries import EntryStatus, TurnStatus
from local_agent.domain.errors import LocalAgentError, ModelError, OutcomeUnknown, StoreError
from local_agent.domain.ports import DonePart

_NEARLY_FULL = 0.95


@dataclass(frozen=True, slots=True)
class Ending:
    """How a turn ended; ``error`` is set exactly when it failed."""

    status: TurnStatus
    entry_status: EntryStatus
    stop_reason: str
    error: LocalAgentError | None = None
    notices: tuple[str, ...] = ()


def interrupted() -> Ending:
    """The person stopped the turn, or its consumer went away."""
    return Ending(TurnStatus.INTERRUPTED, EntryStatus.INTERRUPTED, "interrupted")


def completed() -> Ending:
    """What the person ran has come to its end."""
    return Ending(TurnStatus.SETTLED, EntryStatus.SETTLED, "stop")


def failed(error: LocalAgentError) -> Ending:
    """The turn failed; what had arrived counts as interrupted, so that the next request carries it."""
    return Ending(TurnStatus.FAILED, EntryStatus.INTERRUPTED, failure_kind(error), error)


def judged(
    reply: ArrivingReply,
    *,
    window: int,
    max_output: int,
    may_cut: bool,
    runs_calls: bool = False,
    of_window: bool = False,
) -> Ending:
    """The stream ended by itself: settled if it was a whole reply that says something.

    ``of_window``: it was the context window that bounded it, not what is set.
    ``runs_calls``: tools were offered, and what it calls is run.
    """
    if reply.done is None:
        return failed(sentences.cut_off())
    arrived = reply.so_far
    at_limit = reply.done.reason == "length"
    if not arrived.text.strip() and not arrived.calls:
        if arrived.thinking.strip():
            return failed(sentences.only_thinking(at_limit, max_output))
        return failed(sentences.empty())
    notices = []
    if at_limit:
        notices.append(sentences.at_limit(max_output, of_window=of_window))
    if arrived.calls and not runs_calls:
        notices.append(sentences.not_run(arrived.calls))
    notices += _signs_of_a_cut(reply.done, window, may_cut)
    return Ending(
        TurnStatus.SETTLED, EntryStatus.SETTLED, reply.done.reason or "stop", notices=tuple(notices)
    )


def failure_kind(error: LocalAgentError) -> str:
    """The word by which front ends tell failures apart."""
    return error.kind if isinstance(error, ModelError | StoreError | OutcomeUnknown) else "refused"


def _signs_of_a_cut(done: DonePart, window: int, may_cut: bool) -> list[str]:
    tokens = done.usage.prompt_tokens
    if may_cut and tokens is not None and tokens >= window * _NEARLY_FULL:
        return [sentences.may_be_cut(tokens, window)]
    return []
