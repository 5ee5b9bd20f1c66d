"""Whatever a person does in whatever order, undo and redo are exact: a session against two plain lists."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from local_agent.domain.entries import Kind
from local_agent.domain.errors import UsageError
from local_agent.domain.ledger import EventKind, Receipt
from local_agent.domain.moves import Cause, Landing, Scope
from local_agent.domain.restoring import FileStep, RestoreIntent
from local_agent.domain.tools import FileChange, FileState
from local_agent.store import moves
from local_agent.store.held import HeldSession
from local_agent.store.store import Store
from tests.store.samples import EFFECTS, VERSION, WANTED, failed, opening, settled, talk

INTENT = RestoreIntent("somewhere", (FileStep("a.txt", FileState("1" * 64), FileState("2" * 64)),))
CHANGE = FileChange("a.txt", "changed", "1" * 64, "2" * 64, 0o100644, 0o100644)
COUNTED = Kind.QUESTION, Kind.COMMAND, Kind.ASSISTANT

STEPS = ("turn", "turn with calls", "failed turn", "mark", "compact", "checkpoint", "restore", "switch")
Step = tuple[str, int, Scope, bool]
PLAYS = st.lists(
    st.tuples(
        st.sampled_from((*STEPS, "undo", "undo", "undo", "redo", "redo")),
        st.integers(0, 40),
        st.sampled_from(Scope),
        st.booleans(),
    ),
    min_size=1,
    max_size=14,
)


class Place(NamedTuple):
    """Where one can go back to."""

    head: int | None
    ledger: int


@dataclass
class Model:
    """What is expected."""

    head: int | None
    undo: list[Place] = field(default_factory=list)
    redo: list[tuple[Place, Place]] = field(default_factory=list)
    """Where each step leads that was undone, and what undoes it again: always to before the step."""
    checkpoints: list[tuple[int, Place]] = field(default_factory=list)

    def went(self, ledger: int, to: int | None) -> None:
        self.undo.append(Place(self.head, ledger))
        self.redo.clear()
        self.head = to


@dataclass
class Player:
    store: Store
    held: HeldSession
    model: Model

    @classmethod
    async def begin(cls, store: Store) -> Player:
        held = await talk(store, "first?")
        player = cls(store, held, Model(None))
        player.model.went(await player.first_ledger(), held.info.head)
        return player

    async def play(self, step: Step) -> None:
        name, number, scope, files = step
        if name in ("turn", "turn with calls", "failed turn"):
            await self._turn(name)
        elif name == "mark":
            ledger = await self.ledger()
            self.model.went(ledger, await self.held.mark(self.model.head, "pin 1"))
        elif name == "compact":
            await self._compact()
        elif name == "checkpoint":
            made = await self.held.make_checkpoint("here")
            self.model.checkpoints.append((made.id, Place(self.model.head, await self.ledger())))
            assert made.message_count == await self._messages()
        elif name == "restore" and self.model.checkpoints:
            key, place = self.model.checkpoints[number % len(self.model.checkpoints)]
            landing = await self.store.checkpoint_landing(self.held.info.id, key)
            assert (landing.entry_id, landing.ledger_number) == place
            await self._to(landing, scope, files)
        elif name == "switch":
            nodes = await self.store.tree(self.held.info.id)
            last = nodes[number % len(nodes)].last
            await self._to(
                await self.store.entry_landing(self.held.info.id, last, Cause.SWITCH), scope, files
            )
        elif name in ("undo", "redo"):
            await self._along(name, scope, files)
        await self.check()

    async def check(self) -> None:
        info = self.held.info
        assert info.head == self.model.head == await self.store.head(info.id)

    async def check_branches(self) -> None:
        info = self.held.info
        nodes = await self.store.tree(info.id)
        leaves = {node.entry_id for node in nodes} - {node.parent for node in nodes}
        assert info.branches == len(leaves)
        assert (await self.store.find(info.handle)).branches == info.branches

    async def ledger(self) -> int:
        return await self.store._gateway.read(moves.ledger_number)

    async def first_ledger(self) -> int:
        return (await self.store.undo_landing(self.held.info.id)).ledger_number or 0

    async def _turn(self, name: str) -> None:
        ledger = await self.ledger()
        turn = await self.held.begin(opening(f"{name}?", self.model.head))
        if name == "turn with calls":
            _, calls = await self.held.record(turn, WANTED, EFFECTS)
            for call in calls:
                started = await self.held.start(call, {})
                await self.held.finish(started, EventKind.COMPLETED, Receipt("ok"), "text", (CHANGE,))
        await self.held.settle(turn, failed() if name == "failed turn" else settled())
        self.model.went(ledger, self.held.info.head)

    async def _compact(self) -> None:
        if self.model.head is None:
            return
        ledger = await self.ledger()
        summary, made = await self.held.compact(self.model.head, "In short: trees.", self.model.head)
        self.model.checkpoints.append((made.id, Place(self.model.head, ledger)))
        self.model.went(ledger, summary.id)

    async def _to(self, landing: Landing, scope: Scope, files: bool) -> None:
        assert landing.redoable == bool(self.model.redo)
        ledger = await self.ledger()
        before = self.model.head
        gone = await self._travel(landing, scope, files)
        if landing.cause is Cause.RESTORE:
            assert gone is not None
            self.model.checkpoints.append((gone, Place(before, ledger)))
        self.model.went(ledger, landing.entry_id if scope.moves_head else before)

    async def _along(self, name: str, scope: Scope, files: bool) -> None:
        look = self.store.undo_landing if name == "undo" else self.store.redo_landing
        model = self.model
        if not (model.undo if name == "undo" else model.redo):
            with pytest.raises(UsageError, match=f"nothing to {name}"):
                await look(self.held.info.id)
            return
        landing = await look(self.held.info.id)
        if name == "undo":
            place = model.undo.pop()
            model.redo.append((Place(model.head, await self.ledger()), place))
        else:
            place, step = model.redo.pop()
            model.undo.append(step)
        assert (landing.entry_id, landing.ledger_number) == place
        await self._travel(landing, scope, files)
        if scope.moves_head:
            self.model.head = place.head

    async def _travel(self, landing: Landing, scope: Scope, files: bool) -> int | None:
        gone = await self.held.travel(landing, scope, INTENT if files and scope.moves_files else None)
        if gone.execution_id:
            execution = await self.store.unfinished_restore(self.held.info.id)
            assert execution is not None
            assert execution.id == gone.execution_id
            await self.held.end_restore(execution, EventKind.COMPLETED, Receipt("ok"), (CHANGE,))
        return gone.checkpoint_id

    async def _messages(self) -> int:
        if self.model.head is None:
            return 0
        path = (await self.store.tail(self.held.info.id, 1_000)).entries
        return sum(entry.kind in COUNTED for entry in path)


@pytest.fixture(scope="module")
def runner() -> Iterator[asyncio.Runner]:
    with asyncio.Runner() as one:
        yield one


@pytest.fixture(scope="module")
def shared(runner: asyncio.Runner) -> Iterator[Store]:
    store = Store.in_memory(program_version=VERSION)
    yield store
    runner.run(store.close())


@settings(max_examples=30, deadline=None)
@given(PLAYS)
def test_undo_and_redo_are_exact(runner: asyncio.Runner, shared: Store, steps: list[Step]) -> None:
    async def play() -> None:
        player = await Player.begin(shared)
        for step in steps:
            await player.play(step)
        await player.check_branches()
        while player.model.undo:
            await player.play(("undo", 0, Scope.CONVERSATION, False))
        await player.held.release()

    runner.run(play())
