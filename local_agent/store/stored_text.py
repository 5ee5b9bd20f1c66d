"""Text that comes back exactly as it went in: NUL and lone surrogates included."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import cast as typed

from sqlalchemy import ColumnElement, Dialect, LargeBinary, Text, cast, type_coerce
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
            return typed("str | None", value)
        try:
            return decode(value)
        except UnicodeDecodeError:
            return value.decode("utf-8", "replace")


def calls_to_json(calls: Iterable[ToolCall]) -> str:
    """Empty for no calls; surrogates are escaped by JSON itself."""
    rows = [{"id": call.id, "name": call.name, "arguments": dict(call.arguments)} for call in calls]
    return json.dumps(rows) if rows else ""


def calls_from_json(text: str) -> tuple[ToolCall, ...]:
    """Raises ``ValueError``, ``KeyError`` or ``TypeError`` for what ``calls_to_json`` can't have written."""
    rows: list[Mapping[str, object]] = json.loads(text) if text else []
    return tuple(
        ToolCall(str(row["id"]), str(row["name"]), typed("Mapping[str, object]", row["arguments"]))
        for row in rows
    )
