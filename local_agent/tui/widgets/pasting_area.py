"""A text area that folds large pastes to one mark each, and gives their text back whole."""

from __future__ import annotations

import re
from dataclasses import dataclass

from textual import events
from textual.document._document import Location
from textual.message import Message

from local_agent.tui.look.quantities import counted
from local_agent.tui.widgets.whole_characters import Span, WholeCharacters, is_drawable

FOLDED_LINES = 10
FOLDED_CHARACTERS = 2_000
LOADED_LINES = 400
LOADED_CHARACTERS = 10_000

_TOKEN = re.compile(r"\[pasted #(\d+): [^\[\]\n]*\]")
_BREAKS = re.compile("\r\n|\r")


class Pastes:
    """The folded texts of one composer."""

    def __init__(self) -> None:
        self._texts: dict[str, str] = {}
        self._count = 0

    def folded(self, text: str, lines: int = FOLDED_LINES, characters: int = FOLDED_CHARACTERS) -> str:
        """``text`` as it goes into the composer: a token when it is long, or not safe to draw."""
        text = _BREAKS.sub("\n", text)
        if text.count("\n") < lines and len(text) <= characters and is_drawable(text):
            return text
        return self.token(text)

    def token(self, text: str) -> str:
        """What stands for ``text`` from now on."""
        self._count += 1
        count = text.count("\n") + 1
        size = counted(count, "line") if count > 1 else counted(len(text), "character")
        token = f"[pasted #{self._count}: {size}]"
        self._texts[token] = text
        return token

    def text_of(self, token: str) -> str | None:
        """What a token stands for; None for what only looks like one."""
        return self._texts.get(token)

    def expanded(self, text: str) -> str:
        """``text`` with every token replaced by what it stands for."""
        if "[pasted #" not in text:
            return text
        return _TOKEN.sub(lambda match: self._texts.get(match.group(), match.group()), text)

    def refolded(self, text: str) -> str:
        """The inverse of ``expanded``, as far as the texts still stand in it as they were."""
        for token, pasted in self._texts.items():
            if pasted and pasted in text:
                text = text.replace(pasted, token, 1)
        return text

    def spans(self, line: str) -> list[Span]:
        """Where tokens stand in a line."""
        if "[pasted #" not in line:
            return []
        return [match.span() for match in _TOKEN.finditer(line) if match.group() in self._texts]


class PastingArea(WholeCharacters):
    """What is copied, cut or read out of it has every paste in full."""

    @dataclass
    class Pasted(Message):
        """Something was pasted; ``shown`` stands there for it."""

        text: str
        shown: str

    @dataclass
    class PasteOpened(Message):
        """What ``token`` stands for is to be looked at."""

        token: str
        text: str

    def __init__(self, placeholder: str) -> None:
        self._pastes = Pastes()
        super().__init__(placeholder=placeholder, compact=True, highlight_cursor_line=False)

    @property
    def prompt(self) -> str:
        """The text with pastes in full."""
        return self._pastes.expanded(self.text)

    def load(self, text: str) -> None:
        """Replace everything, the cursor behind it."""
        self._pastes = Pastes()
        self.load_text(self._pastes.folded(text, LOADED_LINES, LOADED_CHARACTERS))
        self.move_cursor(self.document.end)

    def rewrite(self, text: str) -> None:
        """Replace everything by what became of it elsewhere; pastes fold again, and it can be undone."""
        folded = self._pastes.folded(self._pastes.refolded(text), LOADED_LINES, LOADED_CHARACTERS)
        self.replace(folded, (0, 0), self.document.end, maintain_selection_offset=False)

    def replace_paste(self, token: str, text: str) -> None:
        """What ``token`` stands for is another text now; undo brings the earlier one back."""
        for row, line in enumerate(self.document.lines):
            for start, end in self._pastes.spans(line):
                if line[start:end] == token:
                    folded = self._pastes.folded(text)
                    self.replace(folded, (row, start), (row, end), maintain_selection_offset=False)
                    return

    def cut_out(self, text: str) -> bool:
        """Delete ``text`` where it stands last, the cursor left alone; False when it does not."""
        place = self.text.rfind(text)
        if place < 0 or not text:
            return False
        location = self.document.get_location_from_index  # type: ignore[attr-defined]  # a plain Document
        self.delete(location(place), location(place + len(text)))
        return True

    def atoms(self, line: str) -> list[Span]:
        return self._pastes.spans(line)

    async def _on_paste(self, event: events.Paste) -> None:
        event.prevent_default()
        event.stop()
        self.post_message(self.Pasted(event.text, self._insert(event.text)))
        self.focus()

    async def _on_click(self, event: events.Click) -> None:
        self._open(self.get_target_document_location(event))

    def action_open_paste(self) -> None:
        """Open the folded paste that the cursor is at."""
        self._open(self.cursor_location)

    def action_copy(self) -> None:
        self.app.copy_to_clipboard(self._pastes.expanded(self.selected_text))

    def action_cut(self) -> None:
        super().action_cut()
        whole = self._pastes.expanded(self.app.clipboard)
        if whole != self.app.clipboard:
            self.app.copy_to_clipboard(whole)

    def action_paste(self) -> None:
        self._insert(self.app.clipboard)

    def _insert(self, text: str) -> str:
        """Paste it; what stands there for it."""
        folded = self._pastes.folded(text)
        self.replace(folded, *self.selection, maintain_selection_offset=False)
        return folded

    def _open(self, location: Location) -> None:
        row, column = location
        line = self.document.get_line(row)
        for start, end in self._pastes.spans(line):
            if start <= column <= end and (text := self._pastes.text_of(line[start:end])) is not None:
                self.post_message(self.PasteOpened(line[start:end], text))
                return
