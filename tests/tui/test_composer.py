"""The composer: sending, breaking lines, pastes, recall, completion, Ctrl+C, drafts."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

import pytest
from textual import events
from textual.widgets import TextArea

from local_agent.domain.text import sanitise
from local_agent.tui.app import LocalAgentApp
from local_agent.tui.keys import CHAT_BINDINGS
from local_agent.tui.screens.chat import ChatScreen
from local_agent.tui.screens.draft_choice import DraftDialog
from local_agent.tui.widgets.composer import Composer
from local_agent.tui.widgets.prompt_pane import PromptPane
from tests.runtime.opened import paths_in
from tests.support.ollama_server import OllamaServer, Turn, gate, say
from tests.tui.chatting import Chat, chatting
from tests.tui.pilots import listening, screen_text, until
from tests.tui.stage import keep


def sent(server: OllamaServer) -> list[str]:
    """The last message of each chat request."""
    return [request.body["messages"][-1]["content"] for request in server.chats]


async def paste(chat: Chat, text: str) -> None:
    """What the terminal delivers between its paste brackets."""
    chat.screen.composer.post_message(events.Paste(text))
    await chat.pilot.pause()


@pytest.mark.parametrize("key", ["shift+enter", "ctrl+j", "alt+enter"])
async def test_a_line_is_broken_and_enter_sends_both(home: Path, server: OllamaServer, key: str) -> None:
    server.script("ok")
    async with chatting(home, server.url) as chat:
        await chat.ready()
        await chat.type("one")
        await chat.pilot.press(key)
        await chat.send("two")
        await chat.answered(1)
        assert chat.questions == ["one\ntwo"]


async def test_the_composer_grows_to_a_third_of_the_height(home: Path, server: OllamaServer) -> None:
    async with chatting(home, server.url, size=(60, 24)) as chat:
        assert chat.screen.composer.size.height == 1
        for _ in range(20):
            await chat.pilot.press("ctrl+j")
        height = chat.screen.composer.size.height
        assert height in (24 // 3 - 1, 24 // 3)
        assert chat.screen.pane.outer_size.height == height + 1, "and what is around it with it, no more"


async def test_a_large_paste_is_folded_and_sent_whole(home: Path, server: OllamaServer) -> None:
    server.script("ok")
    text = "\n".join(f"line {number}" for number in range(4_000)) + "\x00\x1b[31m\u202eend"
    async with chatting(home, server.url) as chat:
        await chat.ready()
        await chat.type("look: ")
        await paste(chat, text)
        assert chat.screen.composer.text == "look: [pasted #1: 4000 lines]"
        await chat.pilot.press("enter")
        await until(chat.pilot, lambda: chat.questions)
        assert chat.questions == [f"look: {text}"]
        await until(chat.pilot, lambda: not chat.screen.busy)
        stored = await chat.screen.conversation.tail()
        assert stored.entries[0].text == f"look: {text}"


async def test_a_paste_that_no_window_holds_is_refused_and_kept(home: Path, server: OllamaServer) -> None:
    text = "\n".join(f"line {number}" for number in range(40_000))
    async with chatting(home, server.url) as chat:
        await chat.ready()
        await paste(chat, text)
        await chat.pilot.press("enter")
        await until(chat.pilot, lambda: "The question is too long" in screen_text(chat.pilot))
        await until(chat.pilot, lambda: not chat.screen.busy)
        assert not server.chats and chat.screen.conversation.info is None
        await chat.pilot.press("up")
        assert chat.screen.pane.prompt.text == text


async def test_a_short_paste_with_tabs_is_pasted_as_it_is(home: Path, server: OllamaServer) -> None:
    async with chatting(home, server.url) as chat:
        await paste(chat, "if x:\r\treturn y")
        assert chat.screen.composer.text == "if x:\n\treturn y"
        assert "return y" in screen_text(chat.pilot) and "\ufffd" not in screen_text(chat.pilot)


async def test_what_must_not_reach_the_terminal_is_not_drawn(home: Path, server: OllamaServer) -> None:
    async with chatting(home, server.url) as chat:
        await paste(chat, "\x1b]0;title\x07")
        assert chat.screen.composer.prompt == "\x1b]0;title\x07"
        chat.screen.composer.load_text("raw \x1b[2J \u202e text")
        await chat.pilot.pause()
        drawn = screen_text(chat.pilot)
        assert sanitise(drawn) == drawn and "raw ␛[2J" in drawn


async def test_backspace_takes_a_folded_paste_at_once(home: Path, server: OllamaServer) -> None:
    async with chatting(home, server.url) as chat:
        await chat.type("x")
        await paste(chat, "a\n" * 30)
        await chat.pilot.press("backspace")
        assert chat.screen.composer.text == "x"


async def test_up_recalls_questions_and_down_gives_the_typed_text_back(
    home: Path, server: OllamaServer
) -> None:
    server.script("1", "2")
    async with chatting(home, server.url) as chat:
        await chat.ready()
        await chat.send("first")
        await chat.answered(1)
        await chat.send("second")
        await chat.answered(2)
        await chat.type("typing")
        composer = chat.screen.composer
        for expected in ("second", "first", "first"):
            await chat.pilot.press("up")
            assert composer.text == expected
        for expected in ("second", "typing"):
            await chat.pilot.press("down")
            assert composer.text == expected


async def test_a_long_question_is_passed_by_up_and_walked_through_by_down(
    home: Path, server: OllamaServer
) -> None:
    server.script("1", "2")
    async with chatting(home, server.url, size=(40, 24)) as chat:
        await chat.ready()
        await chat.send("short")
        await chat.answered(1)
        await chat.type("first row")
        await chat.pilot.press("ctrl+j")
        await chat.send("and so many words that they take two rows of it")
        await chat.answered(2)
        composer = chat.screen.composer
        await chat.pilot.press("up")
        await until(chat.pilot, lambda: composer.text.startswith("first row"))
        assert composer.cursor_location == (0, len("first row"))
        await chat.pilot.press("up")
        await until(chat.pilot, lambda: composer.text == "short")
        await chat.pilot.press("up")
        assert composer.text == "short"
        await chat.pilot.press("down")
        await until(chat.pilot, lambda: composer.cursor_location == composer.document.end)
        assert composer.text.startswith("first row")
        await chat.pilot.press("down")
        await until(chat.pilot, lambda: composer.text == "")


async def test_a_command_is_completed_and_carried_out(home: Path, server: OllamaServer) -> None:
    async with chatting(home, server.url) as chat:
        await chat.ready()
        await chat.type("/ren")
        assert "/rename TITLE" in screen_text(chat.pilot)
        await chat.pilot.press("tab")
        assert chat.screen.composer.text == "/rename "
        await chat.pilot.press("ctrl+u")
        await chat.type("/")
        await chat.pilot.press("escape")
        assert "/rename TITLE" not in screen_text(chat.pilot)
        await chat.pilot.press("ctrl+u")
        await chat.send("/hepl")
        await until(chat.pilot, lambda: chat.remarks)
        assert "Did you mean /help?" in chat.remarks[0]


async def test_ctrl_c_clears_and_up_brings_back(home: Path, server: OllamaServer) -> None:
    async with chatting(home, server.url) as chat:
        await chat.ready()
        await chat.type("precious")
        await chat.pilot.press("ctrl+c")
        assert chat.screen.composer.text == ""
        await chat.pilot.press("up")
        await until(chat.pilot, lambda: chat.screen.composer.text == "precious")


async def test_ctrl_c_twice_leaves_but_never_counts_a_stop(home: Path, server: OllamaServer) -> None:
    server.script(Turn(say("Half"), gate("never")))
    async with chatting(home, server.url) as chat:
        await chat.ready()
        await chat.send("go")
        await until(chat.pilot, lambda: chat.replies)
        await chat.pilot.press("ctrl+c")
        await until(chat.pilot, lambda: not chat.screen.busy)
        await chat.pilot.press("ctrl+c")
        assert "again to quit" in screen_text(chat.pilot) and chat.app.return_value is None
        await chat.pilot.press("ctrl+c")
        await until(chat.pilot, lambda: chat.app.return_value is not None)


async def test_a_draft_belongs_to_its_session_and_comes_back(home: Path, server: OllamaServer) -> None:
    server.script("1")
    async with chatting(home, server.url) as chat:
        await chat.ready()
        await chat.send("a")
        await chat.answered(1)
        handle = chat.screen.conversation.handle
        await chat.type("unsent [brackets]")
    async with chatting(home, server.url, resume=handle) as chat:
        await until(chat.pilot, lambda: chat.screen.composer.text == "unsent [brackets]")
        await chat.pilot.press("ctrl+c")
    async with chatting(home, server.url, resume=handle) as chat:
        await chat.ready()
        assert chat.screen.composer.text == ""


async def test_what_is_typed_while_a_resume_starts_goes_along_behind_the_sessions_own_draft(
    home: Path, server: OllamaServer
) -> None:
    server.script("1", "2")
    async with chatting(home, server.url) as chat:
        await chat.ready()
        await chat.send("a")
        await chat.answered(1)
        handle = chat.screen.conversation.handle
        await chat.type("own")
    async with chatting(home, server.url, resume=handle) as chat:
        assert chat.screen.conversation is None, "the session opened before the first key"
        await chat.type("early")
        await chat.ready()
        assert chat.app.screen is chat.screen and chat.screen.composer.text == "own\n\nearly"
        await chat.pilot.press("enter")
        await chat.answered(2)
    assert sent(server)[-1] == "own\n\nearly"


async def test_a_resume_asks_about_a_draft_that_a_dead_process_left_without_a_session(
    home: Path, server: OllamaServer
) -> None:
    (handle,) = await keep(home, "Kept", root=str(home.parent / "api-server"))
    code = (
        "import asyncio, sys; from pathlib import Path; from local_agent.store.store import Store;"
        "from local_agent.domain.drafts import Draft;"
        "store = Store.open(Path(sys.argv[1]), program_version='1');"
        "asyncio.run(store.save_draft(sys.argv[2], None, Draft('left behind')))"
    )
    arguments = [str(paths_in(home).database), str(home.parent / "api-server")]
    left = await asyncio.create_subprocess_exec(sys.executable, "-c", code, *arguments)
    assert await left.wait() == 0
    async with chatting(home, server.url, resume=handle) as chat:
        await listening(chat.pilot, DraftDialog)
        await chat.pilot.press("k")
        await chat.ready()
        await until(chat.pilot, lambda: chat.screen.conversation.handle == handle)
        assert chat.screen.composer.text == "left behind"


async def test_an_editor_that_cannot_have_the_terminal_is_refused(home: Path, server: OllamaServer) -> None:
    async with chatting(home, server.url) as chat:
        await chat.ready()
        await chat.type("keep me")
        await chat.pilot.press("ctrl+g")
        await until(chat.pilot, lambda: chat.remarks)
        assert chat.screen.composer.text == "keep me"


def test_no_key_of_ours_shadows_an_editing_key() -> None:
    editing = {key for binding in TextArea.BINDINGS for key in binding.key.split(",")}
    ours = [*CHAT_BINDINGS, *LocalAgentApp.BINDINGS, *PromptPane.BINDINGS, *Composer.BINDINGS]
    assert ChatScreen.BINDINGS is CHAT_BINDINGS
    shadowed = {key for binding in ours for key in binding.key.split(",") if key in editing}
    # The composer copies its selection itself before Ctrl+C means anything else.
    assert shadowed <= {"ctrl+c"}
    assert all(binding.id for binding in ours)


async def test_what_is_typed_reaches_the_prompt_wherever_the_focus_is(
    home: Path, server: OllamaServer
) -> None:
    server.script("An answer.")
    async with chatting(home, server.url) as chat:
        await chat.ready()
        await chat.send("first")
        await chat.answered(1)
        await chat.type("@nothing")
        await chat.pilot.press("tab")
        await chat.type(" else")
        assert chat.screen.composer.text == "@nothing else", "a Tab in the middle of a text goes nowhere"
        await chat.pilot.press("ctrl+u", "tab")
        assert not chat.screen.composer.has_focus
        await chat.pilot.press("right")
        assert not chat.screen.composer.has_focus, "a key of the answer"
        await chat.type("what")
        assert chat.screen.composer.text == "what"
        await chat.pilot.press("ctrl+up")
        chat.app.post_message(events.Paste(" now"))
        await until(chat.pilot, lambda: chat.screen.composer.text == "what now")
