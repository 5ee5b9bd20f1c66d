"""The window around the screen: too small, resized, selected with the mouse; and a light start."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from local_agent.tui.screens.too_small import TooSmallScreen
from local_agent.tui.widgets.reply import Reply
from tests.support.ollama_server import OllamaServer
from tests.tui.chatting import chatting
from tests.tui.pilots import screen_text, until

HEAVY = (
    "sqlalchemy",
    "alembic",
    "pydantic",
    "ollama",
    "httpx",
    "xllamacpp",
    "yaml",
    "markdown_it",
    "pygments",
)


async def test_too_small_is_one_sentence_and_no_keys(home: Path, server: OllamaServer) -> None:
    async with chatting(home, server.url) as chat:
        await chat.ready()
        await chat.type("kept")
        await chat.pilot.resize_terminal(29, 12)
        await until(chat.pilot, lambda: isinstance(chat.app.screen, TooSmallScreen))
        assert "at least 30 x 12" in " ".join(screen_text(chat.pilot).split())
        await chat.pilot.press("x", "f1", "ctrl+p")
        assert isinstance(chat.app.screen, TooSmallScreen)
        await chat.pilot.resize_terminal(30, 12)
        await until(chat.pilot, lambda: chat.app.screen is chat.screen)
        assert chat.screen.composer.text == "kept"


@pytest.mark.parametrize("size", [(30, 12), (80, 24), (120, 36)])
async def test_everything_fits(home: Path, server: OllamaServer, size: tuple[int, int]) -> None:
    server.script("A reply with enough words in it to be broken over several lines on a small terminal.")
    async with chatting(home, server.url, size=size) as chat:
        await chat.ready()
        await chat.send("hi")
        await chat.answered(1)
        rows = screen_text(chat.pilot).splitlines()
        assert len(rows) == size[1] and all(len(row) <= size[0] for row in rows)
        assert "❯" in rows[-2] and "NORMAL" in rows[-1]


async def test_a_resize_sets_the_reply_anew(home: Path, server: OllamaServer) -> None:
    server.script("word " * 60)
    async with chatting(home, server.url, size=(120, 36)) as chat:
        await chat.ready()
        await chat.send("hi")
        await chat.answered(1)
        reply = chat.screen.query_one(Reply)
        wide = reply.size.height
        await chat.pilot.resize_terminal(40, 24)
        await until(chat.pilot, lambda: reply.size.height > wide)
        assert all(len(row) <= 40 for row in screen_text(chat.pilot).splitlines())


async def test_text_is_selected_with_the_mouse_and_copied_with_ctrl_c(
    home: Path, server: OllamaServer
) -> None:
    server.script("Alpha beta gamma.")
    async with chatting(home, server.url) as chat:
        await chat.ready()
        await chat.send("hi")
        await chat.answered(1)
        await chat.pilot.mouse_down(Reply, offset=(6, 0))
        await chat.pilot.hover(Reply, offset=(9, 0))
        await chat.pilot.mouse_up(Reply, offset=(9, 0))
        assert chat.screen.get_selected_text() == "beta"
        await chat.pilot.press("ctrl+c")
        assert chat.app.clipboard == "beta" and chat.app.return_value is None


def test_only_textual_and_click_are_imported_before_the_first_paint() -> None:
    code = f"import sys, local_agent.tui.app; print([name for name in {HEAVY!r} if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
