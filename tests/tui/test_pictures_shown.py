"""Pictures in the transcript: badges, previews in half blocks, in ASCII and for terminals that draw."""

from __future__ import annotations

import asyncio
import base64
import io
import re
from pathlib import Path

import pytest
from PIL import Image
from textual.geometry import Size

from local_agent.domain.errors import LocalAgentError
from local_agent.domain.pictures import Picture
from local_agent.tui.look.glyphs import ASCII, UNICODE, Glyphs
from local_agent.tui.screens.picture import PictureScreen
from local_agent.tui.widgets.picture_view import fitted, has_placeholders, in_cells, in_placeholders, opened
from local_agent.tui.widgets.question import Question
from tests.runtime.opened import paths_in
from tests.support.ollama_server import OllamaServer
from tests.tui.chatting import chatting
from tests.tui.pilots import screen_text, until
from tests.tui.stage import Stage

RED, BLUE = (255, 0, 0), (0, 0, 255)


def png(width: int = 64, height: int = 32, colour: tuple[int, ...] = RED, mode: str = "RGB") -> bytes:
    file = io.BytesIO()
    Image.new(mode, (width, height), colour).save(file, "PNG")
    return file.getvalue()


def picture(name: str, data: bytes) -> Picture:
    return Picture("ab" * 32, name, "image/png", len(data), 64, 32)


@pytest.mark.parametrize(
    ("pixels", "place", "cells"),
    [
        ((64, 32), Size(80, 24), Size(80, 20)),
        ((32, 64), Size(80, 24), Size(24, 24)),
        ((8, 8), Size(80, 24), Size(32, 16)),
        ((10_000, 1), Size(80, 24), Size(80, 1)),
        ((1, 10_000), Size(30, 12), Size(1, 12)),
    ],
)
def test_proportions_are_kept(pixels: tuple[int, int], place: Size, cells: Size) -> None:
    assert fitted(pixels, place) == cells


def test_half_blocks_have_the_colours_of_the_picture_and_of_what_shines_through() -> None:
    tall = Image.new("RGBA", (2, 2), (*RED, 255))
    tall.putpixel((0, 1), (*BLUE, 255))
    tall.putpixel((1, 1), (0, 0, 0, 0))
    drawn = in_cells(tall, Size(2, 1), (9, 9, 9))
    first, second = drawn.rows[0]
    assert (first.style.color.triplet, first.style.bgcolor.triplet) == (RED, BLUE)
    assert second.style.bgcolor.triplet == (9, 9, 9)
    assert in_cells(tall, Size(2, 1), (9, 9, 9), in_ascii=True).rows[0].text.isascii()


def test_a_terminal_that_draws_gets_the_picture_and_places_for_it() -> None:
    drawn = in_placeholders(opened(png(640, 320)), Size(40, 20))
    assert drawn.size == Size(40, 10) and all(row.cell_length == 40 for row in drawn.rows)
    pieces = re.findall(r"\x1b_G([^;]*);([^\x1b]*)\x1b\\", drawn.transmission)
    assert "".join(f"\x1b_G{keys};{data}\x1b\\" for keys, data in pieces) == drawn.transmission
    assert f"i={drawn.number},c=40,r=10,q=2" in pieces[0][0] and pieces[-1][0].endswith("m=0")
    with Image.open(io.BytesIO(base64.b64decode("".join(data for _, data in pieces)))) as sent:
        assert sent.size == (400, 200) and sent.convert("RGB").getpixel((7, 7)) == RED
    marks = {mark for row in drawn.rows for mark in row.text.replace("\U0010eeee", "")}
    assert len(marks) == 40


@pytest.mark.parametrize(
    ("environment", "draws"),
    [
        ({"TERM": "xterm-kitty"}, True),
        ({"TERM": "xterm-256color", "KITTY_WINDOW_ID": "1"}, True),
        ({"TERM_PROGRAM": "ghostty"}, True),
        ({"TERM": "xterm-kitty", "TMUX": "/tmp/x"}, False),
        ({"TERM": "xterm-256color"}, False),
    ],
)
def test_only_terminals_that_are_known_to_draw_are_asked_to(environment: dict[str, str], draws: bool) -> None:
    assert has_placeholders(environment) == draws


@pytest.mark.parametrize("size", [(120, 36), (80, 24), (40, 20), (30, 12)])
@pytest.mark.parametrize("glyphs", [UNICODE, ASCII])
async def test_pictures_are_looked_at_one_after_another(size: tuple[int, int], glyphs: Glyphs) -> None:
    data = {
        "red.png": png(),
        "gone.png": None,
        "broken.png": b"\x89PNG\r\n",
        "clear.png": png(mode="LA", colour=(9, 9)),
    }

    async def read(wanted: Picture) -> bytes:
        await asyncio.sleep(0)
        found = data[wanted.name]
        if found is None:
            raise LocalAgentError("gone.png is not in the store any more.")
        return found

    screen = PictureScreen([picture(name, b"x") for name in data], read, glyphs=glyphs)
    app = Stage(screen)
    async with app.run_test(size=size) as pilot:
        drawn = ("▀" if glyphs is UNICODE else ":") * 20
        await until(pilot, lambda: drawn in screen_text(pilot))
        assert "red.png" in screen_text(pilot)
        await pilot.press("right")
        await until(pilot, lambda: "is not in the store" in screen_text(pilot))
        assert drawn not in screen_text(pilot)
        await pilot.press("right")
        await until(pilot, lambda: "broken.png can't be drawn." in screen_text(pilot))
        await pilot.press("left", "left")
        await until(pilot, lambda: drawn in screen_text(pilot))
        await pilot.press("left")
        await until(pilot, lambda: "clear.png" in screen_text(pilot) and "be drawn" not in screen_text(pilot))
        await pilot.press("escape")
        await until(pilot, lambda: app.given)


async def test_a_badge_opens_its_picture_and_an_altered_object_is_said(
    home: Path, server: OllamaServer
) -> None:
    server.script("ok")
    folder = home.parent / "api-server"
    folder.mkdir(parents=True)
    (folder / "red.png").write_bytes(png())
    (folder / "more.png").write_bytes(png())
    async with chatting(home, server.url) as chat:
        await chat.ready()
        await chat.send("/image red.png more.png red.png red.png red.png nope.png")
        await until(chat.pilot, lambda: "A prompt takes 4 pictures, no more." in chat.remarks)
        assert len(chat.remarks) == 1, "once, whatever else was named"
        await chat.send("/image clear")
        await chat.send("/image red.png more.png")
        await until(chat.pilot, lambda: "[2] more.png" in screen_text(chat.pilot))
        await chat.send("what is it?")
        await until(chat.pilot, lambda: "▣ red.png  64x32" in screen_text(chat.pilot))
        await chat.send("/pictures")
        await until(chat.pilot, lambda: "▀" * 20 in screen_text(chat.pilot))
        assert "red.png · 64x32" in screen_text(chat.pilot), "in the order of the question"
        await chat.pilot.press("escape")
        question = chat.screen.query_one(Question)
        await chat.pilot.click(question, offset=(6, 1))
        await until(chat.pilot, lambda: "▀" * 20 in screen_text(chat.pilot))
        await chat.pilot.press("escape")
        stored = question.pictures[0]
        (kept,) = paths_in(home).home.rglob(stored.sha256)
        kept.unlink()
        question.focus()
        await chat.pilot.press("p")
        await until(chat.pilot, lambda: isinstance(chat.app.screen, PictureScreen))
        await until(
            chat.pilot, lambda: "red.png" in screen_text(chat.pilot) and "▀" not in screen_text(chat.pilot)
        )
        await chat.pilot.press("q")
        await until(chat.pilot, lambda: chat.app.screen is chat.screen)
