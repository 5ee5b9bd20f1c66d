"""One session as a row of the picker."""

from __future__ import annotations

from textual.content import Content

from local_agent.domain.sessions import SessionInfo
from local_agent.domain.text import one_line
from local_agent.tui.glyphs import Glyphs
from local_agent.tui.quantities import ago, counted
from local_agent.tui.widgets.row_list import fit, fit_right
from local_agent.tui.workspace_names import folder_name

_GAP = "  "
_HANDLE = 7
_LEAST_TITLE = 20
_WIDTHS = {"when": 9, "turns": 9, "model": 14, "marks": 3}
_BY_IMPORTANCE = ("marks", "when", "turns", "model")


class SessionRow:
    """Handle, title, last activity, turns, model and marks; the narrower, the fewer of them."""

    def __init__(
        self,
        session: SessionInfo,
        glyphs: Glyphs,
        *,
        typed: str = "",
        here: bool = False,
        folder: bool = False,
    ) -> None:
        self._session = session
        self._glyphs = glyphs
        self._typed = typed
        self._here = here
        self._folder = folder

    def __call__(self, width: int) -> Content:
        left = width - _HANDLE - len(_GAP)
        shown: dict[str, Content] = {}
        for name in _BY_IMPORTANCE:
            if left - _WIDTHS[name] - len(_GAP) < _LEAST_TITLE:
                break
            shown[name] = self._column(name)
            left -= _WIDTHS[name] + len(_GAP)
        title = _emphasise(one_line(self._session.title), self._typed)
        handle = _emphasise(self._session.handle, self._typed).stylize_before("$text-muted")
        columns = [shown[name] for name in _WIDTHS if name in shown]
        return Content(_GAP).join([handle, fit(title, left), *columns])

    def _column(self, name: str) -> Content:
        session, width = self._session, _WIDTHS[name]
        match name:
            case "when":
                return fit_right(Content.styled(ago(session.last_activity), "$text-muted"), width)
            case "turns":
                return fit_right(Content.styled(counted(session.turn_count, "turn"), "$text-muted"), width)
            case "model":
                text = folder_name(session.workspace_root) if self._folder else one_line(session.model)
                return fit(Content.styled(text, "$text-muted"), width)
            case _:
                return fit(self._marks(), width)

    def _marks(self) -> Content:
        session, glyphs = self._session, self._glyphs
        marks: list[tuple[str, str]] = []
        if session.error_count:
            marks.append((f"{glyphs.warning}{min(session.error_count, 9)}", "$text-error"))
        if self._here:
            marks.append((glyphs.bullet, "$text-primary"))
        elif session.holder is not None:
            marks.append((glyphs.bullet, "$text-warning"))
        return Content("").join([Content.styled(text, style) for text, style in marks])


def _emphasise(text: str, typed: str) -> Content:
    """Underline what the filter found: the words as typed, or their letters in order."""
    content = Content(text)
    for word in typed.lower().split():
        for start, end in _found(text.lower(), word):
            content = content.stylize("underline", start, end)
    return content


def _found(text: str, word: str) -> list[tuple[int, int]]:
    at = text.find(word)
    if at >= 0:
        return [(at, at + len(word))]
    spans: list[tuple[int, int]] = []
    position = 0
    for letter in word:
        at = text.find(letter, position)
        if at < 0:
            return []
        spans.append((at, at + 1))
        position = at + 1
    return spans
