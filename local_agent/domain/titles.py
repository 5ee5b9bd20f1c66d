"""Titles of sessions, made from what was asked."""

from __future__ import annotations

import re

from local_agent.domain.text import one_line

LIMIT = 72
UNTITLED = "Untitled"

_FENCE = re.compile(r"^\s*(```|~~~)")
_TAG = re.compile(r"<[^<>\n]{1,80}>")
_COMMAND = re.compile(r"^\s*/[a-z][\w-]*\s*")


def title_from(question: str) -> str:
    """The first meaningful line of a question, at most 72 characters, cut at a word."""
    for line in question.splitlines():
        if _FENCE.match(line):
            continue
        candidate = one_line(_TAG.sub(" ", _COMMAND.sub("", line))).strip("#>*- \t")
        if any(char.isalnum() for char in candidate):
            return cut(candidate)
    return UNTITLED


def cut(line: str, limit: int = LIMIT) -> str:
    """Cut a line at a word so that it fits ``limit`` characters, the ellipsis included."""
    if len(line) <= limit:
        return line
    head = line[: limit - 1]
    at_word = head.rsplit(" ", 1)[0] if " " in head[limit // 2 :] else head
    return at_word.rstrip(" ,;:.") + "…"
