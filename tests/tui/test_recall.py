"""What was asked before: brought back with Up page after page, and searched with Ctrl+R."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from local_agent.domain.asked import AskedPage, AskedQuestion
from local_agent.domain.drafts import Prompt
from local_agent.domain.errors import StoreError
from local_agent.store.store import Store
from local_agent.tui.prompt.gathered import Gathered
from local_agent.tui.prompt.recall import FIRST, MORE, Recall
from local_agent.tui.screens.recall_search import RecallSearchScreen
from tests.runtime.opened import paths_in
from tests.store.samples import VERSION, talk
from tests.support.ollama_server import OllamaServer
from tests.tui.chatting import Chat, chatting
from tests.tui.pilots import screen_text, until
from tests.tui.stage import Stage


async def stored(home: Path, *questions: str, folder: str = "api-server", title: str = "Earlier") -> str:
    """A session with these questions; its handle."""
    store = Store.open(paths_in(home).database, program_version=VERSION)
    held = await talk(store, *questions, root=str(home.parent / folder), title=title)
    await held.release()
    await store.close()
    return held.info.handle


async def search(chat: Chat) -> RecallSearchScreen:
    await chat.pilot.press("ctrl+r")
    await until(chat.pilot, lambda: isinstance(chat.app.screen, RecallSearchScreen))
    screen = chat.app.screen
    assert isinstance(screen, RecallSearchScreen)
    return screen


def texts(screen: RecallSearchScreen) -> list[str]:
    return [question.text for question in screen.matching]


async def test_up_goes_on_through_all_that_was_asked(home: Path, server: OllamaServer) -> None:
    asked = [f"question {number}" for number in range(FIRST * MORE + 20)]
    await stored(home, *asked)
    async with chatting(home, server.url) as chat:
        await chat.ready()
        composer = chat.screen.composer
        await chat.type("typed")
        seen = []
        for _ in asked:
            composer.action_cursor_up()
            seen.append(await until_new(chat, seen[-1] if seen else "typed"))
        assert seen == asked[::-1]
        composer.action_cursor_up()
        await chat.pilot.press("down")
        await until(chat.pilot, lambda: composer.text == asked[1])


async def until_new(chat: Chat, old: str) -> str:
    await until(chat.pilot, lambda: chat.screen.composer.text != old)
    return chat.screen.composer.text


async def test_the_search_finds_words_and_puts_the_question_into_the_composer(
    home: Path, server: OllamaServer
) -> None:
    long = "How do I prune\na very tall TREE?\n" + "It is tall.\n" * 800
    await stored(home, "Where do apples grow?", long, "Why \x1b[2J\u202e though?", title="Trees")
    await stored(home, "a tree elsewhere", folder="other")
    handle = await stored(home, "my own tree question", title="Own")
    await stored(home, "the newest tree of all", title="New")
    async with chatting(home, server.url, resume=handle, size=(100, 30)) as chat:
        await chat.ready()
        await chat.type("half a thought")
        screen = await search(chat)
        assert screen.filter_input.value == "half a thought"
        await until(chat.pilot, lambda: "No question holds 'half a thought' here." in screen_text(chat.pilot))
        await chat.pilot.press("ctrl+u")
        await until(chat.pilot, lambda: len(texts(screen)) == 5)
        # This session's come first, then the folder's, each newest first.
        assert texts(screen)[:2] == ["my own tree question", "the newest tree of all"]
        assert "\x1b" not in screen_text(chat.pilot) and "Why" in screen_text(chat.pilot)
        await chat.type("tree TALL")
        await until(chat.pilot, lambda: len(texts(screen)) == 1)
        # The preview has its lines as lines.
        await until(chat.pilot, lambda: "  a very tall TREE?" in screen_text(chat.pilot))
        await chat.pilot.press("ctrl+u")
        await chat.type("tree")
        await chat.pilot.press("tab")
        await until(chat.pilot, lambda: "a tree elsewhere" in texts(screen))
        assert "all folders" in screen_text(chat.pilot)
        await chat.pilot.press("escape")
        await until(chat.pilot, lambda: chat.app.screen is chat.screen)
        assert chat.screen.composer.text == "half a thought"
        await chat.pilot.press("ctrl+u")
        await chat.type("/history prune")
        await chat.pilot.press("enter")
        await until(chat.pilot, lambda: isinstance(chat.app.screen, RecallSearchScreen))
        await until(chat.pilot, lambda: len(chat.app.screen.matching) == 1)
        await chat.pilot.press("enter")
        await until(chat.pilot, lambda: chat.app.screen is chat.screen)
        assert chat.screen.composer.prompt == long
        assert not server.chats


async def test_what_was_typed_comes_back_after_a_find(home: Path, server: OllamaServer) -> None:
    await stored(home, "a question of old")
    async with chatting(home, server.url) as chat:
        await chat.ready()
        await chat.type("question of")
        screen = await search(chat)
        await until(chat.pilot, lambda: len(texts(screen)) == 1)
        await chat.pilot.press("ctrl+r", "enter")
        await until(chat.pilot, lambda: chat.screen.composer.text == "a question of old")
        await chat.pilot.press("up")
        await until(chat.pilot, lambda: chat.screen.composer.text == "question of")


async def test_the_trash_and_what_the_program_wrote_are_not_found(home: Path, server: OllamaServer) -> None:
    handle = await stored(home, "secret words")
    async with chatting(home, server.url) as chat:
        await chat.ready()
        assert chat.screen.runtime is not None
        await chat.screen.runtime.library.trash(handle)
        await search(chat)
        await until(chat.pilot, lambda: "Nothing was asked here yet." in screen_text(chat.pilot))


def question(number: int, text: str = "") -> AskedQuestion:
    return AskedQuestion(
        number, text or f"question {number} about \U0001f333", True, "a1b2c3d", "Title", "/work", ""
    )


class Many:
    """Thousands of questions, in pages; ``fails`` after the first page."""

    def __init__(self, count: int, fails: bool = False) -> None:
        self._count = count
        self._fails = fails

    async def own(self) -> Sequence[AskedQuestion]:
        return [question(self._count), question(self._count)]

    async def page(self, *, everywhere: bool, before: int | None = None) -> AskedPage:
        if before is not None and self._fails:
            raise StoreError("The disk is gone.", "Plug it in.")
        newest = before if before is not None else self._count
        ids = range(newest, max(newest - 500, 0), -1)
        return AskedPage(tuple(map(question, ids)), ids[-1] - 1 if ids and ids[-1] > 1 else None)

    async def whole(self, question: AskedQuestion) -> str:
        raise StoreError("This question is not stored any more.")


async def test_thousands_are_searched_and_no_more_rows_made_than_are_seen() -> None:
    app = Stage(screen := RecallSearchScreen(Many(7_000), folder="/work"))
    async with app.run_test(size=(80, 24)) as pilot:
        await until(pilot, lambda: len(screen.matching) == 5_000)
        assert "5,000 of the newest 5,000" in screen_text(pilot)
        assert screen.row_list.option_count == 100
        await pilot.press(*["pagedown"] * 9)
        await until(pilot, lambda: screen.row_list.option_count > 100)
        await pilot.press(*"2345")
        await until(pilot, lambda: [each.entry_id for each in screen.matching] == [2345])
        await pilot.press("enter")
        await until(pilot, lambda: "not stored any more" in screen_text(pilot))
        assert not app.given
        await pilot.press("escape")
        await until(pilot, lambda: app.given == [None])


async def test_what_came_before_a_failure_is_searched_still() -> None:
    app = Stage(screen := RecallSearchScreen(Many(2_000, fails=True), folder="/work"))
    async with app.run_test(size=(80, 24)) as pilot:
        await until(pilot, lambda: "The disk is gone. Plug it in." in screen_text(pilot))
        assert len(screen.matching) == 500


@pytest.mark.parametrize("size", [(120, 36), (80, 24), (40, 20), (30, 12)])
async def test_the_search_is_usable_in_every_size(size: tuple[int, int]) -> None:
    app = Stage(screen := RecallSearchScreen(Many(40), folder="/work"))
    async with app.run_test(size=size) as pilot:
        await until(pilot, lambda: len(screen.matching) == 40)
        await until(pilot, lambda: "question 40" in screen_text(pilot))
        lines = screen_text(pilot).splitlines()
        assert "Questions" in "".join(lines[:2]) and any("enter" in line for line in lines[-2:])
        assert sum("question " in line for line in lines) >= 5


@given(st.lists(st.sampled_from("abcdef")), st.sampled_from(["", "a", "zz"]), st.integers(0, 40))
def test_up_and_down_walk_the_same_way(asked: list[str], typed: str, steps: int) -> None:
    recall = Recall()
    recall.take(asked, FIRST, Prompt(typed))
    seen = [prompt for _ in range(steps) if (prompt := recall.older()) is not None]
    assert [each.text for each in seen] == [each for each in dict.fromkeys(asked) if each != typed][:steps]
    back = [recall.newer() for _ in seen]
    assert back == [*seen[:-1][::-1], Prompt(typed)] if seen else back == []
    assert recall.newer() is None


@given(st.lists(st.text(max_size=6), max_size=20), st.text(max_size=4))
def test_gathered_questions_are_each_there_once(asked: list[str], typed: str) -> None:
    gathered = Gathered()
    gathered.add(question(number, text or "-") for number, text in enumerate(asked))
    words, once = typed.casefold().split(), dict.fromkeys(text or "-" for text in asked)
    expected = [text for text in once if all(word in text.casefold() for word in words)]
    assert [each.text for each in gathered.matching(typed)] == expected
