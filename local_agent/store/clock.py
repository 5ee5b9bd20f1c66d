"""Wall time as the database keeps it."""

from __future__ import annotations

from datetime import UTC, datetime


def utc_now() -> str:
    """UTC, ISO 8601 with milliseconds."""
    return datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
