"""The library: find a session as you type, or what was said in any; open, rename, pin, fork, trash it."""

from __future__ import annotations

from typing import ClassVar, Protocol

from textual import on, work
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.content import Content
from textual.screen import Screen
from textual.widgets import Input, Static

from local_agent.domain.errors import LocalAgentError
from local_agent.domain.quoting import quoted
from local_agent.domain.searching import Passage
from local_agent.domain.sessions import SessionInfo
from local_agent.domain.text import one_line
from local_agent.tui.device.catching_up import catch_up_typing
from local_agent.tui.look.glyphs import UNICODE, Glyphs
from local_agent.tui.look.workspace_names import folder_name
from local_agent.tui.screens.breakpoints import HEIGHTS, WIDTHS
from local_agent.tui.widgets.found_browser import FoundBrowser, FoundEntry, SearchSource
from local_agent.tui.widgets.key_line import KeyLine
from local_agent.tui.widgets.line_input import LineInput
from local_agent.tui.widgets.session_browser import SessionBrowser, SessionReader

INSIDE = "/"
"""Typed first, it has what follows looked for inside the messages."""


class SessionSource(SessionReader, SearchSource, Protocol):
    """What the picker may do to the sessions it shows."""

    @property
    def workspace_root(self) -> str:
        """The folder whose sessions are shown first."""

    async def rename(self, handle: str, title: str) -> None:
        """Set a title for good."""

    async def pin(self, handle: str, *, pinned: bool) -> None:
        """Have it stand above the others, or no more."""

    async def fork(self, handle: str) -> SessionInfo:
        """Another session from the end of its last settled turn."""

    async def trash(self, handle: str) -> None:
        """Take a session out of every list."""

    async def untrash(self, handle: str) -> None:
        """Bring it back."""


class SessionsScreen(Screen[str | FoundEntry | None]):
    """Gives the handle to open, the place in a session that was found, or None."""

    CSS_PATH = "sessions.tcss"
    HORIZONTAL_BREAKPOINTS = WIDTHS
    VERTICAL_BREAKPOINTS = HEIGHTS
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "accept", "open", id="sessions.open", priority=True),
        Binding("f2", "rename", "rename", id="sessions.rename"),
        Binding("f4", "pin", "pin", id="sessions.pin"),
        Binding("f5", "fork", "fork", id="sessions.fork"),
        Binding("f8", "trash", "trash", id="sessions.trash"),
        Binding("ctrl+z", "untrash", "undo", id="sessions.untrash", priority=True),
        Binding("tab", "everywhere", "all folders", id="sessions.everywhere", priority=True),
        Binding("escape", "close", "close", id="sessions.close"),
        Binding("up", "move('cursor_up')", "Up", show=False, priority=True),
        Binding("down", "move('cursor_down')", "Down", show=False, priority=True),
        Binding("pageup", "move('page_up')", "Page up", show=False, priority=True),
        Binding("pagedown", "move('page_down')", "Page down", show=False, priority=True),
        Binding("ctrl+home", "move('first')", "First", show=False, priority=True),
        Binding("ctrl+end", "move('last')", "Last", show=False, priority=True),
    ]

    def __init__(
        self, source: SessionSource, *, typed: str = "", current: str = "", glyphs: Glyphs = UNICODE
    ) -> None:
        super().__init__()
        self.browser = SessionBrowser(source, current=current, glyphs=glyphs)
        self.found = FoundBrowser(source, glyphs=glyphs)
        self.filter_input = LineInput(
            id="filter",
            placeholder="type a title or handle, or / and what was said",
            compact=True,
            select_on_focus=False,
        )
        self.title_input = LineInput(id="new-title", compact=True)
        self._heading = Static(id="heading", markup=False)
        self._line = Static(id="line", markup=False)
        self._line.display = False
        self._source = source
        self._typed = one_line(typed)
        self._current = current
        self._glyphs = glyphs
        self._said = ("", "")
        self._everywhere = False
        self._renaming: SessionInfo | None = None
        self._trashed: SessionInfo | None = None

    def compose(self) -> ComposeResult:
        yield self._heading
        yield self.filter_input
        yield self.title_input
        yield self.browser
        yield self.found
        yield self._line
        yield KeyLine(self._glyphs)

    def on_mount(self) -> None:
        self._show_heading()
        self.filter_input.focus()
        self.filter_input.value = self._typed

    @property
    def inside(self) -> bool:
        """True while messages are searched, not titles."""
        return self.filter_input.value.startswith(INSIDE)

    @property
    def renaming(self) -> bool:
        """True while a new title is being typed."""
        return self._renaming is not None

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        match action:
            case "untrash":
                return self._trashed is not None
            case "rename" | "pin" | "fork" | "trash":
                return not (self.renaming or self.inside)
            case "everywhere" | "move":
                return not self.renaming
            case _:
                return True

    @on(Input.Changed, "#filter")
    def _filter_changed(self) -> None:
        self._say("")
        if self.found.display != self.inside:
            self.found.display, self.browser.display = self.inside, not self.inside
            self._show_heading()
            self.refresh_bindings()
        self._find()

    def _find(self) -> None:
        typed = self.filter_input.value
        if self.inside:
            self.found.find(typed.removeprefix(INSIDE), everywhere=self._everywhere)
        else:
            self.browser.find(typed, everywhere=self._everywhere)

    @on(SessionBrowser.Opened)
    def _row_opened(self, event: SessionBrowser.Opened) -> None:
        self._open(event.session.workspace_root, event.session.handle)

    @on(FoundBrowser.Opened)
    def _passage_opened(self, event: FoundBrowser.Opened) -> None:
        self._open_passage(event.passage)

    @on(FoundBrowser.Said)
    def _remarked(self, event: FoundBrowser.Said) -> None:
        if self.inside:
            self._say(event.remark)

    @on(SessionBrowser.Failed)
    @on(FoundBrowser.Failed)
    def _reading_failed(self, event: SessionBrowser.Failed | FoundBrowser.Failed) -> None:
        self._say(str(event.error), "$text-error")

    async def action_accept(self) -> None:
        await self._caught_up()
        if self._renaming is not None:
            self._carry_out_rename(self._renaming, self.title_input.value)
            self._end_renaming()
        elif self.inside:
            if (passage := self.found.selected) is not None:
                self._open_passage(passage)
        elif (session := self.browser.selected) is not None:
            self._open(session.workspace_root, session.handle)

    def action_close(self) -> None:
        if self.renaming:
            self._end_renaming()
        else:
            self.dismiss(None)

    async def action_move(self, how: str) -> None:
        await self._caught_up()
        rows = self.found.row_list if self.inside else self.browser.row_list
        getattr(rows, f"action_{how}")()

    def action_everywhere(self) -> None:
        self._everywhere = not self._everywhere
        self._show_heading()
        self._find()

    async def action_rename(self) -> None:
        await self._caught_up()
        session = self.browser.selected
        if session is None:
            return
        self._renaming = session
        self.title_input.value = one_line(session.title)
        self.add_class("-renaming")
        self.set_focus(self.title_input)
        self._say(f"New title of {session.handle}: enter keeps it, esc leaves the old one.")
        self.refresh_bindings()

    async def _caught_up(self) -> None:
        await catch_up_typing(self.title_input if self.renaming else self.filter_input, self)
        await (self.found if self.inside else self.browser).settled()

    def _open_passage(self, passage: Passage) -> None:
        self._open(passage.workspace_root, passage.handle, passage.entry_id)

    def _open(self, root: str, handle: str, entry_id: int | None = None) -> None:
        """Give the place, or say where a session of another folder is to be opened."""
        if root == self._source.workspace_root:
            self.dismiss(handle if entry_id is None else FoundEntry(handle, entry_id))
            return
        command = f"cd {quoted(root)} && local-agent --resume {handle}"
        self._say(f"It belongs to {folder_name(root)}. Open it there: {command}", "$text-warning")

    def _end_renaming(self) -> None:
        self._renaming = None
        self.remove_class("-renaming")
        self.set_focus(self.filter_input)
        self._say("")
        self.refresh_bindings()

    @work(group="change")
    async def _carry_out_rename(self, session: SessionInfo, title: str) -> None:
        title = one_line(title)
        if not title or title == session.title:
            return
        try:
            await self._source.rename(session.handle, title)
        except LocalAgentError as error:
            self._say(str(error), "$text-error")
        else:
            self.browser.reload()

    @work(group="change")
    async def action_pin(self) -> None:
        await self._caught_up()
        session = self.browser.selected
        if session is None:
            return
        try:
            await self._source.pin(session.handle, pinned=not session.pinned)
        except LocalAgentError as error:
            self._say(str(error), "$text-error")
            return
        where = "stands where it belongs again" if session.pinned else "stands above the others from now on"
        self._say(f"{session.handle} {where}.")
        self.browser.reload()

    @work(group="change")
    async def action_fork(self) -> None:
        await self._caught_up()
        session = self.browser.selected
        if session is None:
            return
        try:
            fork = await self._source.fork(session.handle)
        except LocalAgentError as error:
            self._say(str(error), "$text-error")
            return
        self._say(f"{fork.handle} is a fork of {session.handle}.")
        self.browser.reload(fork.handle)

    @work(group="change")
    async def action_trash(self) -> None:
        await self._caught_up()
        session = self.browser.selected
        if session is None:
            return
        if session.handle == self._current:
            self._say("This is the open session: /new leaves it, then it can go.", "$text-warning")
            return
        try:
            await self._source.trash(session.handle)
        except LocalAgentError as error:
            self._say(str(error), "$text-error")
            return
        self._trashed = session
        name = f"{session.handle} {self._glyphs.dot} {one_line(session.title)}"
        self._say(f"{name} is in the trash; ctrl+z undoes it.")
        self.refresh_bindings()
        self.browser.reload()

    @work(group="change")
    async def action_untrash(self) -> None:
        session, self._trashed = self._trashed, None
        self.refresh_bindings()
        if session is None:
            return
        try:
            await self._source.untrash(session.handle)
        except LocalAgentError as error:
            self._say(str(error), "$text-error")
            return
        self._say(f"{session.handle} is back.")
        self.browser.reload()

    def _say(self, text: str, style: str = "$text-muted") -> None:
        said = (one_line(text), style)
        if said != self._said:
            # Every update lays the whole screen out again.
            self._said = said
            self._line.update(Content.styled(*said))
            self._line.display = bool(text)

    def _show_heading(self) -> None:
        name = "Search inside" if self.inside else "Sessions"
        where = "all folders" if self._everywhere else folder_name(self._source.workspace_root)
        self._heading.update(
            Content.assemble((name, "bold"), (f" {self._glyphs.dot} {where}", "$text-muted"))
        )
