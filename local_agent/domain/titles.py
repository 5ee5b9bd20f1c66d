"""Titles of sessions, made from what was asked."""

from __future__ import annotations

import re
from collections.abc import Iterator

from local_agent.domain.errors import UsageError
from local_agent.domain.graphemes import ELLIPSIS, clusters
from local_agent.domain.text import one_line

LIMIT = 72
UNTITLED = "Untitled"

_LINES_READ = 400
_LINE_READ = 4000
_FENCE = re.compile(r"\s*(```|~~~)")
# A tag has a name right after its bracket; ``a < b`` and ``Vec<String>`` are no tags.
_TAG = re.compile(r"(?:(?<!\w)<|</)[A-Za-z][\w:.-]*(?:\s[^<>]{0,200})?/?>|<!--.{0,200}?-->")
_COMMAND = re.compile(r"\A\s*/[a-z][\w-]*(?=\s|$)")


def title_from(question: str) -> str:
    """The first meaningful line of a question, at most 72 grapheme clusters, cut at a word.

    Fenced code is read only when nothing else says anything.
    """
    fallback = ""
    for line, fenced in _lines(question):
        candidate = _meaning(line)
        if not candidate:
            continue
        if not fenced:
            return cut(candidate)
        fallback = fallback or candidate
    return cut(fallback) if fallback else UNTITLED


def given_title(text: str) -> str:
    """What a person calls a session, as one line that fits; ``UsageError`` when nothing is left of it."""
    title = cut(one_line(text))
    if not title:
        raise UsageError("The title is empty.", "Say one, such as: /rename A title")
    return title


def cut(line: str, limit: int = LIMIT) -> str:
    """Cut a line at a word so that it fits ``limit`` grapheme clusters, the ellipsis included."""
    parts = []
    for cluster in clusters(line):
        parts.append(cluster)
        if len(parts) > limit:
            break
    else:
        return line
    head = parts[: limit - 1]
    if parts[limit - 1] != " ":
        head = _whole_words(head)
    return "".join(head).rstrip(" ,;:.") + ELLIPSIS


def _whole_words(head: list[str]) -> list[str]:
    """Drop a last word that was cut, unless that would cost half of the line."""
    for last in range(len(head) - 1, len(head) // 2 - 1, -1):
        if head[last] == " ":
            return head[:last]
    return head


def _lines(question: str) -> Iterator[tuple[str, bool]]:
    """Lines with whether they stand in a fence, the fences themselves left out."""
    fenced = False
    for line in question.splitlines()[:_LINES_READ]:
        if _FENCE.match(line):
            fenced = not fenced
        else:
            yield line[:_LINE_READ], fenced


def _meaning(line: str) -> str:
    """The line without markup, or nothing when no word is in it."""
    candidate = one_line(_TAG.sub(" ", _COMMAND.sub("", line))).strip("#>*- ")
    return candidate if any(char.isalnum() for char in candidate) else ""
