"""Stored times (UTC, ISO 8601) as a person reads them."""

from __future__ import annotations

from datetime import datetime

from local_agent.domain.text import one_line


def local_time(utc: str) -> str:
    """A stored time on the reader's clock, to the minute; what is no time stays as it is."""
    try:
        return datetime.fromisoformat(utc).astimezone().strftime("%Y-%m-%d %H:%M")
    except ValueError:
        return one_line(utc)
