"""Pictures beside what is written: by command, path, paste and clipboard; kept, taken away, sent."""

from __future__ import annotations

import base64
import hashlib
import os
from functools import partial
from pathlib import Path
from urllib.parse import quote

import pytest
from hypothesis import given
from hypothesis import strategies as st
from textual import events

from local_agent.domain.drafts import Prompt
from local_agent.domain.pictures import Picture
from local_agent.tui.prompt.attachments import Attachments
from local_agent.tui.prompt.pasted_paths import picture_paths
from local_agent.tui.screens.picture import PictureScreen
from local_agent.tui.widgets.picture_strip import PictureStrip
from tests.support.ollama_server import ModelSpec, OllamaServer, Turn, gate, say
from tests.support.pictures import drawn, huge_png
from tests.tui.chatting import Chat, chatting
from tests.tui.pilots import screen_text, until
from tests.tui.test_composer import paste

SEEING = ModelSpec("gemma3:4b", ("completion", "vision"), arch="gemma3")
BLIND = ModelSpec("llama3.2:3b", modified_at="2025-01-01T00:00:00Z")


@pytest.fixture
def seeing(server: OllamaServer) -> OllamaServer:
    server.models = {SEEING.name: SEEING}
    return server


@pytest.fixture
def folder(home: Path) -> Path:
    """The workspace, with two pictures in it."""
    folder = home.parent / "api-server"
    folder.mkdir(parents=True)
    (folder / "one.png").write_bytes(drawn(size=(640, 480)))
    (folder / "two.png").write_bytes(drawn(seed=7))
    return folder


def names(chat: Chat) -> list[str]:
    return [picture.name for picture in chat.screen.pane.prompt.pictures]


async def attached(chat: Chat, *expected: str) -> None:
    await until(chat.pilot, lambda: names(chat) == list(expected))


async def refused(chat: Chat, words: str) -> None:
    await until(chat.pilot, lambda: any(words in remark for remark in chat.remarks))


def sent_pictures(server: OllamaServer) -> list[list[str]]:
    """The digests of what went along with the last message of each request."""
    return [
        [hashlib.sha256(base64.b64decode(data)).hexdigest() for data in messages[-1].get("images", ())]
        for messages in (request.body["messages"] for request in server.chats)
    ]


async def test_pictures_are_attached_shown_kept_and_sent(
    home: Path, seeing: OllamaServer, folder: Path
) -> None:
    seeing.script("A tree.")
    async with chatting(home, seeing.url) as chat:
        await chat.ready()
        await chat.send("/image one.png two.png missing.png")
        await attached(chat, "one.png", "two.png")
        await refused(chat, "missing.png")
        lines = screen_text(chat.pilot).splitlines()
        (badge,) = [line for line in lines if "one.png 640x480" in line]
        assert badge.strip().startswith("[1] one.png") and any("[2] two.png" in line for line in lines)
        await chat.pilot.click(PictureStrip)
        await until(chat.pilot, lambda: isinstance(chat.app.screen, PictureScreen))
        await until(chat.pilot, lambda: "one.png" in screen_text(chat.pilot))
        await chat.pilot.press("escape")
        await until(chat.pilot, lambda: chat.app.screen is chat.screen)
        await chat.type("what is it?")
    async with chatting(home, seeing.url) as chat:
        await attached(chat, "one.png", "two.png")
        assert chat.screen.composer.text == "what is it?"
        await chat.ready()
        await chat.pilot.press("enter")
        await chat.answered(1)
        assert names(chat) == [] and "two.png 8x6" not in screen_text(chat.pilot).splitlines()[-3]
    expected = [hashlib.sha256((folder / name).read_bytes()).hexdigest() for name in ("one.png", "two.png")]
    assert sent_pictures(seeing) == [expected]
    async with chatting(home, seeing.url) as chat:
        await chat.ready()
        assert names(chat) == []


async def test_pictures_go_with_the_prompt_through_queue_clearing_and_recall(
    home: Path, seeing: OllamaServer, folder: Path
) -> None:
    seeing.script(Turn(say("Half"), gate("go")), "Seen.")
    async with chatting(home, seeing.url) as chat:
        await chat.ready()
        await chat.send("first")
        await until(chat.pilot, lambda: chat.replies)
        await chat.send("/image one.png")
        await attached(chat, "one.png")
        await chat.send("look")
        assert names(chat) == []
        (waiting,) = chat.screen.turns.queue.prompts
        assert waiting.text == "look" and [each.name for each in waiting.pictures] == ["one.png"]
        await chat.send("/image two.png")
        await attached(chat, "two.png")
        await chat.type("draft")
        seeing.release("go")
        await chat.answered(2)
        await chat.pilot.press("ctrl+c")
        assert chat.screen.pane.prompt == Prompt("")
        await chat.pilot.press("up")
        await attached(chat, "two.png")
        assert chat.screen.composer.text == "draft"
        await chat.pilot.press("up")
        await until(chat.pilot, lambda: chat.screen.composer.text == "look")
        assert names(chat) == [], "what was asked has its own pictures"
        await chat.pilot.press("down")
        await attached(chat, "two.png")
    assert [len(digests) for digests in sent_pictures(seeing)] == [0, 1]


@pytest.mark.parametrize(
    "form",
    [
        "{path}",
        "'{path}' ",
        '"{path}"\n',
        "{escaped}",
        "file://{quoted}",
        "{path}\r\n{other}",
        "'{path}' '{other}'",
    ],
)
async def test_a_dropped_path_becomes_a_picture_and_undo_gives_the_text_back(
    home: Path, seeing: OllamaServer, folder: Path, form: str
) -> None:
    path, other = folder / "my first [tree].png", folder / "two.png"
    path.write_bytes(drawn(seed=3))
    escaped = str(path).replace(" ", "\\ ").replace("[", "\\[").replace("]", "\\]")
    text = form.format(path=path, escaped=escaped, quoted=quote(str(path)), other=other)
    async with chatting(home, seeing.url, size=(120, 24)) as chat:
        await chat.ready()
        await chat.type("see ")
        await paste(chat, text)
        await attached(chat, path.name, *([other.name] if "other" in form else []))
        await until(chat.pilot, lambda: chat.screen.composer.text == "see ")
        await chat.type("there")
        await chat.pilot.press(*["backspace"] * 5, "ctrl+z", "ctrl+z", "ctrl+z")
        pasted = text.replace("\r\n", "\n")
        await until(chat.pilot, lambda: chat.screen.composer.text == f"see {pasted}")
        await attached(chat)


async def test_text_about_pictures_stays_text(home: Path, seeing: OllamaServer, folder: Path) -> None:
    texts = (
        f"open {folder / 'one.png'}",
        "/nowhere/at/all.png",
        f"{folder / 'one.png'} is broken",
        "one.png",
        f"'{folder / 'one.png'}",
    )
    async with chatting(home, seeing.url, size=(200, 24)) as chat:
        await chat.ready()
        for text in texts:
            await paste(chat, text)
            assert chat.screen.composer.text == text
            await chat.pilot.press("ctrl+u")
        # What comes after it is looked at after it.
        await paste(chat, str(folder / "two.png"))
        await attached(chat, "two.png")


def bad_pictures(folder: Path) -> dict[str, str]:
    """A file of each kind that can't be taken, and what is said about it."""
    whole = drawn("JPEG", (200, 200))
    (folder / "folder.png").mkdir()
    os.mkfifo(folder / "pipe.png")
    files = {
        "empty.png": b"",
        "huge.png": huge_png(),
        "short.jpg": whole[: len(whole) // 2],
        "text.png": b"I am no picture.\n",
        "large.png": b"\x89PNG\r\n\x1a\n" + bytes(25_000_000),
        "esc\x1b[2J\u202e.png": b"no",
    }
    for name, data in files.items():
        (folder / name).write_bytes(data)
    return {
        "folder.png": "folder.png",
        "pipe.png": "pipe.png",
        "empty.png": "is empty",
        "huge.png": "20,000 x 20,000",
        "short.jpg": "cut short",
        "text.png": "is no picture",
        "large.png": "has 23.8 MiB",
        "esc\x1b[2J\u202e.png": "is no picture",
    }


def said(chat: Chat, count: int) -> bool:
    return len(chat.remarks) == count


async def test_a_bad_picture_is_one_line_and_nothing_is_lost(
    home: Path, seeing: OllamaServer, folder: Path
) -> None:
    bad = bad_pictures(folder)
    async with chatting(home, seeing.url, size=(200, 40)) as chat:
        await chat.ready()
        for count, (name, words) in enumerate(bad.items(), 1):
            text = f"'{folder / name}'"
            await paste(chat, text)
            await until(chat.pilot, partial(said, chat, count))
            assert words in chat.remarks[-1] and "\n" not in chat.remarks[-1]
            assert chat.screen.composer.prompt == text and names(chat) == []
            assert "\x1b" not in screen_text(chat.pilot) and "\u202e" not in screen_text(chat.pilot)
            chat.screen.composer.load("")
        await chat.send("/image one.png")
        await attached(chat, "one.png")


async def test_one_goes_on_typing_while_a_picture_is_checked(
    home: Path, seeing: OllamaServer, folder: Path
) -> None:
    seeing.script("Seen.")
    async with chatting(home, seeing.url) as chat:
        await chat.ready()
        assert chat.screen.runtime is not None
        # Another picture is being decoded.
        async with chat.screen.runtime.pictures._decoding:
            await chat.send("/image one.png")
            await until(chat.pilot, lambda: "checking one.png" in screen_text(chat.pilot))
            await chat.send("what is it?")
            assert chat.screen.composer.text == "what is it?"
            assert not chat.questions and names(chat) == []
        await attached(chat, "one.png")
        await chat.pilot.press("enter")
        await chat.answered(1)
    assert [len(digests) for digests in sent_pictures(seeing)] == [1]


async def test_pictures_are_taken_away_and_brought_back(
    home: Path, seeing: OllamaServer, folder: Path
) -> None:
    async with chatting(home, seeing.url) as chat:
        await chat.ready()
        await chat.send("/image one.png two.png")
        await attached(chat, "one.png", "two.png")
        await chat.pilot.press("backspace")
        await attached(chat, "one.png")
        await chat.pilot.press("backspace", "ctrl+z", "ctrl+z")
        await attached(chat, "one.png", "two.png")
        await chat.pilot.press("x", "backspace")
        assert names(chat) == ["one.png", "two.png"]
        # Once something was typed, an undo is about the text.
        await chat.pilot.press("backspace", "x", "ctrl+z")
        assert names(chat) == ["one.png"] and chat.screen.composer.text == ""
        await chat.send("/image two.png")
        await attached(chat, "one.png", "two.png")
        await chat.send("/attach clear")
        await attached(chat)
        await chat.pilot.press("ctrl+z", "ctrl+z")
        await attached(chat, "one.png", "two.png")
        # No more than a prompt may have.
        await chat.send("/image one.png two.png one.png")
        await refused(chat, "A prompt takes 4 pictures")
        assert len(names(chat)) == 4
        dropped = f"{folder / 'one.png'} {folder / 'two.png'}"
        await paste(chat, dropped)
        await until(chat.pilot, lambda: "The text stays as it was pasted." in chat.remarks[-1])
        assert len(names(chat)) == 4 and chat.screen.composer.text == dropped


async def test_a_model_without_vision_is_sent_nothing(home: Path, server: OllamaServer, folder: Path) -> None:
    async with chatting(home, server.url, model="llama3.2:3b") as chat:
        await chat.ready()
        await chat.send("/image one.png")
        await attached(chat, "one.png")
        await chat.send("what is it?")
        await refused(chat, "can't be shown pictures")
        assert chat.screen.composer.text == "what is it?" and names(chat) == ["one.png"]
        assert not server.chats and not chat.questions


async def test_pictures_of_earlier_questions_are_left_out_on_demand(
    home: Path, seeing: OllamaServer, folder: Path
) -> None:
    seeing.script("Seen.", "Gone.")
    async with chatting(home, seeing.url) as chat:
        await chat.ready()
        await chat.send("/image forget-history")
        await refused(chat, "No earlier question has a picture.")
        await chat.send("/image one.png")
        await attached(chat, "one.png")
        await chat.pilot.press("enter")
        await chat.answered(1)
        await chat.send("/image two.png")
        await attached(chat, "two.png")
        await chat.send("/image forget-history")
        await chat.send("and now?")
        await chat.answered(2)
    last = seeing.chats[-1].body["messages"]
    assert [len(message.get("images", ())) for message in last if message["role"] == "user"] == [0, 1]


async def test_the_clipboards_picture_is_attached(
    home: Path, seeing: OllamaServer, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tools = folder.parent / "bin"
    tools.mkdir()
    tool = tools / "wl-paste"
    listing = 'if [ "$1" = --list-types ]; then echo image/png; else cat "$PICTURE"; fi'
    tool.write_text(f"#!/bin/sh\n{listing}\n")
    tool.chmod(0o755)
    async with chatting(home, seeing.url) as chat:
        await chat.ready()
        monkeypatch.setenv("PATH", str(tools))
        await chat.pilot.press("alt+i")
        await refused(chat, "No tool here can read the clipboard.")
        monkeypatch.setenv("PATH", f"{tools}:/usr/bin:/bin")
        monkeypatch.setenv("WAYLAND_DISPLAY", "wayland-0")
        monkeypatch.setenv("PICTURE", str(folder / "one.png"))
        await chat.pilot.press("alt+i")
        await attached(chat, "clipboard")


@pytest.mark.parametrize("size", [(120, 36), (80, 24), (40, 20), (30, 12)])
async def test_the_strip_leaves_room_in_every_size(
    home: Path, seeing: OllamaServer, folder: Path, size: tuple[int, int]
) -> None:
    long = folder / ("a picture with a name that goes on and on " * 4 + ".png")
    long.write_bytes(drawn(seed=9))
    async with chatting(home, seeing.url, size=size) as chat:
        await chat.ready()
        await chat.send(f'/image one.png two.png "{long.name}" one.png')
        await until(chat.pilot, lambda: len(names(chat)) == 4)
        await chat.type("words")
        lines = screen_text(chat.pilot).splitlines()
        # In a low terminal one line stands for all.
        assert sum("[" in line for line in lines) == (4 if size[1] > 12 else 1)
        assert any("words" in line for line in lines)
        assert chat.screen.composer.region.height >= 1


picture = st.builds(
    Picture, st.text("0123456789abcdef", min_size=4, max_size=4), st.just("a.png"), st.just("image/png"),
    st.just(10), st.just(1), st.just(1),
)  # fmt: skip


@given(st.lists(picture, max_size=4), st.lists(st.sampled_from(["remove", "undo"]), max_size=12))
def test_what_is_taken_away_comes_back_where_it_was(pictures: list[Picture], moves: list[str]) -> None:
    attachments = Attachments()
    attachments.add(*pictures)
    for move in moves:
        if move == "remove":
            attachments.remove_last()
        else:
            attachments.undo()
    while attachments.undoable:
        attachments.undo()
    assert attachments.pictures == tuple(pictures)


@given(st.text(max_size=200))
def test_any_text_is_read_without_a_fault(text: str) -> None:
    for reading in picture_paths(text + ".png", Path("/work")):
        assert all(isinstance(path, Path) for path in reading)


async def test_pictures_named_before_the_store_is_open_wait_for_it(
    home: Path, seeing: OllamaServer, folder: Path
) -> None:
    async with chatting(home, seeing.url) as chat:
        await until(chat.pilot, lambda: chat.screen.query("Composer"))
        chat.screen.action_command("/image one.png")
        chat.screen.composer.post_message(events.Paste(str(folder / "two.png")))
        assert chat.screen.runtime is None
        await until(chat.pilot, lambda: set(names(chat)) == {"one.png", "two.png"})
        assert chat.screen.composer.text == "" and not chat.remarks
