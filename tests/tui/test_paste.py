"""A folded paste, opened: looked at, edited, removed, and huge ones drawn at once."""

from __future__ import annotations

from pathlib import Path
from time import thread_time

import pytest

from local_agent.tui.screens.paste import PasteAnswer, PasteScreen
from tests.support.ollama_server import OllamaServer
from tests.tui.chatting import Chat, chatting
from tests.tui.pilots import screen_text, until
from tests.tui.stage import Stage
from tests.tui.test_composer import paste

HOSTILE = "\x00\x1b[31m\u202eend\u2028here\n"


async def opened(chat: Chat) -> PasteScreen:
    await until(chat.pilot, lambda: isinstance(chat.app.screen, PasteScreen) and chat.app.screen.is_mounted)
    screen = chat.app.screen
    assert isinstance(screen, PasteScreen)
    return screen


async def closed(chat: Chat) -> None:
    await until(chat.pilot, lambda: chat.app.screen is chat.screen)


async def test_a_token_is_opened_edited_and_undone(home: Path, server: OllamaServer) -> None:
    text = "".join(f"line {number}\n" for number in range(20)) + HOSTILE
    async with chatting(home, server.url) as chat:
        await chat.ready()
        await chat.type("see ")
        await paste(chat, text)
        composer = chat.screen.composer
        token = composer.text[4:]
        await chat.pilot.press("alt+o")
        await opened(chat)
        await until(chat.pilot, lambda: "22 lines" in screen_text(chat.pilot))
        assert "line 3" in screen_text(chat.pilot) and "\x1b" not in screen_text(chat.pilot)
        await chat.pilot.press("escape")
        await closed(chat)
        assert composer.prompt == f"see {text}", "looking changes nothing"
        await chat.pilot.click(composer, offset=(8, 0))
        await opened(chat)
        await chat.type("new ")
        await chat.pilot.press("escape")
        await closed(chat)
        await until(chat.pilot, lambda: composer.prompt.startswith("see new line 0\nline 1"))
        assert composer.prompt.endswith("\x00\x1b[31m\u202eend\nhere\n") and "pasted #2" in composer.text
        await chat.pilot.press("ctrl+z")
        assert composer.text == f"see {token}" and composer.prompt == f"see {text}"
        await chat.pilot.press("alt+o")
        await opened(chat)
        await chat.pilot.press("f8")
        await closed(chat)
        await until(chat.pilot, lambda: composer.prompt == "see ")
        await chat.pilot.press("ctrl+z")
        assert composer.prompt == f"see {text}"


async def test_a_paste_that_becomes_short_is_unfolded(home: Path, server: OllamaServer) -> None:
    async with chatting(home, server.url) as chat:
        await chat.ready()
        await paste(chat, "a\n" * 30)
        await chat.pilot.press("alt+o")
        await opened(chat)
        await chat.pilot.press("f7", "x", "escape")
        await closed(chat)
        await until(chat.pilot, lambda: chat.screen.composer.text == "x")


@pytest.mark.parametrize(
    "text", ["x" * 2_000_000, "some words of a line\n" * 100_000], ids=["one line", "100,000 lines"]
)
async def test_two_megabytes_are_pasted_and_typed_beside_and_opened_at_once(
    home: Path, server: OllamaServer, text: str
) -> None:
    async with chatting(home, server.url) as chat:
        await chat.ready()
        composer = chat.screen.composer
        await paste(chat, text)
        await chat.type(" and")
        assert composer.prompt == f"{text} and"
        begin = thread_time()
        for _ in range(20):
            composer.insert("x")
            chat.screen.note_draft()
        assert (thread_time() - begin) / 20 < 0.1, "a key takes too long beside a large paste"
        await chat.pilot.press("home", "alt+o")
        screen = await opened(chat)
        await until(chat.pilot, lambda: "2" in screen_text(chat.pilot) and "MB" in screen_text(chat.pilot))
        await until(chat.pilot, lambda: "too long to be edited here" in screen_text(chat.pilot))
        assert screen.area.read_only
        await chat.pilot.press("x", "escape")
        await closed(chat)
        assert composer.prompt == f"{text} and" + "x" * 20


async def test_the_editor_gets_pastes_in_full_and_they_fold_again(
    home: Path, server: OllamaServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = "".join(f"line {number}\n" for number in range(20))
    async with chatting(home, server.url) as chat:
        await chat.ready()
        await chat.type("see ")
        await paste(chat, text)
        composer = chat.screen.composer
        before = composer.text
        composer.rewrite(f"Look: {composer.prompt}Thanks.")
        assert composer.text == f"Look: {before}Thanks." and composer.prompt == f"Look: see {text}Thanks."
        await chat.pilot.press("ctrl+z")
        assert composer.text == before and composer.prompt == f"see {text}"


@pytest.mark.parametrize("size", [(120, 36), (80, 24), (40, 20), (30, 12)])
async def test_a_paste_is_read_and_changed_in_every_size(size: tuple[int, int]) -> None:
    app = Stage(PasteScreen("first\n" + HOSTILE + "more and more words " * 20))
    async with app.run_test(size=size) as pilot:
        await until(pilot, lambda: "first" in screen_text(pilot))
        assert "Pasted" in screen_text(pilot).splitlines()[0] + screen_text(pilot).splitlines()[1]
        assert "esc" in screen_text(pilot).splitlines()[-1] + screen_text(pilot).splitlines()[-2]
        await pilot.press("x", "ctrl+g")
        await until(pilot, lambda: app.given)
        (answer,) = app.given
        assert isinstance(answer, PasteAnswer) and answer.in_editor and answer.text.startswith("xfirst\n\x00")
