"""A start in a folder that a project has moved to asks once whether its sessions come along."""

from __future__ import annotations

from pathlib import Path

import pytest

from local_agent.tui.screens.moved import MovedDialog
from local_agent.tui.screens.sessions import SessionsScreen
from tests.runtime.test_moved import moved, project, talked
from tests.support.ollama_server import OllamaServer
from tests.tui.chatting import chatting
from tests.tui.pilots import listening, screen_text, until

__all__ = ["project"]


@pytest.mark.parametrize("key", ["b", "n", "enter"])
async def test_the_offer_is_taken_refused_or_put_off(home: Path, project: Path, key: str) -> None:
    async with OllamaServer() as server:
        await talked(home, server, project, "Which port?")
        new = moved(project)
        async with chatting(home, server.url, workspace=new) as chat:
            await listening(chat.pilot, MovedDialog)
            assert "the same commit as the one here" in " ".join(screen_text(chat.pilot).split())
            await chat.pilot.press(key)
            await chat.ready()
            await chat.pilot.press("ctrl+s")
            await until(chat.pilot, lambda: isinstance(chat.app.screen, SessionsScreen))
            nothing = "No session" if key != "b" else "Which port?"
            await until(chat.pilot, lambda: nothing in screen_text(chat.pilot))
            await chat.pilot.press("escape")
        async with chatting(home, server.url, workspace=new) as chat:
            if key == "enter":
                await listening(chat.pilot, MovedDialog)
                await chat.pilot.press("enter")
            await chat.ready()
            assert not isinstance(chat.app.screen, MovedDialog)
