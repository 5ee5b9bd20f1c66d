"""Prompts that wait: sent in order after a settled turn, held back after any other."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from local_agent.domain.drafts import Prompt

if TYPE_CHECKING:
    from local_agent.tui.prompt.editing import Editing


class PromptQueue:
    """``queued`` prompts go out by themselves; ``held`` ones wait for the person."""

    def __init__(self) -> None:
        self.queued: list[Prompt] = []
        self.held: list[Prompt] = []
        self.sending: Prompt | None = None
        """The prompt that was sent but whose turn has not begun: nobody else keeps it yet."""
        self.editing: Editing | None = None
        """The earlier question that the next prompt is asked in place of."""
        self._dropped: list[tuple[Prompt, list[Prompt], int]] = []
        """What the person dropped, newest last, and where it stood: kept until the process ends."""
        self._place: int | None = None
        """Among the queued ones, for the prompt that was taken out to be edited."""

    def __bool__(self) -> bool:
        return bool(self.queued or self.held)

    @property
    def prompts(self) -> tuple[Prompt, ...]:
        """What waits, in the order in which it was typed."""
        return (*self.held, *self.queued)

    @property
    def unsent(self) -> tuple[Prompt, ...]:
        """What would be lost with this process, in the order in which it was typed."""
        editing = self.editing.unsent if self.editing is not None else ()
        return (*self.held, *([self.sending] if self.sending else []), *self.queued, *editing)

    def add(self, prompt: Prompt) -> None:
        """Send this after what already waits, or where it stood before it was edited."""
        place = len(self.queued) if self._place is None else self._place
        self.queued.insert(place, prompt)
        self._place = None

    def next(self) -> Prompt | None:
        """The prompt to send now; None while the person has to decide about held ones."""
        if not self.queued or self.held:
            return None
        self.sending = self.queued.pop(0)
        if self._place:
            self._place -= 1
        return self.sending

    def hold(self) -> None:
        """Send nothing by itself any more; what was sent in vain is held, too, or edited further."""
        if self.sending and self.editing is not None and not self.editing.asked:
            self.editing.refused, self.sending = self.sending, None
        if self.sending:
            self.queued.insert(0, self.sending)
            self.sending = None
        self.held.extend(self.take_all())

    def release(self) -> None:
        """Send what is held, in its order, before what is queued."""
        self.queued[:0] = self.held
        self.held.clear()

    def restore(self, prompts: Iterable[Prompt]) -> None:
        """Hold what came back from an earlier run."""
        self.held[:0] = prompts

    def take_newest(self) -> Prompt | None:
        """Give a prompt back for editing: the one that was dropped last, else the newest held one."""
        if self._dropped:
            return self._dropped.pop()[0]
        return self.held.pop() if self.held else None

    def take(self, prompt: Prompt) -> bool:
        """Take one out to be edited; the next to be added stands in its place. False when it was sent."""
        found = self._find(prompt)
        if found is None:
            return False
        where, index = found
        del where[index]
        self._place = index if where is self.queued else None
        return True

    def forget_place(self) -> None:
        """What was taken out does not come back."""
        self._place = None

    def drop(self, prompt: Prompt) -> bool:
        """Take one out of the way. False when it was sent."""
        found = self._find(prompt)
        if found is None:
            return False
        where, index = found
        self._dropped.append((where.pop(index), where, index))
        return True

    def drop_newest(self) -> bool:
        """Drop the newest held prompt; False when none is."""
        return bool(self.held) and self.drop(self.held[-1])

    def undo_drop(self) -> Prompt | None:
        """Put back where it stood what was dropped last; None when nothing was."""
        if not self._dropped:
            return None
        prompt, where, index = self._dropped.pop()
        where.insert(index, prompt)
        return prompt

    def move(self, prompt: Prompt, step: int) -> None:
        """Send one earlier (-1) or later (1) than its neighbour; held ones stay before queued ones."""
        found = self._find(prompt)
        if found is None:
            return
        where, index = found
        if 0 <= index + step < len(where):
            where[index], where[index + step] = where[index + step], where[index]

    def take_all(self) -> list[Prompt]:
        """Give back everything that is queued."""
        queued = list(self.queued)
        self.queued.clear()
        self._place = None
        return queued

    def _find(self, prompt: Prompt) -> tuple[list[Prompt], int] | None:
        """Two prompts may say the same: it is this very one."""
        for where in (self.held, self.queued):
            for index, each in enumerate(where):
                if each is prompt:
                    return where, index
        return None
