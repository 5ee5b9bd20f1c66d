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
# What may carry an emoji modifier, generously. One that stands elsewhere has two cells in terminals
# and none in Textual, and would push what stands beside it out of its place.
_TONED = "\u261d-\u270d\U0001f300-\U0001f3fa\U0001f400-\U0001faff"
_STRAY_MODIFIER = re.compile(f"(?<![{_TONED}])[\U0001f3fb-\U0001f3ff]")
_UNFINISHED = re.compile(f"(?:[{_TONED}]?[\ud800-\udbff]|[\r{_TONED}])\\Z")
_LINE_BREAKS = re.compile("\r\n|[\r\x0b\x0c\x85\u2028\u2029]")
# Bidi marks, embeddings, overrides and isolates reorder text outside themselves.
_BIDI = "\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069"
# Deprecated format characters, interlinear annotations, musical brackets and tags draw nothing:
# they only hide text from the person that the model reads.
_HIDDEN = "\u206a-\u206f\ufeff\ufff9-\ufffb\U0001d173-\U0001d17a\U000e0000-\U000e007f"
_UNSAFE = re.compile(f"[\x00-\x08\x0e-\x1f\x7f-\x9f{_BIDI}{_HIDDEN}]")
_UNSAFE_IN_JSON = re.compile(f"[\x7f-\x9f\u2028\u2029{_BIDI}{_HIDDEN}]")

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


def sanitise(text: str, *, tabs: bool = False) -> str:
    """Make multi-line text safe to draw.

    Line breaks become ``\\n``, tabs become spaces (``tabs`` keeps them for a drawer that knows columns),
    controls become visible pictures; floods of characters that take no cell are cut to what scripts and
    emoji need.
    """
    if text.isascii() and text.replace("\n", "").isprintable():
        return text
    text = _LINE_BREAKS.sub("\n", normalise(text))
    text = _UNSAFE.sub(_picture, text)
    if not text.isascii():
        text = _POSSIBLE_FLOOD.sub(_thinned, text)
        text = _STRAY_MODIFIER.sub(REPLACEMENT, text)
    return text if tabs else text.expandtabs(TAB_WIDTH)


class ArrivingText:
    """``normalise`` for a text that comes in pieces: a surrogate pair may be cut in two."""

    def __init__(self) -> None:
        self._held = ""

    def feed(self, piece: str) -> str:
        """The next piece; half of a pair waits for its other half."""
        text = self._held + piece
        self._held = text[-1:] if "\ud800" <= text[-1:] <= "\udbff" else ""
        return normalise(text.removesuffix(self._held))


class GrowingText:
    """``sanitise`` for a text that comes in pieces: the pieces together are drawn as the whole would be."""

    def __init__(self, *, tabs: bool = False) -> None:
        self._tabs = tabs
        self._held = ""
        self._column = 0
        self._run = ""

    def feed(self, piece: str) -> str:
        """The next piece, safe to draw; half a line break, surrogate pair or emoji waits for the rest."""
        text = self._held + piece
        unfinished = _UNFINISHED.search(text[-2:])
        self._held = unfinished.group() if unfinished else ""
        return self._drawn(text.removesuffix(self._held))

    def finish(self) -> str:
        """What still waits: no more will come."""
        held, self._held = self._held, ""
        return self._drawn(held)

    def _drawn(self, text: str) -> str:
        if not text:
            return ""
        # What came before decides how far a tab reaches, and how many more marks a letter may carry.
        before = " " * self._column + self._run
        drawn = sanitise(before + text, tabs=self._tabs)
        self._run = _zero_width_end(drawn)
        self._column = (len(drawn) - len(self._run) - drawn.rfind("\n") - 1) % TAB_WIDTH
        return drawn[len(before) :]


def escape_json(document: str) -> str:
    """JSON that says the same: what acts on a terminal, or ends a line for some reader, is ``\\uXXXX``.

    The C0 controls are escaped in every JSON document; lone surrogates, which most parsers refuse, are
    replaced.
    """
    return _UNSAFE_IN_JSON.sub(_escaped, normalise(document))


def without_invisible(text: str) -> str:
    """Sanitised text as a reader sees it: without the characters that nothing is drawn for."""
    return text if text.isascii() else "".join(char for char in text if char not in _INVISIBLE)


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


def _escaped(match: re.Match[str]) -> str:
    units = match.group().encode("utf-16-be")
    return "".join(f"\\u{units[at : at + 2].hex()}" for at in range(0, len(units), 2))


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


def _zero_width_end(text: str) -> str:
    """The characters at the end that take no cell; of sanitised text they are never many."""
    start = len(text)
    while start and (text[start - 1] in _INVISIBLE or unicodedata.category(text[start - 1]) in ("Mn", "Me")):
        start -= 1
    return text[start:]
