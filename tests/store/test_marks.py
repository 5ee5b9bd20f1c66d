"""What a person wants of exchanges is read with any part of a path, however far below it was said."""

from __future__ import annotations

from pathlib import Path

from local_agent.domain.marks import Mark, mark_text
from local_agent.store.store import Store
from tests.store.samples import VERSION, fill, opening, settled, talk


async def test_marks_are_known_wherever_a_path_is_read(tmp_path: Path) -> None:
    file = tmp_path / "home" / "sessions.sqlite3"
    store = Store.open(file, program_version=VERSION)
    held = await talk(store, "first", "second")
    path = (await store.tail(held.info.handle, 10)).entries
    first, answer, second, _ = path
    assert first.turn_id is not None and second.turn_id is not None
    await held.release()
    fill(file, held.info.id, 100)
    held = await store.hold(held.info.handle)

    await held.mark(held.info.head, mark_text(Mark.DROP, first.id))
    await held.mark(held.info.head, mark_text(Mark.PIN, second.id))
    await held.mark(held.info.head, mark_text(Mark.DROP, answer.id))
    above = await store.before(held.info.id, second.id + 2, 3)
    assert above.marks == {first.turn_id: "drop", second.turn_id: "pin"}, "a reply is no exchange"
    assert (await store.tail(held.info.handle, 10)).marks == above.marks

    free = await held.mark(held.info.head, mark_text(Mark.FREE, second.id))
    assert (await store.before(held.info.id, second.id, 2)).marks == {first.turn_id: "drop"}
    fork = await store.fork(held.info.handle, "")
    assert (await store.before(fork.id, second.id, 2)).marks == {first.turn_id: "drop"}
    # Another branch, which begins before any of it was said.
    turn = await held.begin(opening("third", second.id + 1))
    await held.settle(turn, settled())
    assert free and held.info.head is not None
    assert (await store.before(held.info.id, second.id, 2)).marks == {}
    await store.close()
