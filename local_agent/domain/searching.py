"""Words that are looked for in all conversations: what of a text is indexed, and where it says them.

A text is folded first: capitals, accents and forms of one character count the same. Indexed are its
words, the parts of identifiers, single characters and overlapping pairs of scripts that write no spaces,
signs such as emoji, and every three characters of a longer word, by which a part of it is found.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

from local_agent.domain.entries import Kind, Origin
from local_agent.domain.text import one_line

SEARCHED = {(Kind.QUESTION, Origin.PERSON), (Kind.COMMAND, Origin.PERSON), (Kind.ASSISTANT, Origin.MODEL)}
"""What a person or a model said. Summaries, results and the program's own words are not searched."""
INSIDE = "\ue000"
"""Stands before three characters out of the middle of a word: no word begins with it."""
LONGEST_WORD = 100
"""Characters; of a longer run, such as an encoded picture, only so much is indexed."""
LONGEST_QUERY = 500
MOST_WORDS = 16
SNIPPET = 240
"""Characters of a snippet, about."""

_SPACELESS = (
    "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3005-\u3007\u3040-\u30ff\u31f0-\u31ff\u3400-\u9fff"
    "\uac00-\ud7af\uf900-\ufaff\U00020000-\U0003ffff"
)
# Vowel signs and tone marks are no letters to Python, and yet parts of words.
_MARKS = "\u0300-\u036f\u0900-\u0dff"
_PIECES = re.compile(f"[{_SPACELESS}]+|(?:(?![{_SPACELESS}])[\\w{_MARKS}])+")
_SIGN = re.compile("[\u2190-\u2bff\U0001f000-\U0001faff]")
_IS_SPACELESS = re.compile(f"[{_SPACELESS}]")
_PARTS = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+|[^\W\da-zA-Z_]+")
_TABLE_RULE = re.compile(r"^[ \t]*\|?(?:[ \t]*:?-{2,}:?[ \t]*\|?)+[ \t]*$", re.MULTILINE)
_TABLE_ROW = re.compile(r"^[ \t]*\|.*$", re.MULTILINE)
_MARKUP = re.compile(r"^[ \t]*(?:#{1,6}|>)[ \t]+|\*\*|`+", re.MULTILINE)
_ACCENTED_SCRIPTS_END = 0x590
_CONTEXT = 40


class _Folded(dict[str, str]):
    """By character, what it counts as; filled as characters come."""

    def __missing__(self, char: str) -> str:
        folded = unicodedata.normalize("NFKC", char).casefold()
        if not all(each.isalnum() or unicodedata.combining(each) for each in folded):
            # A fraction or a number in a circle would fall into pieces.
            folded = char.casefold()
        if ord(char) < _ACCENTED_SCRIPTS_END:
            apart = unicodedata.normalize("NFD", folded)
            folded = "".join(each for each in apart if not unicodedata.combining(each))
        self[char] = folded
        return folded


_FOLDED = _Folded()


def fold(text: str) -> str:
    """``text`` (in NFC) with what searching takes for the same made the same; may be longer or shorter."""
    return text.lower() if text.isascii() else "".join([_FOLDED[char] for char in text])


def search_terms(text: str) -> set[str]:
    """What an entry with this text is found by. None of them has a blank in it."""
    text = unicodedata.normalize("NFC", text)
    terms: set[str] = set()
    for piece in set(_PIECES.findall(text)):
        if _IS_SPACELESS.match(piece):
            folded = fold(piece)
            terms.update(folded)
            terms.update(_runs(folded, 2))
            continue
        for word in _split(piece[:LONGEST_WORD]):
            terms.add(word)
        terms.update(INSIDE + run for run in _runs(fold(piece[:LONGEST_WORD]), 3))
    terms.update(_SIGN.findall(text))
    terms.discard("")
    return terms


def _split(piece: str) -> set[str]:
    """A word as it stands, and the parts that a name in a program is made of."""
    words = {fold(piece)}
    if not piece.isalpha() or not (piece.islower() or piece.isupper() or piece.istitle()):
        words.update(fold(part) for part in _PARTS.findall(piece))
    return words


def _runs(text: str, length: int) -> Iterable[str]:
    return (text[start : start + length] for start in range(len(text) - length + 1))


@dataclass(frozen=True, slots=True)
class SoughtWord:
    """One word of a query, folded."""

    text: str

    @property
    def exact(self) -> tuple[str, ...]:
        """Terms that an entry with the word has all of, where it stands there by itself."""
        if _IS_SPACELESS.match(self.text) and len(self.text) > 1:
            return tuple(_runs(self.text, 2))
        return (self.text,)

    @property
    def inside(self) -> tuple[str, ...]:
        """The same for an entry that has it within a longer word; nothing for a word too short for that."""
        if _IS_SPACELESS.match(self.text):
            return self.exact
        return tuple(INSIDE + run for run in _runs(self.text, 3))

    def places(self, folded: str) -> list[int]:
        """Where the word begins in a folded text."""
        if len(self.text) < 3 and self.text.isalnum() and not _IS_SPACELESS.match(self.text):
            alone = re.compile(rf"(?<![^\W_]){re.escape(self.text)}(?![^\W_])")
            return [found.start() for found in alone.finditer(folded)]
        return [found.start() for found in re.finditer(re.escape(self.text), folded)]


@dataclass(frozen=True)
class WordQuery:
    """What was typed, as words; ``dropped`` are those of one or two letters beside longer ones."""

    words: tuple[SoughtWord, ...]
    dropped: tuple[str, ...] = ()

    @classmethod
    def of(cls, typed: str) -> WordQuery:
        """Anything at all may be typed; there may be no word in it."""
        text = unicodedata.normalize("NFC", typed[:LONGEST_QUERY])
        pieces = [fold(piece)[:LONGEST_WORD] for piece in _PIECES.findall(text)] + _SIGN.findall(text)
        words = list(dict.fromkeys(piece for piece in pieces if piece.strip("_")))
        if any(_is_long(word) for word in words):
            dropped = tuple(word for word in words if not _is_long(word))
            words = [word for word in words if _is_long(word)]
        else:
            dropped = ()
        return cls(tuple(SoughtWord(word) for word in words[:MOST_WORDS]), dropped)

    def said_in(self, text: str) -> tuple[SoughtWord, ...]:
        """Which of the words a text says."""
        folded = fold(unicodedata.normalize("NFC", text))
        return tuple(word for word in self.words if word.places(folded))

    def snippet(self, text: str) -> Snippet:
        """From the first of the words that ``text`` says to the last; its beginning where it says none."""
        return _snippet(self, _unmarked(unicodedata.normalize("NFC", text)))


def _is_long(word: str) -> bool:
    return len(word) > 2 or not word.isalnum() or _IS_SPACELESS.match(word) is not None


@dataclass(frozen=True, slots=True)
class Snippet:
    """A piece of a text on one line; ``spans`` are where the words stand in it, start and end."""

    text: str
    spans: tuple[tuple[int, int], ...] = ()


@dataclass(frozen=True)
class Passage:
    """An exchange that was found: the entry that says the words, and what belongs to it."""

    session_id: int
    handle: str
    title: str
    workspace_root: str
    entry_id: int
    kind: Kind
    created_at: str
    """UTC, ISO 8601."""
    question: str
    """What was asked, its beginning."""
    answer: str
    """What the turn ended on, its beginning; empty when it has no answer."""
    snippet: Snippet

    @cached_property
    def is_answer(self) -> bool:
        """Whether the model said it."""
        return self.kind is Kind.ASSISTANT


@dataclass(frozen=True, slots=True)
class Exchange:
    """A question, and what its turn ended on; whole."""

    question: str
    answer: str


@dataclass(frozen=True, slots=True)
class SearchPage:
    """What a search found, best first."""

    passages: tuple[Passage, ...] = ()
    dropped: tuple[str, ...] = ()
    """Short words that were not looked for."""
    partly: bool = False
    """True when nothing says all of the words: these say the most of them."""
    newest: tuple[tuple[str, str], ...] = ()
    """Handles and titles of the newest sessions, where nothing was found."""


def _unmarked(text: str) -> str:
    """Markdown's words without its marks, which say nothing on one line."""
    text = _TABLE_ROW.sub(lambda row: row[0].replace("|", " "), _TABLE_RULE.sub("", text))
    return _MARKUP.sub("", text)


def _snippet(query: WordQuery, text: str) -> Snippet:
    folded, origin = _folded_with_places(text)
    found = {word: places[0] for word in query.words if (places := word.places(folded))}
    if not found:
        return Snippet(one_line(text[: 4 * SNIPPET])[:SNIPPET])
    first = origin[min(found.values())]
    last = max(origin[place + len(word.text) - 1] + 1 for word, place in found.items())
    start = max(0, first - _CONTEXT)
    if start and (blank := text.find(" ", start, first)) > 0:
        start = blank + 1
    end = min(len(text), max(last + _CONTEXT, start + SNIPPET))
    if end - start <= 2 * SNIPPET:
        pieces = [text[start:end]]
    else:
        places = sorted(origin[place] for place in found.values())
        room = max(2 * _CONTEXT, SNIPPET // len(places))
        pieces = [text[max(0, place - _CONTEXT) : place + room] for place in places]
    before = "…" if start else ""
    after = "…" if end < len(text) else ""
    line = before + " … ".join(one_line(piece) for piece in pieces) + after
    return Snippet(line, _spans(query.words, line))


def _spans(words: Sequence[SoughtWord], line: str) -> tuple[tuple[int, int], ...]:
    folded, origin = _folded_with_places(line)
    spans: list[tuple[int, int]] = []
    found = [(place, place + len(word.text)) for word in words for place in word.places(folded)]
    for start, end in sorted((origin[first], origin[behind - 1] + 1) for first, behind in found):
        if spans and start <= spans[-1][1]:
            spans[-1] = spans[-1][0], max(end, spans[-1][1])
        else:
            spans.append((start, end))
    return tuple(spans)


def _folded_with_places(text: str) -> tuple[str, Sequence[int]]:
    """The folded text, and for each of its characters the place of the one that it came from."""
    if text.isascii():
        return text.lower(), range(len(text))
    pieces = [_FOLDED[char] for char in text]
    return "".join(pieces), [place for place, piece in enumerate(pieces) for _ in piece]
