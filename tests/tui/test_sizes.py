"""Every screen is usable in every size and theme; below the smallest there is one sentence."""

from __future__ import annotations

import difflib
from collections.abc import Iterator
from itertools import islice, product
from pathlib import Path
from typing import Any

import pytest
from textual.app import App
from textual.containers import ScrollableContainer
from textual.pilot import Pilot
from textual.screen import Screen
from textual.widget import Widget
from textual.widgets import Input
from textual.widgets._toast import Toast

from local_agent.config.launch import LaunchOptions
from local_agent.tui.app import LocalAgentApp
from local_agent.tui.screens.dialog import Dialog
from local_agent.tui.screens.too_small import TooSmallScreen
from local_agent.tui.widgets.footer import Footer
from local_agent.tui.widgets.key_line import KeyLine
from tests.runtime.opened import paths_in, settings_for
from tests.screenshots.cells import Cells, cells, written
from tests.tui.every_screen import OPENERS, conversation, on_screen, screens, still
from tests.tui.pilots import screen_text, until
from tests.tui.stage import NOBODY_THERE, lowest_contrast

SIZES = ((120, 36), (80, 24), (40, 20), (30, 12))
PICTURED = ((120, 36), (80, 24), (30, 12))
OF_THE_MACHINE = ("LinkDialog", "ModelDetailsScreen", "ModelsScreen", "PullScreen", "RuntimeScreen")
"""They tell of its memory, its disk or its browser, and look different on another one."""
SNAPSHOTS = Path(__file__).parents[1] / "screenshots" / "snapshots"
TOO_SMALL = (29, 11)
THEMES = ("ink", "paper")
READABLE = 4.5


def test_every_screen_has_a_way_to_it() -> None:
    missing = {kind.__name__ for kind in screens()} - {name.partition(" ")[0] for name in OPENERS}
    assert not missing, f"add to tests/tui/every_screen.py how one gets to: {', '.join(sorted(missing))}"


@pytest.mark.parametrize("part", range(4))
async def test_every_screen_in_every_size_and_theme(
    home: Path, part: int, pytestconfig: pytest.Config
) -> None:
    """Usable, readable, and as it looked when somebody last looked: see ``tests/screenshots/cells.py``.

    ``pytest tests/tui/test_sizes.py --snapshot-update`` takes what is drawn now for right.
    """
    update = bool(pytestconfig.getoption("update_snapshots", False))
    problems: list[str] = []
    looks: dict[tuple[str, tuple[int, int]], list[Cells]] = {}
    async with conversation(home, size=SIZES[0]) as (app, pilot):
        for name in list(OPENERS)[part::4]:
            # Textual's own palette keeps the theme that it was opened in.
            for themes in [[each] for each in THEMES] if name == "Palette" else [THEMES]:
                app.theme = themes[0]
                async with on_screen(app, pilot, name) as screen:
                    for size, theme in product(SIZES, themes):
                        await dressed(app, pilot, size, theme)
                        where = f"{name} at {size[0]}x{size[1]}, {theme}"
                        if found := [f"{where}: {what}" for what in wrong(app, screen)]:
                            problems += [*found, screen_text(pilot)]
                        looks.setdefault((name, size), []).append(cells(app))
    for (name, size), (dark, light) in looks.items():
        if size in PICTURED and name not in OF_THE_MACHINE:
            problems += compared(f"{name}-{size[0]}x{size[1]}", written(dark, light), update=update)
    assert not problems, "\n".join(problems)


async def dressed(app: LocalAgentApp, pilot: Pilot[Any], size: tuple[int, int], theme: str) -> None:
    """Wait until the screen has a size and wears a theme."""
    app.theme = theme
    await pilot.resize_terminal(*size)
    await until(pilot, lambda: app.screen.outer_size == size)
    await still(pilot)


def compared(name: str, now: str, *, update: bool) -> list[str]:
    """How a screen differs from its snapshot; or take it for the snapshot."""
    file = SNAPSHOTS / f"{name.lower().replace(' ', '-')}.txt"
    if update:
        file.write_text(now, encoding="utf-8")
        return []
    before = file.read_text("utf-8") if file.exists() else ""
    if before == now:
        return []
    differences = difflib.unified_diff(
        before.splitlines(), now.splitlines(), "before", "now", n=1, lineterm=""
    )
    return [f"{name} looks different:", *islice(differences, 40)]


def test_every_snapshot_is_of_a_screen() -> None:
    names = {
        f"{name.lower().replace(' ', '-')}-{columns}x{rows}"
        for name in OPENERS
        for columns, rows in PICTURED
        if name not in OF_THE_MACHINE
    }
    assert {path.stem for path in SNAPSHOTS.iterdir()} == names


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
    ratio, text = lowest_contrast(app)
    if ratio < READABLE:
        yield f"{text!r} has a contrast of {ratio:.1f}"
    for widget in filter(_drawn, screen.query("*")):
        if not _scrolled_aside(widget) and widget.region.right > screen.region.right:
            yield f"{widget} reaches over the right edge: {widget.region}"
        if widget.show_horizontal_scrollbar and not isinstance(widget, Input):
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


@pytest.mark.parametrize("width", [40, 80, 120])
async def test_a_word_said_in_the_corner_is_whole_when_it_just_fills_its_row(home: Path, width: int) -> None:
    app = LocalAgentApp(LaunchOptions(workspace=home), settings_for(NOBODY_THERE), paths_in(home))
    async with app.run_test(size=(width, 24), notifications=True) as pilot:
        for room in range(width // 2 - 5, width // 2):
            said = f"{'said'.ljust(room - 5, '-')} whole"
            app.notify(said, timeout=60)
        await until(pilot, lambda: screen_text(pilot).count("said-") == 5)
        assert screen_text(pilot).count("whole") == 5
        await pilot.press("ctrl+q")


@pytest.mark.parametrize("size", [(80, 24), (30, 12)])
async def test_a_word_said_in_the_corner_hides_nothing_that_is_typed(
    home: Path, size: tuple[int, int]
) -> None:
    app = LocalAgentApp(LaunchOptions(workspace=home), settings_for(NOBODY_THERE), paths_in(home))
    async with app.run_test(size=size, notifications=True) as pilot:
        await pilot.press(*["ctrl+j"] * (size[1] // 3))
        app.chat.notify_line("Dropped; up in an empty composer brings it back.")
        await until(pilot, lambda: any(note.region for note in app.chat.query(Toast)))
        note, typed = app.chat.query_one(Toast).region, app.chat.pane.region
        assert app.chat.header.region.bottom <= note.y and note.bottom <= typed.y
        await pilot.press("ctrl+q")
