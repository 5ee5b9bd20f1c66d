"""The context screen: what it says at every size, and what its keys do to the next request."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from local_agent.domain.drafts import Prompt
from local_agent.domain.entries import Kind
from local_agent.domain.marks import Mark
from local_agent.domain.sections import TurnWeight
from local_agent.tui.look.glyphs import ASCII, UNICODE
from local_agent.tui.screens.context import ContextScreen
from tests.proofs.hostile import NASTY, unsafe
from tests.support.ollama_server import OllamaServer
from tests.tui.chatting import chatting
from tests.tui.context.shown import FACTS, TURNS, Fixed, question
from tests.tui.pilots import screen_text, until
from tests.tui.stage import Stage


@pytest.mark.parametrize("size", [(120, 36), (80, 24), (40, 20), (30, 12)])
async def test_it_is_usable_at_every_size(size: tuple[int, int]) -> None:
    screen = ContextScreen(Fixed(), glyphs=ASCII)
    async with Stage(screen).run_test(size=size) as pilot:
        await until(pilot, lambda: "And the release" in screen_text(pilot))
        text = screen_text(pilot)
        assert "▄" not in text and "54% of 16k" in text and "7,524 tokens" in text and "esc close" in text
        for _ in range(9):
            await pilot.press("pagedown")
        await until(pilot, lambda: "were summarised" in " ".join(screen_text(pilot).split()))


async def test_a_mark_is_set_freed_and_refused_in_words() -> None:
    source = Fixed()
    screen = ContextScreen(source, glyphs=UNICODE)
    async with Stage(screen).run_test(size=(100, 30)) as pilot:
        await until(pilot, lambda: screen.selected is not None)
        assert screen.selected is not None and screen.selected.entry.text == "And the release notes?"
        await pilot.press("x")
        await until(pilot, lambda: screen.selected is not None and screen.selected.mark is Mark.DROP)
        await pilot.press("k", "k", "f")
        await until(pilot, lambda: source.facts.turns[2].mark is None)
        source.refuses = True
        await pilot.press("p")
        await until(pilot, lambda: "A turn is running" in screen_text(pilot))
        assert source.facts.turns[2].mark is None
        assert [binding.description for binding in screen.query_one("KeyLine")._shown()][:2] == [  # type: ignore[attr-defined]  # what is offered
            "pin",
            "drop",
        ]


async def test_nothing_asked_and_no_model_are_said() -> None:
    empty = replace(FACTS, model="", window=0, turns=(), sections={}, summary=None, breaks=(), counted=None)
    async with Stage(ContextScreen(Fixed(empty))).run_test(size=(80, 24)) as pilot:
        await until(pilot, lambda: "Nothing has been asked yet." in screen_text(pilot))
        assert "no model yet" in screen_text(pilot)
        await pilot.press("p", "x", "down", "f")


async def test_what_was_asked_is_never_markup() -> None:
    nasty = [TurnWeight(question(number, text), 10, {}) for number, text in enumerate(NASTY.values(), 100)]
    source = Fixed(replace(FACTS, turns=(*nasty, *TURNS), model=NASTY[next(iter(NASTY))]))
    screen = ContextScreen(source)
    async with Stage(screen).run_test(size=(60, 24)) as pilot:
        await until(pilot, lambda: "And the release" in screen_text(pilot))
        while screen.row_list.highlighted:
            assert not unsafe(screen_text(pilot))
            await pilot.press("pageup")
            await pilot.press(*["up"] * 12)


async def test_what_is_dropped_on_screen_is_not_sent_any_more(home: Path, server: OllamaServer) -> None:
    server.script("One.", "Two.", "Three.")
    async with chatting(home, server.url) as chat:
        await chat.ready()
        for number, text in enumerate(("first secret", "second"), 1):
            await chat.send(text)
            await chat.answered(number)
        await chat.type("/context")
        await chat.pilot.press("enter")
        await until(
            chat.pilot, lambda: isinstance(chat.app.screen, ContextScreen) and chat.app.screen.selected
        )
        await chat.pilot.press("up", "x")
        await until(chat.pilot, lambda: "dropped" in screen_text(chat.pilot))
        await chat.pilot.press("c")
        await until(chat.pilot, lambda: "too little here" in screen_text(chat.pilot))
        await chat.send("third")
        await chat.answered(3)
        assert chat.questions == ["first secret", "second", "third"]
        conversation = chat.screen.conversation
        assert conversation is not None
        kinds = [entry.kind for entry in (await conversation.tail()).entries]
        assert kinds.count(Kind.QUESTION) == 3
        await chat.leave()
    sent = [message["content"] for message in json.loads(server.chats[-1].raw)["messages"]]
    assert "secret" not in " ".join(sent) and sent[-1].endswith("third")


async def test_a_question_that_does_not_fit_is_held_with_its_reason(home: Path, server: OllamaServer) -> None:
    async with chatting(home, server.url) as chat:
        await chat.ready()
        assert chat.screen.conversation is not None
        prompt = Prompt("word " * 60_000)
        chat.screen.turns.ask(chat.screen.conversation, prompt)
        await until(chat.pilot, lambda: "question is too long" in screen_text(chat.pilot))
        await until(chat.pilot, lambda: not chat.screen.busy)
        assert chat.screen.turns.queue.held == [prompt]
        assert chat.screen.conversation.info is None and server.chats == []
        await chat.leave()
