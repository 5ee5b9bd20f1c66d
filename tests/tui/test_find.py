"""Find in the transcript: everything of the session, the newest first, and back at the place found."""

from __future__ import annotations

from pathlib import Path

from local_agent.store.store import Store
from local_agent.tui.widgets.find_bar import FindBar
from tests.runtime.opened import paths_in
from tests.store.samples import VERSION, fill, talk
from tests.support.ollama_server import OllamaServer, Turn, gate, say, think
from tests.tui.chatting import Chat, chatting
from tests.tui.pilots import screen_text, until


def told(chat: Chat) -> str:
    """What the bar says at its right."""
    return str(chat.screen.query_one("#found").render())


def chosen(chat: Chat) -> str:
    """The text of the row that was gone to, when it is in view."""
    transcript = chat.screen.transcript
    if transcript.chosen is None:
        return ""
    view, (row, _) = transcript.chosen
    return view.lines_for(view.size.width)[row].content.plain if transcript.shows(view, row) else ""


def says(place: int) -> str:
    if place == 10:
        return "The zebra stands far above."
    if place == 900:
        return "- one\n- a **zebra** in bold, and another zebra\n" + "\n\n".join(f"line {n}" for n in range(60))
    return f"entry {place}"


async def long_session(home: Path) -> str:
    store = Store.open(paths_in(home).database, program_version=VERSION)
    held = await talk(store, "question 0", root=str(home.parent / "api-server"))
    fill(paths_in(home).database, held.info.id, 1000, says=says)
    await store.close()
    return held.info.handle


async def test_what_is_far_above_is_found_marked_and_gone_to(home: Path, server: OllamaServer) -> None:
    handle = await long_session(home)
    async with chatting(home, server.url, resume=handle) as chat:
        await until(chat.pilot, lambda: "entry 1000" in screen_text(chat.pilot))
        await chat.pilot.press("ctrl+f")
        await until(chat.pilot, lambda: chat.screen.query(FindBar))
        await chat.type("zebra")
        await until(chat.pilot, lambda: told(chat) == "1 of 3" and "another zebra" in chosen(chat))
        await chat.pilot.press("enter", "n")
        await until(chat.pilot, lambda: told(chat) == "2 of 3" and "another zebra" in chosen(chat))
        await chat.pilot.press("n")
        await until(chat.pilot, lambda: told(chat) == "3 of 3" and "far above" in chosen(chat))
        window = chat.screen.transcript.window
        assert window.more_above is False and window.cuts, "only what is around it is mounted"
        await chat.pilot.press("n")
        await until(chat.pilot, lambda: told(chat).startswith("1 of 3") and "newest again" in told(chat))
        await chat.pilot.press("N")
        await until(chat.pilot, lambda: told(chat).startswith("3 of 3") and "oldest again" in told(chat))
        await until(chat.pilot, lambda: "far above" in chosen(chat))
        await chat.pilot.press("slash", "x")
        await until(chat.pilot, lambda: told(chat) == "not found")
        await chat.pilot.press("escape")
        await until(chat.pilot, lambda: not chat.screen.query(FindBar))
        assert chat.app.focused is chat.screen.composer and "far above" in screen_text(chat.pilot)
        await chat.type("on")
        assert chat.screen.composer.text == "on"
        await chat.pilot.press("ctrl+end")
        await until(chat.pilot, lambda: "entry 1000" in screen_text(chat.pilot))
