"""Column types: text comes back as it went in, and what nothing of ours wrote has its column's type."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping

from sqlalchemy import ColumnElement, Dialect, Float, Integer, LargeBinary, Text, cast, type_coerce
from sqlalchemy.types import TypeDecorator

from local_agent.domain.entries import ToolCall


def encode(text: str) -> bytes:
    """UTF-8; a lone surrogate keeps its own three bytes."""
    return text.encode("utf-8", "surrogatepass")


def decode(data: bytes) -> str:
    """The inverse of ``encode``; raises ``UnicodeDecodeError`` for bytes that it can't have written."""
    return data.decode("utf-8", "surrogatepass")


class StoredText(TypeDecorator[str]):
    """A TEXT column that travels as bytes, because the driver refuses what UTF-8 can't hold."""

    impl = Text
    cache_ok = True

    def bind_expression(self, bindparam: ColumnElement[str]) -> ColumnElement[str]:
        return cast(bindparam, Text)

    def column_expression(self, column: ColumnElement[str]) -> ColumnElement[str]:
        return type_coerce(cast(column, LargeBinary), StoredText)

    def process_bind_param(self, value: str | None, dialect: Dialect) -> bytes | None:
        return None if value is None else encode(value)

    def process_result_value(self, value: object, dialect: Dialect) -> str | None:
        if not isinstance(value, bytes):
            return "" if value is None else str(value)
        try:
            return decode(value)
        except UnicodeDecodeError:
            return value.decode("utf-8", "replace")


class Word(TypeDecorator[str]):
    """A short text of the program's own. Columns hold what was put into them; this one gives text.

    ``lacking`` is what it gives where nothing stands.
    """

    impl = Text
    cache_ok = True

    def __init__(self, lacking: str | None = "") -> None:
        super().__init__()
        self.lacking = lacking

    def process_result_value(self, value: object, dialect: Dialect) -> str | None:
        if type(value) is str:
            return value
        if value is None:
            return self.lacking
        return value.decode("utf-8", "replace") if isinstance(value, bytes) else str(value)


class Whole(TypeDecorator[int]):
    """A whole number; ``lacking`` for what is none."""

    impl = Integer
    cache_ok = True

    def __init__(self, lacking: int | None = 0) -> None:
        super().__init__()
        self.lacking = lacking

    def process_result_value(self, value: object, dialect: Dialect) -> int | None:
        return value if type(value) is int else self.lacking


class Real(TypeDecorator[float]):
    """A measured number; None for what is none."""

    impl = Float
    cache_ok = True

    def process_result_value(self, value: object, dialect: Dialect) -> float | None:
        return float(value) if isinstance(value, int | float) else None


def calls_to_json(calls: Iterable[ToolCall]) -> str:
    """Empty for no calls; surrogates are escaped by JSON itself."""
    rows = [_call_to_row(call) for call in calls]
    return json.dumps(rows) if rows else ""


def calls_from_json(text: str) -> tuple[ToolCall, ...]:
    """Raises ``ValueError``, ``KeyError`` or ``TypeError`` for what ``calls_to_json`` can't have written."""
    rows: list[Mapping[str, object]] = json.loads(text) if text else []
    return tuple(_call_from_row(row) for row in rows)


def _call_to_row(call: ToolCall) -> dict[str, object]:
    row: dict[str, object] = {"id": call.id, "name": call.name, "arguments": dict(call.arguments)}
    if call.raw:
        row["raw"] = call.raw
    if call.recovered:
        row["recovered"] = True
    return row


def _call_from_row(row: Mapping[str, object]) -> ToolCall:
    arguments = row["arguments"]
    if not isinstance(arguments, Mapping):
        raise TypeError("arguments are an object")
    recovered = row.get("recovered") is True
    return ToolCall(str(row["id"]), str(row["name"]), arguments, str(row.get("raw", "")), recovered)


def calls_or_none(text: str) -> tuple[ToolCall, ...]:
    """The calls of a reply that never became an entry; none where they can't be read."""
    try:
        return calls_from_json(text)
    except (ValueError, KeyError, TypeError):
        return ()
