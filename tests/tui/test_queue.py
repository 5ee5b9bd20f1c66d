"""The prompts that wait: edited in their place, moved, removed and brought back."""

from __future__ import annotations

from pathlib import Path

import pytest

from local_agent.domain.drafts import Prompt
from local_agent.tui.prompt.prompt_queue import PromptQueue
from local_agent.tui.screens.queue import QueueScreen
from local_agent.tui.widgets.queue_strip import QueueStrip
from tests.support.ollama_server import OllamaServer, Turn, gate, say
from tests.tui.chatting import Chat, chatting
from tests.tui.pilots import screen_text, until
from tests.tui.stage import Stage
from tests.tui.test_composer import sent


def waiting(chat: Chat) -> list[str]:
    return [prompt.text for prompt in chat.screen.turns.queue.prompts]


def asked(server: OllamaServer) -> list[str]:
    """Without what the first one is given besides."""
    return [text.rpartition("\n\n")[2] for text in sent(server)]


async def opened(chat: Chat) -> None:
    await chat.pilot.press("alt+q")
    await until(chat.pilot, lambda: isinstance(chat.app.screen, QueueScreen) and chat.app.screen.is_mounted)


async def closed(chat: Chat) -> None:
    await until(chat.pilot, lambda: chat.app.screen is chat.screen)


async def test_what_waits_is_edited_moved_and_removed_while_a_turn_runs(
    home: Path, server: OllamaServer
) -> None:
    server.script(Turn(say("Half"), gate("go")), "1", "2", "3")
    async with chatting(home, server.url) as chat:
        await chat.ready()
        await chat.send("first")
        await until(chat.pilot, lambda: chat.replies)
        for text in ("alpha", "beta", "gamma", "delta"):
            await chat.send(text)
        await chat.type("half a draft")
        await opened(chat)
        await until(chat.pilot, lambda: "4 prompts" in screen_text(chat.pilot))
        await chat.pilot.press("down", "down", "alt+up")
        assert waiting(chat) == ["alpha", "gamma", "beta", "delta"]
        await chat.pilot.press("delete")
        assert waiting(chat) == ["alpha", "beta", "delta"]
        await chat.pilot.press("f8", "ctrl+z", "ctrl+z")
        assert waiting(chat) == ["alpha", "gamma", "beta", "delta"]
        await chat.pilot.press("delete", "enter")
        await closed(chat)
        assert waiting(chat) == ["alpha", "delta"] and chat.screen.composer.text == "beta"
        await chat.send(" edited")
        assert waiting(chat) == ["alpha", "beta edited", "delta"]
        await chat.pilot.press("up")
        await until(chat.pilot, lambda: chat.screen.composer.text == "gamma")
        await chat.pilot.press("ctrl+u", "up")
        await until(chat.pilot, lambda: chat.screen.composer.text == "half a draft")
        await chat.pilot.press("ctrl+u")
        server.release("go")
        await chat.answered(4)
    assert asked(server) == ["first", "alpha", "beta edited", "delta"]


async def test_held_prompts_come_back_after_esc_and_are_sent_in_one_go(
    home: Path, server: OllamaServer
) -> None:
    server.script(Turn(say("Half"), gate("never")), "1", "2")
    async with chatting(home, server.url) as chat:
        await chat.ready()
        await chat.send("first")
        await until(chat.pilot, lambda: chat.replies)
        await chat.send("alpha")
        await chat.send("beta")
        await chat.pilot.press("escape")
        await until(chat.pilot, lambda: not chat.screen.busy)
        chat.screen._stopped_until = 0.0  # a second Esc in the same breath belongs to the stop
        await chat.pilot.press("escape")
        assert waiting(chat) == ["alpha"]
        await until(chat.pilot, lambda: "up takes it back" in screen_text(chat.pilot))
        await chat.type("x")
        await until(chat.pilot, lambda: "up takes it back" not in screen_text(chat.pilot))
        assert "esc drops it" in screen_text(chat.pilot)
        await chat.pilot.press("ctrl+u", "up")
        await until(chat.pilot, lambda: chat.screen.composer.text == "beta")
        await chat.pilot.press("ctrl+c")
        await opened(chat)
        await until(chat.pilot, lambda: "held" in screen_text(chat.pilot))
        await chat.pilot.press("f5")
        await chat.answered(2)
        assert asked(server) == ["first", "alpha"]
        await chat.pilot.press("escape")
        await closed(chat)


async def test_a_prompt_that_is_sent_meanwhile_leaves_the_list(home: Path, server: OllamaServer) -> None:
    server.script(Turn(say("Half"), gate("go")), Turn(say("More"), gate("on")), "3")
    async with chatting(home, server.url) as chat:
        await chat.ready()
        await chat.send("first")
        await until(chat.pilot, lambda: chat.replies)
        await chat.send("alpha")
        await chat.send("beta")
        await opened(chat)
        await chat.pilot.press("down")
        server.release("go")
        await until(chat.pilot, lambda: "1 prompt" in screen_text(chat.pilot))
        screen = chat.app.screen
        assert isinstance(screen, QueueScreen) and screen.selected == Prompt("beta")
        server.release("on")
        await until(chat.pilot, lambda: "Nothing waits." in screen_text(chat.pilot))
        await chat.pilot.press("enter", "delete", "escape")
        await closed(chat)
        await chat.answered(3)


@pytest.mark.parametrize("size", [(80, 24), (40, 20), (30, 12)])
async def test_what_waits_leaves_room_to_write(
    home: Path, server: OllamaServer, size: tuple[int, int]
) -> None:
    server.script(Turn(say("Half"), gate("never")))
    async with chatting(home, server.url, size=size) as chat:
        await chat.ready()
        await chat.send("first")
        await until(chat.pilot, lambda: chat.replies)
        for number in range(5):
            await chat.send(f"prompt {number} and some more words")
        await chat.type("draft")
        await until(chat.pilot, lambda: "prompt 4" in screen_text(chat.pilot))
        lines = screen_text(chat.pilot).splitlines()
        assert any("draft" in line for line in lines)
        assert sum("prompt " in line for line in lines) == (3 if size[1] > 12 else 1)
        assert ("2 more before" if size[1] > 12 else "5 next") in screen_text(chat.pilot)
        await chat.pilot.click(QueueStrip)
        await until(chat.pilot, lambda: isinstance(chat.app.screen, QueueScreen))


@pytest.mark.parametrize("size", [(120, 36), (80, 24), (40, 20), (30, 12)])
async def test_the_list_is_usable_in_every_size(size: tuple[int, int]) -> None:
    queue = PromptQueue()
    for text in ("a \x1b[2J \u202e prompt", "x" * 4_000, "\U0001f468\u200d\U0001f469 and\nlines"):
        queue.add(Prompt(text))
    queue.restore([Prompt("held back")])
    app = Stage(screen := QueueScreen(queue, lambda: None))
    async with app.run_test(size=size) as pilot:
        await until(pilot, lambda: "held back" in screen_text(pilot))
        assert "enter edit" in screen_text(pilot) and "\x1b" not in screen_text(pilot)
        await pilot.press("end", "down", "down", "enter")
        await until(pilot, lambda: app.given)
        assert app.given == [queue.prompts[2]] and screen.row_list.option_count == 4


def test_two_prompts_of_the_same_words_are_two() -> None:
    queue = PromptQueue()
    one, two = Prompt("again"), Prompt("again")
    queue.add(one)
    queue.add(two)
    assert queue.drop(two) and queue.queued[0] is one
    assert not queue.drop(two) and not queue.take(two)
    assert queue.undo_drop() is two and queue.queued[1] is two
    assert queue.take(one)
    assert queue.next() is two
    queue.add(Prompt("edited"))
    assert queue.prompts == (Prompt("edited"),)
