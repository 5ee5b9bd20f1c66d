"""Prompts that wait: sent in order after a settled turn, held back after any other."""

from __future__ import annotations

from collections.abc import Iterable


class PromptQueue:
    """``queued`` prompts go out by themselves; ``held`` ones wait for the person."""

    def __init__(self) -> None:
        self.queued: list[str] = []
        self.held: list[str] = []
        self.sending = ""
        """The prompt that was sent but whose turn has not begun: nobody else keeps it yet."""

    def __bool__(self) -> bool:
        return bool(self.queued or self.held)

    @property
    def prompts(self) -> tuple[str, ...]:
        """What waits, in the order in which it was typed."""
        return (*self.held, *self.queued)

    @property
    def unsent(self) -> tuple[str, ...]:
        """What would be lost with this process, in the order in which it was typed."""
        return (*self.held, *([self.sending] if self.sending else []), *self.queued)

    def add(self, prompt: str) -> None:
        """Send this after what already waits."""
        self.queued.append(prompt)

    def next(self) -> str | None:
        """The prompt to send now; None while the person has to decide about held ones."""
        if not self.queued or self.held:
            return None
        self.sending = self.queued.pop(0)
        return self.sending

    def hold(self) -> None:
        """Send nothing by itself any more; what was sent in vain is held, too."""
        if self.sending:
            self.queued.insert(0, self.sending)
            self.sending = ""
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
