"""What was said in any conversation is found from the picker, and gone to."""

from __future__ import annotations

from pathlib import Path

from textual.widgets import Static

from local_agent.store.store import Store
from local_agent.tui.screens.sessions import SessionsScreen
from local_agent.tui.widgets.found_browser import FoundEntry
from tests.store.samples import VERSION, fill, new_session, opening, settled
from tests.support.ollama_server import OllamaServer
from tests.tui.chatting import chatting
from tests.tui.pilots import screen_text, until
from tests.tui.stage import Stage, paths_in, runtime_of, workspace_of


async def say(home: Path, *exchanges: tuple[str, str], root: Path | None = None) -> list[str]:
    """A session for each question and answer; their handles."""
    store = Store.open(paths_in(home).database, program_version=VERSION)
    folder = str(root or workspace_of(home))
    handles = []
    for question, answer in exchanges:
        held, turn = await store.create(new_session(question, root=folder), opening(question))
        await held.settle(turn, settled(answer))
        handles.append(held.info.handle)
    await store.close()
    return handles


async def test_a_slash_looks_inside_and_enter_gives_the_place(home: Path) -> None:
    handles = await say(home, ("Which port?", "The database listens on 5544."), ("And why?", "It was free."))
    async with runtime_of(home) as runtime:
        app = Stage(screen := SessionsScreen(runtime.library))
        async with app.run_test(size=(100, 30)) as pilot:
            await until(pilot, lambda: screen.browser.selected)
            await pilot.press(*"/database")
            await until(pilot, lambda: len(screen.found.found) == 1)
            shown = screen_text(pilot)
            assert "Search inside" in shown
            assert "The database listens on 5544." in shown
            assert "Which port?" in shown
            await pilot.press("f2", "f8")
            assert not screen.renaming
            await pilot.press("enter")
            await until(pilot, lambda: app.given)
    (given,) = app.given
    assert isinstance(given, FoundEntry)
    assert given.handle == handles[0]


async def test_words_and_enter_in_one_breath_open_what_they_find(home: Path) -> None:
    handles = await say(home, ("One?", "Apples."), ("Two?", "Oranges."))
    async with runtime_of(home) as runtime:
        app = Stage(screen := SessionsScreen(runtime.library))
        async with app.run_test(size=(100, 30)) as pilot:
            await until(pilot, lambda: screen.browser.selected)
            await pilot.press(*"/apples", "enter")
            await until(pilot, lambda: app.given)
    assert app.given[0] is not None and app.given[0][0] == handles[0]


async def test_a_miss_says_what_to_try_and_backspace_leads_back_to_the_titles(home: Path) -> None:
    await say(home, ("Which port?", "The usual."))
    async with runtime_of(home) as runtime:
        app = Stage(screen := SessionsScreen(runtime.library, typed="/zebra"))
        async with app.run_test(size=(80, 24)) as pilot:
            await until(pilot, lambda: "Nothing says 'zebra' here." in screen_text(pilot))
            assert "Tab looks into all folders." in screen_text(pilot)
            assert "Which port?" in screen_text(pilot)
            await pilot.press("enter")
            assert app.screen is screen
            await pilot.press(*["backspace"] * 6)
            await until(pilot, lambda: screen.browser.display and screen.browser.selected)
            assert "Sessions" in screen_text(pilot)


async def test_short_words_that_were_not_looked_for_are_said(home: Path) -> None:
    await say(home, ("Which port?", "It is the usual one."))
    async with runtime_of(home) as runtime:
        app = Stage(screen := SessionsScreen(runtime.library, typed="/it is usual"))
        async with app.run_test(size=(80, 24)) as pilot:
            await until(pilot, lambda: screen.found.found)
            await until(pilot, lambda: "it, is" in str(screen.query_one("#line", Static).content))


async def test_what_another_folder_says_comes_with_the_command_that_opens_it(home: Path) -> None:
    await say(home, ("Where?", "In the orchard."), root=home.parent / "other")
    async with runtime_of(home) as runtime:
        app = Stage(screen := SessionsScreen(runtime.library, typed="/orchard"))
        async with app.run_test(size=(100, 30)) as pilot:
            await until(pilot, lambda: "Nothing says" in screen_text(pilot))
            await pilot.press("tab")
            await until(pilot, lambda: screen.found.found)
            await pilot.press("enter")
            await until(pilot, lambda: "local-agent --resume" in screen_text(pilot))
            assert app.screen is screen


async def test_memory_finds_a_message_far_above_and_goes_to_it(home: Path, server: OllamaServer) -> None:
    there = home.parent / "api-server"
    (handle,) = await say(home, ("Which port?", "The database listens on 5544."), root=there)
    store = Store.open(paths_in(home).database, program_version=VERSION)
    fill(paths_in(home).database, (await store.find(handle)).id, 400, says=lambda place: f"entry {place}")
    await store.close()
    async with chatting(home, server.url, size=(100, 30)) as chat:
        await chat.ready()
        await chat.send("/memory database")
        await until(chat.pilot, lambda: isinstance(chat.app.screen, SessionsScreen))
        picker = chat.app.screen
        assert isinstance(picker, SessionsScreen)
        await until(chat.pilot, lambda: picker.found.found)
        await chat.pilot.press("enter")
        await until(chat.pilot, lambda: "The database listens on 5544." in screen_text(chat.pilot))
        assert chat.screen.conversation.handle == handle


async def test_what_was_said_on_another_branch_is_told_with_the_way_there(
    home: Path, server: OllamaServer
) -> None:
    server.script("First answer.", "Second answer.")
    async with chatting(home, server.url, size=(100, 30)) as chat:
        await chat.ready()
        await chat.send("a question about zebras")
        await chat.answered(1)
        await chat.send("/undo")
        await until(chat.pilot, lambda: "First answer." not in screen_text(chat.pilot))
        chat.screen.composer.load("")
        await chat.send("another question")
        await chat.answered(1)
        await chat.send("/memory zebras")
        await until(chat.pilot, lambda: isinstance(chat.app.screen, SessionsScreen))
        picker = chat.app.screen
        assert isinstance(picker, SessionsScreen)
        await until(chat.pilot, lambda: picker.found.found)
        await chat.pilot.press("enter")
        await until(chat.pilot, lambda: any("/tree" in remark for remark in chat.remarks))
