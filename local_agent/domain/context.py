"""What a request is made of and what it shares with the one before, which a server need not read again."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

from local_agent.domain.budget import estimate_tokens
from local_agent.domain.entries import Entry, Kind
from local_agent.domain.marks import Mark, marks_of
from local_agent.domain.requests import Message
from local_agent.domain.tools import ToolSpec
from local_agent.domain.tree import forgets_pictures


class Why(StrEnum):
    """Why a request does not begin with all of the one before."""

    MODEL = "another model answers"
    WINDOW = "the context window has another size"
    OPTIONS = "options that reload the model were changed"
    INSTRUCTIONS = "the instructions were changed"
    TOOLS = "other tools are offered"
    COMPACTION = "earlier turns were summarised"
    MARKS = "something was left out, or taken in again"
    PICTURES = "earlier pictures were left out"
    RESULTS = "results of tools gave way"
    MOVED = "the conversation went on from another place"
    OTHER = "something that was sent is sent no more"


@dataclass(frozen=True, slots=True)
class Origins:
    """What of a path decides about its request besides the texts."""

    entries: frozenset[int] = frozenset()
    """Questions, commands, replies and summaries."""
    summary: int | None = None
    dropped: frozenset[int] = frozenset()
    forgotten: frozenset[int] = frozenset()
    """Markers that leave earlier pictures out."""
    shortened: frozenset[int] = frozenset()
    """Results of which less is sent than they say."""


@dataclass(frozen=True, slots=True)
class Sent:
    """What is remembered of a request: digests and weights, no texts."""

    model: str
    """Its digest, or its name where there is none."""
    window: int
    options: str
    """A digest of those that would reload the model."""
    tools: str
    tools_weight: int
    messages: tuple[str, ...]
    """A digest of each."""
    weights: tuple[int, ...]
    """Our own estimate of each, in tokens."""
    system: bool
    """Whether the first message is the system's."""
    origins: Origins = Origins()

    @property
    def estimate(self) -> int:
        """Our own estimate of all of it, in tokens."""
        return self.tools_weight + sum(self.weights)

    def weight_from(self, at: int) -> int:
        """Our own estimate of what follows the first ``at`` messages; of all of it for 0."""
        return sum(self.weights[at:]) if at else self.estimate


@dataclass(frozen=True, slots=True)
class Broken:
    """Where a request parts from the one before."""

    at: int
    """The first message that is another one; 0 where the server reads everything again."""
    why: Why


_RELOADING = ("num_batch", "num_gpu", "main_gpu", "use_mmap", "num_thread", "draft_num_predict")
"""Options whose change makes an Ollama server load the model again."""


def sent(
    model: str,
    window: int,
    options: Mapping[str, object],
    messages: Sequence[Message],
    tools: Sequence[ToolSpec],
    origins: Origins,
) -> Sent:
    """Remember a request."""
    return Sent(
        model,
        window,
        _digest(*(repr((name, options.get(name))) for name in _RELOADING)),
        _digest(*(repr((spec.name, spec.description, spec.parameters)) for spec in tools)),
        estimate_tokens((), tools),
        tuple(_message_digest(message) for message in messages),
        tuple(estimate_tokens((message,)) for message in messages),
        bool(messages) and messages[0].role == "system",
        origins,
    )


def origins_of(path: Sequence[Entry], shortened: frozenset[int]) -> Origins:
    """What decides about the request that a path becomes; ``shortened`` are entries of results."""
    summaries = [entry.id for entry in path if entry.kind is Kind.SUMMARY]
    return Origins(
        entries=frozenset(e.id for e in path if e.kind not in (Kind.RESULT, Kind.MARKER)),
        summary=max(summaries, default=None),
        dropped=frozenset(key for key, mark in marks_of(path).items() if mark is Mark.DROP),
        forgotten=frozenset(entry.id for entry in path if forgets_pictures(entry)),
        shortened=shortened & frozenset(entry.id for entry in path),
    )


def broken(before: Sent, now: Sent) -> Broken | None:
    """Where and why ``now`` does not begin with all of ``before``; None when it does.

    The last message of ``before`` may have grown: commands of the person's own are put before a question.
    """
    if before.model != now.model:
        return Broken(0, Why.MODEL)
    if before.window != now.window:
        return Broken(0, Why.WINDOW)
    if before.options != now.options:
        return Broken(0, Why.OPTIONS)
    if before.tools != now.tools:
        # Templates write the tools before everything else.
        return Broken(0, Why.TOOLS)
    pairs = zip(before.messages, now.messages, strict=False)
    shared = min(len(before.messages), len(now.messages))
    at = next((place for place, (old, new) in enumerate(pairs) if old != new), shared)
    if at == len(before.messages):
        return None
    if at == 0 and (before.system or now.system):
        return Broken(0, Why.INSTRUCTIONS)
    return Broken(at, _why(before.origins, now.origins))


def _why(before: Origins, now: Origins) -> Why:
    newer = (now.summary or 0) - (before.summary or 0)
    left = before.entries - now.entries
    if newer > 0:
        return Why.COMPACTION
    if newer < 0 or left:
        return Why.MOVED
    if before.dropped != now.dropped:
        return Why.MARKS
    if before.forgotten != now.forgotten:
        return Why.PICTURES
    if before.shortened != now.shortened:
        return Why.RESULTS
    return Why.OTHER


def _message_digest(message: Message) -> str:
    calls = [(call.id, call.name, call.arguments) for call in message.calls]
    pictures = [picture.sha256 for picture in message.pictures]
    return _digest(
        message.role,
        message.content,
        message.thinking,
        repr(calls),
        message.tool_name,
        message.tool_call_id,
        repr(pictures),
    )


def _digest(*parts: str) -> str:
    found = hashlib.blake2b(digest_size=16)
    for part in parts:
        data = part.encode("utf-8", "surrogatepass")
        found.update(len(data).to_bytes(8, "big"))
        found.update(data)
    return found.hexdigest()
