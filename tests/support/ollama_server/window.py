"""The context window: what a request weighs, what the server cuts, and how it says that it is too long."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tests.support.ollama_server import gojson
from tests.support.ollama_server.registry import ModelSpec, at_least
from tests.support.ollama_server.validation import Refusal

TOKENS_PER_IMAGE = 768
_RENDERED_OVERFLOW = (
    "the prompt is longer than the context length currently available to the model; shorten the prompt, "
    "adjust the context length in settings, or use a model with a longer context length"
)


@dataclass(frozen=True)
class Fitted:
    """A prompt after the server's truncation."""

    tokens: int
    dropped: int
    """Messages cut from the front."""


def resolve(options: Mapping[str, object], model: ModelSpec) -> int:
    """The window a request runs with: its own, or the model's default, never above the trained one."""
    asked = options.get("num_ctx")
    window = int(str(asked)) if asked is not None else model.default_ctx
    return max(4, min(window, model.train_ctx))


def count(messages: Sequence[Mapping[str, object]], tools: object = None, bytes_per_token: float = 4) -> int:
    """Tokens of messages: a quarter of their UTF-8 bytes by default, and 768 for each image."""
    text = "".join(_rendered(message) for message in messages)
    text += gojson.encode(tools).decode() if tools else ""
    images = sum(len(_list(message.get("images"))) for message in messages)
    return math.ceil(len(text.encode("utf-8", "replace")) / bytes_per_token) + TOKENS_PER_IMAGE * images


def fit(body: Mapping[str, object], model: ModelSpec, window: int, version: str) -> Fitted:
    """Cut the history as the server does, or refuse where it must not or cannot."""
    messages = [message for message in _list(body.get("messages")) if isinstance(message, dict)]
    tools = body.get("tools")
    weight = model.bytes_per_token
    tokens = count(messages, tools, weight)
    if tokens <= window:
        return Fitted(tokens, 0)
    if body.get("truncate") is False and at_least(version, "0.12.6"):
        raise _overflow(tokens, window, model, version)
    system = [message for message in messages if message.get("role") == "system"]
    rest = [message for message in messages if message.get("role") != "system"]
    dropped = 0
    while len(rest) > 1 and count([*system, *rest], tools, weight) > window:
        rest.pop(0)
        dropped += 1
    tokens = count([*system, *rest], tools, weight)
    if tokens <= window:
        return Fitted(tokens, dropped)
    if model.engine == "native":
        raise _overflow(tokens, window, model, version)
    if not model.shift or body.get("shift") is False:
        raise Refusal(400, _RENDERED_OVERFLOW)
    return Fitted(window, dropped)


def _overflow(tokens: int, window: int, model: ModelSpec, version: str) -> Refusal:
    if not at_least(version, "0.25.0"):
        return Refusal(400, "the input length exceeds the context length")
    if model.engine == "mlx":
        return Refusal(
            400,
            f"input length ({tokens} tokens) exceeds the model's maximum context length ({window} tokens)",
        )
    error = {
        "code": 400,
        "message": f"request ({tokens} tokens) exceeds the available context size ({window} tokens), "
        "try increasing it",
        "type": "exceed_context_size_error",
        "n_prompt_tokens": tokens,
        "n_ctx": window,
    }
    return Refusal(400, json.dumps({"error": error}, separators=(",", ":")))


def _rendered(message: Mapping[str, object]) -> str:
    calls = message.get("tool_calls")
    parts = [
        str(message.get("role", "")),
        str(message.get("content") or ""),
        str(message.get("thinking") or ""),
    ]
    return "".join(parts) + (gojson.encode(calls).decode() if calls else "")


def _list(value: object) -> list[Any]:
    return value if isinstance(value, list) else []
