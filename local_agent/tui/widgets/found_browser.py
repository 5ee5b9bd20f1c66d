"""The exchanges that say what was typed, with the words in context, and what belongs to the chosen one."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import NamedTuple, Protocol

from textual import on, work
from textual.app import ComposeResult
from textual.containers import Vertical, VerticalScroll
from textual.content import Content
from textual.message import Message
from textual.widgets import OptionList
from textual.widgets.option_list import Option

from local_agent.domain.errors import LocalAgentError
from local_agent.domain.searching import Passage, SearchPage, Snippet, WordQuery
from local_agent.domain.text import one_line, sanitise
from local_agent.tui.look.glyphs import UNICODE, Glyphs
from local_agent.tui.look.lines import BLANK, Line, indented, wrap
from local_agent.tui.look.quantities import ago, since
from local_agent.tui.look.workspace_names import folder_name
from local_agent.tui.widgets.row_list import Row, RowList, fit
from local_agent.tui.widgets.typeset_view import TypesetView

TYPING_SECONDS = 0.06
"""How long the next letter may take before the search begins."""
PREVIEWED_CHARACTERS = 1_200
_FACTS_FROM = 60
"""Cells of a row from which on it says more than the words."""
_BEFORE_WORDS = 24
"""Characters of a row that stand before the first of the words."""


class SearchSource(Protocol):
    """What is searched."""

    async def search(self, words: str, *, all_workspaces: bool = False) -> SearchPage:
        """Exchanges that say the words, best first."""


class FoundEntry(NamedTuple):
    """Where to go: a session, and the entry in it."""

    handle: str
    entry_id: int


class FoundBrowser(Vertical):
    """Rows above, the exchange of the chosen one below where the height allows."""

    DEFAULT_CSS = """
    FoundBrowser {
        height: 1fr;
        display: none;
        & > VerticalScroll {
            height: auto;
            max-height: 45%;
            margin: 1 0 0 0;
            padding: 0 0 0 2;
            scrollbar-size-vertical: 1;
        }
    }
    """

    @dataclass
    class Opened(Message):
        """A row was opened with the mouse."""

        passage: Passage

    @dataclass
    class Said(Message):
        """What was not looked for as it was typed; empty when all was."""

        remark: str

    @dataclass
    class Failed(Message):
        """The search could not be done."""

        error: LocalAgentError

    def __init__(self, source: SearchSource, *, glyphs: Glyphs = UNICODE) -> None:
        super().__init__()
        self.row_list = RowList(glyphs=glyphs)
        self._preview = TypesetView()
        self._source = source
        self._glyphs = glyphs
        self._page = SearchPage()
        self._wanted = ("", False)
        """The words, and whether all folders are looked into."""
        self._answered = ("", False)

    def compose(self) -> ComposeResult:
        yield self.row_list
        yield VerticalScroll(self._preview, can_focus=False)

    @property
    def found(self) -> tuple[Passage, ...]:
        """What is listed, best first."""
        return self._page.passages

    @property
    def selected(self) -> Passage | None:
        """The exchange the pointer is at."""
        index = self.row_list.highlighted
        return self.found[index] if index is not None and index < len(self.found) else None

    def find(self, words: str, *, everywhere: bool) -> None:
        """Look for other words, or in other folders."""
        self._wanted = (words, everywhere)
        self._search()

    async def settled(self) -> None:
        """Return once what is listed is what was found for the words: whoever types them and Enter in one
        breath means that.
        """
        if self._answered != self._wanted:
            self.workers.cancel_group(self, "search")
            await self._look()

    @work(group="search", exclusive=True)
    async def _search(self) -> None:
        await asyncio.sleep(TYPING_SECONDS)
        await self._look()

    async def _look(self) -> None:
        wanted = words, everywhere = self._wanted
        page = SearchPage()
        if words.strip():
            try:
                page = await self._source.search(words, all_workspaces=everywhere)
            except LocalAgentError as error:
                self.post_message(self.Failed(error))
                return
        if wanted == self._wanted:
            self._answered = wanted
            self._show(page)

    def _show(self, page: SearchPage) -> None:
        self._page = page
        self.post_message(self.Said(_remark(page)))
        self.row_list.set_options(map(self._option, page.passages))
        if page.passages:
            self.row_list.highlighted = 0
            return
        for line in self._nothing():
            self.row_list.add_option(Option(Content.styled(f"  {line}", "$text-muted"), disabled=True))
        self._preview.show(None)

    def _nothing(self) -> list[str]:
        words, everywhere = self._wanted
        if not WordQuery.of(words).words:
            return ["Type words, or parts of words, that you or a model said."]
        lines = [f"Nothing says {one_line(words, 40)!r} here.", "Try other words, or another language."]
        if not everywhere:
            lines.append("Tab looks into all folders.")
        if self._page.newest:
            lines += ["", "The newest sessions:"]
            lines += [f"  {handle}  {one_line(title)}" for handle, title in self._page.newest]
        return lines

    @on(OptionList.OptionHighlighted)
    def _chosen(self, event: OptionList.OptionHighlighted) -> None:
        event.stop()
        passage = self.selected
        if passage is not None:
            self._preview.show(lambda width: _previewed(passage, width, self._glyphs))
            self.query_one(VerticalScroll).scroll_home(animate=False)

    @on(OptionList.OptionSelected)
    def _selected(self, event: OptionList.OptionSelected) -> None:
        event.stop()
        if self.selected is not None:
            self.post_message(self.Opened(self.selected))

    def _option(self, passage: Passage) -> Option:
        return Option(Row(lambda width: _row(passage, width, folder=self._wanted[1])))


def _remark(page: SearchPage) -> str:
    """What was not looked for as it was typed."""
    remarks = []
    if page.partly:
        remarks.append("Nothing says all of these words; here is what says the most of them.")
    if page.dropped and page.passages:
        remarks.append(f"Not looked for: {', '.join(page.dropped)}.")
    return " ".join(remarks)


def _row(passage: Passage, width: int, *, folder: bool) -> Content:
    wide = width >= _FACTS_FROM
    about = folder_name(passage.workspace_root) if folder else one_line(passage.title)
    facts = fit(Content.styled(about, "$text-muted"), min(24, width // 4)) if wide else Content("")
    room = width - facts.cell_length - 14 if wide else width
    words = fit(highlighted(passage.snippet, room), room)
    if not wide:
        return words
    when = Content.styled(ago(passage.created_at).rjust(10), "$text-muted")
    return Content.assemble(words, "  ", facts, "  ", when)


def highlighted(snippet: Snippet, room: int = 10**6) -> Content:
    """A snippet with its words marked; in less ``room`` it begins shortly before the first of them."""
    first = snippet.spans[0][0] if snippet.spans else 0
    start = first - _BEFORE_WORDS if first > max(room - _BEFORE_WORDS, _BEFORE_WORDS) else 0
    if start and (blank := snippet.text.find(" ", start, first)) > 0:
        start = blank + 1
    lead = "…" if start else ""
    content = Content(lead + snippet.text[start:])
    for begin, end in snippet.spans:
        content = content.stylize("bold underline", begin - start + len(lead), end - start + len(lead))
    return content


def _previewed(passage: Passage, width: int, glyphs: Glyphs) -> list[Line]:
    """The exchange, each text short: what was found is shown as it stands around the words."""
    facts = (passage.handle, one_line(passage.title), since(passage.created_at))
    about = f" {glyphs.dot} ".join(facts)
    found = wrap(highlighted(passage.snippet), width - 2)
    bar = Content.styled(f"{glyphs.bar} ", "$primary")
    if passage.is_answer:
        asked = indented(wrap(Content(_short(passage.question)), width - 2), bar)
        said = indented(found, Content("  "))
    else:
        asked = indented(found, bar)
        said = indented(wrap(Content(_short(passage.answer)), width - 2), Content("  "))
    head = wrap(Content.styled(about, "$text-muted"), width)
    return [*head, BLANK, *asked, *([BLANK, *said] if said else [])]


def _short(text: str) -> str:
    text = sanitise(text).strip()
    return text if len(text) <= PREVIEWED_CHARACTERS else f"{text[:PREVIEWED_CHARACTERS].rstrip()} …"
