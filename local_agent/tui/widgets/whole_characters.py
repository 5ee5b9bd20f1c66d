"""A text area for whatever a person types or pastes: edited by whole characters, drawn safely."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rich.style import Style
from rich.text import Text
from textual.document._document import EditResult, Location, Selection
from textual.document._edit import Edit
from textual.widgets import TextArea

from local_agent.domain.graphemes import cluster_end, cluster_start
from local_agent.domain.text import REPLACEMENT, sanitise

Span = tuple[int, int]


class WholeCharacters(TextArea):
    """The cursor stands only between what a reader takes for characters, and an edit takes all of one.

    TextArea itself counts code points: it would stop within an emoji, and leave half of it behind.
    """

    def atoms(self, line: str) -> Sequence[Span]:
        """What of a line counts as one character besides those of Unicode: where it starts and ends."""
        return ()

    def before(self, location: Location) -> Location:
        """The nearest place at or before ``location`` where the cursor may stand."""
        row, column = location
        line = self.document.get_line(row)
        for start, end in self._whole_atoms(line):
            if start < column < end:
                return row, start
        return row, cluster_start(line, column)

    def behind(self, location: Location) -> Location:
        """The nearest place at or behind ``location`` where the cursor may stand."""
        row, column = location
        line = self.document.get_line(row)
        for start, end in self._whole_atoms(line):
            if start < column < end:
                return row, end
        return row, cluster_end(line, column)

    def validate_selection(self, selection: Selection) -> Selection:
        """Whoever moves the cursor, the mouse too, it ends between two characters."""
        return Selection(self._nearest(selection.start), self._nearest(selection.end))

    def edit(self, edit: Edit) -> EditResult:
        top, bottom = edit.top, edit.bottom
        if top != bottom:
            edit.from_location, edit.to_location = self.before(top), self.behind(bottom)
        return super().edit(edit)

    def get_line(self, line_index: int) -> Text:
        """The line as it may be drawn: as many characters as it has, none that acts on the terminal."""
        line = self.document.get_line(line_index)
        text = _Line(_visible(line), end="", no_wrap=True)
        for start, end in self.atoms(line):
            text.stylize("italic", start, end)
        return text

    def get_cursor_left_location(self) -> Location:
        return self.before(super().get_cursor_left_location())

    def get_cursor_right_location(self) -> Location:
        return self.behind(super().get_cursor_right_location())

    def get_cursor_word_left_location(self) -> Location:
        return self.before(super().get_cursor_word_left_location())

    def get_cursor_word_right_location(self) -> Location:
        return self.behind(super().get_cursor_word_right_location())

    def _whole_atoms(self, line: str) -> Iterator[Span]:
        """With the accent that may stand on an end of one."""
        return ((cluster_start(line, start), cluster_end(line, end)) for start, end in self.atoms(line))

    def _nearest(self, location: Location) -> Location:
        column = location[1]
        before, behind = self.before(location), self.behind(location)
        return before if column - before[1] < behind[1] - column else behind


class _Line(Text):
    """The cursor covers a whole character: half of one would be drawn as something else."""

    def stylize(self, style: str | Style, start: int = 0, end: int | None = None) -> None:
        if end is not None and end == start + 1:
            plain = self.plain
            start, end = cluster_start(plain, start), cluster_end(plain, end)
        super().stylize(style, start, end)


def is_drawable(text: str) -> bool:
    """True for text that a text area may draw as it is; tabs it draws itself."""
    spaced = text.replace("\t", " ")
    return sanitise(spaced) == spaced


def _visible(line: str) -> str:
    if is_drawable(line):
        return line
    shown = (char if char == "\t" else sanitise(char) for char in line)
    return "".join(char if len(char) == 1 and char != "\n" else REPLACEMENT for char in shown)
