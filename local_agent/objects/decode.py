"""Decodes a picture before it is taken: what can't be read here is never stored or sent.

The bytes that came are the bytes that are kept, metadata included, for every still PNG, JPEG and WebP that
stands upright. Anything else is drawn anew, without metadata: what a camera turned comes upright (a JPEG
stays one), and a GIF, an animation or a JPEG in printers' colours becomes a still PNG of its first frame.
"""

from __future__ import annotations

import io
import warnings
from typing import TYPE_CHECKING, NamedTuple

from local_agent.objects.headers import Header, Kind, read_header
from local_agent.objects.reading import MAX_BYTES, Refused, megabytes

if TYPE_CHECKING:
    from PIL.Image import Image

MAX_SIDE = 16_384
MAX_PIXELS = 24_000_000
_JPEG_QUALITY = 95
_ORIENTATION = 0x0112
_OPAQUE = {"1", "L", "RGB", "I;16"}
_PLAIN = {*_OPAQUE, "LA", "P", "PA", "RGBA"}
"""Pillow's modes that every server reads."""


class Decoded(NamedTuple):
    """A picture that can be read, as it is to be stored; its size is in pixels."""

    data: bytes
    mime: str
    width: int
    height: int


def decode(data: bytes) -> Decoded:
    """Check and decode a whole picture; ``Refused`` says what is wrong. The largest takes seconds."""
    if len(data) > MAX_BYTES:
        raise Refused(f"has {megabytes(len(data))}; a picture may have {megabytes(MAX_BYTES)}")
    header = read_header(data)
    _refuse_huge(header.width, header.height)

    from PIL import Image  # 60 ms that only somebody with a picture pays

    # A frame may claim more than its file does; Pillow would only warn of that.
    warnings.simplefilter("error", Image.DecompressionBombWarning)
    try:
        with Image.open(io.BytesIO(data), formats=[header.kind.name]) as picture:
            _refuse_huge(*picture.size)
            picture.load()
            _refuse_huge(*picture.size)  # a frame of a GIF may be larger than the GIF says
            return _kept(data, header, picture)
    except Refused:
        raise
    except MemoryError:
        raise Refused("needs more memory than there is") from None
    except Exception as error:  # a decoder meets any bytes; what it raises has no common base
        raise Refused(f"is damaged: {_reason(error)}") from error


def _refuse_huge(width: int, height: int) -> None:
    if max(width, height) > MAX_SIDE:
        raise Refused(f"has {width:,} x {height:,} pixels; a side may have {MAX_SIDE:,}")
    if width * height > MAX_PIXELS:
        millions = MAX_PIXELS // 1_000_000
        raise Refused(f"has {width:,} x {height:,} pixels; {millions} million are the most")


def _kept(data: bytes, header: Header, picture: Image) -> Decoded:
    turned = picture.getexif().get(_ORIENTATION, 1) in range(2, 9)
    still = not getattr(picture, "is_animated", False) or header.kind is Kind.JPEG
    if header.kind is not Kind.GIF and still and not turned and picture.mode in _PLAIN:
        return Decoded(data, header.kind, *picture.size)
    return _drawn_anew(picture, header.kind if turned and still else Kind.PNG)


def _drawn_anew(picture: Image, kind: Kind) -> Decoded:
    from PIL import ImageOps

    upright = ImageOps.exif_transpose(picture)
    if upright.has_transparency_data:
        upright = upright.convert("RGBA")
    elif upright.mode not in _OPAQUE:
        upright = upright.convert("RGB")
    kind = kind if kind is Kind.JPEG and upright.mode in ("L", "RGB") else Kind.PNG
    # Nothing of the old file's metadata goes along.
    upright.info.clear()
    out = io.BytesIO()
    if kind is Kind.JPEG:
        upright.save(out, "JPEG", quality=_JPEG_QUALITY, exif=b"")
    else:
        upright.save(out, "PNG", exif=b"")
    drawn = out.getvalue()
    if len(drawn) > MAX_BYTES:
        raise Refused(f"has {megabytes(len(drawn))} as a still picture; {megabytes(MAX_BYTES)} are the most")
    return Decoded(drawn, kind, *upright.size)


def _reason(error: Exception) -> str:
    """The decoder's words, without its own names for things."""
    if "truncated" in str(error).lower():
        return "it was cut short"
    return "it can't be decoded"
