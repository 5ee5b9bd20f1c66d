"""The transcript is a window: bounded, following, and steady under the eyes of who reads."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from time import perf_counter

import pytest

from local_agent.store.store import Store
from local_agent.tui.widgets.reply import Reply
from local_agent.tui.widgets.transcript import MOUNTED_AT_MOST, NEAR_ROWS
from tests.runtime.opened import paths_in, settings_for
from tests.store.samples import VERSION, fill, talk
from tests.support.ollama_server import OllamaServer, Turn, gate, say, server_process, sleep
from tests.tui.chatting import Chat, chatting
from tests.tui.pilots import POLL_SECONDS, screen_text, until

LONGEST_GAP = 0.1
"""Seconds for which the loop may be held up, on a machine that does nothing else."""


def numbered(place: int) -> str:
    """Questions and answers that can be told apart."""
    number = (place + 1) // 2
    return f"question {number}" if place % 2 else f"Answer **{number}**.\n\n- a\n- b"


async def long_session(home: Path, turns: int) -> str:
    """A stored session of this many turns; its handle."""
    store = Store.open(paths_in(home).database, program_version=VERSION)
    held = await talk(store, "question 0", root=str(home.parent / "api-server"))
    fill(paths_in(home).database, held.info.id, 2 * (turns - 1), says=numbered)
    handle = held.info.handle
    await store.close()
    return handle


def mounted(chat: Chat) -> int:
    return len(chat.screen.transcript.children)


def words(chat: Chat) -> list[str]:
    """What is drawn but for the scrollbar."""
    return [row[:79].rstrip() for row in screen_text(chat.pilot).splitlines()]


async def paged(chat: Chat) -> None:
    """Wait until the window has stopped sliding."""
    paging = [worker for worker in chat.app.workers if worker.group == "paging"]
    await until(chat.pilot, lambda: all(worker.is_finished for worker in paging))
    await chat.pilot.pause()


async def page_up(chat: Chat) -> None:
    """Scroll to the upper edge of the window until older entries have come."""
    transcript = chat.screen.transcript
    first = transcript.window.items[0].entry_id

    def come() -> bool:
        transcript.scroll_to(y=0, animate=False, immediate=True)
        return transcript.window.items[0].entry_id < first

    await until(chat.pilot, come)


async def resized(chat: Chat, width: int) -> None:
    """Wait until all rows are set for a new width."""
    transcript = chat.screen.transcript
    await chat.pilot.resize_terminal(width, 24)
    await until(
        chat.pilot,
        lambda: transcript.size.width == transcript._width > width - 5 and not transcript._catching_up,
    )


async def page_down(chat: Chat, seen: set[int]) -> None:
    """Scroll to the lower edge of the window until newer entries have come back; note all that is mounted."""
    transcript = chat.screen.transcript
    last = transcript.window.items[-1].entry_id

    def come() -> bool:
        seen.update(item.entry_id for item in transcript.window.items)
        transcript.scroll_to(y=transcript.max_scroll_y - 5, animate=False, immediate=True)
        transcript.scroll_to(y=transcript.max_scroll_y, animate=False, immediate=True)
        return transcript.window.items[-1].entry_id > last

    await until(chat.pilot, come)


async def test_three_thousand_entries_stay_a_bounded_window(home: Path, server: OllamaServer) -> None:
    handle = await long_session(home, 1500)
    async with chatting(home, server.url, resume=handle) as chat:
        transcript = chat.screen.transcript
        await until(chat.pilot, lambda: "question 1499" in screen_text(chat.pilot))
        assert mounted(chat) <= 80
        seen = mounted(chat)
        for _ in range(16):
            await page_up(chat)
            seen = max(seen, mounted(chat))
        assert seen <= MOUNTED_AT_MOST + 80
        assert not transcript.end_mounted
        await chat.pilot.press("ctrl+end")
        await until(chat.pilot, lambda: "question 1499" in screen_text(chat.pilot))
        assert mounted(chat) <= 80


async def test_older_entries_come_above_what_is_read_without_moving_it(
    home: Path, server: OllamaServer
) -> None:
    handle = await long_session(home, 100)
    async with chatting(home, server.url, resume=handle) as chat:
        transcript = chat.screen.transcript
        await until(chat.pilot, lambda: "question 99" in screen_text(chat.pilot))
        before = transcript.window.items[0].entry_id
        transcript.scroll_to(y=3, animate=False)
        await chat.pilot.pause()
        reading = screen_text(chat.pilot)
        await until(chat.pilot, lambda: transcript.window.items[0].entry_id < before)
        await until(chat.pilot, lambda: transcript.scroll_y > 20)
        await chat.pilot.pause()
        assert screen_text(chat.pilot) == reading


async def test_scrolled_down_again_everything_is_there_once_in_a_bounded_window(
    home: Path, server: OllamaServer
) -> None:
    handle = await long_session(home, 300)
    async with chatting(home, server.url, resume=handle) as chat:
        transcript = chat.screen.transcript
        await until(chat.pilot, lambda: "question 299" in screen_text(chat.pilot))
        while transcript.window.more_above:
            await page_up(chat)
        await until(chat.pilot, lambda: not transcript.end_mounted)
        ids: set[int] = set()
        while not transcript.end_mounted:
            window = [item.entry_id for item in transcript.window.items]
            assert window == list(range(window[0], window[-1] + 1)), "in order, without a gap, once each"
            await page_down(chat, ids)
            await until(chat.pilot, lambda: mounted(chat) <= MOUNTED_AT_MOST)
        ids.update(item.entry_id for item in transcript.window.items)
        assert ids == set(range(1, 601))
        assert transcript.window.more_above, "what lies far above was dropped on the way"
        while transcript.window.more_above:
            await page_up(chat)
        assert "question 0" in chat.questions


async def test_what_is_dropped_above_does_not_move_what_is_read(home: Path, server: OllamaServer) -> None:
    handle = await long_session(home, 300)
    async with chatting(home, server.url, resume=handle) as chat:
        transcript = chat.screen.transcript
        await until(chat.pilot, lambda: "question 299" in screen_text(chat.pilot))
        while transcript.window.more_above:
            await page_up(chat)
            await paged(chat)
        first = transcript.window.items[0].entry_id
        while transcript.window.items[0].entry_id == first:
            transcript.scroll_to(y=transcript.max_scroll_y - NEAR_ROWS, animate=False, immediate=True)
            await paged(chat)
            last, reading = transcript.window.items[-1].entry_id, words(chat)
            transcript.scroll_relative(y=1, animate=False, immediate=True)
            await until(chat.pilot, lambda last=last: transcript.window.items[-1].entry_id > last)
            await paged(chat)
            assert words(chat)[2:-5] == reading[3:-4], "one row further"


@pytest.mark.parametrize("command", ["next", "/retry"])
async def test_a_turn_goes_to_the_end_that_was_dropped(
    home: Path, server: OllamaServer, command: str
) -> None:
    handle = await long_session(home, 300)
    server.script("Here at the end.")
    async with chatting(home, server.url, resume=handle, model="llama3.2:3b") as chat:
        transcript = chat.screen.transcript
        await until(chat.pilot, lambda: "question 299" in screen_text(chat.pilot))
        while transcript.end_mounted:
            await page_up(chat)
        await chat.send(command)
        await until(chat.pilot, lambda: "Here at the end." in screen_text(chat.pilot))
        ids = [item.entry_id for item in transcript.window.items]
        assert ids == sorted(set(ids)) and transcript.end_mounted
        assert chat.questions[-1] == ("next" if command == "next" else "question 299")
        assert chat.questions.count(chat.questions[-1]) == 1


async def test_the_end_is_followed_until_one_scrolls_up(home: Path, server: OllamaServer) -> None:
    lines = "\n\n".join(f"line {number}" for number in range(40))
    server.script(Turn(say(lines), gate("more"), say("\n\nlast words")))
    async with chatting(home, server.url) as chat:
        await chat.ready()
        await chat.send("go")
        await until(chat.pilot, lambda: "line 39" in screen_text(chat.pilot))
        transcript = chat.screen.transcript
        transcript.scroll_to(y=2, animate=False)
        await chat.pilot.pause()
        reading = screen_text(chat.pilot)
        server.release("more")
        await until(chat.pilot, lambda: not chat.screen.busy)
        assert "line 3" in reading and "last words" not in screen_text(chat.pilot)
        assert transcript.scroll_y == 2
        await chat.pilot.press("end")
        await until(chat.pilot, lambda: "last words" in screen_text(chat.pilot))


async def test_a_short_conversation_begins_at_the_top(home: Path, server: OllamaServer) -> None:
    server.script("Short.")
    async with chatting(home, server.url) as chat:
        await chat.ready()
        await chat.send("go")
        await chat.answered(1)
        rows = screen_text(chat.pilot).splitlines()
        assert "go" in rows[3]


@asynccontextmanager
async def longest_gap() -> AsyncIterator[list[float]]:
    """Measures how long the loop did not come round while the body ran; the list's one value."""
    longest = [0.0]

    async def watch() -> None:
        last = perf_counter()
        while True:
            await asyncio.sleep(0.001)
            now = perf_counter()
            longest[0] = max(longest[0], now - last)
            last = now

    watching = asyncio.create_task(watch())
    try:
        yield longest
    finally:
        watching.cancel()


def calibration() -> float:
    """How much slower than the reference machine this one is right now; at least 1."""
    begun = perf_counter()
    sum(number * number for number in range(1_000_000))
    return max(1.0, (perf_counter() - begun) / 0.06)


async def test_twenty_thousand_tokens_never_hold_the_loop_up(home: Path) -> None:
    items = "".join(f"- item {number} with **bold** words and `code` in it\n" for number in range(800))
    code = "".join(f"def f{number}(x): return str(x) + {number}  # comment\n" for number in range(800))
    prose = " ".join(f"Sentence {number} of prose." for number in range(1400))
    text = f"Here it comes:\n\n{items}\n```python\n{code}```\n\n{prose}"
    assert len(text.split()) > 19_000
    # In a process of its own: what the server computes must not count as ours.
    with server_process() as server:
        defaults = settings_for(server.url)
        settings = replace(
            defaults,
            ollama=replace(defaults.ollama, num_ctx=131_072),
            model=replace(defaults.model, max_output=65_536),
        )
        server.script(Turn(say(text, chunking="token")))
        async with chatting(home, server.url, settings=settings) as chat:
            await chat.ready()
            slow = calibration()
            async with longest_gap() as longest:
                await chat.send("go")
                await until(chat.pilot, lambda: chat.replies and not chat.screen.busy, 120)
            assert chat.replies == [text]
            assert longest[0] < 4 * LONGEST_GAP * max(slow, calibration()), f"{longest[0]:.3f} s"


async def test_a_reply_that_ends_while_its_last_block_is_set_is_whole(
    home: Path, server: OllamaServer
) -> None:
    rows = "".join(f"| {number} | row *{number}* of many | {number * 7} kB |\n" for number in range(1200))
    table = f"| number | what | size |\n|---|---|---|\n{rows}\nThat was all."
    server.script(Turn(say(table, chunking="whole"), sleep(0.15)))
    async with chatting(home, server.url) as chat:
        await chat.ready()
        await chat.send("go")
        await until(chat.pilot, lambda: chat.replies and not chat.screen.busy, 60)
        assert chat.replies == [table]


async def test_long_replies_are_set_for_a_new_width_without_holding_the_loop_up(
    home: Path, server: OllamaServer
) -> None:
    store = Store.open(paths_in(home).database, program_version=VERSION)
    held = await talk(store, "question 0", root=str(home.parent / "api-server"))
    fill(paths_in(home).database, held.info.id, 40, says=lambda place: f"- *point* {place} of many\n" * 160)
    await store.close()
    words = "".join(f"word {number} " for number in range(300))
    server.script(Turn(say(words, pause=0.002), gate("resized"), say("the end")))
    defaults = settings_for(server.url)
    settings = replace(defaults, ollama=replace(defaults.ollama, num_ctx=131_072))
    handle = held.info.handle
    async with chatting(home, server.url, settings=settings, resume=handle, model="llama3.2:3b") as chat:
        await chat.ready()
        await chat.send("go")
        await until(chat.pilot, lambda: chat.replies[-1].startswith("word"))
        slow = calibration()
        async with longest_gap() as longest:
            await chat.pilot.resize_terminal(44, 24)
            await until(chat.pilot, lambda: not any(reply.stale for reply in chat.screen.query(Reply)), 60)
        server.release("resized")
        await until(chat.pilot, lambda: not chat.screen.busy)
        assert chat.replies[-1].endswith("the end")
        for reply in chat.screen.query(Reply):
            width = reply.size.width
            assert all(line.content.cell_length <= width for line in reply.lines_for(width))
        assert longest[0] < 4 * LONGEST_GAP * max(slow, calibration()), f"{longest[0]:.3f} s"


async def test_a_new_width_leaves_what_is_read_in_view(home: Path, server: OllamaServer) -> None:
    store = Store.open(paths_in(home).database, program_version=VERSION)
    held = await talk(store, "question 0", root=str(home.parent / "api-server"))
    fill(paths_in(home).database, held.info.id, 40, says=lambda place: f"{place} is one of many. " * 30)
    await store.close()
    async with chatting(home, server.url, resume=held.info.handle) as chat:
        transcript = chat.screen.transcript
        await until(chat.pilot, lambda: transcript.max_scroll_y > 50 and transcript.at_end)
        for _ in range(6):
            await chat.pilot.press("pageup")
        edge = transcript._at_upper_edge()
        assert edge is not None
        for width in (40, 120, 80):
            await resized(chat, width)
            now = transcript._at_upper_edge()
            assert now is not None
            assert now[0] is edge[0]


async def test_what_waits_for_the_layout_is_not_forgotten_by_a_screen_that_closes(
    home: Path, server: OllamaServer
) -> None:
    async with chatting(home, server.url) as chat:
        await chat.ready()
        await chat.pilot.press("f1")
        await until(chat.pilot, lambda: chat.app.screen is not chat.screen)
        await chat.pilot.pause()
        # A screen that has much to do when it closes: it has no idle moment any more.
        busy = asyncio.Event()
        chat.app.screen.call_later(busy.wait)
        waiting = asyncio.create_task(chat.screen.transcript.laid_out())
        await asyncio.sleep(POLL_SECONDS)
        closing = asyncio.ensure_future(chat.app.pop_screen())
        await asyncio.sleep(POLL_SECONDS)
        busy.set()
        await closing
        await asyncio.wait_for(waiting, 5)


async def test_no_drawn_rows_are_kept_of_what_is_out_of_sight(home: Path, server: OllamaServer) -> None:
    handle = await long_session(home, 40)
    async with chatting(home, server.url, resume=handle) as chat:
        transcript = chat.screen.transcript
        await until(chat.pilot, lambda: "question 39" in screen_text(chat.pilot))

        def drawn() -> int:
            return sum(len(view._styles_cache._cache) for view in transcript.children)

        for _ in range(8):
            await chat.pilot.press("pageup")
            assert drawn() <= 4 * transcript.size.height
        assert "question 39" not in screen_text(chat.pilot)
        await chat.pilot.press("ctrl+end")
        await until(chat.pilot, lambda: "Answer 39." in screen_text(chat.pilot))


async def test_page_up_at_the_very_top_brings_what_is_above(home: Path, server: OllamaServer) -> None:
    handle = await long_session(home, 60)
    async with chatting(home, server.url, resume=handle) as chat:
        transcript = chat.screen.transcript
        await until(chat.pilot, lambda: "question 59" in screen_text(chat.pilot))
        pager, transcript.pager = transcript.pager, None
        transcript.scroll_to(y=0, animate=False, immediate=True)
        await chat.pilot.pause()
        transcript.pager = pager
        first = transcript.window.items[0].entry_id
        assert transcript.scroll_y == 0 and transcript.window.more_above
        await chat.pilot.press("pageup")
        await until(chat.pilot, lambda: transcript.window.items[0].entry_id < first)
