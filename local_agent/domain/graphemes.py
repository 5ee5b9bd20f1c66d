"""Grapheme clusters: what a reader takes for one character, for cutting text where it can be cut.

A small part of Unicode Standard Annex 29, from what ``unicodedata`` knows: combining marks,
variation selectors, emoji modifiers, ZWJ sequences and flags stay whole.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator

ELLIPSIS = "…"

_ZWNJ = "\u200c"
_ZWJ = "\u200d"
_MODIFIERS = ("\U0001f3fb", "\U0001f3ff")
_FLAG_LETTERS = ("\U0001f1e6", "\U0001f1ff")


def clusters(text: str) -> Iterator[str]:
    """Split text into grapheme clusters; joined again they are the text."""
    cluster = ""
    for char in text:
        if cluster and not _joins(cluster, char):
            yield cluster
            cluster = ""
        cluster += char
    if cluster:
        yield cluster


def cut_clusters(text: str, limit: int) -> str:
    """Cut text to at most ``limit`` clusters, the ellipsis included."""
    if len(text) <= limit:
        return text
    parts = []
    for cluster in clusters(text):
        parts.append(cluster)
        if len(parts) > limit:
            return "".join(parts[: limit - 1]).rstrip() + ELLIPSIS
    return text


def cluster_start(text: str, index: int) -> int:
    """The index at which the cluster begins that ``index`` lies in; ``index`` itself between two clusters."""
    return _cluster_around(text, index)[0]


def cluster_end(text: str, index: int) -> int:
    """The index at which the cluster ends that ``index`` lies in; ``index`` itself between two clusters."""
    return _cluster_around(text, index)[1]


def _cluster_around(text: str, index: int) -> tuple[int, int]:
    if not 0 < index < len(text) or not _may_join(text[index - 1], text[index]):
        return index, index
    end = index
    while end > 0 and _may_join(text[end - 1], text[end]):
        end -= 1
    for cluster in clusters(text[end : _next_break(text, index)]):
        start, end = end, end + len(cluster)
        if end == index:
            break
        if end > index:
            return start, end
    return index, index


def _next_break(text: str, index: int) -> int:
    while index < len(text) and _may_join(text[index - 1], text[index]):
        index += 1
    return index


def _may_join(before: str, char: str) -> bool:
    """False where a cluster ends whatever stands before."""
    if char.isascii():
        return False
    return (
        before == _ZWJ
        or char in (_ZWJ, _ZWNJ)
        or _MODIFIERS[0] <= char <= _MODIFIERS[1]
        or _FLAG_LETTERS[0] <= char <= _FLAG_LETTERS[1]
        or unicodedata.category(char) in ("Mn", "Me", "Mc")
    )


def _joins(cluster: str, char: str) -> bool:
    if char.isascii():
        return False
    if char in (_ZWJ, _ZWNJ) or unicodedata.category(char) in ("Mn", "Me", "Mc"):
        return True
    if _MODIFIERS[0] <= char <= _MODIFIERS[1]:
        return _pictographic(cluster[0])
    if _FLAG_LETTERS[0] <= char <= _FLAG_LETTERS[1]:
        return len(cluster) == 1 and _FLAG_LETTERS[0] <= cluster <= _FLAG_LETTERS[1]
    return cluster[-1] == _ZWJ and _pictographic(cluster[0]) and _pictographic(char)


def _pictographic(char: str) -> bool:
    return char >= "\U0001f000" or unicodedata.category(char) == "So"
