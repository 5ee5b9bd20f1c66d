"""One session as a row of the picker."""

from __future__ import annotations

from collections.abc import Iterable

from textual.content import Content, Span

from local_agent.domain.sessions import SessionInfo
from local_agent.domain.text import one_line
from local_agent.tui.look.glyphs import Glyphs
from local_agent.tui.look.quantities import ago, counted
from local_agent.tui.look.workspace_names import folder_name
from local_agent.tui.widgets.row_list import fit_text

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
        self._typed = typed.lower()
        self._here = here
        self._folder = folder

    def __call__(self, width: int) -> Content:
        left = width - _HANDLE - len(_GAP)
        shown: set[str] = set()
        for name in _BY_IMPORTANCE:
            if left - _WIDTHS[name] - len(_GAP) < _LEAST_TITLE:
                break
            shown.add(name)
            left -= _WIDTHS[name] + len(_GAP)
        name = one_line(self._session.title)
        if self._session.forked_from:
            name = f"{self._glyphs.fork} {name}"
        if self._session.pinned:
            name = f"{self._glyphs.place} {name}"
        branches = self._branches(left)
        handle, title = self._session.handle, fit_text(name, left - len(branches))
        facts = "".join(_GAP + self._fact(name) for name in _WIDTHS if name in shown - {"marks"})
        texts, spans, length = [], [], 0
        marks = self._marks() if "marks" in shown else ()
        quiet = branches + facts
        for text, style in ((handle + _GAP, "$text-muted"), (title, ""), (quiet, "$text-muted"), *marks):
            texts.append(text)
            if style:
                spans.append(Span(length, length + len(text), style))
            length += len(text)
        at_title = _HANDLE + len(_GAP)
        spans += [Span(start, end, "underline") for start, end in found(self._typed, handle)]
        spans += [
            Span(at_title + start, at_title + end, "underline")
            for start, end in found(self._typed, title.rstrip())
        ]
        return Content("".join(texts), spans)

    def _branches(self, room: int) -> str:
        """How many branches it has, behind its title."""
        count = self._session.branches
        text = f" {self._glyphs.branch}{count}" if count > 1 else ""
        return text if room - len(text) >= _LEAST_TITLE // 2 else ""

    def _fact(self, name: str) -> str:
        session, width = self._session, _WIDTHS[name]
        match name:
            case "when":
                return ago(session.last_activity).rjust(width)
            case "turns":
                return counted(session.turn_count, "turn").rjust(width)
            case _:
                text = folder_name(session.workspace_root) if self._folder else one_line(session.model)
                return fit_text(text, width)

    def _marks(self) -> Iterable[tuple[str, str]]:
        session, glyphs = self._session, self._glyphs
        yield _GAP, ""
        count = "" if session.uncertain_count else str(min(session.error_count, 9))
        if session.uncertain_count:
            yield glyphs.waiting, "$text-warning"
        if session.error_count:
            yield f"{glyphs.warning}{count}", "$text-error"
        if self._here:
            yield glyphs.bullet, "$text-primary"
        elif session.holder is not None:
            yield glyphs.bullet, "$text-warning"


def found(typed: str, text: str) -> list[tuple[int, int]]:
    """Where the lower-case words that were typed are in a text, else where their letters are in order."""
    text = text.lower()
    return [span for word in typed.split() for span in _word(word, text)]


def _word(word: str, text: str) -> list[tuple[int, int]]:
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
