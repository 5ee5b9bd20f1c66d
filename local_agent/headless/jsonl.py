"""JSON for other programs: values of the domain as text, and the event stream a line each."""

from __future__ import annotations

import dataclasses
import json
import re
from collections.abc import Callable, Mapping
from pathlib import PurePath
from typing import Any

from local_agent.domain.events import Event
from local_agent.domain.text import escape_json
from local_agent.headless.receipt import Receipt

_WORD_START = re.compile(r"(?<!^)(?=[A-Z])")


def as_json(value: object, indent: int | None = None) -> str:
    """Any value of the domain as JSON that every parser takes, and that is safe to draw."""
    return escape_json(json.dumps(value, ensure_ascii=False, allow_nan=False, default=_plain, indent=indent))


def event_record(event: Event) -> dict[str, object]:
    """An event as ``{"event": "text_delta", ...}``."""
    name = _WORD_START.sub("_", type(event).__name__).lower()
    return {"event": name, **_plain(event)}


class JsonLines:
    """Writes each event as one line, as it comes."""

    def __init__(self, write: Callable[[str], None]) -> None:
        self._write = write

    def show(self, event: Event) -> None:
        """Write one event."""
        self._write(as_json(event_record(event)) + "\n")

    def finish(self, receipt: Receipt) -> None:
        """Write the receipt as the last line."""
        self._write(as_json({"event": "receipt", **_plain(receipt)}) + "\n")


class JsonReceipt:
    """Writes nothing but the receipt."""

    def __init__(self, write: Callable[[str], None]) -> None:
        self._write = write

    def show(self, event: Event) -> None:
        """Events are only counted into the receipt."""

    def finish(self, receipt: Receipt) -> None:
        """Write the receipt."""
        self._write(as_json(receipt, indent=2) + "\n")


def _plain(value: object) -> Any:
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {field.name: getattr(value, field.name) for field in dataclasses.fields(value)}
    if isinstance(value, Mapping):
        return dict(value)
    if isinstance(value, frozenset | set):
        return sorted(value)
    if isinstance(value, PurePath):
        return str(value)
    raise TypeError(f"no JSON for {type(value).__name__}")
