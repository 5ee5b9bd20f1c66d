"""The viewer: a message of any length at once, searched, copied, shown as it was written."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest
from textual.pilot import Pilot

from local_agent.domain.text import sanitise
from local_agent.tui.screens.viewer import ViewerPage, ViewerScreen
from local_agent.tui.widgets.long_text import LongText, pieces, raw_pieces
from tests.support.ollama_server import OllamaServer
from tests.tui.chatting import chatting
from tests.tui.pilots import screen_text, until
from tests.tui.stage import Stage
from tests.tui.test_transcript import calibration, longest_gap

LONG_LINE = "value = " + " + ".join(f"part_{number}" for number in range(15))
ANSWER = f"# Heading\n\nSome **bold** words.\n\n```python\n{LONG_LINE}\n```\n\n" + "\n\n".join(
    f"Paragraph {number} of a text." for number in range(200)
)


def place(pilot: Pilot[Any]) -> str:
    return str(pilot.app.screen.query_one("#place").render())


def text_of(pilot: Pilot[Any]) -> LongText:
    return pilot.app.screen.query_one(LongText)


async def whole(pilot: Pilot[Any]) -> None:
    """Wait until all of the text is typeset and counted."""
    await until(pilot, lambda: text_of(pilot).complete.is_set() and "+" not in place(pilot))
    await until(pilot, lambda: "/" in place(pilot))


async def test_the_answer_in_view_is_read_searched_and_copied(home: Path, server: OllamaServer) -> None:
    server.script(ANSWER, "Short.")
    async with chatting(home, server.url) as chat:
        await chat.ready()
        await chat.send("go")
        await chat.answered(1)
        await chat.pilot.press("alt+v")
        await until(chat.pilot, lambda: isinstance(chat.app.screen, ViewerScreen))
        await whole(chat.pilot)
        assert place(chat.pilot).startswith("18 / 40") and "Heading" in screen_text(chat.pilot)
        await chat.pilot.press("G")
        await until(chat.pilot, lambda: "Paragraph 199" in screen_text(chat.pilot))
        last, total = place(chat.pilot).split(" / ")
        assert last == total
        await chat.pilot.press("g", "ctrl+d", "j", "k", "slash", *"paragraph", "space", *"150")
        await until(chat.pilot, lambda: "Paragraph 150" in screen_text(chat.pilot))
        await chat.pilot.press("backspace")
        await until(chat.pilot, lambda: "of 11" in str(chat.app.screen.query_one("#found").render()))
        await chat.pilot.press("enter", "N")
        await until(chat.pilot, lambda: "Paragraph 15 " in screen_text(chat.pilot))
        await chat.pilot.press("escape", "c")
        assert chat.app.clipboard == ANSWER
        await chat.pilot.press("q")
        await until(chat.pilot, lambda: chat.app.screen is chat.screen)
        assert chat.screen.composer.text == ""


async def test_code_is_read_to_the_end_of_its_lines_and_markdown_as_it_was_written() -> None:
    app = Stage(ViewerScreen("Answer", ANSWER))
    async with app.run_test(size=(60, 20)) as pilot:
        await whole(pilot)
        text = text_of(pilot)
        assert text.size.width < 60 and "bold words" in screen_text(pilot)
        sign = next(row for row, line in enumerate(text.lines) if line.aside is not None)
        await pilot.click(text, offset=(text.size.width - 2, sign))
        assert app.clipboard == LONG_LINE
        broken = len(text.lines)
        await pilot.press("w")
        await until(pilot, lambda: len(text.lines) < broken and text.size.width > len(LONG_LINE))
        await pilot.press(*["l"] * 20)
        await until(pilot, lambda: "part_14" in screen_text(pilot))
        await pilot.press("m")
        await until(pilot, lambda: "**bold**" in screen_text(pilot))
        assert "\n".join(line.content.plain for line in text.lines) == ANSWER
        await pilot.press("w")
        await until(pilot, lambda: text.size.width < 60)
        await pilot.resize_terminal(30, 12)
        await until(pilot, lambda: text.size.width < 30)
        await whole(pilot)
        assert all(line.content.cell_length <= 30 for line in text.lines)
        await pilot.press("escape")
        await until(pilot, lambda: app.given == [None])


@pytest.mark.parametrize("kind", ["prose", "one fence", "one line"])
async def test_two_megabytes_open_without_a_stall(kind: str) -> None:
    sentence = "Sentence {0} of a **long** text is about as long as sentences usually are."
    source = {
        "prose": "\n\n".join(sentence.format(number) for number in range(26_000)),
        "one fence": "```python\n" + "\n".join(f"total += {number}" for number in range(130_000)) + "\n```",
        "one line": "word " * 400_000,
    }[kind]
    assert len(source) > 1_900_000
    app = Stage(ViewerScreen("Answer", source))
    async with app.run_test(size=(80, 24)) as pilot:
        slow = calibration()
        async with longest_gap() as longest:
            await until(pilot, lambda: "+" in place(pilot) or text_of(pilot).complete.is_set(), 30)
            # Not pressed by the pilot, who waits until nothing runs any more.
            for key in ("G", "j", "ctrl+u", "g"):
                app.simulate_key(key)
            await until(pilot, lambda: pilot.app.screen.query_one(ViewerPage).max_scroll_y > 1_000, 60)
            app.simulate_key("G")
            await until(pilot, lambda: pilot.app.screen.query_one(ViewerPage).scroll_y > 900)
            assert "Sentence" in screen_text(pilot) or kind != "prose"
            app.simulate_key("q")
            await until(pilot, lambda: app.given == [None])
        assert longest[0] < 0.4 * max(slow, calibration()), f"{longest[0]:.3f} s"


@pytest.mark.parametrize("size", [(120, 36), (80, 24), (40, 20), (30, 12)])
async def test_it_fits(size: tuple[int, int]) -> None:
    app = Stage(ViewerScreen("Answer", ANSWER))
    async with app.run_test(size=size) as pilot:
        await whole(pilot)
        await pilot.press("slash", *"words")
        await until(pilot, lambda: "1 of 1" in screen_text(pilot))
        rows = screen_text(pilot).split("\n")
        assert len(rows) == size[1] and all(len(row) <= size[0] for row in rows)
        assert "words" in [row for row in rows if row][-1]


HOSTILE = ("", " \n", "\x1b[31mred\u202e [b]x[/b]", "a\x00b", "\t" * 50, "|" * 3000)


@pytest.mark.parametrize("source", HOSTILE, ids=range(len(HOSTILE)))
async def test_any_text_is_drawn(source: str) -> None:
    app = Stage(ViewerScreen("Answer", source))
    async with app.run_test(size=(40, 20)) as pilot:
        await until(pilot, lambda: text_of(pilot).complete.is_set())
        await pilot.press("m")
        await until(pilot, lambda: text_of(pilot).look.raw and text_of(pilot).complete.is_set())
        await pilot.press("w", "slash", "n", "enter", "N", "escape", "c")
        await asyncio.sleep(0)
        assert "\x1b" not in screen_text(pilot)
        assert app.clipboard == sanitise(source, tabs=True)


def test_a_text_is_cut_where_blocks_end() -> None:
    fence = "```\n" + "\n\n".join(f"line {number}" for number in range(3000)) + "\n```\n"
    source = "".join(f"Paragraph {number}.\n\n" for number in range(2000)) + fence + "The end."
    parts = list(pieces(source))
    assert "".join(parts) == source and len(parts) > 2
    assert all(part.count("```") in (0, 2) for part in parts)
    assert "\n".join(raw_pieces(source)) == source
