"""Find in the transcript: everything of the session, the newest first, and back at the place found."""

from __future__ import annotations

from pathlib import Path

from local_agent.domain.drafts import Prompt
from local_agent.domain.finding import LONGEST
from local_agent.store.store import Store
from local_agent.tui.conversation.find import Find
from local_agent.tui.screens.unsaved import UnsavedDialog
from local_agent.tui.widgets.find_bar import FindBar
from local_agent.tui.widgets.lines_view import LinesView
from local_agent.tui.widgets.question import Question
from local_agent.tui.widgets.thinking import Thinking
from tests.runtime.opened import paths_in
from tests.store.samples import VERSION, fill, talk
from tests.support.ollama_server import OllamaServer, Turn, gate, say, think
from tests.tui.chatting import Chat, chatting
from tests.tui.pilots import listening, screen_text, until
from tests.tui.test_saving import spoil


def told(chat: Chat) -> str:
    """What the bar says at its right."""
    return str(chat.screen.query_one("#found").render())


def chosen(chat: Chat) -> str:
    """The text of the row that was gone to, when it is in view."""
    transcript = chat.screen.transcript
    if transcript.chosen is None:
        return ""
    view, (row, _) = transcript.chosen
    assert isinstance(view, LinesView)
    return view.lines_for(view.size.width)[row].content.plain if transcript.shows(view, row) else ""


def says(place: int) -> str:
    if place == 10:
        return "The zebra stands far above."
    if place == 900:
        lines = "\n\n".join(f"line {number}" for number in range(60))
        return f"- one\n- a **zebra** in bold, and another zebra\n{lines}"
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


async def test_unsaved_answers_their_thinking_and_folded_questions_are_found(
    home: Path, server: OllamaServer
) -> None:
    server.script(Turn(think("The zebra has stripes."), say("Black and white.")), "No idea.")
    async with chatting(home, server.url, save=False) as chat:
        await chat.ready()
        await chat.send("colours?")
        await chat.answered(1)
        chat.screen.send_prompt(Prompt("\n".join(f"row {number}" for number in range(60)) + " zebra"))
        await chat.answered(2)
        folded = chat.screen.query(Question).last()
        await chat.send("/find zebra")
        await until(chat.pilot, lambda: told(chat) == "1 of 1" and "zebra" in chosen(chat))
        assert folded.opened
        await chat.pilot.press("alt+t")
        await until(chat.pilot, lambda: told(chat) == "1 of 2")
        await chat.pilot.press("enter", "n")
        await until(chat.pilot, lambda: told(chat) == "2 of 2" and "stripes" in chosen(chat))
        assert chat.screen.query_one(Thinking).opened
        await chat.pilot.press("up")
        await until(chat.pilot, lambda: told(chat).startswith("1 of 2"))


async def test_what_waits_to_be_saved_is_found_before_and_after(home: Path, server: OllamaServer) -> None:
    server.script("A zebra.", "Another zebra.")
    async with chatting(home, server.url) as chat:
        await chat.ready()
        locks = spoil(home)
        await chat.send("first")
        await listening(chat.pilot, UnsavedDialog)
        await chat.pilot.press("down", "enter")
        await chat.answered(1)
        await chat.pilot.press("ctrl+f", *"zebra")
        await until(chat.pilot, lambda: told(chat) == "1 of 1" and "A zebra." in chosen(chat))
        locks.unlink()
        conversation = chat.screen.conversation
        assert conversation is not None
        await conversation.save()
        await chat.pilot.press("enter", "n")
        await until(chat.pilot, lambda: "again" in told(chat) and "A zebra." in chosen(chat))


async def test_a_running_turn_goes_on_below_and_escape_ends_the_search_alone(
    home: Path, server: OllamaServer
) -> None:
    handle = await long_session(home)
    server.script(Turn(say("It begins"), gate("more"), say(" and ends.")))
    async with chatting(home, server.url, resume=handle, model="llama3.2:3b") as chat:
        await chat.ready()
        await chat.send("go")
        await until(chat.pilot, lambda: "It begins" in screen_text(chat.pilot))
        await chat.pilot.press("ctrl+f", *"zebra")
        await until(chat.pilot, lambda: "1 of 3" in told(chat) and "another zebra" in chosen(chat))
        await chat.pilot.press("enter", "n", "n")
        await until(chat.pilot, lambda: "too far above" in told(chat), 20)
        chat.screen.composer.focus()
        await chat.pilot.press("escape")
        await until(chat.pilot, lambda: not chat.screen.query(FindBar))
        assert chat.screen.busy, "the first escape ended the search"
        await chat.pilot.press("ctrl+f", *"ends")
        await until(chat.pilot, lambda: told(chat) == "not found")
        server.release("more")
        await until(chat.pilot, lambda: not chat.screen.busy)
        assert chat.replies[-1] == "It begins and ends."
        await chat.pilot.press("enter", "n")
        await until(chat.pilot, lambda: told(chat) == "1 of 1" and "ends" in chosen(chat))


HOSTILE = (" ", "e", "(a|b)*[", "\\d+$", "👍🏽", "\u202edrowssap", "x" * 10_000, "a\nb\tc\x1b[31m", "[/b]")


async def test_hostile_words_are_looked_for_like_any(home: Path, server: OllamaServer) -> None:
    server.script("Here: " + " ".join(words[:50] for words in HOSTILE))
    async with chatting(home, server.url) as chat:
        await chat.ready()
        await chat.send("go")
        await chat.answered(1)
        for words in HOSTILE:
            await chat.screen.history.find(words)
            sought = chat.screen.query_one(Find).sought
            assert len(sought.words) <= LONGEST and "\n" not in sought.words
            if sought.words:
                await until(chat.pilot, lambda: " of " in told(chat) or told(chat) == "not found")
                assert (" of " in told(chat)) is (sought.count(chat.replies[0]) > 0)
            await chat.pilot.press("escape")
            await until(chat.pilot, lambda: not chat.screen.query(FindBar))


async def test_alt_up_and_down_put_one_question_after_another_on_top(
    home: Path, server: OllamaServer
) -> None:
    handle = await long_session(home)
    async with chatting(home, server.url, resume=handle) as chat:
        await until(chat.pilot, lambda: "entry 1000" in screen_text(chat.pilot))
        transcript = chat.screen.transcript
        seen: list[str] = []

        def top() -> str:
            return screen_text(chat.pilot).splitlines()[2].strip(" ▌").split("  ")[0]

        for step in range(30):
            await chat.pilot.press("alt+up" if step % 2 else "shift+pageup")
            await until(chat.pilot, lambda: top() not in seen and top().startswith("entry"))
            seen.append(top())
        numbers = [int(text.split()[1]) for text in seen]
        assert numbers == list(range(numbers[0], numbers[0] - 60, -2))
        await chat.pilot.press("alt+down")
        await until(chat.pilot, lambda: top() == f"entry {numbers[-2]}")
        assert not transcript.at_end
        await chat.pilot.press("end")
        await until(chat.pilot, lambda: "entry 1000" in screen_text(chat.pilot) and transcript.at_end)
        await chat.pilot.press("alt+down")
        await until(chat.pilot, lambda: transcript.at_end)
