"""Asked before a link is opened: where it leads is seen whole."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING, Any, ClassVar

from local_agent.domain.text import one_line
from local_agent.tui.conversation.copying import copy
from local_agent.tui.device.browser import (
    BrowserFailed,
    browser_command,
    host_of,
    may_be_opened,
    open_address,
)
from local_agent.tui.look.glyphs import UNICODE, Glyphs
from local_agent.tui.screens.dialog import Choice, Dialog

if TYPE_CHECKING:
    from textual.app import App


HOST_LIMIT = 60
"""Characters."""


class LinkAnswer(StrEnum):
    """What to do with an address."""

    LEAVE = "leave"
    OPEN = "open"
    COPY = "copy"


class LinkDialog(Dialog[LinkAnswer]):
    """Enter opens an address that may be opened here, and copies another one."""

    preselected: ClassVar[int] = 1

    def __init__(self, url: str, *, glyphs: Glyphs = UNICODE) -> None:
        choices = [Choice(LinkAnswer.LEAVE, "leave it"), Choice(LinkAnswer.COPY, "copy the address", "c")]
        about = ""
        if not may_be_opened(url):
            about = "Only web pages and mail addresses are opened from here."
        elif browser_command(url) is None:
            about = "No browser was found that could open it from here."
        else:
            choices.insert(1, Choice(LinkAnswer.OPEN, "open it in the browser", "o"))
        super().__init__(
            _heading(url, asked=not about), [url, about] if about else [url], choices, glyphs=glyphs
        )


def _heading(url: str, *, asked: bool) -> str:
    """The host by itself: in an address it may stand behind the name of another one."""
    host = one_line(host_of(url), HOST_LIMIT)
    if not asked:
        return f"This link leads to {host}:" if host else "This link leads to:"
    return f"Open this page of {host}?" if host else "Write to this address?"


def follow(app: App[Any], url: str, glyphs: Glyphs) -> None:
    """Show an address, and do with it what the person says."""

    def answered(answer: LinkAnswer | None) -> None:
        if answer is LinkAnswer.COPY:
            copy(app, url, "The address")
        elif answer is LinkAnswer.OPEN:
            try:
                open_address(url)
            except BrowserFailed as error:
                app.notify(str(error), severity="warning", markup=False)

    app.push_screen(LinkDialog(url, glyphs=glyphs), answered)
