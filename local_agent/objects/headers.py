"""What the first bytes of a picture say of it: its kind and its size, before anything is decoded."""

from __future__ import annotations

from enum import StrEnum
from typing import NamedTuple

from local_agent.objects.reading import Refused


class Kind(StrEnum):
    """The kinds of pictures that are taken; the value is the MIME type."""

    PNG = "image/png"
    JPEG = "image/jpeg"
    GIF = "image/gif"
    WEBP = "image/webp"


class Header(NamedTuple):
    """Width and height are in pixels, as the file claims."""

    kind: Kind
    width: int
    height: int


_DAMAGED = "is damaged: its beginning can't be read"
_FRAMES = frozenset({*range(0xC0, 0xD0)} - {0xC4, 0xC8, 0xCC})
"""Markers of a JPEG that are followed by its size."""
_ALONE = frozenset({0x01, *range(0xD0, 0xD8)})
"""Markers of a JPEG that have no length."""


def read_header(data: bytes) -> Header:
    """Kind and size by content; ``Refused`` for what is no picture of these kinds, or broken at its start."""
    if not data:
        raise Refused("is empty")
    kind = _kind(data)
    if kind is None:
        raise Refused("is no picture: PNG, JPEG, GIF and WebP can be taken")
    try:
        width, height = _SIZES[kind](data)
    except IndexError:
        raise Refused(_DAMAGED) from None
    if not (width and height):
        raise Refused("is damaged: it has no pixels")
    return Header(kind, width, height)


def _kind(data: bytes) -> Kind | None:
    if data.startswith(b"\x89PNG\r\n\x1a\n"):
        return Kind.PNG
    if data.startswith(b"\xff\xd8\xff"):
        return Kind.JPEG
    if data.startswith((b"GIF87a", b"GIF89a")):
        return Kind.GIF
    if data.startswith(b"RIFF") and data[8:12] == b"WEBP":
        return Kind.WEBP
    return None


def _png(data: bytes) -> tuple[int, int]:
    if data[12:16] != b"IHDR":
        raise IndexError
    return _big(data, 16, 4), _big(data, 20, 4)


def _gif(data: bytes) -> tuple[int, int]:
    return _little(data, 6, 2), _little(data, 8, 2)


def _webp(data: bytes) -> tuple[int, int]:
    match data[12:16]:
        case b"VP8X":
            return _little(data, 24, 3) + 1, _little(data, 27, 3) + 1
        case b"VP8L":
            bits = _little(data, 21, 4)
            return (bits & 0x3FFF) + 1, (bits >> 14 & 0x3FFF) + 1
        case b"VP8 ":
            return _little(data, 26, 2) & 0x3FFF, _little(data, 28, 2) & 0x3FFF
    raise IndexError


def _jpeg(data: bytes) -> tuple[int, int]:
    at = 2
    while True:
        if data[at] != 0xFF:
            raise IndexError
        while data[at] == 0xFF:
            at += 1
        marker = data[at]
        at += 1
        if marker in _FRAMES:
            return _big(data, at + 5, 2), _big(data, at + 3, 2)
        if marker not in _ALONE:
            length = _big(data, at, 2)
            if length < 2:
                raise IndexError
            at += length


def _big(data: bytes, at: int, count: int) -> int:
    return int.from_bytes(_part(data, at, count), "big")


def _little(data: bytes, at: int, count: int) -> int:
    return int.from_bytes(_part(data, at, count), "little")


def _part(data: bytes, at: int, count: int) -> bytes:
    part = data[at : at + count]
    if len(part) < count:
        raise IndexError
    return part


_SIZES = {Kind.PNG: _png, Kind.JPEG: _jpeg, Kind.GIF: _gif, Kind.WEBP: _webp}
