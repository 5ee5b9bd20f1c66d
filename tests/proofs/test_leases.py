"""One process holds a session, however many want it at the same instant; the others are told which."""

from __future__ import annotations

import asyncio
import os
import random
from collections.abc import Callable
from pathlib import Path
from statistics import median

import pytest

from local_agent.store.store import Store
from tests.proofs.openers import Opener, Openers
from tests.store.samples import ROOT, VERSION, talk
from tests.support.machine import Machine
from tests.support.terminal import patience

AT_ONCE = 1.0
"""Seconds within which a session whose holder was killed is somebody else's."""

Tell = Callable[[str], None]


async def a_session(database: Path) -> str:
    store = Store.open(database, program_version=VERSION)
    held = await talk(store, "What is a tree?")
    await store.close()
    return held.info.handle


async def until_nobody_holds(store: Store, handle: str) -> None:
    """Lists name no dead holder, though its parent has not reaped it."""
    async with asyncio.timeout(patience(AT_ONCE)):
        while (await store.find(handle)).holder is not None:  # noqa: ASYNC110  # another process changes it
            await asyncio.sleep(0.01)


async def race(machine: Machine, processes: int, rounds: int, proven: Tell, *, commands: bool) -> None:
    handle = await a_session(machine.database)
    waits: list[float] = []
    refused = 0
    store = Store.open(machine.database, program_version=VERSION)
    with Openers(machine.database, processes) as openers:
        winner: Opener | None = None
        for number in range(rounds):
            if winner is not None:
                openers.kill(winner)
                # The next one alone, for how long it takes; then all of them again.
                ((follower, followed),) = openers.at_once(openers.alive[:1], "hold", handle)
                assert "error" not in followed, followed
                waits.append(followed["seconds"])
                openers.kill(follower)
                await until_nobody_holds(store, handle)
            answers = openers.at_once(openers.alive, "hold", handle)
            got = [(opener, answer) for opener, answer in answers if "error" not in answer]
            assert len(got) == 1, f"round {number}: {got}"
            winner, won = got[0]
            for opener, answer in answers:
                if opener is not winner:
                    refused += 1
                    assert answer["error"] == "SessionHeld", answer
                    assert (answer["pid"], answer["terminal"]) == (winner.pid, openers.terminal), answer
                    since = answer["line"].partition(f"process {winner.pid} on {openers.terminal} since ")[2]
                    assert len(since) == len("2026-01-01 12:00."), answer
                    assert f"session fork {handle}" in answer["hint"]
                    assert f"--resume {handle}" in answer["hint"]
            assert won["generation"] == 1, "the lock of a dead holder is taken, not taken over"
            holder = (await store.find(handle)).holder
            assert holder is not None and holder.pid == winner.pid
            assert [info.handle for info in await store.page(ROOT)] == [handle]
            if commands and number == 0:
                (row,) = machine.json("session", "list", "--all", "--json")
                assert row["holder"]["pid"] == winner.pid
                assert "What is a tree?" in machine.run("session", "show", handle).stdout
    await store.close()
    assert max(waits) < patience(AT_ONCE)
    proven(
        f"leases: {processes} processes raced {rounds} times to open one session: {rounds} held it, "
        f"{refused} were told by whom; after a SIGKILL the next one had it "
        f"{median(waits) * 1000:.0f} ms later (at most {max(waits) * 1000:.0f} ms)"
    )


async def take_over_at_once(machine: Machine, rounds: int, proven: Tell) -> None:
    handle = await a_session(machine.database)
    chance = random.Random(rounds)
    told_early = 0
    store = Store.open(machine.database, program_version=VERSION)
    with Openers(machine.database, 4) as openers:
        openers.at_once(openers.alive[:1], "hold", handle)
        owner = openers.alive[0]
        for number in range(rounds):
            takers = chance.sample([opener for opener in openers.alive if opener is not owner], 2)
            answers = openers.at_once(takers, "take_over", handle)
            took = [opener for opener, answer in answers if "error" not in answer]
            told_early += 2 - len(took)
            written = openers.at_once(took, "write", f"Title {number}")
            (new_owner,) = [opener for opener, answer in written if "error" not in answer]
            for _, answer in (*answers, *written):
                assert answer.get("error") in (None, "LeaseLost", "SessionHeld"), answer
            ((_, lost),) = openers.at_once([owner], "write", "Too late")
            assert lost["error"] == "LeaseLost", lost
            info = await store.find(handle)
            assert info.title == f"Title {number}"
            assert info.holder is not None and info.holder.pid == new_owner.pid
            ((_, refused),) = openers.at_once([owner], "hold", handle)
            assert refused["pid"] == new_owner.pid, "the one that has the right to write has the lock, too"
            owner = new_owner
    await store.close()
    proven(
        f"leases: two of 4 processes took one session over at once {rounds} times: {rounds} had it then, "
        f"{told_early} of {rounds} others were told at once, the rest at their next write"
    )


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    made = Machine.make(tmp_path, "http://127.0.0.1:1")
    made.variables["PYTHONPATH"] = os.fspath(Path(__file__).parents[2])
    return made


async def test_one_of_many_holds_the_session(machine: Machine, proven: Tell) -> None:
    await race(machine, 8, 3, proven, commands=False)


async def test_one_of_two_has_taken_over(machine: Machine, proven: Tell) -> None:
    await take_over_at_once(machine, 4, proven)


@pytest.mark.slow
async def test_one_of_fifty_holds_the_session(machine: Machine, proven: Tell) -> None:
    await race(machine, 50, 20, proven, commands=True)


@pytest.mark.slow
async def test_one_of_two_has_taken_over_every_time(machine: Machine, proven: Tell) -> None:
    await take_over_at_once(machine, 100, proven)
