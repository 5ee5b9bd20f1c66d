"""Questions in the middle of a turn: what each answer does, and that nobody answers by accident."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from textual import events

from local_agent.domain.modes import Mode
from local_agent.tui.screens.too_small import TooSmallScreen
from local_agent.tui.screens.viewer import ViewerScreen
from local_agent.tui.tools import waiting
from local_agent.tui.tools.approval import ApprovalPanel, Stage
from local_agent.tui.tools.asked import QuestionPanel
from local_agent.tui.tools.cards import Card
from local_agent.tui.tools.waiting import WaitingPanel
from tests.support.ollama_server import ModelSpec, OllamaServer, Turn, call, gate, say
from tests.tui.chatting import Chat, chatting
from tests.tui.pilots import screen_text, until

BEFORE = "".join(f"line {number}\n" for number in range(40))
EDIT = call("edit", {"path": "notes.txt", "old": "line 3\n", "new": "line three\n"})
UNHURRIED = 2.0
"""Seconds: a test that types on must not be slower than a person who stops."""
TOOLS = ModelSpec("qwen3:4b", ("completion", "tools"), "qwen3")


@asynccontextmanager
async def working(
    home: Path, *turns: object, size: tuple[int, int] = (80, 24)
) -> AsyncIterator[tuple[Chat, OllamaServer, Path]]:
    """A conversation with tools in a folder that holds ``notes.txt``, which the model has read."""
    notes = home.parent / "api-server" / "notes.txt"
    notes.parent.mkdir(parents=True)
    notes.write_text(BEFORE)
    async with OllamaServer([TOOLS]) as server:
        server.script(Turn(call("read", {"path": "notes.txt"})), *turns)
        async with chatting(home, server.url, size=size) as chat:
            await chat.ready()
            yield chat, server, notes


async def panel(chat: Chat) -> WaitingPanel:
    """Wait for a question that listens."""
    await until(chat.pilot, lambda: any(each.listening for each in chat.screen.query(WaitingPanel)))
    return chat.screen.query_one(WaitingPanel)


async def idle(chat: Chat) -> None:
    await until(chat.pilot, lambda: not chat.screen.busy)


def results(server: OllamaServer) -> list[str]:
    """What the model was told of its calls, in its last request."""
    return [each["content"] for each in server.chats[-1].body["messages"] if each["role"] == "tool"]


async def test_a_sentence_typed_across_the_question_loses_no_letter_and_grants_nothing(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(waiting, "QUIET_SECONDS", UNHURRIED)
    async with working(home, Turn(gate("now"), EDIT), "Done.") as (chat, server, notes):
        await chat.send("edit it")
        sentence = ""
        for word in "yes sure why not y s w r do it":
            await chat.type(word)
            sentence += word
        server.release("now")
        typed = iter("yyy ready when you say yes " * 40)
        while not chat.screen.query(ApprovalPanel):
            sentence += (letter := next(typed))
            await chat.type(letter)
        # A burst right after it appeared.
        await chat.pilot.press("y", "enter")
        sentence += "y"
        assert chat.screen.composer.text == sentence
        assert not chat.screen.turns.queue and notes.read_text() == BEFORE
        question = await panel(chat)
        assert not chat.screen.pane.display and question.is_attached, "it still waits"
        await chat.pilot.press("enter")
        await idle(chat)
        assert chat.screen.composer.text == sentence and chat.screen.pane.display
        assert notes.read_text() == BEFORE and "not" in results(server)[-1]


async def test_a_letter_that_is_no_answer_begins_a_sentence(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with working(home, Turn(EDIT), "Done.") as (chat, _server, notes):
        await chat.send("edit it")
        question = await panel(chat)
        monkeypatch.setattr(waiting, "QUIET_SECONDS", UNHURRIED)
        # s names a wider answer; what follows makes a word of it.
        await chat.pilot.press("s")
        await chat.type("o yes")
        assert chat.screen.composer.text == "so yes" and not question.listening
        assert notes.read_text() == BEFORE
        await panel(chat)
        await chat.pilot.press("y")
        await idle(chat)
        assert "line three" in notes.read_text() and chat.screen.composer.text == "so yes"


async def test_letters_that_come_together_and_a_paste_go_to_the_composer_whole(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with working(home, Turn(EDIT), "Done.") as (chat, _server, notes):
        await chat.send("edit it")
        question = await panel(chat)
        monkeypatch.setattr(waiting, "QUIET_SECONDS", UNHURRIED)
        for letter in " and yes, sir":
            chat.app.post_message(events.Key({" ": "space", ",": "comma"}.get(letter, letter), letter))
        await until(chat.pilot, lambda: chat.screen.composer.text == " and yes, sir")
        assert isinstance(question, ApprovalPanel) and question.stage is Stage.DECIDE
        await panel(chat)
        chat.app.post_message(events.Paste(" y\nr"))
        await until(chat.pilot, lambda: chat.screen.composer.text == " and yes, sir y\nr")
        assert question.is_attached and not question.listening and notes.read_text() == BEFORE
        await panel(chat)
        await chat.pilot.press("escape")
        await idle(chat)
        assert notes.read_text() == BEFORE


async def test_a_question_leaves_whoever_goes_to_the_conversation_there(home: Path) -> None:
    async with working(home, Turn(gate("now"), EDIT), "Done.") as (chat, server, notes):
        await chat.send("edit it")
        await until(chat.pilot, lambda: chat.screen.query(Card))
        await chat.pilot.press("tab")
        card = chat.screen.query_one(Card)
        assert card.has_focus
        server.release("now")
        question = await panel(chat)
        await chat.pilot.press("shift+tab")
        await until(chat.pilot, lambda: not question.listening and chat.screen.pane.display)
        await chat.pilot.press("enter")
        assert question.is_attached and not chat.screen.composer.has_focus
        await chat.type("good")
        assert chat.screen.composer.text == "good" and notes.read_text() == BEFORE
        await panel(chat)
        await chat.pilot.press("escape")
        await idle(chat)


async def test_a_question_that_is_closed_does_not_take_the_place_again(home: Path) -> None:
    async with working(home, Turn(EDIT), "Done.") as (chat, _server, _notes):
        await chat.send("edit it")
        question = await panel(chat)
        question.close()
        await asyncio.sleep(waiting.QUIET_SECONDS + 3 * waiting.LOOK_SECONDS)
        assert chat.screen.pane.display and chat.screen.composer.has_focus and not question.listening
        await chat.pilot.press("escape")
        await idle(chat)


@pytest.mark.parametrize("keys", [["enter"], ["escape"], ["ctrl+c"], ["s", "escape", "escape"]])
async def test_no_is_enter_esc_and_ctrl_c(home: Path, keys: list[str]) -> None:
    async with working(home, Turn(EDIT), "Then not.") as (chat, _server, notes):
        await chat.send("edit it")
        await panel(chat)
        await chat.pilot.press(*keys)
        await until(chat.pilot, lambda: "Then not." in chat.replies)
        await idle(chat)
        assert notes.read_text() == BEFORE and "refused" in screen_text(chat.pilot)


async def test_once_lets_one_call_run_and_the_next_one_asks_again(home: Path) -> None:
    other = call("edit", {"path": "notes.txt", "old": "line 5\n", "new": "line five\n"})
    async with working(home, Turn(EDIT), Turn(other), "Done.") as (chat, _, notes):
        await chat.send("edit it")
        await panel(chat)
        text = screen_text(chat.pilot)
        assert "- line 3" in text and "+ line three" in text and "y once" in text
        await chat.pilot.press("y")
        await until(chat.pilot, lambda: "line three" in notes.read_text())
        await until(chat.pilot, lambda: "line five" in screen_text(chat.pilot))
        await panel(chat)
        await chat.pilot.press("enter")
        await idle(chat)
        assert "line five" not in notes.read_text()


async def test_a_wider_answer_needs_its_key_and_enter_and_says_what_it_covers(home: Path) -> None:
    other = call("edit", {"path": "notes.txt", "old": "line 5\n", "new": "line five\n"})
    async with working(home, Turn(EDIT), Turn(other), "Done.") as (chat, _, notes):
        await chat.send("edit it")
        question = await panel(chat)
        assert isinstance(question, ApprovalPanel)
        await chat.pilot.press("s")
        assert question.stage is Stage.CONFIRM and notes.read_text() == BEFORE
        await until(chat.pilot, lambda: "this session: " in screen_text(chat.pilot))
        await chat.pilot.press("enter")
        await until(chat.pilot, lambda: "Done." in chat.replies)
        await idle(chat)
        assert "line three" in notes.read_text() and "line five" in notes.read_text()


async def test_no_with_a_reason_tells_the_model_why(home: Path) -> None:
    async with working(home, Turn(EDIT), "I see.") as (chat, server, notes):
        await chat.send("edit it")
        await panel(chat)
        await chat.pilot.press("n")
        await chat.type("keep the numbers")
        await chat.pilot.press("enter")
        await until(chat.pilot, lambda: "I see." in chat.replies)
        assert "keep the numbers" in results(server)[-1] and notes.read_text() == BEFORE
        assert not chat.screen.composer.text


async def test_some_hunks_of_a_diff_can_be_taken(home: Path) -> None:
    patch = (
        "--- a/notes.txt\n+++ b/notes.txt\n@@ -1,2 +1,2 @@\n line 0\n-line 1\n+first\n"
        "@@ -39,2 +39,2 @@\n line 38\n-line 39\n+last\n"
    )
    async with working(home, Turn(call("patch", {"patch": patch})), "Done.") as (chat, _, notes):
        await chat.send("edit it")
        question = await panel(chat)
        assert isinstance(question, ApprovalPanel)
        await chat.pilot.press("h")
        await until(chat.pilot, lambda: "apply 2 of 2" in screen_text(chat.pilot))
        await chat.pilot.press("space")
        await until(chat.pilot, lambda: "apply 1 of 2" in screen_text(chat.pilot))
        await chat.pilot.press("enter")
        await idle(chat)
        assert notes.read_text() == BEFORE.replace("line 39\n", "last\n")


async def test_the_exact_arguments_and_the_whole_diff_are_a_key_away(home: Path) -> None:
    hostile = "x\u202ey"
    turn = Turn(call("bash", {"command": f"echo '{hostile}' [bold]"}))
    async with working(home, turn, "Done.") as (chat, _, _notes):
        await chat.send("run it")
        await panel(chat)
        await until(chat.pilot, lambda: "can't be drawn" in screen_text(chat.pilot))
        assert hostile not in screen_text(chat.pilot)
        await chat.pilot.press("d")
        await until(chat.pilot, lambda: "\\u202e" in screen_text(chat.pilot))
        await chat.pilot.press("v")
        await until(chat.pilot, lambda: isinstance(chat.app.screen, ViewerScreen))
        await chat.pilot.press("q", "y")
        assert chat.screen.query(WaitingPanel), "a key right behind the viewer's is no answer"
        await panel(chat)
        assert chat.screen.composer.text in ("", "y")
        await chat.pilot.press("enter")
        await idle(chat)


async def test_a_question_that_is_not_in_sight_is_not_answered(home: Path) -> None:
    async with working(home, Turn(EDIT), "Done.") as (chat, _, notes):
        await chat.send("edit it")
        await panel(chat)
        await chat.pilot.resize_terminal(29, 11)
        await until(chat.pilot, lambda: isinstance(chat.app.screen, TooSmallScreen))
        await chat.pilot.press("y", "enter", "escape")
        await chat.pilot.resize_terminal(30, 12)
        await until(chat.pilot, lambda: chat.app.screen is chat.screen)
        await chat.pilot.press("backspace")
        assert notes.read_text() == BEFORE and chat.screen.query(WaitingPanel)
        await panel(chat)
        text = screen_text(chat.pilot)
        assert "edit" in text and "enter no" in text and "y once" in text
        await chat.pilot.press("y")
        await idle(chat)
        assert "line three" in notes.read_text()


@pytest.mark.parametrize(("typed", "told"), [("2", "Postgres"), ("neither of them", "neither of them")])
async def test_the_models_question_is_answered_by_number_or_in_words(
    home: Path, typed: str, told: str
) -> None:
    turn = Turn(call("ask_user", {"question": "Which one?", "options": ["SQLite", "Postgres"]}))
    async with working(home, turn, "Good.") as (chat, server, _):
        await chat.send("set it up")
        question = await panel(chat)
        assert isinstance(question, QuestionPanel) and "2 Postgres" in screen_text(chat.pilot)
        await chat.type(typed)
        await chat.pilot.press("enter")
        await until(chat.pilot, lambda: "Good." in chat.replies)
        assert told in results(server)[-1]


async def test_esc_inside_a_tool_ends_it_and_the_turn(home: Path) -> None:
    turn = Turn(call("bash", {"command": "echo begun; sleep 60"}))
    async with working(home, turn, size=(80, 30)) as (chat, _, _notes):
        await chat.send("wait")
        await panel(chat)
        await chat.pilot.press("y")
        await until(chat.pilot, lambda: "begun" in screen_text(chat.pilot).replace("echo begun", ""))
        await chat.pilot.press("escape")
        await idle(chat)
        assert "cancelled" in screen_text(chat.pilot) and "interrupted" in screen_text(chat.pilot)


async def test_shift_tab_goes_through_the_modes_and_plan_refuses(home: Path) -> None:
    async with working(home, Turn(EDIT), "So be it.") as (chat, server, notes):
        await chat.pilot.press("shift+tab")
        await until(chat.pilot, lambda: "PLAN" in screen_text(chat.pilot).splitlines()[-1])
        await chat.send("edit it")
        await until(chat.pilot, lambda: "So be it." in chat.replies)
        await idle(chat)
        assert notes.read_text() == BEFORE and "refused" in screen_text(chat.pilot)
        assert "PLAN" in results(server)[-1]
        await chat.send("/mode auto")
        conversation = chat.screen.conversation
        assert conversation is not None
        await until(chat.pilot, lambda: conversation.mode is Mode.AUTO)
        await chat.send("/mode loose")
        await until(chat.pilot, lambda: any("no mode loose" in line for line in chat.remarks))


async def test_a_turn_with_calls_looks_the_same_after_a_resume(home: Path) -> None:
    turns = (Turn(say("Now the edit."), EDIT), "All done.")
    async with working(home, *turns, size=(80, 30)) as (chat, server, _):
        await chat.send("edit it")
        await panel(chat)
        await chat.pilot.press("y")
        await until(chat.pilot, lambda: "All done." in chat.replies)
        await idle(chat)
        await until(chat.pilot, lambda: "esc no" not in screen_text(chat.pilot))
        assert chat.screen.conversation is not None
        handle, live = chat.screen.conversation.handle, screen_text(chat.pilot).splitlines()
        await chat.leave()
        async with chatting(home, server.url, size=(80, 30), resume=handle) as again:
            await again.ready()
            await until(again.pilot, lambda: "All done." in again.replies)
            await again.pilot.pause()
            assert screen_text(again.pilot).splitlines() == live
