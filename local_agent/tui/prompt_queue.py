"""Prompts that wait: sent in order after a settled turn, held back after any other."""

from __future__ import annotations

from collections.abc import Iterable


class PromptQueue:
    """``queued`` prompts go out by themselves; ``held`` ones wait for the person."""

    def __init__(self) -> None:
        self.queued: list[str] = []
        self.held: list[str] = []

    def __bool__(self) -> bool:
        return bool(self.queued or self.held)

    @property
    def prompts(self) -> tuple[str, ...]:
        """All of them, in the order in which they were typed."""
        return (*self.held, *self.queued)

    def add(self, prompt: str) -> None:
        """Send this after what already waits."""
        self.queued.append(prompt)

    def next(self) -> str | None:
        """The prompt to send now; None while the person has to decide about held ones."""
        return self.queued.pop(0) if self.queued and not self.held else None

    def hold(self) -> None:
        """Send nothing by itself any more."""
        self.held.extend(self.take_all())

    def restore(self, prompts: Iterable[str]) -> None:
        """Hold what came back from an earlier run."""
        self.held[:0] = prompts

    def take_newest(self) -> str | None:
        """Give the newest held prompt back for editing."""
        return self.held.pop() if self.held else None

    def take_all(self) -> list[str]:
        """Give back everything that is queued."""
        queued, self.queued = self.queued, []
        return queued
