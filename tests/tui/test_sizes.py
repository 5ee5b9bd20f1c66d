"""Every screen is usable in every size and theme; below the smallest there is one sentence."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from textual.app import App
from textual.containers import ScrollableContainer
from textual.screen import Screen
from textual.widget import Widget

from local_agent.tui.screens.dialog import Dialog
from local_agent.tui.screens.too_small import TooSmallScreen
from local_agent.tui.widgets.footer import Footer
from local_agent.tui.widgets.key_line import KeyLine
from tests.tui.every_screen import OPENERS, conversation, on_screen, screens, still
from tests.tui.pilots import screen_text, until
from tests.tui.stage import lowest_contrast

SIZES = ((120, 36), (80, 24), (40, 20), (30, 12))
TOO_SMALL = (29, 11)
THEMES = ("ink", "paper")
READABLE = 4.5


def test_every_screen_has_a_way_to_it() -> None:
    missing = {kind.__name__ for kind in screens()} - {name.partition(" ")[0] for name in OPENERS}
    assert not missing, f"add to tests/tui/every_screen.py how one gets to: {', '.join(sorted(missing))}"


@pytest.mark.parametrize("part", range(3))
async def test_every_screen_in_every_size_and_theme(home: Path, part: int) -> None:
    problems: list[str] = []
    async with conversation(home, size=SIZES[0]) as (app, pilot):
        for name in list(OPENERS)[part::3]:
            async with on_screen(app, pilot, name) as screen:
                for size in SIZES:
                    await pilot.resize_terminal(*size)
                    await until(pilot, lambda size=size: app.screen.outer_size == size)  # type: ignore[misc]  # mypy wants no defaults
                    await still(pilot)
                    where = f"{name} at {size[0]}x{size[1]}"
                    found = [f"{where}: {what}" for what in wrong(app, screen)]
                    if found:
                        found.append(screen_text(pilot))
                    problems += found
                    for theme in THEMES:
                        app.theme = theme
                        await pilot.pause()
                        ratio, text = lowest_contrast(app)
                        if ratio < READABLE:
                            problems.append(f"{where}, {theme}: {text!r} has a contrast of {ratio:.1f}")
    assert not problems, "\n".join(problems)


async def test_below_the_smallest_size_no_screen_takes_a_key(home: Path) -> None:
    async with conversation(home, size=SIZES[1]) as (app, pilot):
        for name in OPENERS:
            async with on_screen(app, pilot, name) as screen:
                depth = len(app.screen_stack)
                await pilot.resize_terminal(*TOO_SMALL)
                await until(pilot, lambda: isinstance(app.screen, TooSmallScreen))
                before = app.theme, app.chat.composer.text
                await pilot.press("enter", "y", "f8", "escape", "ctrl+p")
                assert (app.theme, app.chat.composer.text) == before, name
                assert len(app.screen_stack) == depth + 1, name
                await pilot.resize_terminal(*SIZES[3])
                await until(pilot, lambda screen=screen: app.screen is screen)  # type: ignore[misc]  # mypy wants no defaults


def wrong(app: App[Any], screen: Screen[Any]) -> Iterator[str]:
    """What a person could not see or reach."""
    if app.screen is not screen:
        yield f"{type(app.screen).__name__} is shown instead"
        return
    yield from _hidden(screen)
    for widget in filter(_drawn, screen.query("*")):
        if not _scrolled_aside(widget) and widget.region.right > screen.region.right:
            yield f"{widget} reaches over the right edge: {widget.region}"
        if widget.show_horizontal_scrollbar:
            yield f"{widget} scrolls sideways"


def _hidden(screen: Screen[Any]) -> Iterator[str]:
    for line in [*screen.query(KeyLine), *screen.query(Footer)]:
        if line.display and not _in_sight(line):
            yield f"{type(line).__name__} is not in sight: {line.region}"
        elif isinstance(line, KeyLine) and not str(line.render()).strip():
            yield "the line of keys is empty"
    if screen.focused is not None and not _in_sight(screen.focused):
        yield f"what has the focus is not in sight: {screen.focused} {screen.focused.region}"
    if isinstance(screen, Dialog):
        rows = screen.row_list
        if rows.region.height < rows.option_count or not _in_sight(rows):
            yield f"not every answer is in sight: {rows.region}"


def _in_sight(widget: Widget) -> bool:
    return bool(widget.region.area) and widget.screen.region.contains_region(widget.region)


def _drawn(widget: Widget) -> bool:
    return widget.display and widget.visible and bool(widget.region.area)


def _scrolled_aside(widget: Widget) -> bool:
    """Code that is not wrapped may be as wide as it is."""
    return any(
        isinstance(above, ScrollableContainer) and above.allow_horizontal_scroll for above in widget.ancestors
    )
