"""Completion at the cursor: files behind an at sign, commands, their arguments."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Sequence
from pathlib import Path

import pytest
from textual import events

from local_agent.domain.text import sanitise
from local_agent.tui.commands.screen import CommandScreen
from local_agent.tui.commands.table import COMMANDS
from local_agent.tui.prompt.offers import place_at
from local_agent.tui.widgets.completion import CompletionList
from tests.support.ollama_server import OllamaServer
from tests.tui.chatting import Chat, chatting
from tests.tui.pilots import screen_text, until


@pytest.fixture
def folder(home: Path) -> Path:
    folder = home.parent / "api-server"
    for name in ("src/main.py", "src/deep/mail.py", "my notes/to do.md", "README.md", "log/a.log"):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(f"This is {name}.\n")
    (folder / ".gitignore").write_text("*.log\n")
    with open(os.fsencode(folder) + b"/caf\xe9 \x1b[31m\xe2\x80\xae.txt", "w") as file:
        file.write("x")
    return folder


def offered(chat: Chat) -> list[str]:
    """The labels of the list that is open."""
    lists = list(chat.screen.query(CompletionList))
    return [offer.label for each in lists if each.has_class("-open") for offer in each.offers]


async def shown(chat: Chat, *labels: str) -> None:
    """Wait until these are the first that are offered; none: until the list is closed."""
    await until(chat.pilot, lambda: offered(chat)[: len(labels) or None] == list(labels))


async def test_a_file_is_found_taken_and_sent(home: Path, folder: Path, server: OllamaServer) -> None:
    server.script("ok")
    async with chatting(home, server.url) as chat:
        await chat.ready()
        composer = chat.screen.composer
        await chat.type("look at @ma")
        await shown(chat, "src/main.py", "src/deep/mail.py")
        await chat.pilot.press("down", "tab")
        await shown(chat)
        assert composer.text == "look at @src/deep/mail.py "
        await chat.pilot.press("backspace", "backspace")
        await shown(chat, "src/deep/mail.py")
        await chat.pilot.press("enter")
        await chat.type("and ")
        await chat.type("@rdme")
        await shown(chat, "README.md")
        await chat.pilot.press("enter", "enter")
        await chat.answered(1)
        assert chat.questions == ["look at @src/deep/mail.py and @README.md "]
        content = server.chats[0].body["messages"][-1]["content"]
        assert "src/deep/mail.py (1 line):\n```\nThis is src/deep/mail.py.\n```" in content
        await chat.pilot.press("up")
        await until(chat.pilot, lambda: composer.text == chat.questions[0])
        await shown(chat)


async def test_folders_lead_on_and_names_with_spaces_are_quoted(
    home: Path, folder: Path, server: OllamaServer
) -> None:
    async with chatting(home, server.url) as chat:
        await chat.ready()
        composer = chat.screen.composer
        await chat.type("see @my")
        await shown(chat, "my notes/")
        await chat.pilot.press("tab")
        await shown(chat, "my notes/to do.md")
        assert composer.text == 'see @"my notes/"'
        await chat.type("to d")
        await shown(chat, "my notes/to do.md")
        await chat.pilot.press("enter")
        assert composer.text == 'see @"my notes/to do.md" '
        await shown(chat)
        await chat.type("@src/")
        await shown(chat, "src/deep/", "src/main.py")
        await chat.type("main.py")
        await shown(chat, "src/main.py")
        await chat.pilot.press("ctrl+u")
        await chat.type("@caf")
        await until(chat.pilot, lambda: offered(chat))
        drawn = screen_text(chat.pilot)
        assert sanitise(drawn) == drawn
        await chat.pilot.press("tab")
        assert composer.text == '@"caf\\xe9 \\x1b[31m\\xe2\\x80\\xae.txt" '


async def test_escape_closes_the_list_for_this_word_and_nothing_else_opens_it(
    home: Path, folder: Path, server: OllamaServer
) -> None:
    async with chatting(home, server.url) as chat:
        await chat.ready()
        composer = chat.screen.composer
        await chat.type("@s")
        await until(chat.pilot, lambda: offered(chat))
        await chat.pilot.press("escape")
        await shown(chat)
        await chat.type("rc")
        assert not offered(chat)
        await chat.type(" @s")
        await until(chat.pilot, lambda: offered(chat))
        await chat.pilot.press("left", "left", "left")
        await shown(chat)
        await chat.pilot.press("left")
        assert not offered(chat), "moving the cursor opens nothing"
        await chat.pilot.press("ctrl+u", "ctrl+k")
        for text in ("me@src", "@property\ndef src(): ...\n@src", "see @src"):
            composer.post_message(events.Paste(text))
            await chat.pilot.pause()
            assert not offered(chat), text
            composer.load("")
        composer.load("a draft with @src")
        await chat.pilot.pause()
        assert not offered(chat)
        await chat.type("/")
        await until(chat.pilot, lambda: offered(chat) and offered(chat)[0] == "src/deep/")


async def test_a_whole_path_is_sent_by_the_first_enter(
    home: Path, folder: Path, server: OllamaServer
) -> None:
    server.script("ok")
    async with chatting(home, server.url) as chat:
        await chat.ready()
        await chat.type("@README.md")
        await shown(chat, "README.md")
        await chat.pilot.press("enter")
        await chat.answered(1)
        assert chat.questions == ["@README.md"]


async def test_arguments_are_offered_quoted_and_never_waited_for(
    home: Path, folder: Path, server: OllamaServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    answer = asyncio.Event()
    titles = ["Plain", "Two words", "sub folder/"]

    async def complete(screen: CommandScreen, typed: str) -> Sequence[str]:
        await answer.wait()
        return [title for title in titles if title.lower().startswith(typed.lower())]

    with_completer = [
        each._replace(completer=complete) if each.name == "rename" else each for each in COMMANDS
    ]
    monkeypatch.setattr(COMMANDS, "_commands", with_completer)
    server.script("ok")
    async with chatting(home, server.url) as chat:
        await chat.ready()
        await chat.send("first")
        await chat.answered(1)
        composer = chat.screen.composer
        await chat.type("/rename t")
        assert composer.text == "/rename t" and not offered(chat)
        answer.set()
        await shown(chat, "Two words")
        await chat.pilot.press("tab")
        assert composer.text == '/rename "Two words"'
        await chat.pilot.press("ctrl+u")
        await chat.type("/rename s")
        await shown(chat, "sub folder/")
        await chat.pilot.press("enter")
        assert composer.text == '/rename "sub folder/'
        await chat.pilot.press("ctrl+u")
        await chat.type('/rename "two w')
        await shown(chat, "Two words")
        await chat.pilot.press("enter")
        await until(chat.pilot, lambda: chat.screen.conversation.title == "Two words")
        assert composer.text == ""


@pytest.mark.parametrize("size", [(120, 36), (40, 20), (30, 12)])
async def test_a_long_path_shows_its_end_at_every_size(
    home: Path, folder: Path, server: OllamaServer, size: tuple[int, int]
) -> None:
    deep = folder / "/".join(["a_long_folder_name"] * 6) / "target.py"
    deep.parent.mkdir(parents=True)
    deep.touch()
    async with chatting(home, server.url, size=size) as chat:
        await chat.ready()
        await chat.type("@target")
        await until(chat.pilot, lambda: "target.py" in screen_text(chat.pilot))
        assert "@target" in screen_text(chat.pilot)


def test_a_command_is_completed_only_where_it_stands_alone() -> None:
    assert place_at("/he", 3, only=True) == (0, 3, "/he", None, False)
    assert place_at("/he", 3, only=False) is None
    assert place_at("/he", 2, only=True) is None
    assert place_at("/help me", 8, only=True) is None, "it takes no arguments"
    assert place_at("/unknown x", 10, only=True) is None
    assert place_at("see /he", 7, only=True) is None
