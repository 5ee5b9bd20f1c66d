"""Random histories of turns, outsiders, checkpoints, restores, undos, redos and branches against a model.

The model is a list of snapshots: the words of the path and the tree of files, before and after each step.
"""

from __future__ import annotations

import asyncio
import tempfile
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from local_agent.domain.errors import UsageError
from local_agent.domain.modes import Mode
from local_agent.domain.moves import Cause, Scope
from tests.runtime.opened import opened
from tests.runtime.travelling import Tree, Worker, tree_of
from tests.support.ollama_server import OllamaServer

NAMES = ("a.txt", "b.txt", "d/c.txt", "d/e/f.txt")
SCOPES = (Scope.CONVERSATION, Scope.FILES, Scope.BOTH)
OPERATIONS = st.lists(
    st.tuples(
        st.sampled_from(
            (
                "turn",
                "turn",
                "turn",
                "outsider",
                "checkpoint",
                "restore",
                "undo",
                "undo",
                "redo",
                "switch",
                "edit",
            )
        ),
        st.integers(0, 999),
        st.integers(0, 999),
    ),
    min_size=4,
    max_size=14,
)


PROFILE = settings(
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.too_slow],
    database=None,
    # A history takes a second: made smaller, a failure would take minutes to be told.
    phases=(Phase.explicit, Phase.generate),
)


@dataclass(frozen=True)
class Moment:
    """The words of the path, and all files."""

    words: list[str]
    tree: Tree


@dataclass
class History:
    """Carries operations out, and knows what has to be there after each."""

    worker: Worker
    undoable: list[tuple[Moment, int]] = field(default_factory=list)
    """Each step that can be undone: what was before it, and how many outsiders had been there."""
    redoable: list[tuple[Moment, int, tuple[Moment, int]]] = field(default_factory=list)
    """Each step that was undone: what was before that, and what was before the step."""
    checkpoints: list[tuple[int, Moment, int]] = field(default_factory=list)
    outsiders: list[str] = field(default_factory=list)
    """The paths that somebody else changed, in order."""
    theirs: set[str] = field(default_factory=set)
    """Those that nobody of the session has changed since."""
    questions: list[int] = field(default_factory=list)
    turns: int = 0

    async def now(self) -> Moment:
        return Moment(await self.worker.said(), tree_of(self.worker.work))

    async def carry_out(self, kind: str, a: int, b: int) -> None:
        match kind:
            case "turn":
                await self.turn(a, b)
            case "edit" if self.questions:
                await self.turn(a, b, instead_of=self.questions[a % len(self.questions)])
            case "outsider":
                self.outsider(NAMES[a % len(NAMES)], b)
            case "checkpoint":
                made = await self.worker.conversation.time.checkpoint()
                self.checkpoints.append((made.id, await self.now(), len(self.outsiders)))
            case "restore" if self.checkpoints:
                await self.restore(*self.checkpoints[a % len(self.checkpoints)], SCOPES[b % 3])
            case "undo":
                await self.undo(SCOPES[b % 3])
            case "redo":
                await self.redo(SCOPES[b % 3])
            case "switch" if self.questions:
                await self.switch(self.questions[a % len(self.questions)])
            case _:
                pass

    async def turn(self, a: int, b: int, instead_of: int | None = None) -> None:
        before = await self.now()
        self.turns += 1
        path = NAMES[a % len(NAMES)]
        there = (self.worker.work / path).is_file()
        read = [("read", {"path": path})] if there else []
        choice = b % 4
        calls: list[tuple[str, dict[str, object]]]
        if choice == 0 and there:
            calls = [("remove", {"path": path})]
            changed = [path]
        elif choice == 1 and there:
            target = next((n for n in NAMES if not (self.worker.work / n).exists()), None)
            if target is None:
                calls, changed = [], []
            else:
                calls, changed = [("move", {"path": path, "to": target})], [path, target]
        elif choice == 2:
            calls = [("bash", {"command": f"mkdir -p d/e && printf '%s' '{self.turns}-{b}' >> {path}"})]
            changed = [path]
        else:
            calls = [*read, ("write", {"path": path, "content": f"{self.turns}: {a} {b}\n" * (b % 7 + 1)})]
            changed = [path]
        await self.worker.turn(*calls, instead_of=instead_of)
        self.theirs -= set(changed)
        self.undoable.append((before, len(self.outsiders)))
        self.redoable.clear()
        tail = await self.worker.conversation.tail(10_000)
        self.questions.append([e.id for e in tail.entries if e.kind == "question"][-1])

    def outsider(self, path: str, b: int) -> None:
        place = self.worker.work / path
        if b % 5 == 0 and place.exists():
            place.unlink()
        else:
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_text(f"theirs {len(self.outsiders)} {b}\n")
        self.outsiders.append(path)
        self.theirs.add(path)

    async def restore(self, checkpoint_id: int, moment: Moment, seen: int, scope: Scope) -> None:
        before, outsiders = await self.now(), len(self.outsiders)
        await self.worker.restore(checkpoint_id, scope)
        await self.check(before, moment, seen, scope)
        self.undoable.append((before, outsiders))
        self.redoable.clear()

    async def undo(self, scope: Scope) -> None:
        if not self.undoable:
            with pytest.raises(UsageError):
                await self.worker.conversation.time.undo()
            return
        before, outsiders = await self.now(), len(self.outsiders)
        step = self.undoable.pop()
        await self.worker.undo(scope)
        await self.check(before, *step, scope)
        self.redoable.append((before, outsiders, step))

    async def redo(self, scope: Scope) -> None:
        if not self.redoable:
            with pytest.raises(UsageError):
                await self.worker.conversation.time.redo()
            return
        before = await self.now()
        moment, seen, step = self.redoable.pop()
        await self.worker.redo(scope)
        await self.check(before, moment, seen, scope)
        # Whatever was moved, undone again it goes back to before the step.
        self.undoable.append(step)

    async def switch(self, question: int) -> None:
        before, outsiders = await self.now(), len(self.outsiders)
        nodes = {node.entry_id: node for node in await self.worker.conversation.time.tree()}
        journey = await self.worker.conversation.time.to_entry(nodes[question].last, Cause.SWITCH)
        await self.worker.go(journey, Scope.CONVERSATION)
        assert tree_of(self.worker.work) == before.tree
        self.undoable.append((before, outsiders))
        self.redoable.clear()

    async def check(self, before: Moment, wanted: Moment, seen: int, scope: Scope) -> None:
        """What is there now is what has to be; ``seen``: how many outsiders had been there at that moment."""
        now = await self.now()
        assert now.words == (wanted.words if scope.moves_head else before.words)
        if not scope.moves_files:
            assert now.tree == before.tree
            return
        meanwhile = set(self.outsiders[seen:])
        if not meanwhile:
            assert now.tree == wanted.tree
            return
        for path in NAMES:
            if path in self.theirs:
                assert now.tree.get(path) == before.tree.get(path), f"{path} is somebody else's"
            elif path not in meanwhile:
                assert now.tree.get(path) == wanted.tree.get(path), path


def run(operations: list[tuple[str, int, int]]) -> None:
    """One history from its beginning."""

    async def history() -> None:
        with tempfile.TemporaryDirectory() as folder:
            home = Path(folder, "home")
            async with (
                OllamaServer() as server,
                opened(home, server.url, mode=Mode.AUTO, skip_approvals=True, save=False) as runtime,
            ):
                worker = Worker(runtime.new_conversation(), server, home.parent / "work")
                (worker.work / "d").mkdir()
                model = History(worker)
                await model.turn(0, 3)
                for operation in operations:
                    await model.carry_out(*operation)

    asyncio.run(history())


@settings(
    max_examples=12,
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.too_slow],
    database=None,
)
@given(OPERATIONS)
def test_random_histories(operations: list[tuple[str, int, int]]) -> None:
    run(operations)


@pytest.mark.slow
@settings(
    max_examples=60,
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.too_slow],
    database=None,
)
@given(OPERATIONS)
def test_many_random_histories(operations: list[tuple[str, int, int]]) -> None:
    run(operations)
