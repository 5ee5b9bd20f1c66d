"""Calls whose outcome nobody knows, settled on one screen; then the prompt that was blocked is sent."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pytest

from local_agent.tui.screens.recover import RecoverScreen
from tests.support.cut_off import Call, cut_off, started, working
from tests.support.ollama_server import OllamaServer
from tests.tui.chatting import Chat, chatting
from tests.tui.pilots import screen_text, until


@pytest.fixture
def workspace(home: Path) -> Path:
    folder = home.parent / "api-server"
    folder.mkdir(parents=True)
    return folder


def digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def write_call(folder: Path, name: str, before: str, after: str) -> Call:
    path = str(folder / name)
    return started(
        "write", {"path": name, "content": after}, target=name,
        expected={path: digest(before)}, intended={path: digest(after)},
    )  # fmt: skip


async def opened(chat: Chat) -> RecoverScreen:
    await chat.ready()
    await chat.send("/recover")
    await until(chat.pilot, lambda: isinstance(chat.app.screen, RecoverScreen) and chat.app.screen.listening)
    screen = chat.app.screen
    assert isinstance(screen, RecoverScreen)
    return screen


async def test_a_blocked_prompt_goes_on_once_everything_is_settled(
    home: Path, workspace: Path, server: OllamaServer
) -> None:
    (workspace / "a.py").write_text("new")
    (workspace / "b.py").write_text("somebody else's")
    calls = [write_call(workspace, "a.py", "old", "new"), write_call(workspace, "b.py", "1", "2")]
    handle, _ = cut_off(home, workspace, calls)
    server.script("Going on.")
    async with chatting(home, server.url, resume=handle) as chat:
        await chat.ready()
        await chat.send("go on")
        await until(chat.pilot, lambda: "/recover" in " ".join(screen_text(chat.pilot).split()))
        assert not server.chats
        screen = await opened(chat)
        text = " ".join(screen_text(chat.pilot).split())
        assert "a.py holds what it was to hold" in text
        assert "Proposed: it was done." in text
        await chat.pilot.press("enter")
        await until(chat.pilot, lambda: screen.listening and screen.selected is not None
                    and screen.selected.execution.target == "b.py")  # fmt: skip
        await chat.pilot.press("enter")  # nothing is proposed: nothing is settled
        assert "Nothing is proposed." in screen_text(chat.pilot)
        await chat.pilot.press("n")
        await until(chat.pilot, lambda: chat.app.screen is chat.screen)
        await chat.pilot.press("up", "enter")  # the prompt that was held back
        await until(chat.pilot, lambda: "Going on." in chat.replies)
    sent = [message["content"] for message in server.chats[-1].body["messages"] if message["role"] == "tool"]
    assert ["did take effect" in sent[0], "did not take effect" in sent[1]] == [True, True]


async def test_a_call_of_a_session_that_is_open_elsewhere_stays(
    home: Path, workspace: Path, server: OllamaServer
) -> None:
    handle, _ = cut_off(home, workspace, [write_call(workspace, "a.py", "old", "new")])
    async with chatting(home, server.url, resume=handle, size=(30, 12)) as chat:
        screen = await opened(chat)
        assert "write" in screen_text(chat.pilot)
        await chat.pilot.press("escape")
        await until(chat.pilot, lambda: chat.app.screen is chat.screen)
        assert await chat.screen.conversation.pending()  # type: ignore[union-attr]  # it is open
        assert screen.settled == 0


async def test_nothing_uncertain_is_said(home: Path, workspace: Path, server: OllamaServer) -> None:
    with working(home, workspace, []):
        pass
    async with chatting(home, server.url) as chat:
        await opened(chat)
        assert "Nothing is uncertain" in screen_text(chat.pilot)
        await chat.pilot.press("a", "enter", "escape")
        await until(chat.pilot, lambda: chat.app.screen is chat.screen)
