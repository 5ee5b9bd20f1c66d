"""The session picker over a real database."""

from __future__ import annotations

import shlex
from pathlib import Path

from textual.widgets import Input, Static

from local_agent.tui.screens.sessions import SessionsScreen
from local_agent.tui.widgets.row_list import RowList
from local_agent.tui.widgets.session_browser import PAGE
from local_agent.tui.widgets.session_preview import SessionPreview
from tests.store.samples import new_session, opening, settled
from tests.tui.pilots import screen_text, until
from tests.tui.stage import Stage, keep, runtime_of, second_process, workspace_of


def titles(screen: SessionsScreen) -> list[str]:
    return [session.title for session in screen.browser.loaded]


def line(screen: SessionsScreen) -> str:
    return str(screen.query_one("#line", Static).content)


async def test_the_newest_is_first_and_enter_gives_its_handle(home: Path) -> None:
    handles = await keep(home, "Oldest", "Middle", "Newest")
    async with runtime_of(home) as runtime:
        app = Stage(screen := SessionsScreen(runtime.library))
        async with app.run_test(size=(100, 30)) as pilot:
            await until(pilot, lambda: screen.browser.selected)
            assert titles(screen) == ["Newest", "Middle", "Oldest"]
            await pilot.press("down", "enter")
            await until(pilot, lambda: app.given)
    assert app.given == [handles[1]]


async def test_letters_filter_and_do_nothing_else(home: Path) -> None:
    await keep(home, "jq in anger", "Release notes", "Flaky restore test")
    async with runtime_of(home) as runtime:
        app = Stage(screen := SessionsScreen(runtime.library))
        async with app.run_test(size=(100, 30)) as pilot:
            await until(pilot, lambda: len(screen.browser.loaded) == 3)
            await pilot.press("j", "q")
            await until(pilot, lambda: titles(screen) == ["jq in anger"])
            await pilot.press("backspace", "backspace", *"fkyrst")
            await until(pilot, lambda: titles(screen) == ["Flaky restore test"])
            await pilot.press(*"zzz")
            await until(pilot, lambda: not titles(screen))
            assert "Nothing is called 'fkyrstzzz' here." in screen_text(pilot)
            await pilot.press("enter", "f2", "f8")
            assert app.screen is screen
            assert not screen.renaming
            await pilot.press("escape")
            await until(pilot, lambda: app.given)
    assert app.given == [None]


async def test_a_whole_handle_is_jumped_to_wherever_its_session_is(home: Path, tmp_path: Path) -> None:
    (far,) = await keep(home, "Elsewhere", root=str(tmp_path / "another"))
    near = await keep(home, "One", "Two", "Three")
    async with runtime_of(home) as runtime:
        app = Stage(screen := SessionsScreen(runtime.library))
        async with app.run_test(size=(100, 30)) as pilot:
            await until(pilot, lambda: len(screen.browser.loaded) == 3)
            await pilot.press(*near[0].upper())
            await until(pilot, lambda: screen.browser.selected and screen.browser.selected.handle == near[0])
            screen.query_one("#filter", Input).value = far
            await until(pilot, lambda: screen.browser.selected and screen.browser.selected.handle == far)
            await until(pilot, lambda: "On About Elsewhere?" in screen_text(pilot))


async def test_a_session_of_another_folder_is_opened_there(home: Path, tmp_path: Path) -> None:
    folder = tmp_path / "it's another"
    (far,) = await keep(home, "Elsewhere", root=str(folder))
    async with runtime_of(home) as runtime:
        app = Stage(screen := SessionsScreen(runtime.library))
        async with app.run_test(size=(100, 30)) as pilot:
            await pilot.press("tab")
            await until(pilot, lambda: titles(screen) == ["Elsewhere"])
            await pilot.press("enter")
            command = f"cd {shlex.quote(str(folder))} && local-agent --resume {far}"
            await until(pilot, lambda: line(screen).endswith(command))
            assert not app.given


async def test_tab_widens_to_all_folders_and_back(home: Path, tmp_path: Path) -> None:
    await keep(home, "Elsewhere", root=str(tmp_path / "another"))
    await keep(home, "Here")
    async with runtime_of(home) as runtime:
        app = Stage(screen := SessionsScreen(runtime.library))
        async with app.run_test(size=(120, 30)) as pilot:
            await until(pilot, lambda: titles(screen) == ["Here"])
            await pilot.press("tab")
            await until(pilot, lambda: titles(screen) == ["Here", "Elsewhere"])
            assert "all folders" in screen_text(pilot)
            await pilot.press("tab")
            await until(pilot, lambda: titles(screen) == ["Here"])


async def test_the_preview_shows_the_end_of_the_chosen_one_without_taking_it(home: Path) -> None:
    handles = await keep(home, "First", "Second")
    async with runtime_of(home) as runtime:
        app = Stage(screen := SessionsScreen(runtime.library))
        async with app.run_test(size=(100, 30)) as pilot:
            await until(pilot, lambda: "On About Second?" in screen_text(pilot))
            await pilot.press("down")
            await until(pilot, lambda: "On About First?" in screen_text(pilot))
            assert "On About Second?" not in screen_text(pilot)
            async with second_process(home) as other:
                held = await other.hold(handles[0])
                assert held.info.handle == handles[0]
            assert screen.browser.selected


async def test_f2_renames_for_good_and_esc_leaves_the_old_title(home: Path) -> None:
    (handle,) = await keep(home, "Old title")
    async with runtime_of(home) as runtime:
        app = Stage(screen := SessionsScreen(runtime.library))
        async with app.run_test(size=(80, 24)) as pilot:
            await until(pilot, lambda: screen.browser.selected)
            await pilot.press("f2", *" of yesterday", "escape")
            assert not screen.renaming
            await pilot.press("f2", "home", "shift+end", *"New [bold]title", "enter")
            await until(pilot, lambda: titles(screen) == ["New [bold]title"])
            await until(pilot, lambda: "New [bold]title" in screen_text(pilot))
        async with second_process(home) as other:
            kept = await other.find(handle)
    assert (kept.title, kept.title_source) == ("New [bold]title", "person")


async def test_f8_trashes_with_a_line_that_undoes_it(home: Path) -> None:
    handles = await keep(home, "Stays", "Goes")
    async with runtime_of(home) as runtime:
        app = Stage(screen := SessionsScreen(runtime.library))
        async with app.run_test(size=(80, 24)) as pilot:
            await until(pilot, lambda: len(screen.browser.loaded) == 2)
            await pilot.press("f8")
            await until(pilot, lambda: titles(screen) == ["Stays"])
            assert line(screen) == f"{handles[1]} · Goes is in the trash; ctrl+z undoes it."
            await pilot.press("ctrl+z")
            await until(pilot, lambda: titles(screen) == ["Goes", "Stays"])
            await pilot.press("ctrl+z")
            assert titles(screen) == ["Goes", "Stays"]


async def test_the_open_session_cannot_be_trashed(home: Path) -> None:
    (handle,) = await keep(home, "Open here")
    async with runtime_of(home) as runtime:
        app = Stage(screen := SessionsScreen(runtime.library, current=handle))
        async with app.run_test(size=(100, 24)) as pilot:
            await until(pilot, lambda: screen.browser.selected)
            await pilot.press("f8")
            await until(pilot, lambda: "This is the open session" in line(screen))
            await until(pilot, lambda: "open here" in screen_text(pilot))
            assert titles(screen) == ["Open here"]


async def test_every_session_can_be_reached_and_costs_no_widget(home: Path) -> None:
    await keep(home, *(f"Number {number}" for number in range(130)))
    async with runtime_of(home) as runtime:
        app = Stage(screen := SessionsScreen(runtime.library))
        async with app.run_test(size=(100, 30)) as pilot:
            await until(pilot, lambda: len(screen.browser.loaded) == PAGE)
            widgets = len(screen.query("*"))
            for _ in range(3):
                await pilot.press("ctrl+end")
                await pilot.pause()
            await until(pilot, lambda: len(screen.browser.loaded) == 130)
            await pilot.press("ctrl+end")
            await until(
                pilot, lambda: screen.browser.selected and screen.browser.selected.title == "Number 0"
            )
            assert len(screen.query("*")) == widgets


async def test_a_session_that_is_open_elsewhere_says_by_whom(home: Path) -> None:
    (handle,) = await keep(home, "Held")
    async with second_process(home) as other, runtime_of(home) as runtime:
        held = await other.hold(handle)
        assert held.info.holder is not None
        app = Stage(SessionsScreen(runtime.library))
        async with app.run_test(size=(120, 30)) as pilot:
            words = f"open in process {held.info.holder.pid}"
            await until(pilot, lambda: words in " ".join(screen_text(pilot).split()).replace("│ ", ""))


async def test_outside_text_is_drawn_as_what_it_is(home: Path) -> None:
    nasty = "[bold]x[/] \x1b[2J\x07 \u202eevil [/nope]"
    async with second_process(home) as store:
        held, turn = await store.create(new_session(nasty, root=workspace_of(home)), opening(nasty))
        await held.settle(turn, settled(f"answer {nasty}"))
    async with runtime_of(home) as runtime:
        app = Stage(SessionsScreen(runtime.library))
        async with app.run_test(size=(120, 30)) as pilot:
            await until(pilot, lambda: "answer [bold]x[/]" in screen_text(pilot))
            drawn = screen_text(pilot)
            assert "[bold]x[/] ␛[2J␇ evil" in drawn
            assert not set("\x1b\x07\u202e") & set(drawn)


async def test_the_smallest_terminal_has_the_list_and_no_preview(home: Path) -> None:
    handles = await keep(home, "A long title that has to be cut somewhere", "Second")
    async with runtime_of(home) as runtime:
        app = Stage(screen := SessionsScreen(runtime.library))
        async with app.run_test(size=(30, 12)) as pilot:
            await until(pilot, lambda: screen.browser.selected)
            assert not screen.query_one(SessionPreview).region
            assert screen.query_one(RowList).region.height >= 8
            assert all(handle in screen_text(pilot) for handle in handles)
            await pilot.resize_terminal(100, 30)
            await until(pilot, lambda: "On About Second?" in screen_text(pilot))


async def test_no_sessions_yet(home: Path) -> None:
    async with runtime_of(home) as runtime:
        app = Stage(screen := SessionsScreen(runtime.library))
        async with app.run_test(size=(80, 24)) as pilot:
            await until(pilot, lambda: "No sessions yet." in screen_text(pilot))
            await pilot.press("enter", "f8", "f2", "down")
            assert app.screen is screen
            assert not app.given


async def test_a_click_chooses_and_a_click_on_the_chosen_one_opens(home: Path) -> None:
    handles = await keep(home, "First", "Second")
    async with runtime_of(home) as runtime:
        app = Stage(screen := SessionsScreen(runtime.library))
        async with app.run_test(size=(100, 30)) as pilot:
            await until(pilot, lambda: len(screen.browser.loaded) == 2)
            await pilot.click(RowList, offset=(12, 1))
            await until(
                pilot, lambda: screen.browser.selected and screen.browser.selected.handle == handles[0]
            )
            assert not app.given
            await pilot.click(RowList, offset=(12, 1))
            await until(pilot, lambda: app.given)
    assert app.given == [handles[0]]


async def test_a_pinned_session_stands_above_newer_ones_until_it_is_let_go(home: Path) -> None:
    await keep(home, "Oldest", "Middle", "Newest")
    async with runtime_of(home) as runtime:
        app = Stage(screen := SessionsScreen(runtime.library))
        async with app.run_test(size=(100, 30)) as pilot:
            await until(pilot, lambda: len(screen.browser.loaded) == 3)
            await pilot.press("down", "down", "f4")
            await until(pilot, lambda: titles(screen) == ["Oldest", "Newest", "Middle"])
            assert screen.browser.selected is not None and screen.browser.selected.title == "Oldest"
            assert "◆ Oldest" in screen_text(pilot)
            await pilot.press("f4")
            await until(pilot, lambda: titles(screen) == ["Newest", "Middle", "Oldest"])


async def test_a_fork_stands_below_its_parent_with_the_pointer_at_it(home: Path) -> None:
    (handle,) = await keep(home, "Parent")
    async with runtime_of(home) as runtime:
        app = Stage(screen := SessionsScreen(runtime.library))
        async with app.run_test(size=(100, 30)) as pilot:
            await until(pilot, lambda: screen.browser.selected)
            await pilot.press("f5")
            await until(pilot, lambda: len(screen.browser.loaded) == 2)
            parent, fork = screen.browser.loaded
            assert (parent.handle, fork.forked_from) == (handle, handle)
            await until(pilot, lambda: screen.browser.selected == fork)
            assert f"{fork.handle} is a fork of {handle}." in line(screen)


async def test_pinned_sessions_come_once_however_many_pages_there_are(home: Path) -> None:
    handles = await keep(home, *(f"Session {number}" for number in range(PAGE + 20)))
    async with runtime_of(home) as runtime:
        for handle in (handles[0], handles[-1]):
            await runtime.library.pin(handle, pinned=True)
        app = Stage(screen := SessionsScreen(runtime.library))
        async with app.run_test(size=(100, 30)) as pilot:
            await until(pilot, lambda: screen.browser.loaded)
            assert [each.handle for each in screen.browser.loaded[:2]] == [handles[-1], handles[0]]
            await pilot.press("ctrl+end")
            await until(pilot, lambda: len(screen.browser.loaded) == PAGE + 20)
            assert len({each.handle for each in screen.browser.loaded}) == PAGE + 20
