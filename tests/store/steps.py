"""What each step of a conversation costs the database: one session of a given length, metered."""

from __future__ import annotations

from collections.abc import Awaitable
from dataclasses import replace
from pathlib import Path
from typing import TypeVar

from local_agent.domain.drafts import Draft
from local_agent.domain.entries import PICTURES_FORGOTTEN
from local_agent.domain.ledger import EventKind, Receipt
from local_agent.domain.moves import Cause, Scope
from local_agent.domain.pictures import Picture
from local_agent.domain.ports import Reply
from local_agent.domain.restoring import FileStep, RestoreIntent
from local_agent.domain.tools import FileChange, FileState
from local_agent.store.held import HeldSession
from local_agent.store.store import Store
from tests.store.samples import EFFECTS, FOUND, ROOT, VERSION, WANTED, fill, opening, settled, talk
from tests.support.sql_meter import Cost, SqlMeter, metered

T = TypeVar("T")
TAIL = 40
INTENT = RestoreIntent("before", (FileStep("a.txt", FileState("2" * 64), FileState("1" * 64)),))
PICTURE = Picture("5e" * 32, "cat.png", "image/png", 40_000, 640, 480)


async def fill_session(path: Path, entries: int) -> str:
    """A database with one session of this many entries, let go; its handle."""
    store = Store.open(path, program_version=VERSION)
    held = await talk(store, "What is a tree?")
    fill(path, held.info.id, entries - 2)
    await store.close()
    return held.info.handle


async def measure_steps(path: Path, handle: str, turns: int = 5) -> dict[str, Cost]:
    """Go through the steps on a filled database; of a repeated one the median by bytes of the log counts."""
    with metered(path) as meter:
        store = Store.open(path, program_version=VERSION)
        try:
            return await _Walk(store, meter, handle).costs(turns)
        finally:
            await store.close()


class _Walk:
    def __init__(self, store: Store, meter: SqlMeter, handle: str) -> None:
        self._store = store
        self._meter = meter
        self._handle = handle
        self._costs: dict[str, list[Cost]] = {}

    async def costs(self, turns: int) -> dict[str, Cost]:
        store = self._store
        # Opens both connections, which is no part of any step.
        await store.save_draft(ROOT, None, Draft("unsent"))
        info = await store.find(self._handle)
        await self._step("latest", store.latest(ROOT))
        held = await self._step("hold", store.hold(self._handle))
        tail = await self._step("tail", store.tail(info.id, TAIL))
        await self._step("before", store.before(info.id, tail.entries[0].id, TAIL))
        for number in range(turns):
            turn = await self._step("begin", held.begin(opening(f"question {number}?", held.info.head)))
            for length in (10, 20):
                await self._step("keep", held.keep(turn, Reply("some words " * length)))
            await self._step("open reply", store.open_reply(info.id))
            await self._step("settle", held.settle(turn, settled(f"Answer {number}: a plant with a trunk.")))
        shown = replace(opening("And this?", held.info.head), pictures=(PICTURE,) * 4)
        turn = await self._step("begin with pictures", held.begin(shown))
        await held.settle(turn, settled("A plant."))
        await self._step("tail with pictures", store.tail(info.id, TAIL))
        await self._step("mark", held.mark(held.info.head, PICTURES_FORGOTTEN))
        await self._step("rename", held.rename("Another title"))
        await self._step("choose a model", held.set_model("small:1b", True))
        await self._step("save a draft", store.save_draft(ROOT, info.id, Draft("unsent")))
        await self._step("take a draft", store.take_draft(ROOT, info.id))
        await self._step("errors", store.errors(info.id))
        await self._step("fork", store.fork(self._handle))
        await self._step("fork from an entry", store.fork(self._handle, "", held.info.head))
        for number in range(turns):
            await self._turn_with_calls(held, number)
        for number in range(turns):
            await self._through_time(held, number)
        await self._step("release", held.release())
        return {name: _median(found) for name, found in self._costs.items()}

    async def _turn_with_calls(self, held: HeldSession, number: int) -> None:
        store, info = self._store, held.info
        turn = await held.begin(opening(f"task {number}?", info.head))
        _, (read, bash) = await self._step("record calls", held.record(turn, WANTED, EFFECTS))
        await self._step("start", held.start(read, {"target": "notes.md"}))
        await self._step("finish", held.finish(read, EventKind.COMPLETED, Receipt("ok"), "text", ()))
        bash = await self._step("note", held.note(bash, EventKind.APPROVAL_REQUESTED, {}))
        bash = await held.start(await held.note(bash, EventKind.APPROVED, {}), {})
        await self._step("pending", store.pending(info.id, held.info.head))
        # The turn ends over a call that goes on: uncertain.
        await self._step("settle over a call", held.settle(turn, settled("Done.")))
        await self._step("pending, one found", store.pending(info.id, held.info.head))
        await self._step("pending of a session", store.pending_of(self._handle))
        await self._step("find", store.find(self._handle))
        await self._step("list", store.page(ROOT))
        await self._step("settle what is uncertain", held.settle_uncertain([bash.id], FOUND))
        await self._step("tail with calls", store.tail(info.id, TAIL))
        await self._step("one execution", store.execution(read.id))

    async def _through_time(self, held: HeldSession, number: int) -> None:
        """Back and forth by a turn with a call that changed a file."""
        store, key = self._store, held.info.id
        turn = await held.begin(opening(f"change {number}?", held.info.head))
        _, (_, call) = await held.record(turn, WANTED, EFFECTS)
        change = FileChange("a.txt", "changed", "1" * 64, "2" * 64, 0o100644, 0o100644)
        await held.finish(await held.start(call, {}), EventKind.COMPLETED, Receipt("ok"), "text", (change,))
        await held.settle(turn, settled("Done."))
        made = await self._step("checkpoint", held.make_checkpoint("here"))
        await self._step("checkpoints", store.checkpoints(key, None, TAIL))
        landing = await self._step("look at an undo", store.undo_landing(key))
        assert landing.ledger_number is not None
        await self._step("files of an undo", store.changes_since(key, landing.ledger_number))
        await self._step("undo", held.travel(landing, Scope.BOTH, INTENT))
        begun = await self._step("unfinished restore", store.unfinished_restore(key))
        assert begun is not None
        done = held.end_restore(begun, EventKind.COMPLETED, Receipt("ok"), (change,))
        await self._step("end a restore", done)
        landing = await self._step("look at a redo", store.redo_landing(key))
        await self._step("redo", held.travel(landing, Scope.BOTH, INTENT))
        begun = await store.unfinished_restore(key)
        assert begun is not None
        await self._step("take back a restore", held.take_back_restore(begun, Receipt("cancelled"), ()))
        landing = await self._step("look at a checkpoint", store.checkpoint_landing(key, made.id))
        await self._step("restore", held.travel(landing, Scope.CONVERSATION, None))
        assert made.entry_id is not None
        landing = await self._step("look at an entry", store.entry_landing(key, made.entry_id, Cause.SWITCH))
        await self._step("switch", held.travel(landing, Scope.CONVERSATION, None))
        await self._step("compact", held.compact(made.entry_id, "In short: trees.", made.entry_id))

    async def _step(self, name: str, work: Awaitable[T]) -> T:
        result: list[T] = []

        async def done() -> None:
            result.append(await work)

        self._costs.setdefault(name, []).append(await self._meter.cost(done()))
        return result[0]


def _median(costs: list[Cost]) -> Cost:
    return sorted(costs, key=lambda cost: cost.wal_bytes)[len(costs) // 2]
