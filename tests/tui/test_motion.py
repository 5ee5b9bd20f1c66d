"""With reduced motion nothing moves by itself: the sign of a running turn stands still."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from local_agent.config.settings import UISettings
from local_agent.tui.look.glyphs import UNICODE
from local_agent.tui.widgets.phase import PhaseLine
from tests.runtime.opened import settings_for
from tests.support.ollama_server import OllamaServer, Turn, gate, say
from tests.tui.chatting import chatting
from tests.tui.pilots import until


@pytest.mark.parametrize("motion", ["full", "reduced"])
async def test_the_sign_of_a_running_turn(
    home: Path, server: OllamaServer, motion: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Textual reads its environment when it is imported; the tests' says none.
    monkeypatch.setattr("textual.constants.TEXTUAL_ANIMATIONS", "full")
    server.script(Turn(say("One "), gate("later"), say("moment.")))
    settings = settings_for(server.url)
    settings = replace(settings, ui=UISettings(motion=motion))  # type: ignore[arg-type]  # one of the two
    async with chatting(home, server.url, settings=settings) as chat:
        await chat.ready()
        await chat.send("Quick?")
        await until(chat.pilot, lambda: any("One" in reply for reply in chat.replies))
        line = chat.screen.query_one(PhaseLine)
        signs: list[str] = []
        # Its words count the seconds, so that it is drawn again in either case.
        await until(chat.pilot, lambda: signs.append(str(line.content)) or len(set(signs)) > 2)
        moved = {sign[0] for sign in signs}
        assert moved <= set(UNICODE.spinner) if motion == "full" else moved == {UNICODE.waiting}
        assert (len(moved) > 1) is (motion == "full")
        assert (chat.app.animation_level == "none") is (motion == "reduced")
        server.release("later")
        await chat.answered(1)
