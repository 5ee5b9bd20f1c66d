"""One door in and one door out for outside text: the normaliser and the sanitiser.

``normalise`` makes any string storable and sendable without losing what can be kept.
``sanitise`` makes any string safe to draw: nothing in it can move the cursor, spoof a line or
reorder what stands beside it. Both are pure and idempotent.
"""

from __future__ import annotations

import re
import unicodedata

from local_agent.domain.graphemes import cut_clusters

REPLACEMENT = "\N{REPLACEMENT CHARACTER}"
TAB_WIDTH = 4

_SURROGATE = re.compile("[\ud800-\udfff]")
_LINE_BREAKS = re.compile("\r\n|[\r\x0b\x0c\x85\u2028\u2029]")
# Bidi marks, embeddings, overrides and isolates reorder text outside themselves.
_BIDI = "\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069"
# Deprecated format characters, interlinear annotations, musical brackets and tags draw nothing:
# they only hide text from the person that the model reads.
_HIDDEN = "\u206a-\u206f\ufeff\ufff9-\ufffb\U0001d173-\U0001d17a\U000e0000-\U000e007f"
_UNSAFE = re.compile(f"[\x00-\x08\x0e-\x1f\x7f-\x9f{_BIDI}{_HIDDEN}]")

# Every character that takes no cell lies in these blocks (a test holds this against the Unicode
# tables); three of a block in a row may be a flood and are looked at one by one.
_ZERO_WIDTH_BLOCKS = (
    "\u00ad\u0300-\u036f\u0483-\u0489\u0591-\u1dff\u200b-\u200f\u2060-\u206f\u20d0-\u20f0\u2cef-\u2dff"
    "\u302a-\u302d\u3099\u309a\ua66f-\uabed\ufb1e\ufe00-\ufe2f\U000101fd-\U0001e94a\U000e0000-\U000e0fff"
)
_POSSIBLE_FLOOD = re.compile(f"[{_ZERO_WIDTH_BLOCKS}]{{3,}}")
_INVISIBLE = frozenset("\u00ad\u180e\u200b\u200c\u200d\u2060\u2061\u2062\u2063\u2064")
_MARKS_IN_A_ROW = 8
_INVISIBLE_IN_A_ROW = 2


def normalise(text: str) -> str:
    """Join surrogate pairs and replace lone surrogates, so that the text can be encoded as UTF-8."""
    if text.isascii() or not _SURROGATE.search(text):
        return text
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


def decode(data: bytes) -> str:
    """Decode bytes from outside; what is no UTF-8 becomes U+FFFD."""
    return data.decode("utf-8", "replace")


def sanitise(text: str) -> str:
    """Make multi-line text safe to draw.

    Line breaks become ``\\n``, tabs become spaces, controls become visible pictures; floods of
    characters that take no cell are cut to what scripts and emoji need.
    """
    if text.isascii() and text.replace("\n", "").isprintable():
        return text
    text = _LINE_BREAKS.sub("\n", normalise(text))
    text = _UNSAFE.sub(_picture, text).expandtabs(TAB_WIDTH)
    return text if text.isascii() else _POSSIBLE_FLOOD.sub(_thinned, text)


def one_line(text: str, limit: int = 0) -> str:
    """Make text safe to draw on one line: white space folded, cut at ``limit`` graphemes when given."""
    folded = " ".join(sanitise(text).split())
    return cut_clusters(folded, limit) if limit else folded


def _picture(match: re.Match[str]) -> str:
    """Show a control as what it is (U+2400 block) and drop what has no picture."""
    code = ord(match.group())
    if code < 0x20:
        return chr(0x2400 + code)
    if code == 0x7F:
        return "␡"
    return REPLACEMENT if code < 0xA0 else ""


def _thinned(match: re.Match[str]) -> str:
    """Cut runs of marks, which would paint over other lines, and of invisible characters."""
    kept: list[str] = []
    marks = invisible = 0
    for char in match.group():
        if char in _INVISIBLE:
            invisible += 1
            fits = invisible <= _INVISIBLE_IN_A_ROW
        elif unicodedata.category(char) in ("Mn", "Me"):
            marks += 1
            fits = marks <= _MARKS_IN_A_ROW
        else:
            marks = invisible = 0
            fits = True
        if fits:
            kept.append(char)
    return "".join(kept)
