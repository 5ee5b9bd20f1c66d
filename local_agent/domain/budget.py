"""Estimates of what a request weighs, in tokens."""

from __future__ import annotations

from collections.abc import Sequence

from local_agent.domain.requests import Message

BYTES_PER_TOKEN = 3.6
MESSAGE_OVERHEAD = 6


def estimate_tokens(messages: Sequence[Message]) -> int:
    """Our own estimate before sending; the server's count replaces it afterwards.

    English prose is about four bytes a token, code and other scripts fewer: 3.6 errs to the safe side.
    """
    weight = sum(len(message.content.encode("utf-8", "replace")) for message in messages)
    return int(weight / BYTES_PER_TOKEN) + MESSAGE_OVERHEAD * len(messages)
