"""Faults of the connection itself: what happens to a request before any script is asked."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

KINDS = ("close_before_headers", "rst_before_headers", "accept_and_hang", "slow_headers", "reply")


@dataclass(frozen=True)
class Fault:
    """One request to ``path`` (None: any) goes wrong. ``slow_headers`` answers normally, ``seconds`` late."""

    kind: str
    path: str | None = "/api/chat"
    seconds: float = 0.0
    status: int = 502
    body: object = ""
    content_type: str = "text/html"
    headers: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.kind not in KINDS:
            raise ValueError(f"no fault {self.kind!r}: one of {', '.join(KINDS)}")

    def hits(self, path: str) -> bool:
        """Whether a request to ``path`` is meant."""
        return self.path is None or self.path == path


def reply(
    status: int,
    body: object = "",
    content_type: str = "text/html",
    *,
    path: str | None = "/api/chat",
    headers: Mapping[str, str] | None = None,
) -> Fault:
    """Some other HTTP answer: a proxy's HTML page, an empty 403, a redirect."""
    return Fault("reply", path, status=status, body=body, content_type=content_type, headers=headers or {})
