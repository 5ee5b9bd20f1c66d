"""The list of sessions with its preview: loads pages as they come into sight, previews what is chosen."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from dataclasses import dataclass
from typing import Protocol

from textual import on, work
from textual.app import ComposeResult
from textual.containers import Horizontal
from textual.content import Content
from textual.message import Message
from textual.widgets import OptionList
from textual.widgets.option_list import Option
from textual.worker import Worker, WorkerError

from local_agent.domain.entries import Slice
from local_agent.domain.errors import LocalAgentError, UsageError
from local_agent.domain.families import families
from local_agent.domain.handles import parse_handle
from local_agent.domain.sessions import ListPlace, SessionInfo
from local_agent.domain.text import one_line
from local_agent.tui.device.catching_up import CATCH_UP_SECONDS
from local_agent.tui.look.glyphs import UNICODE, Glyphs
from local_agent.tui.widgets.row_list import Row, RowList
from local_agent.tui.widgets.session_preview import SessionPreview
from local_agent.tui.widgets.session_row import SessionRow

PAGE = 50
PREVIEW_SECONDS = 0.08
PREVIEW_ENTRIES = 12
PREVIEW_FROM_WIDTH = 76


class SessionReader(Protocol):
    """Where the list comes from."""

    async def page(
        self,
        text_filter: str = "",
        *,
        all_workspaces: bool = False,
        before: ListPlace | None = None,
        limit: int = PAGE,
    ) -> list[SessionInfo]:
        """One page, pinned ones first; ``before`` is the place of the last row that is not pinned."""

    async def preview(self, handle: str, count: int = PREVIEW_ENTRIES) -> Slice:
        """The last entries of a session."""


class SessionBrowser(Horizontal):
    """Rows left, the end of the chosen one right where the width allows."""

    DEFAULT_CSS = """
    SessionBrowser {
        height: 1fr;
        & > RowList { width: 1fr; }
        & > SessionPreview { width: 36%; min-width: 26; }
        &.-no-preview > SessionPreview { display: none; }
    }
    """

    @dataclass
    class Opened(Message):
        """A row was opened with the mouse."""

        session: SessionInfo

    @dataclass
    class Failed(Message):
        """The list or a preview could not be read."""

        error: LocalAgentError

    def __init__(self, reader: SessionReader, *, current: str = "", glyphs: Glyphs = UNICODE) -> None:
        super().__init__()
        self._reader = reader
        self._current = current
        self._glyphs = glyphs
        self._typed = ""
        self._everywhere = False
        self._loaded: list[SessionInfo] = []
        self._complete = False
        self._wanted = ""
        self._loading: Worker[None] | None = None
        self.row_list = RowList(glyphs=glyphs)
        self.session_preview = SessionPreview(glyphs)

    def compose(self) -> ComposeResult:
        yield self.row_list
        yield self.session_preview

    def on_mount(self) -> None:
        self._loading = self._load()

    def on_resize(self) -> None:
        self.set_class(self.size.width < PREVIEW_FROM_WIDTH, "-no-preview")
        self._chosen()

    @property
    def loaded(self) -> tuple[SessionInfo, ...]:
        """The rows so far."""
        return tuple(self._loaded)

    @property
    def selected(self) -> SessionInfo | None:
        """The session the pointer is at."""
        index = self.row_list.highlighted
        return self._loaded[index] if index is not None and index < len(self._loaded) else None

    def find(self, typed: str, *, everywhere: bool) -> None:
        """Show what matches, in this workspace or in all."""
        self._typed, self._everywhere = typed.strip(), everywhere
        self._loading = self._load()

    def reload(self, handle: str = "") -> None:
        """Read the list again; the pointer goes to ``handle``, or stays where it is, or near."""
        self._wanted = handle
        self._loading = self._load()

    async def settled(self) -> None:
        """Wait until the rows are those of what was asked for last, unless reading them takes long."""
        with suppress(TimeoutError):
            async with asyncio.timeout(CATCH_UP_SECONDS):
                while (loading := self._loading) is not None and not loading.is_finished:
                    with suppress(WorkerError):
                        await loading.wait()

    @on(RowList.NearEnd)
    def _near_end(self) -> None:
        if not self._complete:
            self._load(more=True)

    @on(OptionList.OptionSelected)
    def _opened(self, event: OptionList.OptionSelected) -> None:
        event.stop()
        if (session := self.selected) is not None:
            self.post_message(self.Opened(session))

    @on(OptionList.OptionHighlighted)
    def _chosen(self) -> None:
        session = self.selected
        if session is not None and not self.has_class("-no-preview"):
            self._preview(session)

    @work(group="rows", exclusive=True)
    async def _load(self, *, more: bool = False) -> None:
        before = min((each.place for each in self._loaded if not each.pinned), default=None) if more else None
        if more and before is None:
            return
        limit = max(PAGE, self.app.size.height)
        try:
            page = await self._page(before, limit)
        except LocalAgentError as error:
            self.post_message(self.Failed(error))
            return
        self._complete = len(page) < limit
        if not self._typed:
            page = [each for pinned in (True, False) for each in families(_those(page, pinned=pinned))]
        if more:
            self._loaded += page
            self.row_list.add_options(self._option(session) for session in page)
        else:
            self._replace(page)

    async def _page(self, before: ListPlace | None, limit: int) -> list[SessionInfo]:
        page = await self._reader.page(
            self._typed, all_workspaces=self._everywhere, before=before, limit=limit
        )
        if page or before is not None or self._everywhere or not _is_handle(self._typed):
            return page
        # Whoever types a whole handle means that session, wherever it is.
        return await self._reader.page(self._typed, all_workspaces=True, limit=limit)

    def _replace(self, page: list[SessionInfo]) -> None:
        rows, kept, index = self.row_list, self.selected, self.row_list.highlighted or 0
        self._loaded = page
        rows.set_options([self._option(session) for session in page] or [self._nothing()])
        if not page:
            self.session_preview.clear()
            return
        handles = [session.handle for session in page]
        typed = self._typed.lower()
        wanted = typed if typed in handles else kept.handle if kept is not None else ""
        if self._wanted in handles:
            wanted, self._wanted = self._wanted, ""
        if wanted in handles:
            index = handles.index(wanted)
        elif self._typed:
            index = 0
        rows.highlighted = min(index, len(page) - 1)

    def _option(self, session: SessionInfo) -> Option:
        return Option(
            Row(
                SessionRow(
                    session,
                    self._glyphs,
                    typed=self._typed,
                    here=session.handle == self._current,
                    folder=self._everywhere,
                )
            )
        )

    def _nothing(self) -> Option:
        if self._typed:
            text = f"Nothing is called {one_line(self._typed, 40)!r} here."
        else:
            text = "No sessions yet. The first question opens one."
        return Option(Content.styled(f"  {text}", "$text-muted"), disabled=True)

    @work(group="preview", exclusive=True)
    async def _preview(self, session: SessionInfo) -> None:
        # Waiting here is the debounce: the next choice cancels this worker.
        await asyncio.sleep(PREVIEW_SECONDS)
        if session != self.selected:
            return
        here = session.handle == self._current
        self.session_preview.show_about(session, here=here, all_workspaces=self._everywhere)
        try:
            tail = await self._reader.preview(session.handle, PREVIEW_ENTRIES)
        except LocalAgentError as error:
            self.post_message(self.Failed(error))
            return
        self.session_preview.show_tail(tail)


def _those(page: list[SessionInfo], *, pinned: bool) -> list[SessionInfo]:
    return [session for session in page if session.pinned is pinned]


def _is_handle(text: str) -> bool:
    try:
        return bool(parse_handle(text))
    except UsageError:
        return False
