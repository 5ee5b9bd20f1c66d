"""The bytes of a chat request, in pieces: forty megabytes of pictures must not hold up the screen."""

from __future__ import annotations

import base64
import json
from collections.abc import AsyncGenerator, Iterator, Mapping, Sequence
from typing import Any

from local_agent.domain.requests import Message

_SLICE = 3 * (1 << 16)
"""Bytes that are encoded at a time; a multiple of three, so that the slices join."""


class Body:
    """JSON with base64 in it that is made as it is sent, and again when it is sent again."""

    def __init__(
        self, value: Mapping[str, Any], messages: Sequence[Message], picture_bytes: Mapping[str, bytes]
    ) -> None:
        """``value`` is the whole request but for the pictures of its ``messages``."""
        if picture_bytes:
            self._parts = list(_parts(value, messages, picture_bytes))
        else:
            self._parts = [json.dumps(value).encode()]

    def __len__(self) -> int:
        return sum(len(part) for part in self._parts)

    async def pieces(self) -> AsyncGenerator[bytes, None]:
        """All of it, in order."""
        for part in self._parts:
            if isinstance(part, bytes):
                yield part
            else:
                for piece in part.pieces():
                    yield piece


class _Base64:
    """Bytes that become text when they are sent."""

    def __init__(self, data: bytes) -> None:
        self._data = data

    def __len__(self) -> int:
        return (len(self._data) + 2) // 3 * 4

    def pieces(self) -> Iterator[bytes]:
        view = memoryview(self._data)
        for start in range(0, len(view), _SLICE):
            yield base64.b64encode(view[start : start + _SLICE])


def _parts(
    value: Mapping[str, Any], messages: Sequence[Message], picture_bytes: Mapping[str, bytes]
) -> Iterator[bytes | _Base64]:
    rest = {key: item for key, item in value.items() if key != "messages"}
    yield json.dumps(rest)[:-1].encode() + b', "messages": ['
    for number, message in enumerate(messages):
        text = json.dumps(value["messages"][number]).encode()
        yield b", " if number else b""
        if not message.pictures:
            yield text
            continue
        yield text[:-1] + b', "images": ['
        for place, picture in enumerate(message.pictures):
            yield b', "' if place else b'"'
            yield _Base64(picture_bytes[picture.sha256])
            yield b'"'
        yield b"]}"
    yield b"]}"
