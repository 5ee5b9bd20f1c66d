"""The end of a session beside the list, without opening it."""

from __future__ import annotations

from textual.app import ComposeResult
from textual.containers import Vertical, VerticalScroll
from textual.content import Content
from textual.widgets import Static

from local_agent.domain.entries import Entry, EntryStatus, Kind, Slice
from local_agent.domain.sessions import SessionInfo
from local_agent.domain.text import one_line, sanitise
from local_agent.tui.look.glyphs import Glyphs
from local_agent.tui.look.lines import BLANK, Line, indented, wrap
from local_agent.tui.look.quantities import branches_words, clock, counted, since
from local_agent.tui.look.workspace_names import short_path
from local_agent.tui.widgets.typeset_view import TypesetView

LINES_PER_ENTRY = 80
CHARACTERS_PER_ENTRY = 6000


class SessionPreview(Vertical):
    """Title and facts on top, the last messages below, scrolled to their end."""

    DEFAULT_CSS = """
    SessionPreview {
        & > .about { height: auto; }
        & > VerticalScroll { height: 1fr; scrollbar-size-vertical: 1; }
    }
    """

    def __init__(self, glyphs: Glyphs) -> None:
        super().__init__()
        self._glyphs = glyphs
        self._about = Static(classes="about", markup=False)
        self._messages = TypesetView()
        self._scroll = VerticalScroll(self._messages, can_focus=False)

    def compose(self) -> ComposeResult:
        yield self._about
        yield self._scroll

    def clear(self) -> None:
        self._about.update("")
        self._messages.show(None)

    def show_about(self, session: SessionInfo, *, here: bool, all_workspaces: bool) -> None:
        """The head; the messages of the session shown before stay until these have come."""
        facts = [counted(session.turn_count, "turn"), since(session.last_activity)]
        lines = [Content.styled(one_line(session.title), "bold")]
        if session.model:
            facts.insert(0, one_line(session.model))
        lines.append(Content.styled(f" {self._glyphs.dot} ".join(facts), "$text-muted"))
        if all_workspaces:
            lines.append(Content.styled(short_path(session.workspace_root), "$text-muted"))
        if session.forked_from:
            lines.append(Content.styled(f"fork of {session.forked_from}", "$text-muted"))
        if session.branches > 1:
            text = f"{branches_words(session.branches)}: /tree shows them"
            lines.append(Content.styled(text, "$text-muted"))
        if session.error_count:
            text = f"{self._glyphs.warning} {counted(session.error_count, 'error')}"
            lines.append(Content.styled(text, "$text-error"))
        if session.uncertain_count:
            text = f"{self._glyphs.warning} {counted(session.uncertain_count, 'call')} of unknown outcome"
            lines.append(Content.styled(text, "$text-warning"))
        if here:
            lines.append(Content.styled("open here", "$text-primary"))
        elif session.holder is not None:
            lines.append(Content.styled(holder_line(session), "$text-warning"))
        self.show_head(Content("\n").join(lines))

    def show_head(self, about: Content) -> None:
        """The head in these words."""
        if about != self._about.content:
            self._about.update(about)

    def show_tail(self, tail: Slice) -> None:
        """The messages, scrolled to the last one."""
        self._messages.show(_Tail(tail, self._glyphs))
        self.call_after_refresh(self._scroll.scroll_end, animate=False)


class _Tail:
    """Messages as typeset lines of whatever width there is."""

    def __init__(self, tail: Slice, glyphs: Glyphs) -> None:
        self._tail = tail
        self._glyphs = glyphs

    def __call__(self, width: int) -> list[Line]:
        lines = [Line(Content.styled(self._glyphs.ellipsis, "$text-muted"))] if self._tail.more else []
        for entry in self._tail.entries:
            if block := self._block(entry, width):
                lines += [BLANK, *block] if lines else block
        return lines

    def _block(self, entry: Entry, width: int) -> list[Line]:
        text = self._cut(sanitise(entry.text).strip())
        match entry.kind:
            case Kind.QUESTION:
                bar = Content.styled(f"{self._glyphs.bar} ", "$primary")
                rows = wrap(Content.styled(text, "bold"), width - bar.cell_length)
                return indented(rows, bar) + self._failure(entry, width)
            case Kind.ASSISTANT if text:
                # markdown-it and Pygments cost too much to be imported before the first paint.
                from local_agent.tui.markdown.typeset import Typesetter

                lines = list(Typesetter(width, self._glyphs).typeset(text))
                stopped = entry.status is EntryStatus.INTERRUPTED
                return lines + ([Line(Content.styled("stopped here", "$text-warning"))] if stopped else [])
            case Kind.SUMMARY:
                return wrap(Content.styled("What came before was summed up here.", "$text-muted"), width)
            case _:
                return []

    def _failure(self, entry: Entry, width: int) -> list[Line]:
        error = self._tail.errors.get(entry.turn_id) if entry.turn_id is not None else None
        if error is None:
            return []
        return wrap(Content.styled(f"{self._glyphs.error} {one_line(error.line)}", "$text-error"), width)

    def _cut(self, text: str) -> str:
        lines = text[:CHARACTERS_PER_ENTRY].split("\n")[:LINES_PER_ENTRY]
        kept = "\n".join(lines)
        return kept if len(kept) == len(text) else f"{kept}\n\n{self._glyphs.ellipsis}"


def holder_line(session: SessionInfo) -> str:
    """Who has a session open, in words; empty when nobody has."""
    holder = session.holder
    if holder is None:
        return ""
    where = f" on {one_line(holder.terminal)}" if holder.terminal else ""
    return f"open in process {holder.pid}{where} since {clock(holder.since)}"
