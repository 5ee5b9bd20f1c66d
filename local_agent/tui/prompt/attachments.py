"""The pictures of the draft: what is attached, what is being checked, what was taken away last."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from local_agent.domain.pictures import Picture


class Attachments:
    """In the order in which they will be sent."""

    def __init__(self) -> None:
        self.pictures: tuple[Picture, ...] = ()
        self.checking: tuple[str, ...] = ()
        """Names of files that are not looked through yet."""
        self._removed: list[tuple[int, Picture]] = []
        self._in_place_of: dict[str, tuple[Picture, ...]] = {}
        """By the pasted text that they were taken for."""

    @property
    def undoable(self) -> bool:
        """True while the last thing done was to take a picture away."""
        return bool(self._removed)

    def replace(self, pictures: Sequence[Picture]) -> None:
        """Other ones from now on: another draft."""
        self.pictures = tuple(pictures)
        self._removed.clear()
        self._in_place_of.clear()

    def add(self, *pictures: Picture, pasted: str = "") -> None:
        """Attach them; ``pasted`` is the text that they stand for, and that an undo brings back."""
        self.pictures += pictures
        if pasted:
            self._in_place_of[pasted] = pictures

    def remove_last(self) -> bool:
        """Take the last one away; False when there is none."""
        if not self.pictures:
            return False
        *rest, last = self.pictures
        self._removed.append((len(rest), last))
        self.pictures = tuple(rest)
        return True

    def undo(self) -> None:
        """Attach again what was taken away last."""
        if self._removed:
            place, picture = self._removed.pop()
            self.pictures = (*self.pictures[:place], picture, *self.pictures[place:])

    def text_is(self, text: str) -> bool:
        """The text was edited. True when that brought pasted words back: their pictures go."""
        self._removed.clear()
        back = [pasted for pasted in self._in_place_of if pasted in text]
        for pasted in back:
            gone = self._in_place_of.pop(pasted)
            self.pictures = tuple(picture for picture in self.pictures if picture not in gone)
        return bool(back)

    def begin(self, name: str) -> None:
        """A file is being looked at."""
        self.checking += (name,)

    def end(self, name: str) -> None:
        """It was looked at."""
        place = self.checking.index(name)
        self.checking = self.checking[:place] + self.checking[place + 1 :]
