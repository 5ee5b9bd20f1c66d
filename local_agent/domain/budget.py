"""Estimates of what a request weighs, in tokens."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field

from local_agent.domain.entries import ToolCall
from local_agent.domain.requests import Message
from local_agent.domain.tools import ToolSpec

BYTES_PER_TOKEN = 3.6
MESSAGE_OVERHEAD = 6
PICTURE_TOKENS = 768
"""What an Ollama server counts for a picture of any size."""
MENTIONED_SHARE = 0.25
"""Of the context window, what the files that one question mentions may take together."""

COMPACT_AT = 0.75
"""Of the context window, above which earlier turns are summarised before the next question."""
LEAST_TO_LEARN = 200
"""Tokens of a request that teaches what a server counts."""
LEAST_FACTOR, MOST_FACTOR = 0.4, 2.5
LEARNING = 0.5
"""How much of a count goes into what is believed where that was higher."""


def estimate_tokens(messages: Sequence[Message], tools: Sequence[ToolSpec] = ()) -> int:
    """Our own estimate before sending; the server's count replaces it afterwards.

    English prose is about four bytes a token, code and other scripts fewer: 3.6 errs to the safe side.
    """
    weight = sum(_weight(message) for message in messages) + sum(_tool_weight(spec) for spec in tools)
    pictures = sum(len(message.pictures) for message in messages)
    return int(weight / BYTES_PER_TOKEN) + MESSAGE_OVERHEAD * len(messages) + PICTURE_TOKENS * pictures


@dataclass(slots=True)
class Calibration:
    """What servers count for what we estimate, by model: the estimate errs by the tokenizer."""

    factors: dict[str, float] = field(default_factory=dict)

    def tokens(self, model: str, estimate: int) -> int:
        """An estimate as the server of ``model`` would count it, as far as that is known."""
        return int(estimate * self.factors.get(model, 1.0))

    def learn(self, model: str, estimate: int, counted: int | None) -> None:
        """Note what was counted for a request. What can't be the count of all of it teaches nothing."""
        if not counted or estimate < LEAST_TO_LEARN or not LEAST_FACTOR <= counted / estimate <= MOST_FACTOR:
            return
        seen, before = counted / estimate, self.factors.get(model, 0.0)
        # A count above what was believed counts at once: too low an estimate costs the beginning of a prompt.
        self.factors[model] = seen if seen > before else before + (seen - before) * LEARNING

    def known(self, model: str) -> bool:
        """Whether anything was counted for ``model`` yet."""
        return model in self.factors


def mentioned_bytes(window: int) -> int:
    """How much of the mentioned files goes along in a window of so many tokens."""
    return int(window * MENTIONED_SHARE * BYTES_PER_TOKEN)


def least_reply(window: int) -> int:
    """Tokens of a window that a request leaves to the reply, or it is not sent."""
    return min(256, window // 8)


def text_tokens(text: str) -> int:
    """Our own estimate of what a text weighs."""
    return int(len(text.encode("utf-8", "replace")) / BYTES_PER_TOKEN)


def _weight(message: Message) -> int:
    calls = sum(_call_weight(call) for call in message.calls)
    return len((message.content + message.thinking).encode("utf-8", "replace")) + calls


def _tool_weight(spec: ToolSpec) -> int:
    function = {"name": spec.name, "description": spec.description, "parameters": dict(spec.parameters)}
    return _written({"type": "function", "function": function})


def _call_weight(call: ToolCall) -> int:
    return _written({"id": call.id, "function": {"name": call.name, "arguments": call.arguments}})


def _written(value: object) -> int:
    """Bytes as JSON, in which templates write tools and calls."""
    written = json.dumps(value, ensure_ascii=False, separators=(",", ":"), default=str)
    return len(written.encode("utf-8", "replace"))
