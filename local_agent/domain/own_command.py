"""``!command``: a command of the person's own, typed where a prompt is."""

from __future__ import annotations

MARK = "!"


def command_of(text: str) -> str | None:
    """The command of a prompt that is one; None for any other, also for the mark alone."""
    stripped = text.strip()
    return stripped[len(MARK) :].strip() or None if stripped.startswith(MARK) else None


def as_typed(command: str) -> str:
    """How a person wrote it."""
    return f"{MARK}{command}"
