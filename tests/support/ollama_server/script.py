"""The script language: a Turn is what the model does with one chat request, step by step.

A step is a small frozen dataclass whose first field names it, so that the same step reads
``say("Hi", chunking="chars:1")`` in Python and ``{"say": "Hi", "chunking": "chars:1"}`` in JSON.

Chunking of text: ``whole``; ``token`` (words with their blanks); ``chars:N``; ``bytes:N`` (whole
text in one line, written N bytes at a time, so that UTF-8 is split across TCP writes); ``lines:N``
(tokens, N lines in one TCP write).
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field

from tests.support.ollama_server import gojson

_TOKEN = re.compile(r"\s*\S+|\s+")

END_KINDS = ("clean", "no_done", "abort", "midline_clean", "midline_abort", "rst", "eof", "hang")


@dataclass(frozen=True)
class Say:
    """Answer text. ``pause`` is the time from one piece to the next, in seconds."""

    say: str
    chunking: str = "token"
    pause: float = 0.0


@dataclass(frozen=True)
class Think:
    """Thinking text, in ``message.thinking``."""

    think: str
    chunking: str = "token"
    pause: float = 0.0


@dataclass(frozen=True)
class Call:
    """A tool call; the model's engine decides in which chunk it goes out.

    ``id`` and ``index`` None: as the engine does; ``id`` "": left out.
    ``args`` may be any JSON value, to play a faulty server.
    """

    call: str
    args: object = field(default_factory=dict)
    id: str | None = None
    index: int | None = None


@dataclass(frozen=True)
class Sleep:
    """Silence, in seconds."""

    sleep: float


@dataclass(frozen=True)
class Gate:
    """Wait until the test releases the gate of this name."""

    gate: str


@dataclass(frozen=True)
class Raw:
    """Bytes as they are (here as Latin-1 text), within the body of the stream."""

    raw: str

    @property
    def data(self) -> bytes:
        """What is written."""
        return self.raw.encode("latin-1")


@dataclass(frozen=True)
class Line:
    """Any JSON value as a line of the stream."""

    line: object

    @property
    def data(self) -> bytes:
        """What is written."""
        return gojson.encode_line(self.line)


@dataclass(frozen=True)
class Error:
    """An error as the server gives it: HTTP ``status`` before the first value, a line after it."""

    error: object
    status: int = 500


@dataclass(frozen=True)
class Http:
    """A whole HTTP reply in place of a stream."""

    http: int
    body: object = ""
    content_type: str = "application/json; charset=utf-8"
    headers: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Done:
    """The last value. ``counts`` replaces what the server would count; a None value leaves a field out.

    ``reason`` "" leaves ``done_reason`` out; ``text`` is content that rides on the last value.
    """

    done: str = "stop"
    text: str = ""
    counts: Mapping[str, int | None] = field(default_factory=dict)


@dataclass(frozen=True)
class End:
    """How the body ends: one of ``END_KINDS``."""

    end: str = "clean"

    def __post_init__(self) -> None:
        if self.end not in END_KINDS:
            raise ValueError(f"no end {self.end!r}: one of {', '.join(END_KINDS)}")


Step = Say | Think | Call | Sleep | Gate | Raw | Line | Error | Http | Done | End
_STEPS: dict[str, type[Step]] = {
    "say": Say,
    "think": Think,
    "call": Call,
    "sleep": Sleep,
    "gate": Gate,
    "raw": Raw,
    "line": Line,
    "error": Error,
    "http": Http,
    "done": Done,
    "end": End,
}
say, think, call, sleep, gate, line, error, http, done, end = (
    Say,
    Think,
    Call,
    Sleep,
    Gate,
    Line,
    Error,
    Http,
    Done,
    End,
)


def raw(data: bytes) -> Raw:
    """A step that writes these bytes."""
    return Raw(data.decode("latin-1"))


@dataclass(frozen=True)
class When:
    """Which request a Turn is for; a condition that is None does not count."""

    contains: str | None = None
    """Text in the last message."""
    last_role: str | None = None
    tools: bool | None = None
    think: bool | str | None = None
    options: Mapping[str, object] | None = None
    """Options that the request must carry."""

    def matches(self, body: Mapping[str, object]) -> bool:
        """Whether a chat request's body fits."""
        messages = body.get("messages")
        last = messages[-1] if isinstance(messages, list) and messages else {}
        options = body.get("options")
        return all(
            (
                self.contains is None or self.contains in str(last.get("content", "")),
                self.last_role is None or self.last_role == last.get("role"),
                self.tools is None or self.tools == bool(body.get("tools")),
                self.think is None or self.think == body.get("think"),
                self.options is None
                or (isinstance(options, dict) and dict(self.options).items() <= options.items()),
            )
        )


@dataclass(frozen=True)
class Turn:
    """What happens to one chat request. Without a last step that ends it, a plain ``done`` follows."""

    steps: tuple[Step, ...]
    when: When = field(default_factory=When)

    def __init__(self, *steps: Step | str, when: When | None = None) -> None:
        object.__setattr__(self, "steps", tuple(Say(s) if isinstance(s, str) else s for s in steps))
        object.__setattr__(self, "when", when or When())

    @property
    def ended(self) -> bool:
        """Whether the steps themselves say how the reply ends."""
        return any(isinstance(step, Done | End | Error | Http) for step in self.steps)


def streamed(text: str, per_second: float, *, chunking: str = "token", thinking: str = "") -> Turn:
    """A Turn whose text comes at ``per_second`` pieces a second."""
    pause = 1 / per_second
    before = (Think(thinking, chunking, pause),) if thinking else ()
    return Turn(*before, Say(text, chunking, pause))


def pieces(text: str, chunking: str) -> list[str]:
    """Cut text into the contents of its lines."""
    kind, _, size = chunking.partition(":")
    if kind in ("whole", "bytes"):
        return [text]
    if kind == "chars":
        step = int(size)
        return [text[i : i + step] for i in range(0, len(text), step)]
    if kind in ("token", "lines"):
        return _TOKEN.findall(text)
    raise ValueError(f"no chunking {chunking!r}")


def turn_to_json(turn: Turn) -> dict[str, object]:
    """The JSON form, as ``/_ctl/script`` and script files take it."""
    when = {key: value for key, value in asdict(turn.when).items() if value is not None}
    steps = [asdict(step) for step in turn.steps]
    return {"steps": steps, "when": when} if when else {"steps": steps}


def turn_from_json(value: object) -> Turn:
    """Read a Turn: ``"text"``, a list of steps, or ``{"steps": [...], "when": {...}}``."""
    if isinstance(value, str):
        return Turn(value)
    if isinstance(value, Sequence):
        return Turn(*(_step_from_json(step) for step in value))
    if isinstance(value, Mapping):
        when = When(**value.get("when", {}))
        return Turn(*(_step_from_json(step) for step in value["steps"]), when=when)
    raise ValueError(f"no turn: {value!r}")


def _step_from_json(value: object) -> Step | str:
    if isinstance(value, str):
        return value
    if isinstance(value, Mapping):
        for key, cls in _STEPS.items():
            if key in value:
                return cls(**value)
    raise ValueError(f"no step: {value!r}")
