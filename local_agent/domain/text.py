"""One door in and one door out for outside text: the normaliser and the sanitiser.

``normalise`` makes any string storable and sendable without losing what can be kept.
``sanitise`` makes any string safe to draw: nothing in it can move the cursor, spoof a line or
reorder what stands beside it. Both are pure and idempotent.
"""

from __future__ import annotations

import re
import unicodedata

REPLACEMENT = "�"

_SURROGATE = re.compile("[\ud800-\udfff]")
_LINE_BREAKS = re.compile("\r\n|[\r\x0b\x0c\x85\u2028\u2029]")
# Bidi marks, embeddings, overrides and isolates reorder text outside themselves.
_BIDI = "\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069"
_UNSAFE = re.compile(f"[\x00-\x08\x0e-\x1f\x7f-\x9f{_BIDI}\ufeff\ufff9-\ufffb]")
_COMBINING_LIMIT = 8


def normalise(text: str) -> str:
    """Join surrogate pairs and replace lone surrogates, so that the text can be encoded as UTF-8."""
    if not _SURROGATE.search(text):
        return text
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


def decode(data: bytes) -> str:
    """Decode bytes from outside; what is no UTF-8 becomes U+FFFD."""
    return data.decode("utf-8", "replace")


def sanitise(text: str) -> str:
    """Make multi-line text safe to draw: line breaks become ``\\n``, controls become visible pictures."""
    text = _LINE_BREAKS.sub("\n", normalise(text))
    return _limit_combining(_UNSAFE.sub(_picture, text))


def one_line(text: str, limit: int = 0) -> str:
    """Make text safe to draw on one line: white space folded, cut at ``limit`` characters when given."""
    folded = " ".join(sanitise(text).split())
    if limit and len(folded) > limit:
        return folded[: limit - 1].rstrip() + "…"
    return folded


def _picture(match: re.Match[str]) -> str:
    """Show a control as what it is (U+2400 block) and drop what has no picture."""
    code = ord(match.group())
    if code < 0x20:
        return chr(0x2400 + code)
    if code == 0x7F:
        return "␡"
    return REPLACEMENT if code < 0xA0 else ""


def _limit_combining(text: str) -> str:
    """Cut floods of combining marks, which would paint over the lines above and below."""
    if text.isascii():
        return text
    kept: list[str] = []
    run = 0
    for char in text:
        run = run + 1 if unicodedata.combining(char) else 0
        if run <= _COMBINING_LIMIT:
            kept.append(char)
    return "".join(kept)
