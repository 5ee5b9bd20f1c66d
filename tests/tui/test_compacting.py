"""Compaction on screen: the line in the transcript, live and after a resume, and what stops it."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from local_agent.config.settings import Settings
from local_agent.tui.widgets.question import Question
from local_agent.tui.widgets.summary import Summary
from tests.runtime.opened import settings_for
from tests.support.ollama_server import ModelSpec, OllamaServer, Turn, When, gate, say
from tests.tui.chatting import Chat, chatting
from tests.tui.pilots import screen_text, until

TINY = ModelSpec("tiny:1b", ("completion",), size=2_000)
LONG = " ".join(f"{number} fills it." for number in range(1000, 1150))
SUMMARY = When(contains="Summarise")
PATH = "/home/user/[red]api[/red]/src"


@pytest.fixture(autouse=True)
def models(server: OllamaServer) -> None:
    server.models = {TINY.name: TINY}


def narrow(url: str) -> Settings:
    settings = settings_for(url)
    return replace(settings, ollama=replace(settings.ollama, num_ctx=2048))


@asynccontextmanager
async def full(home: Path, server: OllamaServer, turns: int = 3) -> AsyncIterator[Chat]:
    """A chat whose next question does not fit without a summary."""
    async with chatting(home, server.url, settings=narrow(server.url), size=(100, 30)) as chat:
        await chat.ready()
        for number in range(1, turns + 1):
            server.script(f"Answer {number}. {LONG}")
            await chat.send(f"Question {number}?")
            await chat.answered(number)
        yield chat


def order(chat: Chat) -> list[str]:
    """Questions and summaries of the transcript, from above."""
    return [
        widget.source if isinstance(widget, Question) else "(summary)"
        for widget in chat.screen.transcript.children
        if isinstance(widget, Question | Summary)
    ]


async def test_the_summary_stands_before_the_question_and_looks_the_same_after_a_resume(
    home: Path, server: OllamaServer
) -> None:
    async with full(home, server) as chat:
        server.script(Turn(f"They read {PATH}.", when=SUMMARY), "Four.")
        await chat.send("Question 4?")
        await chat.answered(4)
        assert order(chat) == [*(f"Question {n}?" for n in range(1, 4)), "(summary)", "Question 4?"]
        live = chat.screen.query_one(Summary)
        assert live.heading.startswith("Earlier turns summarised: 4 messages left the window, 1,")
        live.opened = True
        await until(chat.pilot, lambda: "Question 2?" in _rows(live))
        assert PATH in _rows(live) and "Question 3?" not in _rows(live).split("What left")[1]
        shown = _rows(live)
        handle = chat.screen.conversation.handle if chat.screen.conversation else ""
    async with chatting(home, server.url, settings=narrow(server.url), size=(100, 30), resume=handle) as chat:
        await until(chat.pilot, lambda: len(order(chat)) == 5)
        again = chat.screen.query_one(Summary)
        again.opened = True
        await until(chat.pilot, lambda: "Question 2?" in _rows(again))
        assert _rows(again) == shown
        # Undone, the question comes back; undone again, the summary is gone and nothing else is.
        await chat.send("/undo")
        await until(chat.pilot, lambda: len(order(chat)) == 4)
        await chat.pilot.press("ctrl+c")
        await chat.send("/undo")
        await until(chat.pilot, lambda: "(summary)" not in order(chat))
        assert order(chat) == [f"Question {n}?" for n in range(1, 4)]


async def test_esc_while_it_is_written_changes_nothing_and_holds_the_question(
    home: Path, server: OllamaServer
) -> None:
    async with full(home, server) as chat:
        server.script(Turn(say("They "), gate("summary"), say("spoke."), when=SUMMARY))
        await chat.send("Question 4?")
        await until(chat.pilot, lambda: "summarising earlier turns" in screen_text(chat.pilot))
        conversation = chat.screen.conversation
        assert conversation is not None
        await chat.pilot.press("escape")
        await until(chat.pilot, lambda: not chat.screen.busy)
        server.release("summary")
        assert order(chat) == [f"Question {n}?" for n in range(1, 4)]
        assert [prompt.text for prompt in chat.screen.turns.queue.held] == ["Question 4?"]
        assert "Stopped: nothing was summarised, and the question was not sent." in chat.remarks
        tail = await conversation.tail(2)
        assert [entry.text[:9] for entry in tail.entries] == ["Question ", "Answer 3."]


async def test_compact_by_hand_and_a_prompt_that_waits_for_it(home: Path, server: OllamaServer) -> None:
    async with full(home, server, turns=2) as chat:
        server.script(Turn(gate("summary"), say("They spoke."), when=SUMMARY), "Three.")
        await chat.send("/compact the names")
        await until(chat.pilot, lambda: "summarising earlier turns" in screen_text(chat.pilot))
        await chat.send("/compact")
        await until(chat.pilot, lambda: any("A turn is running." in line for line in chat.remarks))
        await chat.send("Question 3?")
        server.release("summary")
        await chat.answered(3)
        assert order(chat)[-2:] == ["(summary)", "Question 3?"]
        assert "is about: the names" in server.chats[-2].body["messages"][-1]["content"]  # type: ignore[index]  # an object


async def test_compact_says_when_nothing_would_be_gained(home: Path, server: OllamaServer) -> None:
    async with chatting(home, server.url, settings=narrow(server.url)) as chat:
        await chat.ready()
        await chat.send("/compact")
        await until(chat.pilot, lambda: any("nothing to summarise yet" in line for line in chat.remarks))
        server.script("Hello.")
        await chat.send("Hi")
        await chat.answered(1)
        await chat.send("/compact")
        await until(chat.pilot, lambda: any("too little here" in line for line in chat.remarks))
        assert len(server.chats) == 1


def _rows(summary: Summary) -> str:
    return "\n".join(line.content.plain for line in summary.lines_for(80))
