"""One screen of the program alone on a stage, with sessions that a real store has on disk."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from textual.app import App
from textual.color import Color
from textual.geometry import Region
from textual.screen import Screen

from local_agent.runtime.runtime import Runtime
from local_agent.store.store import Store
from local_agent.tui.look.themes import DARK, register_themes
from tests.runtime.opened import opened, paths_in
from tests.store.samples import VERSION, talk

NOBODY_THERE = "http://127.0.0.1:9"


class Stage(App[None]):
    """Shows a screen and keeps what it gave."""

    def __init__(self, screen: Screen[Any], theme: str = DARK) -> None:
        super().__init__()
        themed: App[Any] = self
        register_themes(themed)
        self.theme = theme
        self.given: list[object] = []
        self._shown = screen

    def on_mount(self) -> None:
        self.push_screen(self._shown, self.given.append)


def workspace_of(home: Path) -> str:
    """The folder that the runtime of ``home`` is opened in."""
    return str(home.parent / "work")


async def keep(home: Path, *titles: str, root: str = "") -> list[str]:
    """Store a session of one turn for each title, oldest first; their handles."""
    store = Store.open(paths_in(home).database, program_version=VERSION)
    handles = []
    for title in titles:
        held = await talk(store, f"About {title}?", root=root or workspace_of(home), title=title)
        handles.append(held.info.handle)
    await store.close()
    return handles


@asynccontextmanager
async def runtime_of(home: Path) -> AsyncIterator[Runtime]:
    """The real runtime, with no server to talk to."""
    async with opened(home, NOBODY_THERE) as runtime:
        yield runtime


@asynccontextmanager
async def second_process(home: Path) -> AsyncIterator[Store]:
    """The same file as another process has it."""
    store = Store.open(paths_in(home).database, program_version=VERSION)
    yield store
    await store.close()


def lowest_contrast(app: App[Any]) -> tuple[float, str]:
    """The weakest contrast of any letter or digit that is drawn, and the text it is in.

    What lies behind a dialog is dimmed, and not there to be read.
    """
    weakest = (21.0, "")
    screen = app.screen
    shown = screen.region
    if screen.is_modal:
        shown = Region.from_union([child.region for child in screen.children if child.region.area] or [shown])
    for strip in screen._compositor.render_strips()[shown.y : shown.bottom]:
        for segment in strip.crop(shown.x, shown.right):
            style = segment.style
            if style is None or not any(char.isalnum() for char in segment.text):
                continue
            if style.color is None or style.bgcolor is None:
                continue
            ink = Color.from_rich_color(style.color)
            paper = Color.from_rich_color(style.bgcolor)
            weakest = min(weakest, (contrast(ink, paper), segment.text))
    return weakest


def contrast(ink: Color, paper: Color) -> float:
    """The ratio of relative luminances that WCAG 2 defines."""
    lighter, darker = sorted((_luminance(ink), _luminance(paper)), reverse=True)
    return (lighter + 0.05) / (darker + 0.05)


def _luminance(color: Color) -> float:
    def linear(channel: float) -> float:
        return channel / 12.92 if channel <= 0.04045 else ((channel + 0.055) / 1.055) ** 2.4

    red, green, blue = color.normalized
    return 0.2126 * linear(red) + 0.7152 * linear(green) + 0.0722 * linear(blue)
