"""Thinking that a server let through into the content of a reply."""

from __future__ import annotations

from collections.abc import Iterator

from local_agent.domain.ports import TextPart, ThinkingPart


class LeakedThinking:
    """Takes ``<think>...</think>`` at the beginning of the content out of the answer.

    Templates that don't know of thinking let it through. Only a leading tag counts: later ones are
    what the person asked for.
    """

    _OPEN, _CLOSE = "<think>", "</think>"

    def __init__(self) -> None:
        self._state = "before"
        self._held = ""
        self._thought = False

    def feed(self, text: str) -> Iterator[ThinkingPart | TextPart]:
        """Pass text on as what it is; a tag that may still be incomplete is held back."""
        if self._state == "answer":
            yield TextPart(text)
            return
        self._held += text
        if self._state == "before":
            yield from self._before()
        if self._state == "thinking":
            yield from self._thinking()
        if self._state == "gap":
            yield from self._gap()

    def end(self) -> Iterator[ThinkingPart | TextPart]:
        """What was held back when the reply ended."""
        held, self._held = self._held, ""
        if held and self._state == "thinking":
            yield ThinkingPart(held)
        elif held and self._state == "before":
            yield TextPart(held)

    def _before(self) -> Iterator[TextPart]:
        start = self._held.lstrip()
        if start.startswith(self._OPEN):
            self._state, self._held = "thinking", start.removeprefix(self._OPEN)
        elif not self._OPEN.startswith(start):
            self._state = "answer"
            yield TextPart(self._take())

    def _thinking(self) -> Iterator[ThinkingPart]:
        if not self._thought:
            self._held = self._held.lstrip()
        thinking, tag, after = self._held.partition(self._CLOSE)
        if tag:
            self._state, self._held = "gap", after
        else:
            keep = _overlap(self._held, self._CLOSE)
            thinking, self._held = self._held[: len(self._held) - keep], self._held[len(self._held) - keep :]
        if thinking:
            self._thought = True
            yield ThinkingPart(thinking)

    def _gap(self) -> Iterator[TextPart]:
        """The blank lines between thinking and answer belong to neither."""
        self._held = self._held.lstrip()
        if self._held:
            self._state = "answer"
            yield TextPart(self._take())

    def _take(self) -> str:
        held, self._held = self._held, ""
        return held


def _overlap(text: str, tag: str) -> int:
    """How many characters at the end of ``text`` may be the beginning of ``tag``."""
    return next((size for size in range(len(tag) - 1, 0, -1) if text.endswith(tag[:size])), 0)
