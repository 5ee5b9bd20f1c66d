"""The public name of a session: seven lowercase hexadecimal digits."""

from __future__ import annotations

import difflib
import re
import secrets
from collections.abc import Iterable
from typing import TypeGuard

from local_agent.domain.errors import UsageError
from local_agent.domain.text import one_line

LENGTH = 7
_PATTERN = re.compile(r"[0-9a-f]{7}")
_OFFERED = 3
_COMPARED = 40


def new_handle() -> str:
    """Draw a handle from the system's cryptographic source; uniqueness is the caller's to check."""
    return secrets.token_hex(4)[:LENGTH]


def is_handle(value: object) -> TypeGuard[str]:
    """Whether a value is a handle in its canonical form."""
    return isinstance(value, str) and _PATTERN.fullmatch(value) is not None


def parse_handle(text: str, known: Iterable[str] = ()) -> str:
    """Return the canonical handle in ``text`` (trimmed, any letter case).

    Raises ``UsageError`` naming what a handle looks like and the closest of the ``known`` ones.
    """
    candidate = text.strip().lower()
    if _PATTERN.fullmatch(candidate):
        return candidate
    raise UsageError(
        f"'{one_line(text, _COMPARED)}' is no session handle: a handle is seven hex digits, such as a1b2c3d.",
        offer(candidate, known),
    )


def offer(candidate: str, known: Iterable[str]) -> str:
    """One sentence that names the handles closest to ``candidate``, or where to find them all."""
    close = _closest(candidate[:_COMPARED], list(known))
    if close:
        return f"Did you mean {' or '.join(close)}?"
    return "See them with: local-agent session list"


def _closest(candidate: str, known: list[str]) -> list[str]:
    """Handles that begin with the candidate or that it begins with, then those spelled alike."""
    shared = [handle for handle in known if candidate and handle.startswith(candidate)]
    shared += [handle for handle in known if len(candidate) > LENGTH and candidate.startswith(handle)]
    alike = difflib.get_close_matches(candidate, known, n=_OFFERED, cutoff=0.5)
    return list(dict.fromkeys([*shared, *alike]))[:_OFFERED]
