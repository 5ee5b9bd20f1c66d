"""The pictures of one question on the whole screen, one after another."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import ClassVar

from textual import on, work
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.content import Content
from textual.screen import Screen
from textual.widgets import Static

from local_agent.domain.errors import LocalAgentError
from local_agent.domain.pictures import Picture
from local_agent.domain.text import one_line, sanitise
from local_agent.tui.look.glyphs import UNICODE, Glyphs
from local_agent.tui.look.quantities import size
from local_agent.tui.screens.breakpoints import HEIGHTS, WIDTHS
from local_agent.tui.widgets.key_line import KeyLine
from local_agent.tui.widgets.picture_view import PictureView

Read = Callable[[Picture], Awaitable[bytes]]


class PictureScreen(Screen[None]):
    """``read`` gives a picture's bytes, or says in a ``LocalAgentError`` that they are gone."""

    CSS_PATH = "picture.tcss"
    HORIZONTAL_BREAKPOINTS = WIDTHS
    VERTICAL_BREAKPOINTS = HEIGHTS
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,q,p", "close", "close", id="picture.close"),
        Binding("right,n,space,l", "next", "next", id="picture.next"),
        Binding("left,N,h", "previous", "the one before", id="picture.previous"),
    ]

    def __init__(
        self, pictures: Sequence[Picture], read: Read, *, first: int = 0, glyphs: Glyphs = UNICODE
    ) -> None:
        super().__init__()
        self._pictures = pictures
        self._read = read
        self._place = first
        self._glyphs = glyphs
        self._heading = Static(id="heading", markup=False)
        self._trouble = Static(id="trouble", markup=False)
        self.view = PictureView(glyphs)

    def compose(self) -> ComposeResult:
        yield self._heading
        yield self._trouble
        yield self.view
        yield KeyLine(self._glyphs)

    def on_mount(self) -> None:
        self._show()

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        return len(self._pictures) > 1 if action in ("next", "previous") else True

    def action_close(self) -> None:
        self.dismiss(None)

    def action_next(self) -> None:
        self._step(1)

    def action_previous(self) -> None:
        self._step(-1)

    def _step(self, step: int) -> None:
        self._place = (self._place + step) % len(self._pictures)
        self._show()

    @work(group="show", exclusive=True)
    async def _show(self) -> None:
        picture = self._pictures[self._place]
        self._heading.update(self._about(picture))
        self._say("")
        try:
            data = await self._read(picture)
        except LocalAgentError as error:
            self.view.clear()
            self._say(str(error))
        else:
            self.view.show(data)

    @on(PictureView.Undrawable)
    def _undrawable(self) -> None:
        self._say(f"{one_line(self._pictures[self._place].name)} can't be drawn.")

    def _about(self, picture: Picture) -> Content:
        facts = [f"{picture.width}x{picture.height}", size(picture.size)]
        if len(self._pictures) > 1:
            facts.append(f"{self._place + 1} of {len(self._pictures)}")
        about = "".join(f" {self._glyphs.dot} {fact}" for fact in facts)
        return Content.assemble((one_line(picture.name), "bold"), (about, "$text-muted"))

    def _say(self, line: str) -> None:
        self._trouble.update(Content(sanitise(line)))
        self._trouble.display = bool(line)
