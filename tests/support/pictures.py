"""Pictures for tests, made here: whole, turned, moving, cut short, lying about their size."""

from __future__ import annotations

import io
import struct
import zlib
from typing import Any

from PIL import Image

ORIENTATION = 0x0112
PLACE = b"taken at home"


def drawn(kind: str = "PNG", size: tuple[int, int] = (8, 6), *, seed: int = 0, **how: Any) -> bytes:
    """A small picture whose bytes differ by ``seed``; ``how`` is handed to Pillow."""
    mode = how.pop("mode", "RGB")
    picture = Image.new(mode, size, tuple([seed % 256, 90, 200, 255][: len(mode)]) if len(mode) > 1 else 7)
    if len(mode) > 1:
        picture.putpixel((0, 0), tuple([255, seed // 256 % 256, 0, 255][: len(mode)]))
    return saved(picture, kind, **how)


def saved(picture: Image.Image, kind: str, **how: Any) -> bytes:
    """A picture as a file."""
    out = io.BytesIO()
    picture.save(out, kind, **how)
    return out.getvalue()


def opened(data: bytes) -> Image.Image:
    """A file as a picture, decoded."""
    picture = Image.open(io.BytesIO(data))
    picture.load()
    return picture


def turned(kind: str = "JPEG", size: tuple[int, int] = (40, 20)) -> bytes:
    """What a camera held upright writes: lying, with a note to turn it, and where it was taken."""
    picture = Image.new("RGB", size, (10, 200, 30))
    exif = Image.Exif()
    exif[ORIENTATION] = 6
    exif[0x010F] = "a maker of cameras"
    exif.get_ifd(0x8825)[1] = "N"
    more = {"comment": PLACE, "xmp": PLACE} if kind == "JPEG" else {"xmp": PLACE} if kind == "WEBP" else {}
    return saved(picture, kind, exif=exif.tobytes(), **more)


def moving(kind: str = "GIF") -> bytes:
    """Two frames: red, then blue."""
    frames = [Image.new("RGB", (10, 10), colour) for colour in ("red", "blue")]
    return saved(frames[0], kind, save_all=True, append_images=frames[1:], duration=100)


def huge_png(width: int = 20_000, height: int = 20_000) -> bytes:
    """A PNG of 66 bytes that claims to be enormous."""
    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    return (
        b"\x89PNG\r\n\x1a\n"
        + _chunk(b"IHDR", header)
        + _chunk(b"IDAT", zlib.compress(b"\0"))
        + _chunk(b"IEND")
    )


def _chunk(kind: bytes, data: bytes = b"") -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
