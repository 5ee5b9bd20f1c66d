"""Talking: questions, replies, queue, stop, retry, and what stays when one leaves."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

from local_agent.domain.drafts import Prompt
from local_agent.tui.launch import ExitReport
from local_agent.tui.widgets.question import Question
from local_agent.tui.widgets.remarks import Receipt
from local_agent.tui.widgets.thinking import Thinking
from local_agent.tui.widgets.welcome import WelcomeView
from tests.runtime.opened import paths_in
from tests.support.ollama_server import OllamaServer, Turn, error, gate, say, think
from tests.tui.chatting import chatting
from tests.tui.pilots import screen_text, until


async def test_a_question_is_answered_and_leaves_the_way_back(home: Path, server: OllamaServer) -> None:
    server.script("**Hi**, there.")
    async with chatting(home, server.url) as chat:
        await chat.ready()
        assert chat.screen.query(WelcomeView)
        await chat.send("hello")
        await chat.answered(1)
        assert chat.questions == ["hello"] and chat.replies == ["**Hi**, there."]
        assert not chat.screen.query(WelcomeView)
        assert "Hi, there." in screen_text(chat.pilot), "the emphasis is drawn, not its asterisks"
        handle = chat.screen.conversation.handle
        assert handle in screen_text(chat.pilot)
        await chat.leave()
        assert chat.app.return_value == ExitReport(handle, "hello")


async def test_a_prompt_sent_before_the_store_is_open_is_sent_when_it_is(
    home: Path, server: OllamaServer
) -> None:
    server.script("Here.")
    async with chatting(home, server.url) as chat:
        assert chat.screen.conversation is None, "the store opened before the first key"
        await chat.send("early bird")
        await chat.answered(1)
        assert chat.questions == ["early bird"]


async def test_a_resumed_conversation_looks_as_it_did(home: Path, server: OllamaServer) -> None:
    server.script(Turn(think("Hm."), say("One.")), "Two.")
    async with chatting(home, server.url, size=(80, 30)) as chat:
        await chat.ready()
        await chat.send("first")
        await chat.answered(1)
        await chat.send("second")
        await chat.answered(2)
        await until(chat.pilot, lambda: "writing" not in screen_text(chat.pilot))
        handle, live = chat.screen.conversation.handle, screen_text(chat.pilot).splitlines()
    async with chatting(home, server.url, size=(80, 30), resume=handle) as chat:
        await chat.ready()
        await until(chat.pilot, lambda: len(chat.replies) == 2)
        await chat.pilot.pause()
        resumed = screen_text(chat.pilot).splitlines()
        # How long the model thought is not stored; everything else is.
        assert [line for line in resumed if "thought" not in line] == [
            line for line in live if "thought" not in line
        ]


async def test_prompts_wait_behind_a_turn_and_go_out_in_order(home: Path, server: OllamaServer) -> None:
    server.script(Turn(say("One."), gate("first")), "Two.", "Three.")
    async with chatting(home, server.url) as chat:
        await chat.ready()
        await chat.send("a")
        await until(chat.pilot, lambda: chat.replies)
        await chat.send("b")
        await chat.send("c")
        assert chat.screen.turns.queue.prompts == (Prompt("b"), Prompt("c"))
        assert "next  c" in screen_text(chat.pilot)
        server.release("first")
        await chat.answered(3)
        assert chat.questions == ["a", "b", "c"] and chat.replies == ["One.", "Two.", "Three."]


async def test_esc_stops_and_holds_what_waited(home: Path, server: OllamaServer) -> None:
    server.script(Turn(say("Half a"), gate("never")))
    async with chatting(home, server.url) as chat:
        await chat.ready()
        await chat.send("long one")
        await until(chat.pilot, lambda: chat.replies == ["Half a"])
        await chat.send("older")
        await chat.send("newer")
        await chat.pilot.press("escape")
        await until(chat.pilot, lambda: not chat.screen.busy)
        assert "interrupted" in screen_text(chat.pilot)
        assert chat.screen.turns.queue.held == [Prompt("older"), Prompt("newer")] and len(server.chats) == 1
        await chat.pilot.press("up")
        assert chat.screen.composer.text == "newer"
        await chat.pilot.press("escape")
        assert not chat.screen.turns.queue, "Esc drops what is still held"
        assert chat.screen.composer.text == "newer"


async def test_a_failed_question_is_marked_and_retried_once(home: Path, server: OllamaServer) -> None:
    server.script(Turn(error("the GPU is on fire")), "Better now.")
    async with chatting(home, server.url) as chat:
        await chat.ready()
        await chat.send("try this")
        await until(chat.pilot, lambda: chat.remarks and not chat.screen.busy)
        assert "GPU is on fire" in chat.remarks[0]
        assert chat.screen.query_one(Question).failed
        await chat.send("/retry")
        await chat.answered(1)
        assert chat.questions == ["try this"] and not chat.screen.query_one(Question).failed
        assert not chat.remarks, "the failed branch is off the path"


async def test_questions_that_failed_last_are_in_view_after_a_resume(
    home: Path, server: OllamaServer
) -> None:
    paragraphs = "\n\n".join(f"line {number}" for number in range(60))
    server.script(paragraphs, Turn(error("no luck")), Turn(error("again none")))
    async with chatting(home, server.url) as chat:
        await chat.ready()
        await chat.send("answered")
        await chat.answered(1)
        for place, prompt in enumerate(("second one", "third one"), 1):
            await chat.send(prompt)
            await until(chat.pilot, lambda place=place: len(chat.remarks) == place and not chat.screen.busy)
        handle = chat.screen.conversation.handle
    async with chatting(home, server.url, size=(60, 24), resume=handle) as chat:
        await until(chat.pilot, lambda: "again none" in screen_text(chat.pilot))
        assert "second one" in screen_text(chat.pilot) and chat.screen.transcript.at_end
        assert [question.failed for question in chat.screen.query(Question)] == [False, True, True]
        await chat.pilot.press("up")
        await until(chat.pilot, lambda: chat.screen.composer.text == "third one")


async def test_thinking_folds(home: Path, server: OllamaServer) -> None:
    server.script(Turn(think("Let me see, [bold]this[/bold]."), say("Done.")))
    async with chatting(home, server.url) as chat:
        await chat.ready()
        await chat.send("think")
        await chat.answered(1)
        assert "thought for" in screen_text(chat.pilot)
        assert "Let me see" not in screen_text(chat.pilot)
        await chat.pilot.click(Thinking)
        await until(chat.pilot, lambda: "Let me see, [bold]this[/bold]." in screen_text(chat.pilot))


async def test_text_from_outside_draws_nothing_but_text(home: Path, server: OllamaServer) -> None:
    nasty = "a\x1b[31mred\x1b]0;t\x07 [/nope] \u202eevil \x9b1m \ud800 end"
    server.script(Turn(say(nasty, chunking="chars:1")))
    async with chatting(home, server.url) as chat:
        await chat.ready()
        await chat.send("go")
        await chat.answered(1)
        drawn = screen_text(chat.pilot)
        assert "␛[31mred" in drawn and "[/nope]" in drawn
        assert not any((ord(char) < 32 and char != "\n") or 0x7F <= ord(char) < 0xA0 for char in drawn)
        assert "\u202e" not in drawn


async def test_the_receipt_tells_what_the_server_counted(home: Path, server: OllamaServer) -> None:
    server.script("Four words of text.")
    async with chatting(home, server.url) as chat:
        await chat.ready()
        await chat.send("count")
        await chat.answered(1)
        assert chat.screen.query_one(Receipt).text.split(" · ")[0].endswith(" tok")


async def test_what_was_copied_is_the_answer_as_markdown(home: Path, server: OllamaServer) -> None:
    server.script("Some **bold** words.")
    async with chatting(home, server.url) as chat:
        await chat.ready()
        await chat.send("go")
        await chat.answered(1)
        await chat.pilot.press("alt+c")
        assert chat.app.clipboard == "Some **bold** words."


async def test_new_begins_empty_and_writes_nothing(home: Path, server: OllamaServer) -> None:
    server.script("One.")
    async with chatting(home, server.url) as chat:
        await chat.ready()
        await chat.send("a")
        await chat.answered(1)
        await chat.send("/new")
        await until(chat.pilot, lambda: not chat.questions and chat.screen.query(WelcomeView))
        assert chat.screen.conversation.handle == ""
        assert len(await chat.screen.runtime.library.page()) == 1


async def test_not_saved_is_said(home: Path, server: OllamaServer) -> None:
    server.script("One.")
    async with chatting(home, server.url, save=False) as chat:
        await chat.ready()
        await chat.send("a")
        await chat.answered(1)
        assert "not saved" in screen_text(chat.pilot)
        await chat.leave()
        assert chat.app.return_value == ExitReport()


async def test_waiting_for_a_locked_database_is_said(home: Path, server: OllamaServer) -> None:
    server.script("Here.")
    async with chatting(home, server.url) as chat:
        await chat.ready()
        with closing(sqlite3.connect(paths_in(home).database, isolation_level=None)) as other:
            other.execute("BEGIN IMMEDIATE")
            await chat.send("anyone?")
            await until(chat.pilot, lambda: "the database is in use" in screen_text(chat.pilot))
            assert server.chats == []
            other.execute("COMMIT")
        await chat.answered(1)
        assert "the database is in use" not in screen_text(chat.pilot)
