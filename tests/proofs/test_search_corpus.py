"""Each fact that was said once in three hundred conversations is found, first, and in a tenth of a second."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest

from local_agent.store.store import Store
from tests.proofs.corpus import SESSIONS, conversation, planted
from tests.store.samples import ROOT, VERSION, new_session, opening, settled


@pytest.mark.slow
async def test_every_planted_fact_is_found_first_and_in_a_tenth_of_a_second(
    tmp_path: Path, proven: Callable[[str], None]
) -> None:
    store = Store.open(tmp_path / "home" / "local-agent.db", program_version=VERSION)
    handles = []
    for number in range(SESSIONS):
        held = None
        for question, answer in conversation(number):
            if held is None:
                held, turn = await store.create(new_session(f"Session {number}"), opening(question))
            else:
                turn = await held.begin(opening(question, held.info.head))
            await held.settle(turn, settled(answer))
        assert held is not None
        handles.append(held.info.handle)
        await held.release()

    asked, first, among = Counter[str](), Counter[str](), Counter[str]()
    slowest = 0.0
    for number, handle in enumerate(handles):
        fact = planted(number)
        begin = time.process_time()
        page = await store.search(fact.asked, ROOT)
        slowest = max(slowest, time.process_time() - begin)
        found = [passage.handle for passage in page.passages]
        asked[fact.shape] += 1
        first[fact.shape] += found[:1] == [handle]
        among[fact.shape] += handle in found[:5]
    await store.close()

    assert first == asked, {shape: (first[shape], asked[shape]) for shape in asked}
    assert slowest < 0.1
    rates = ", ".join(f"{shape} {first[shape]} of {asked[shape]}" for shape in asked)
    proven(f"facts found first among {SESSIONS} conversations: {rates}; slowest {slowest * 1e3:.0f} ms")
