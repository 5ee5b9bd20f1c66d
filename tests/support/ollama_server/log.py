"""What the server saw and did, request by request.

All times are ``time.monotonic()`` seconds, which on Linux and macOS are comparable between processes.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, field


@dataclass
class RequestRecord:
    """One request, from its arrival to its end."""

    number: int
    """From 1, over all paths; requests to ``/_ctl`` don't count."""
    connection: int
    """From 1; two requests with the same number reused one socket."""
    method: str
    path: str
    headers: dict[str, str]
    raw: str
    json: object
    accepted: float
    first_byte: float | None = None
    last_byte: float | None = None
    disconnected: float | None = None
    """When the client closed before the reply was complete; None when it stayed to the end."""
    status: int | None = None
    sent: list[tuple[float, str]] = field(default_factory=list)
    """The moment at which each piece of answer text was handed to the socket, and the piece."""
    prompt_tokens: int = 0
    window: int = 0
    dropped: int = 0
    """Messages that the server cut from the front of the history."""
    reloaded: bool = False
    fault: str = ""
    scripted: bool = True
    """False when the script had no turn for this request."""

    @property
    def text_sent(self) -> str:
        """All answer text that went out."""
        return "".join(piece for _, piece in self.sent)

    @property
    def body(self) -> dict[str, object]:
        """The parsed body of a request that carries a JSON object."""
        if not isinstance(self.json, dict):
            raise TypeError(f"{self.method} {self.path} carried no JSON object: {self.raw[:80]!r}")
        return self.json

    def to_json(self) -> dict[str, object]:
        """As ``/_ctl/log`` gives it."""
        return asdict(self)
