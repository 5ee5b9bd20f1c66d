"""Random edits by a session and by somebody else, and back to each moment, and back from there."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from local_agent.domain.restoring import Standing
from local_agent.objects.store import ObjectsInMemory
from local_agent.tools.restoring.run import Outcome
from tests.tools.restoring.worlds import World, clear, make_way, prints_of, states_of, tree_of

PATHS = ("a", "b", "d", "d/a", "d/e", "d/e/f", "d/e/f/g")
FILE_MODES = (0o644, 0o600, 0o755, 0o444)
FOLDER_MODES = (0o755, 0o700, 0o750)
Deed = tuple[str, str, str, int]
DEEDS = st.tuples(
    st.sampled_from(("write", "write", "link", "folder", "remove", "move", "mode")),
    st.sampled_from(PATHS),
    st.sampled_from(PATHS),
    st.integers(0, 11),
)


def deed(what: Deed) -> Callable[[Path], None]:
    """A change to a folder; one that can't be made changes nothing, or a part."""
    kind, name, other, number = what

    def do(root: Path) -> None:
        with suppress(OSError):
            DOINGS[kind](root / name, root / other, number)

    return do


def write(path: Path, other: Path, number: int) -> None:
    if path.is_symlink() or path.is_dir():
        clear(path)
    if not path.exists():
        make_way(path)
        path.touch(FILE_MODES[number % 4])
    path.write_text(f"{number}\n" * number)


def link(path: Path, other: Path, number: int) -> None:
    make_way(path)
    path.symlink_to(other.name)


def folder(path: Path, other: Path, number: int) -> None:
    if not path.is_dir() or path.is_symlink():
        make_way(path)
        path.mkdir(FOLDER_MODES[number % 3])


def move(path: Path, other: Path, number: int) -> None:
    if not path.is_relative_to(other) and not other.is_relative_to(path) and os.path.lexists(path):
        make_way(other)
        path.rename(other)


def mode(path: Path, other: Path, number: int) -> None:
    if not path.is_symlink():
        path.chmod((FOLDER_MODES * 4 if path.is_dir() else FILE_MODES * 3)[number])


DOINGS: dict[str, Callable[[Path, Path, int], None]] = {
    "write": write,
    "link": link,
    "folder": folder,
    "remove": lambda path, other, number: clear(path),
    "move": move,
    "mode": mode,
}


@settings(max_examples=40, deadline=None, derandomize=True, database=None)
@given(st.lists(DEEDS, max_size=4), st.lists(DEEDS, min_size=1, max_size=9), st.data())
def test_back_to_each_moment_and_forth_again(
    before: list[Deed], deeds: list[Deed], data: st.DataObject
) -> None:
    with tempfile.TemporaryDirectory() as folder:
        world = World(Path(folder, "work"), ObjectsInMemory())
        for each in before:
            deed(each)(world.root)
        moments = [(world.moment, tree_of(world.root))]
        for each in deeds:
            world.session(deed(each))
            moments.append((world.moment, tree_of(world.root)))
        for _ in range(3):
            moment, tree = data.draw(st.sampled_from(moments))
            here, there, prints = world.moment, tree_of(world.root), prints_of(world.root)
            ended = world.restore(moment)
            assert tree_of(world.root) == tree
            assert {each.outcome for each in ended} <= {Outcome.RESTORED}
            mine, after = {change.path for change in world.ledger}, prints_of(world.root)
            assert all(after[path] == seen for path, seen in prints.items() if path not in mine)
            if data.draw(st.booleans()):
                world.restore(here)
                assert tree_of(world.root) == there


@settings(max_examples=40, deadline=None, derandomize=True, database=None)
@given(st.lists(st.tuples(st.booleans(), DEEDS), min_size=2, max_size=9), st.integers(0, 9))
def test_what_somebody_else_left_stays(deeds: list[tuple[bool, Deed]], back: int) -> None:
    with tempfile.TemporaryDirectory() as folder:
        world = World(Path(folder, "work"), ObjectsInMemory())
        moments = []
        theirs: set[str] = set()
        for mine, each in deeds:
            moments.append((world.moment, tree_of(world.root)))
            if mine:
                world.session(deed(each))
            else:
                before = tree_of(world.root)
                deed(each)(world.root)
                after = tree_of(world.root)
                changed = {p for p in {*before, *after} if before.get(p) != after.get(p)}
                theirs |= changed
        moment, then = moments[back % len(moments)]
        last_mine = {change.path: place for place, change in enumerate(world.ledger)}
        here, now, prints = world.moment, tree_of(world.root), prints_of(world.root)
        states = states_of(world.root)
        plan = world.plan(moment)
        ended = world.restore(moment)

        after = tree_of(world.root)
        assert {each.outcome for each in ended} <= {Outcome.RESTORED}, "the plan has foreseen it"
        mine_since = {path for path, place in last_mine.items() if place >= moment}
        for path, seen in prints.items():
            if path not in mine_since:
                assert prints_of(world.root).get(path) == seen, f"{path} is nobody's business"
        for path, place in last_mine.items():
            left = world.ledger[place].state_after
            if path in now and not states[path].same_content(left):
                assert path in after and after[path][1] == now[path][1], f"{path} is somebody else's"
        for path in mine_since:
            kin = [
                each
                for each in theirs
                if f"{each}/".startswith(f"{path}/") or f"{path}/".startswith(f"{each}/")
            ]
            if not kin:
                assert after.get(path) == then.get(path), path
        kept = {each.path for each in plan.paths if each.standing is Standing.CONFLICT}
        assert all(now.get(path) == after.get(path) for path in kept)
        world.restore(here)
        assert tree_of(world.root) == now, "and back again"
