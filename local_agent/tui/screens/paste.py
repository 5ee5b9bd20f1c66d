"""A folded paste, opened: looked through and edited, or only its beginning where it is huge."""

from __future__ import annotations

from typing import ClassVar, NamedTuple

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.content import Content
from textual.screen import Screen
from textual.widgets import Static, TextArea

from local_agent.tui.look.glyphs import UNICODE, Glyphs
from local_agent.tui.look.quantities import counted, size
from local_agent.tui.screens.breakpoints import HEIGHTS, WIDTHS
from local_agent.tui.widgets.key_line import KeyLine
from local_agent.tui.widgets.whole_characters import WholeCharacters

EDITED_LINES = 10_000
EDITED_CHARACTERS = 250_000
LINE_CHARACTERS = 5_000
"""A text area wraps all of a line again at each key."""


class PasteAnswer(NamedTuple):
    """What becomes of the paste."""

    text: str
    """Empty: it goes."""
    in_editor: bool = False
    """True: it is to be edited in the person's own editor first."""


class PasteScreen(Screen[PasteAnswer | None]):
    """Gives the text as it was left, or None when nothing was changed."""

    CSS_PATH = "paste.tcss"
    HORIZONTAL_BREAKPOINTS = WIDTHS
    VERTICAL_BREAKPOINTS = HEIGHTS
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "close", "keep and close", id="paste.close", priority=True),
        Binding("ctrl+g", "edit", "edit in $VISUAL", id="paste.edit", priority=True),
        Binding("f8", "remove", "remove it", id="paste.remove"),
    ]

    def __init__(self, text: str, *, may_edit: bool = True, glyphs: Glyphs = UNICODE) -> None:
        super().__init__()
        self._text = text
        self._may_edit = may_edit
        self._glyphs = glyphs
        self._whole = is_editable(text)
        self.area = WholeCharacters(
            text if self._whole else _beginning(text),
            read_only=not self._whole,
            compact=True,
            highlight_cursor_line=False,
        )
        self._loaded = self.area.text
        self._heading = Static(id="heading", markup=False)

    def compose(self) -> ComposeResult:
        yield self._heading
        yield self.area
        yield KeyLine(self._glyphs)

    def on_mount(self) -> None:
        self.area.focus()
        self._show_size()

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        # The editor would stop a running turn.
        return self._may_edit if action == "edit" else True

    @on(TextArea.Changed)
    def _show_size(self) -> None:
        text = self._now if self._whole else self._text
        facts = [counted(text.count("\n") + 1, "line"), size(len(text.encode("utf-8", "surrogatepass")))]
        if not self._whole:
            facts.append("too long to be edited here: this is its beginning")
        about = "".join(f" {self._glyphs.dot} {fact}" for fact in facts)
        self._heading.update(Content.assemble(("Pasted", "bold"), (about, "$text-muted")))

    @property
    def _now(self) -> str:
        """The text with what was edited; where nothing was, with the line breaks that it came with."""
        return self._text if self.area.text == self._loaded else self.area.text

    def action_close(self) -> None:
        self.dismiss(None if self._now == self._text else PasteAnswer(self._now))

    def action_edit(self) -> None:
        self.dismiss(PasteAnswer(self._now, in_editor=True))

    def action_remove(self) -> None:
        self.dismiss(PasteAnswer(""))


def is_editable(text: str) -> bool:
    """Whether each key in a text area with this text is drawn without a wait."""
    if len(text) > EDITED_CHARACTERS:
        return False
    lines = text.split("\n")
    return len(lines) <= EDITED_LINES and max(map(len, lines)) <= LINE_CHARACTERS


def _beginning(text: str) -> str:
    lines = text[:EDITED_CHARACTERS].split("\n")[: EDITED_LINES // 10]
    return "\n".join(line[:LINE_CHARACTERS] for line in lines)
