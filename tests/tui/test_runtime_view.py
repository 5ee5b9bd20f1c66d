"""The runtime view, the error trail and the help, on what really runs."""

from __future__ import annotations

from functools import partial
from pathlib import Path

from local_agent.domain.drafts import Prompt
from local_agent.domain.entries import Usage
from local_agent.domain.models import Speed
from local_agent.tui.commands import COMMANDS
from local_agent.tui.screens.errors import ErrorsScreen
from local_agent.tui.screens.help import HelpScreen, KeyHelp
from local_agent.tui.screens.runtime import RuntimeScreen, gather_groups, usage_facts
from local_agent.tui.widgets.labelled import labelled_lines
from tests.runtime.opened import events_of, opened
from tests.store.samples import failed, new_session, opening
from tests.support.ollama_server import OllamaServer
from tests.tui.pilots import screen_text, until
from tests.tui.stage import Stage, runtime_of, second_process, workspace_of


def flat(text: str) -> str:
    return " ".join(text.split())


async def test_each_fact_of_what_runs_is_shown(home: Path) -> None:
    async with OllamaServer() as server:
        server.script("A plant with a trunk.")
        async with opened(home, server.url) as runtime:
            conversation = runtime.new_conversation()
            await events_of(conversation.ask(Prompt("What is a [b]tree[/b]?")))
            app = Stage(RuntimeScreen(partial(gather_groups, runtime, conversation)))
            async with app.run_test(size=(120, 60)) as pilot:
                await until(pilot, lambda: "Last turn" in screen_text(pilot))
                shown = flat(screen_text(pilot))
                assert f"handle {conversation.handle}" in shown
                assert "title What is a [b]tree[/b]?" in shown
                assert f"name {conversation.model}" in shown
                assert "lease held by this process" in shown
                assert server.url in shown
                assert "revision 0005" in shown
                assert "first token" in shown
                assert "(usually" in shown
                assert "100% of it" in shown
                assert "Asked with" in shown
                for label in ("digest", "window", "loaded", "size", "folder", "started"):
                    assert label in shown
                await pilot.press("escape")
                await until(pilot, lambda: app.given)


async def test_looking_again_shows_what_changed(home: Path) -> None:
    async with OllamaServer() as server, opened(home, server.url) as runtime:
        app = Stage(RuntimeScreen(partial(gather_groups, runtime, runtime.new_conversation())))
        async with app.run_test(size=(120, 60)) as pilot:
            await until(pilot, lambda: "answers yes" in flat(screen_text(pilot)))
            await server.refuse()
            await pilot.press("r")
            await until(pilot, lambda: "answers no" in flat(screen_text(pilot)))


async def test_it_can_be_read_to_its_end_in_the_smallest_terminal(home: Path) -> None:
    async with runtime_of(home) as runtime:
        screen = RuntimeScreen(partial(gather_groups, runtime, None))
        app = Stage(screen)
        async with app.run_test(size=(30, 12)) as pilot:
            await until(pilot, lambda: "Workspace" in screen_text(pilot))
            await pilot.press("end")
            await until(pilot, lambda: "textual" in screen_text(pilot))


def test_numbers_are_written_as_people_read_them() -> None:
    facts = usage_facts(Usage(6021, 214, None, 0.4, 5.2, 0.6), 6235, 32768, Speed(9, 38.4, 0.45))
    lines = [flat(line.content.plain) for line in labelled_lines("Last turn", facts, 60)]
    assert lines == [
        "Last turn",
        "used 6.2k tokens",
        "of the window 19%",
        "prompt 6.0k tokens",
        "reply 214 tokens",
        "first token 600 ms (usually 450 ms)",
        "reading prompt 400 ms",
        "writing 5.2 s",
        "speed 41 tokens/s (usually 38)",
    ]
    lines = labelled_lines("Model", {"size": 98_362_432, "digest": None, "loaded": False, "can": []}, 60)
    assert [flat(line.content.plain) for line in lines] == [
        "Model",
        "size 98 MB",
        "digest not known",
        "loaded no",
        "can none",
    ]


async def test_the_trail_of_errors_is_newest_first_with_its_raw_words(home: Path) -> None:
    async with second_process(home) as store:
        held, turn = await store.create(new_session(root=workspace_of(home)), opening())
        await held.settle(turn, failed("The first [failure]."))
        turn = await held.begin(opening(parent=held.info.head))
        await held.settle(turn, failed("The second failure."))
        handle = held.info.handle
    async with runtime_of(home) as runtime:
        conversation = await runtime.view(handle)
        app = Stage(ErrorsScreen(conversation.errors))
        async with app.run_test(size=(80, 24)) as pilot:
            await until(pilot, lambda: "The second failure." in screen_text(pilot))
            shown = screen_text(pilot)
            assert shown.index("The second failure.") < shown.index("The first [failure].")
            assert shown.count("raw words") == 2
            assert "generation · tiny:1b · ollama" in shown
            assert "Errors · 2" in shown


async def test_no_errors(home: Path) -> None:
    async with runtime_of(home) as runtime:
        app = Stage(ErrorsScreen(runtime.new_conversation().errors))
        async with app.run_test(size=(80, 24)) as pilot:
            await until(pilot, lambda: "Nothing went wrong" in screen_text(pilot))


async def test_help_is_made_from_the_command_table_and_the_keys() -> None:
    app = Stage(HelpScreen([KeyHelp("shift+enter, ctrl+j, alt+enter", "Break the line")]))
    async with app.run_test(size=(120, 110)) as pilot:
        await until(pilot, lambda: "Break the line" in screen_text(pilot))
        for command in COMMANDS:
            await until(pilot, lambda name=command.name: f"/{name}" in screen_text(pilot))  # type: ignore[misc]  # mypy wants no defaults
        assert "alt+enter" in screen_text(pilot)
        await pilot.press("f1")
        await until(pilot, lambda: app.given)
