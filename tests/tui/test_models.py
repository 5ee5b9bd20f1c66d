"""Choosing, fetching and unloading models in the real program, before a scripted server."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest
from textual.widgets import Input

from local_agent.config.preferences import Preferences
from local_agent.tui.models.pulls import PullStage
from local_agent.tui.screens.cloud_consent import CloudConsentDialog
from local_agent.tui.screens.model_details import ModelDetailsScreen
from local_agent.tui.screens.models import ModelsScreen
from local_agent.tui.screens.pull import PullScreen
from tests.runtime.opened import paths_in
from tests.support.ollama_server import Fault, ModelSpec, OllamaServer, Turn, gate, say
from tests.tui.chatting import Chat, chatting
from tests.tui.pilots import listening, screen_text, until

QWEN = ModelSpec(
    "qwen3:4b",
    ("completion", "tools", "thinking"),
    arch="qwen3",
    show={"license": "\n          Apache License\n   Version 2.0", "modelfile": "FROM x\nRENDERER qwen3\n"},
)
GEMMA = ModelSpec("gemma3:12b", ("completion", "vision"), arch="gemma3", modified_at="2025-01-01T00:00:00Z")
EMBED = ModelSpec("nomic-embed-text:latest", ("embedding",))
HUGE = ModelSpec("huge:400b", size=10**15)
MODELS = [QWEN, GEMMA, EMBED, HUGE]
NEW = ModelSpec("new:1b", size=2_000_000)


def flat(chat: Chat) -> str:
    return " ".join(screen_text(chat.pilot).split())


def header(chat: Chat) -> str:
    return screen_text(chat.pilot).splitlines()[0]


async def picker(chat: Chat, count: int) -> ModelsScreen:
    """Open the picker and wait for its list."""
    await chat.pilot.press("ctrl+o")
    await until(chat.pilot, lambda: isinstance(chat.app.screen, ModelsScreen))
    screen = chat.app.screen
    assert isinstance(screen, ModelsScreen)
    await until(
        chat.pilot, lambda: len(screen.browser.shown) == count and "Models · http" in screen_text(chat.pilot)
    )
    return screen


async def pull_screen(chat: Chat, stage: PullStage) -> PullScreen:
    await until(
        chat.pilot,
        lambda: (
            isinstance(chat.app.screen, PullScreen)
            and chat.app.screen.pull is not None
            and chat.app.screen.pull.stage is stage
        ),
    )
    screen = chat.app.screen
    assert isinstance(screen, PullScreen)
    return screen


async def test_the_list_is_arranged_narrowed_and_gives_the_model_that_answers_next(home: Path) -> None:
    async with OllamaServer(models=MODELS) as server:
        server.script("Here.", model="gemma3:12b")
        async with chatting(home, server.url, size=(120, 36)) as chat:
            await chat.ready()
            assert chat.screen.conversation is not None and chat.screen.conversation.model == "qwen3:4b"
            screen = await picker(chat, 4)
            assert [model.name for model in screen.browser.shown[2:]] == [
                "huge:400b",
                "nomic-embed-text:latest",
            ]
            assert screen.browser.selected is not None and screen.browser.selected.name == "qwen3:4b"
            await until(chat.pilot, lambda: "Apache License" in flat(chat) and "memory about" in flat(chat))
            assert "qwen3 renderer" in flat(chat)
            assert "✗ too big" in screen_text(chat.pilot)
            await chat.type("nomic")
            await chat.pilot.press("enter")
            await until(chat.pilot, lambda: "makes embeddings and does not chat" in flat(chat))
            screen.filter_input.value = "vision"
            await until(chat.pilot, lambda: [model.name for model in screen.browser.shown] == ["gemma3:12b"])
            await chat.pilot.press("enter")
            await until(chat.pilot, lambda: "gemma3:12b" in header(chat))
            await chat.send("Who are you?")
            await chat.answered(1)
    assert Preferences.read(paths_in(home).preferences).model == "gemma3:12b"


async def test_a_look_again_keeps_place_and_filter_and_unloading_is_seen(home: Path) -> None:
    async with OllamaServer(models=MODELS) as server:
        server.script("Loaded now.")
        async with chatting(home, server.url, size=(80, 24)) as chat:
            await chat.ready()
            await chat.send("Hello")
            await chat.answered(1)
            screen = await picker(chat, 4)
            assert screen.browser.shown[0].info.loaded and screen.browser.shown[0].speed is not None
            await chat.type("a")
            await chat.pilot.press("down")
            kept = screen.browser.selected
            assert kept is not None and screen.browser.row_list.highlighted == 1
            server.models["another:1b"] = ModelSpec("another:1b")
            await chat.pilot.press("f5")
            await until(chat.pilot, lambda: "another:1b" in [model.name for model in screen.browser.shown])
            assert screen.browser.selected is not None and screen.browser.selected.name == kept.name
            assert screen.filter_input.value == "a"
            screen.filter_input.value = "qwen"
            await until(chat.pilot, lambda: [model.name for model in screen.browser.shown] == ["qwen3:4b"])
            await chat.pilot.press("f8")
            await until(chat.pilot, lambda: "qwen3:4b is unloaded." in screen_text(chat.pilot))
            assert not screen.browser.shown[0].info.loaded
            await chat.pilot.press("f8")
            await until(chat.pilot, lambda: "qwen3:4b is not loaded." in screen_text(chat.pilot))
            await chat.pilot.press("f2")
            await until(chat.pilot, lambda: isinstance(chat.app.screen, ModelDetailsScreen))
            await until(chat.pilot, lambda: "Measured here" in screen_text(chat.pilot))
            await chat.pilot.press("escape", "escape")


async def test_a_slow_list_shows_the_current_model_and_is_left_at_once(home: Path) -> None:
    async with OllamaServer(models=MODELS) as server, chatting(home, server.url, size=(30, 12)) as chat:
        await chat.ready()
        server.fault(Fault("slow_headers", "/api/tags", seconds=20))
        await chat.pilot.press("ctrl+o")
        await until(chat.pilot, lambda: "asking the server · 1 s" in screen_text(chat.pilot))
        assert "qwen3:4b" in screen_text(chat.pilot)
        await chat.pilot.press("escape")
        await until(chat.pilot, lambda: chat.app.screen is chat.screen)


async def test_of_a_thousand_models_typing_finds_each(home: Path) -> None:
    many = [ModelSpec(f"model{number}:1b") for number in range(1000)]
    async with OllamaServer(models=many) as server, chatting(home, server.url) as chat:
        await chat.ready()
        screen = await picker(chat, 500)
        await until(chat.pilot, lambda: "500 more: type a part of the name" in screen_text(chat.pilot))
        screen.filter_input.value = "model999"
        await until(chat.pilot, lambda: [model.name for model in screen.browser.shown] == ["model999:1b"])
        await until(chat.pilot, lambda: "more:" not in screen_text(chat.pilot))
        await chat.pilot.press("escape")


async def test_a_server_that_is_gone_has_its_line_and_the_way_out(home: Path) -> None:
    async with OllamaServer(models=MODELS) as server, chatting(home, server.url, size=(80, 24)) as chat:
        await chat.ready()
        await server.refuse()
        await chat.pilot.press("ctrl+o")
        await until(chat.pilot, lambda: "ollama serve" in screen_text(chat.pilot))
        await server.accept()
        await chat.pilot.press("f5")
        await until(chat.pilot, lambda: "gemma3:12b" in screen_text(chat.pilot))
        assert "ollama serve" not in screen_text(chat.pilot)
        await chat.pilot.press("escape")


async def test_a_first_model_is_offered_fetched_and_used(home: Path) -> None:
    async with OllamaServer(models=[]) as server:
        server.script("At last.")
        async with chatting(home, server.url) as chat:
            await until(chat.pilot, lambda: "/pull" in screen_text(chat.pilot))
            await chat.pilot.press("ctrl+o")
            await until(chat.pilot, lambda: "pull qwen3:" in screen_text(chat.pilot))
            screen = chat.app.screen
            assert isinstance(screen, ModelsScreen)
            server.offer(ModelSpec("new:1b", size=2_000_000), gate="half")
            await chat.type("new:1b")
            await until(chat.pilot, lambda: "pull new:1b from the library" in screen_text(chat.pilot))
            await chat.pilot.press("enter")
            await pull_screen(chat, PullStage.RUNNING)
            await until(chat.pilot, lambda: "50% · 1.0 of 2.0 MB" in flat(chat) and "layer 1" in flat(chat))
            server.release("half")
            await pull_screen(chat, PullStage.DONE)
            await until(chat.pilot, lambda: "It is here: new:1b" in flat(chat))
            await chat.pilot.press("enter")
            await until(chat.pilot, lambda: "new:1b" in header(chat))
            assert "model new:1b" in flat(chat)
            await chat.send("Hello")
            await chat.answered(1)


async def test_a_pull_goes_on_while_one_talks_and_is_stopped_and_gone_on_with(home: Path) -> None:
    async with OllamaServer(models=MODELS) as server:
        offer = server.offer(NEW, gate="half")
        server.script("Talking.")
        async with chatting(home, server.url) as chat:
            await chat.ready()
            await chat.send("/pull new:1b")
            await pull_screen(chat, PullStage.RUNNING)
            await chat.pilot.press("enter")
            await until(chat.pilot, lambda: "pulling new:1b · 50%" in screen_text(chat.pilot))
            await chat.send("Hello")
            await chat.answered(1)
            await chat.send("/pull new:1b")  # the same one
            screen = await pull_screen(chat, PullStage.RUNNING)
            assert len(chat.screen.models.pulls.running) == 1
            await chat.pilot.press("escape")
            await until(chat.pilot, lambda: "1.0 of 2.0 MB stays on the server" in flat(chat))
            assert screen.pull is not None and screen.pull.stage is PullStage.STOPPED
            await server.wait_until(
                lambda: all(r.disconnected is not None for r in server.log if r.path == "/api/pull")
            )
            server.release("half")
            await chat.pilot.press("enter")
            await pull_screen(chat, PullStage.DONE)
            assert offer.arrived == 2_000_000
            await chat.pilot.press("escape")
            await until(chat.pilot, lambda: chat.app.screen is chat.screen)
            assert "pulling" not in screen_text(chat.pilot)


async def test_what_ends_in_the_background_is_said_there(home: Path) -> None:
    async with OllamaServer(models=MODELS) as server:
        offer = server.offer(NEW, gate="half", error="write /root/.ollama: no space left on device")
        async with chatting(home, server.url) as chat:
            await chat.ready()
            await chat.send("/pull new:1b")
            await pull_screen(chat, PullStage.RUNNING)
            await chat.pilot.press("enter")
            await until(chat.pilot, lambda: chat.app.screen is chat.screen)
            server.release("half")
            await until(chat.pilot, lambda: "new:1b did not come · f4 tries again" in flat(chat))
            assert chat.remarks == [
                "There is no room left on the server's disk for new:1b. /pull new:1b tries again."
            ]
            offer.gate = "rest"
            await chat.pilot.press("f4")
            await pull_screen(chat, PullStage.FAILED)
            await chat.pilot.press("enter")
            await pull_screen(chat, PullStage.RUNNING)
            await chat.pilot.press("enter")
            await until(chat.pilot, lambda: chat.app.screen is chat.screen)
            server.release("rest")
            await until(chat.pilot, lambda: "✓ new:1b is here · f4 uses it" in flat(chat))
            await chat.send("/model new:1b")
            await until(chat.pilot, lambda: "new:1b" in header(chat) and "is here" not in flat(chat))


@pytest.mark.parametrize(
    ("name", "line"),
    [
        ("nowhere:1b", "The library has no model named nowhere:1b."),
        ("new:1b", "What arrived of new:1b is damaged."),
    ],
)
async def test_a_pull_that_fails_says_why_and_can_be_tried_again(home: Path, name: str, line: str) -> None:
    async with OllamaServer(models=MODELS) as server:
        server.offer(NEW, error="digest mismatch, file must be downloaded again: want x, got y")
        async with chatting(home, server.url, size=(40, 20)) as chat:
            await chat.ready()
            await chat.pilot.press("f4")
            await until(chat.pilot, lambda: isinstance(chat.app.screen, PullScreen))
            await chat.send("no name")
            await until(chat.pilot, lambda: "is no name of a model" in flat(chat))
            screen = chat.app.screen
            assert isinstance(screen, PullScreen)
            screen.name_input.value = name
            await chat.pilot.press("enter")
            await pull_screen(chat, PullStage.FAILED)
            await until(chat.pilot, lambda: line in flat(chat))
            await chat.pilot.press("enter")
            if name == "new:1b":
                await pull_screen(chat, PullStage.DONE)
            await pull_screen(chat, PullStage.DONE if name == "new:1b" else PullStage.FAILED)
            await chat.pilot.press("escape")
            await until(chat.pilot, lambda: chat.app.screen is chat.screen)
            assert chat.screen.models.pulls.latest is None


async def test_a_name_is_completed_and_one_that_is_not_there_opens_the_list_with_it(home: Path) -> None:
    async with OllamaServer(models=MODELS) as server, chatting(home, server.url) as chat:
        await chat.ready()
        await chat.type("/model gema3")
        await until(chat.pilot, lambda: "gemma3:12b" in screen_text(chat.pilot))
        await chat.pilot.press("enter")
        await until(chat.pilot, lambda: "gemma3:12b" in header(chat))
        await chat.send("/model auto")
        await until(chat.pilot, lambda: "qwen3:4b" in header(chat))
        await chat.send("/model")
        await until(chat.pilot, lambda: isinstance(chat.app.screen, ModelsScreen))
        await chat.pilot.press("escape")
        await chat.send("/model zephyr")
        await until(chat.pilot, lambda: isinstance(chat.app.screen, ModelsScreen))
        screen = chat.app.screen
        assert isinstance(screen, ModelsScreen)
        await until(chat.pilot, lambda: "pull zephyr from the library" in screen_text(chat.pilot))
        assert screen.query_one("#filter", Input).value == "zephyr" and "no model" in flat(chat)
        await chat.pilot.press("enter")
        await pull_screen(chat, PullStage.FAILED)
        await chat.pilot.press("escape")
        await until(chat.pilot, lambda: chat.app.screen is chat.screen)
    assert Preferences.read(paths_in(home).preferences).model == ""


async def test_thinking_is_set_by_command_and_key_and_sent(home: Path) -> None:
    async with OllamaServer(models=[QWEN, GEMMA]) as server:
        server.script("One.", "Two.", "Three.")
        async with chatting(home, server.url) as chat:
            await chat.ready()
            await chat.pilot.press("alt+t")
            await until(chat.pilot, lambda: "qwen3:4b · no thinking" in header(chat))
            await chat.send("First")
            await chat.answered(1)
            await chat.send("/think on")
            await until(chat.pilot, lambda: "qwen3:4b · thinks" in header(chat))
            await chat.send("Second")
            await chat.answered(2)
            await chat.send("/think high")
            await until(chat.pilot, lambda: any("without levels" in line for line in chat.remarks))
            await chat.send("/think auto")
            await until(chat.pilot, lambda: "thinks" not in header(chat))
            await chat.send("Third")
            await chat.answered(3)
        assert [chat.json.get("think") for chat in server.chats] == [False, True, None]


async def test_a_cloud_model_gets_nothing_before_a_yes(home: Path) -> None:
    async with OllamaServer(models=MODELS) as server:
        server.signed_in = True
        server.script("From far away.", model="big:cloud")
        async with chatting(home, server.url) as chat:
            await chat.ready()
            await chat.send("/model big:cloud")
            await listening(chat.pilot, CloudConsentDialog)
            await until(chat.pilot, lambda: "in Ollama's cloud (ollama.com)" in flat(chat))
            assert server.url in flat(chat)
            await chat.pilot.press("enter")  # what is preselected
            await until(chat.pilot, lambda: chat.app.screen is chat.screen)
            assert chat.screen.conversation is not None and chat.screen.conversation.model == "qwen3:4b"
            assert not any("cloud" in str(record.json) for record in server.log)
            await chat.send("/model big:cloud")
            await listening(chat.pilot, CloudConsentDialog)
            await chat.pilot.press("down", "enter")
            await until(chat.pilot, lambda: "big:cloud" in header(chat))
            await chat.send("Hello")
            await chat.answered(1)
    assert not Preferences.read(paths_in(home).preferences).model


async def test_a_wait_says_what_it_is_for_and_how_long_it_usually_takes(home: Path) -> None:
    async with OllamaServer(models=[replace(QWEN, load_seconds=0.3)]) as server:
        server.script("One.", Turn(gate("first"), say("Two.")), Turn(gate("second"), say("Three.")))
        async with chatting(home, server.url) as chat:
            await chat.ready()
            await chat.send("Hello")
            await chat.answered(1)
            chat.screen.composer.load("word " * 800)
            await chat.pilot.press("enter")
            await until(
                chat.pilot,
                lambda: re.search(r"reading the prompt · about \d\.\dk tokens", screen_text(chat.pilot)),
            )
            server.release("first")
            await chat.answered(2)
        async with chatting(home, server.url) as chat:
            await chat.ready()
            await chat.send("/unload qwen3:4b")
            await until(chat.pilot, lambda: not server.memory.rows(server.version))
            await chat.send("Once more")
            await until(chat.pilot, lambda: "loading model" in screen_text(chat.pilot))
            await until(chat.pilot, lambda: "usually 300 ms" in screen_text(chat.pilot))
            server.release("second")
            await chat.answered(1)


async def test_a_session_on_a_cloud_model_asks_before_its_first_prompt_leaves(home: Path) -> None:
    async with OllamaServer(models=MODELS) as server:
        server.signed_in = True
        server.script("From far away.", model="big:cloud")
        async with chatting(home, server.url, model="big:cloud") as chat:
            await chat.ready()
            await chat.send("Hello")
            await listening(chat.pilot, CloudConsentDialog)
            await chat.pilot.press("escape")
            await until(chat.pilot, lambda: chat.app.screen is chat.screen)
            assert chat.screen.composer.text == "Hello" and not server.chats
            await chat.pilot.press("enter")
            await listening(chat.pilot, CloudConsentDialog)
            await chat.pilot.press("y")
            await chat.answered(1)


async def test_leaving_in_mid_pull_asks_nothing_and_says_what_is_kept(home: Path) -> None:
    async with OllamaServer(models=MODELS) as server:
        server.offer(NEW, gate="half")
        async with chatting(home, server.url) as chat:
            await chat.ready()
            await chat.send("/pull new:1b")
            await pull_screen(chat, PullStage.RUNNING)
            await chat.leave()
            report = chat.app.return_value
            assert report is not None and report.pulls == ("new:1b",)


@pytest.mark.parametrize("size", [(120, 36), (80, 24), (40, 20), (30, 12)])
async def test_every_size_shows_what_matters(home: Path, size: tuple[int, int]) -> None:
    async with OllamaServer(models=MODELS) as server:
        server.offer(NEW, gate="half")
        async with chatting(home, server.url, size=size) as chat:
            await chat.ready()
            await picker(chat, 4)
            for words in ("qwen3:4b", "✓ fits", "enter use it"):
                assert words in screen_text(chat.pilot), words
            await chat.pilot.press("f2")
            await until(chat.pilot, lambda: "What it is" in screen_text(chat.pilot) and "esc" in flat(chat))
            await chat.pilot.press("escape", "escape")
            await until(chat.pilot, lambda: chat.app.screen is chat.screen)
            await chat.send("/pull new:1b")
            await until(chat.pilot, lambda: "50%" in flat(chat) and "Fetching new:1b" in flat(chat))
            assert "enter hide · esc stop" in screen_text(chat.pilot)
            await chat.pilot.press("enter")
            await until(chat.pilot, lambda: "pulling new:1b" in flat(chat))
            server.release("half")
