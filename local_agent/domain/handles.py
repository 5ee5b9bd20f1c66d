"""The public name of a session: seven lowercase hexadecimal digits."""

from __future__ import annotations

import difflib
import re
import secrets
from collections.abc import Iterable

from local_agent.domain.errors import UsageError
from local_agent.domain.text import one_line

LENGTH = 7
_PATTERN = re.compile(r"[0-9a-f]{7}")


def new_handle() -> str:
    """Draw a handle from the system's cryptographic source; uniqueness is the caller's to check."""
    return secrets.token_hex(4)[:LENGTH]


def parse_handle(text: str, known: Iterable[str] = ()) -> str:
    """Return the canonical handle in ``text`` (trimmed, any letter case).

    Raises ``UsageError`` naming what a handle looks like and the closest of the ``known`` ones.
    """
    candidate = text.strip().lower()
    if _PATTERN.fullmatch(candidate):
        return candidate
    raise UsageError(
        f"{one_line(text, 40)!r} is no session handle: a handle is seven hex digits, such as a1b2c3d.",
        offer(candidate, known),
    )


def offer(candidate: str, known: Iterable[str]) -> str:
    """One sentence that names the handles closest to ``candidate``, or where to find them all."""
    close = difflib.get_close_matches(candidate, list(known), n=3, cutoff=0.5)
    if close:
        return f"Did you mean {' or '.join(close)}?"
    return "See them with: local-agent session list"
