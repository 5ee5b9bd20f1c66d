"""The rows of the model picker: narrowed by what is typed, with the chosen model's details beside them."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Protocol

from textual import on, work
from textual.app import ComposeResult
from textual.containers import Horizontal, VerticalScroll
from textual.content import Content
from textual.message import Message
from textual.widgets import OptionList
from textual.widgets.option_list import Option

from local_agent.domain.errors import LocalAgentError
from local_agent.domain.models import full_name
from local_agent.domain.text import one_line
from local_agent.tui.look.glyphs import UNICODE, Glyphs
from local_agent.tui.models.model_list import Inventory, Listed, arranged, found
from local_agent.tui.widgets.model_details import Details, details_lines
from local_agent.tui.widgets.model_row import ModelRow
from local_agent.tui.widgets.row_list import Row, RowList, fit
from local_agent.tui.widgets.typeset_view import TypesetView

DETAILS_FROM_WIDTH = 96
MOST = 500
"""Rows that are made: nobody scrolls through more, and typing finds the others."""
DETAILS_SECONDS = 0.15
"""How long a choice rests before the server is asked for more of it."""


class ModelSource(Protocol):
    """What the picker asks for, and may do."""

    async def look(self) -> Inventory:
        """What there is now; a server that does not answer is a state. Raises ``LocalAgentError``."""

    async def details(self, model: Listed) -> Details:
        """Everything known of one model. Raises ``LocalAgentError``."""

    async def unload(self, name: str) -> None:
        """Free the memory that it takes. Raises ``LocalAgentError``."""

    def pullable(self, name: str) -> str:
        """The name as a pull would take it; empty where nothing can be called so."""

    @property
    def suggested(self) -> str:
        """A model for a first pull, that fits this machine."""


class ModelBrowser(Horizontal):
    """The models, and below them what could be fetched: what is typed, or a first model.

    ``known`` is shown until there is a list: the model that answers now.
    """

    DEFAULT_CSS = """
    ModelBrowser {
        height: 1fr;
        & > VerticalScroll {
            width: 42;
            margin: 0 0 0 2;
            padding: 0 0 0 2;
            border-left: solid $border-blurred;
            scrollbar-size-vertical: 1;
        }
        &.-no-details > VerticalScroll { display: none; }
    }
    """

    class Moved(Message):
        """The pointer is somewhere else, or on something else."""

    class Opened(Message):
        """A row was clicked a second time."""

    def __init__(
        self, source: ModelSource, *, current: str = "", known: Listed | None = None, glyphs: Glyphs = UNICODE
    ) -> None:
        super().__init__()
        self.row_list = RowList(glyphs=glyphs)
        self._details_view = TypesetView()
        self._source = source
        self._current = current
        self._glyphs = glyphs
        self._models = [known] if known is not None else []
        self._complete = False
        self._typed = ""
        self._shown: Sequence[Listed] = ()
        self.more = 0
        """Models that match, and have no row."""
        self._to_pull = ""

    def compose(self) -> ComposeResult:
        yield self.row_list
        with VerticalScroll(can_focus=False):
            yield self._details_view

    def on_mount(self) -> None:
        self._draw(typing=False)

    def on_resize(self) -> None:
        self.set_class(self.size.width < DETAILS_FROM_WIDTH, "-no-details")
        self._moved()

    @property
    def shown(self) -> tuple[Listed, ...]:
        """The models that match what is typed."""
        return tuple(self._shown)

    @property
    def selected(self) -> Listed | None:
        """The model that the pointer is at; None on a row that pulls, and on none."""
        index = self.row_list.highlighted
        return self._shown[index] if index is not None and index < len(self._shown) else None

    @property
    def to_pull(self) -> str:
        """What the row below the models offers to fetch; empty where there is none."""
        return self._to_pull

    def show(self, models: Sequence[Listed]) -> None:
        """Take the server's list; the pointer stays on its model."""
        self._models, self._complete = arranged(models), True
        self._draw(typing=False)

    def find(self, typed: str) -> None:
        """Show what matches, the closest first."""
        self._typed = typed.strip()
        self._draw(typing=bool(self._typed))

    def _draw(self, *, typing: bool) -> None:
        kept, index = self.selected, self.row_list.highlighted or 0
        matching = found(self._models, self._typed)
        self._shown, self.more = matching[:MOST], max(len(matching) - MOST, 0)
        self._to_pull = self._pullable()
        rows = self.row_list
        rows.set_options([*(self._option(model) for model in self._shown), *self._below()])
        names = [model.name for model in self._shown]
        if typing:
            index = 0
        elif kept is not None and kept.name in names:
            index = names.index(kept.name)
        elif kept is None and self._current in names:
            index = names.index(self._current)
        choices = len(names) + bool(self._to_pull)
        if choices:
            rows.highlighted = min(index, choices - 1)
        self._moved()

    def _pullable(self) -> str:
        if not self._complete or self.more:
            return ""
        if not self._typed:
            return "" if self._models else self._source.suggested
        name = self._source.pullable(self._typed)
        here = {full_name(model.name) for model in self._models}
        return name if name and full_name(name) not in here else ""

    def _below(self) -> list[Option]:
        """What stands below the models."""
        if self._to_pull:
            return [Option(Row(self._pull_row))]
        if self._shown or not self._complete:
            return []
        text = "No model is called so." if self._typed else "There are no models yet."
        return [Option(Content.styled(f"  {text}", "$text-muted"), disabled=True)]

    def _pull_row(self, width: int) -> Content:
        name = one_line(self._to_pull)
        words = (("pull ", "$text-muted"), (name, "bold"), (" from the library", "$text-muted"))
        return fit(Content.assemble(*words), width)

    def _option(self, model: Listed) -> Option:
        return Option(Row(ModelRow(model, self._glyphs, current=model.name == self._current)))

    @on(OptionList.OptionSelected)
    def _opened(self, event: OptionList.OptionSelected) -> None:
        event.stop()
        self.post_message(self.Opened())

    @on(OptionList.OptionHighlighted)
    def _moved(self) -> None:
        model = self.selected
        if model is None:
            self._details_view.show(None)
        elif not self.has_class("-no-details"):
            self._show_details(Details(model, complete=False))
            self._ask_details(model)
        self.post_message(self.Moved())

    @work(group="details", exclusive=True)
    async def _ask_details(self, model: Listed) -> None:
        # Waiting here is the debounce: the next choice cancels this worker.
        await asyncio.sleep(DETAILS_SECONDS)
        try:
            details = await self._source.details(model)
        except LocalAgentError:
            details = Details(model)  # the list says what is wrong with the server
        if self.selected == model:
            self._show_details(details)

    def _show_details(self, details: Details) -> None:
        self._details_view.show(lambda width: details_lines(details, self._glyphs, width))
