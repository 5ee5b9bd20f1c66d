"""Killed at any moment of a restore, every file is whole what it was or what it is to be; both ways go on."""

from __future__ import annotations

import os
import random
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from local_agent.config.paths import Paths
from local_agent.domain.entries import ToolCall
from local_agent.domain.errors import LocalAgentError
from local_agent.domain.ledger import EventKind, Receipt
from local_agent.domain.modes import Mode
from local_agent.domain.ports import Reply
from local_agent.domain.tools import Effect
from local_agent.objects.store import ObjectFolder
from local_agent.runtime.conversation import Conversation
from local_agent.store.store import Store
from tests.proofs.restore_life import Forker, opened
from tests.store.samples import VERSION, opening, settled, talk
from tests.tools.restoring.worlds import Tree, World, clear, prints_of, tree_of

KILLS = 200
CHANGING_KIND = ("was-file", "was-folder")
"""Between a file and a folder there is a moment of nothing."""


def lay_out(root: Path) -> None:
    """What the session finds."""
    for number in range(6):
        (root / f"edited-{number}.txt").write_text(f"before {number}\n" * 40)
        (root / f"untouched-{number}.txt").write_text(f"untouched {number}\n")
    (root / "edited-0.txt").write_bytes(os.urandom(300_000))
    for path in ("gone/inner/deep", "moving/inner", "was-folder/inner", "empty"):
        (root / path).mkdir(parents=True)
    for path in ("gone/a", "gone/inner/b", "moving/c", "moving/inner/d", "was-folder/inner/e", "was-file"):
        (root / path).write_text(f"{path}\n")
    (root / "run.sh").write_text("#!/bin/sh\n")
    (root / "run.sh").chmod(0o755)
    (root / "link").symlink_to("run.sh")
    (root / "link-to-file").symlink_to("gone/a")
    (root / "file-to-link").write_text("a file\n")
    (root / "gone/inner").chmod(0o700)


def work(root: Path) -> None:
    """What the session does: of everything that can be done to files."""
    for number in range(6):
        (root / f"edited-{number}.txt").write_text(f"after {number}\n" * 50)
        (root / f"made-{number}.txt").write_text(f"made {number}\n")
    (root / "made-0.txt").write_bytes(os.urandom(300_000))
    clear(root / "gone")
    (root / "moving").rename(root / "moved")
    (root / "empty").rmdir()
    (root / "new/er").mkdir(parents=True)
    (root / "new").chmod(0o750)
    (root / "new/er/file").write_text("new\n")
    clear(root / "was-folder")
    (root / "was-folder").write_text("a file now\n")
    clear(root / "was-file")
    (root / "was-file/inner").mkdir(parents=True)
    (root / "was-file/inner/f").write_text("f\n")
    (root / "run.sh").chmod(0o600)
    (root / "edited-3.txt").chmod(0o640)
    clear(root / "link")
    (root / "link").symlink_to("made-1.txt")
    clear(root / "link-to-file")
    (root / "link-to-file").write_text("a file\n")
    clear(root / "file-to-link")
    (root / "file-to-link").symlink_to("made-2.txt")


def head_of(conversation: Conversation) -> int | None:
    """The last entry of its path."""
    assert conversation.info is not None
    return conversation.info.head


async def session(home: Path, root: Path) -> tuple[str, Tree, Tree]:
    """A session that has done this work in its second turn: its handle, and the folder before and after."""
    world = World(root, ObjectFolder(Paths(home, home).outputs))
    lay_out(root)
    before = tree_of(root)
    store = Store.open(home / "local-agent.db", program_version=VERSION)
    held = await talk(store, "What is here?", root=str(root))
    turn = await held.begin(opening("Do it all.", held.info.head))
    wanted = Reply("", calls=(ToolCall("c1", "bash", {"command": "make all"}),))
    _, (call,) = await held.record(turn, wanted, (Effect.EFFECTFUL,))
    started = await held.start(call, {})
    await held.finish(started, EventKind.COMPLETED, Receipt("ok"), "Done.", world.session(work))
    await held.settle(turn, settled("Done."))
    await held.release()
    await store.close()
    return held.info.handle, before, tree_of(root)


@dataclass
class Restores:
    """One session that is put back and forth, and killed in it."""

    home: Path
    root: Path
    handle: str
    trees: tuple[Tree, Tree]
    untouched: dict[str, tuple[int, int]]
    cut_off: int = 0
    settled_again: int = 0

    def check_whole(self) -> None:
        """Every path is what it was or what it is to be, and nobody else's was touched."""
        now, (one, other) = tree_of(self.root), self.trees
        for path in {*one, *other}:
            found = now.get(path)
            if found in (one.get(path), other.get(path)):
                continue
            folder = found is not None and os.path.isdir(self.root / path)
            assert folder or (found is None and path in CHANGING_KIND), f"{path}: {found}"
        strange = set(now) - {*one, *other}
        assert all(os.path.basename(path).startswith(".local-agent-") for path in strange), strange
        assert len(strange) <= 1
        assert self.untouched.items() <= prints_of(self.root).items()

    async def settle(self, chance: random.Random, forker: Forker, before: Tree) -> None:
        """Do the rest of what was cut off, or take it back; some of these are killed, too."""
        runtime = await opened(self.home, self.root)
        conversation = await runtime.resume(self.handle)
        unfinished = await conversation.time.unfinished()
        head = head_of(conversation)
        if unfinished is None:
            assert tree_of(self.root) in self.trees, "it had not begun, or was over"
            await conversation.close()
            await runtime.close()
            return
        self.cut_off += 1
        assert not unfinished.conflicts
        (after,) = (tree for tree in self.trees if tree != before)
        now = tree_of(self.root)
        assert all(now.get(step.path) == after.get(step.path) for step in unfinished.done)
        with pytest.raises(LocalAgentError, match="cut off"):
            await conversation.hands.require_settled(head, Mode.AUTO)
        what = chance.choice(("complete", "take_back"))
        if chance.random() < 0.3:
            await conversation.close()
            await runtime.close()
            forker.kill(what, 0, chance.uniform(0, 0.1))
            self.settled_again += 1
            self.check_whole()
            runtime = await opened(self.home, self.root)
            conversation = await runtime.resume(self.handle)
            unfinished = await conversation.time.unfinished()
        if unfinished is not None:
            time = conversation.time
            execution = await (time.complete if what == "complete" else time.take_back)(unfinished)
            assert execution.ended and await time.unfinished() is None
        assert tree_of(self.root) == (after if what == "complete" else before)
        assert (head_of(conversation) == head) is (what == "complete")
        await conversation.hands.require_settled(head_of(conversation), Mode.AUTO)
        await conversation.close()
        await runtime.close()


async def kill_often(home: Path, root: Path, kills: int, delays: float = 0.02) -> Restores:
    """Kill restores at random moments, settle each, and go on from there. ``delays`` are in seconds."""
    handle, *trees = await session(home, root)
    untouched = {path: seen for path, seen in prints_of(root).items() if path.startswith("untouched")}
    restores = Restores(home, root, handle, (trees[0], trees[1]), untouched)
    forker = Forker(home, root, handle)
    try:
        for seed in range(kills):
            chance = random.Random(seed)
            before = tree_of(root)
            after, delay = chance.randrange(0, 42), chance.choice((0.0, chance.uniform(0, delays)))
            sys.stdout.write(f"seed {seed}: killed {delay:.4f} s after path {after}\n")
            forker.kill("step", after, delay)
            restores.check_whole()
            await restores.settle(chance, forker, before)
    finally:
        forker.close()
    return restores


@pytest.fixture
def places(tmp_path: Path) -> tuple[Path, Path]:
    """A home and a folder to work in."""
    (tmp_path / "home").mkdir()
    return tmp_path / "home", tmp_path / "work"


async def test_two_kills(places: tuple[Path, Path]) -> None:
    assert (await kill_often(*places, 2, 0.0)).cut_off


@pytest.mark.slow
async def test_two_hundred_kills(places: tuple[Path, Path], proven: Callable[[str], None]) -> None:
    restores = await kill_often(*places, KILLS)
    assert restores.cut_off > KILLS / 3, "they have to hit restores"
    proven(
        f"{KILLS} kills, {restores.cut_off} in the midst of a restore, {restores.settled_again} while that"
        " was settled; no file half-written, each completed or taken back byte for byte"
    )
