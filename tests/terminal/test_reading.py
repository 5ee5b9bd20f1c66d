"""A long conversation in a real terminal: found, walked through and read by the bytes that keys send."""

from __future__ import annotations

import asyncio

import pytest

from local_agent.store.store import Store
from tests.store.samples import VERSION, fill, talk
from tests.support.emulator import Emulator
from tests.support.machine import Machine
from tests.support.terminal import Condition, Key
from tests.terminal.steps import leave

pytestmark = pytest.mark.terminal

ALT_UP, ALT_DOWN, SHIFT_PAGE_UP = "\x1b[1;3A", "\x1b[1;3B", "\x1b[5;2~"
CTRL_F, ALT_V = "\x06", "\x1bv"


def stored(machine: Machine, turns: int) -> str:
    """A session of so many turns in the folder that the program is started in; its handle."""

    async def store_it() -> str:
        store = Store.open(machine.database, program_version=VERSION)
        held = await talk(store, "question 0", root=str(machine.workspace))
        await store.close()
        fill(machine.database, held.info.id, 2 * turns, says=_says)
        return held.info.handle

    return asyncio.run(store_it())


def _says(place: int) -> str:
    number = (place + 1) // 2
    return f"question {number}" if place % 2 else f"Answer {number}.\n\n- first\n- second" + "\n- third" * 20


def on_top(question: str) -> Condition:
    def holds(shown: Emulator) -> bool:
        return shown.text.split("\n")[2].strip(" ▌").startswith(f"{question} ")

    return holds


def test_find_walk_and_view_by_the_bytes_of_their_keys(machine: Machine) -> None:
    handle = stored(machine, 120)
    with machine.terminal("--resume", handle) as terminal:
        terminal.wait_for("third")
        # In one breath: the letters are typed into the bar that the first byte opens.
        terminal.send(f"{CTRL_F}Answer 7.")
        terminal.wait_for(("find Answer 7.", "1 of 1", "Answer 7."))
        terminal.send(Key.ESCAPE)
        terminal.wait_for(lambda shown: "find Answer" not in shown.text and "Answer 7." in shown.text)
        terminal.send(ALT_UP)
        terminal.wait_for(on_top("question 6"))
        terminal.send(SHIFT_PAGE_UP)
        terminal.wait_for(on_top("question 5"))
        terminal.send(ALT_DOWN)
        terminal.wait_for(on_top("question 6"))
        terminal.send(ALT_V)
        terminal.wait_for(("Answer", "esc close", "/ find"))
        terminal.send("/second", Key.ENTER)
        terminal.wait_for(("find second", "1 of 1"))
        terminal.send("q")
        terminal.wait_for("❯ Ask anything")
        leave(terminal)
