"""What a restore would do to each path, and what is written down of it."""

from __future__ import annotations

import json
import stat

from hypothesis import given, settings
from hypothesis import strategies as st

from local_agent.domain.ledger import canonical
from local_agent.domain.restoring import (
    Barred,
    FileStep,
    Reached,
    RestoreIntent,
    Standing,
    change_of,
    holds,
    intent_of,
    plan_files,
    reached,
    reversed_step,
)
from local_agent.domain.tools import FOLDER, FileChange, FileState

NOTHING = FileState()
DIGESTS = st.sampled_from(["a" * 64, "b" * 64, "c" * 64])
STATES = st.one_of(
    st.just(NOTHING),
    st.builds(FileState, DIGESTS, st.sampled_from([0o100644, 0o100755, 0o120777])),
    st.builds(FileState, st.just(FOLDER), st.sampled_from([0o40755, 0o40700])),
)
PATHS = st.text(min_size=1).filter(lambda text: "\0" not in text)
STEPS = st.builds(FileStep, PATHS, STATES, STATES).filter(lambda step: step.now != step.then)
FILE, OTHER = FileState("a" * 64, 0o100644), FileState("b" * 64, 0o100644)


def planned(*changes: FileChange, **now: FileState | Barred) -> dict[str, tuple[Standing, FileState]]:
    plan = plan_files(changes, now, lambda state: True)
    return {each.path: (each.standing, each.then) for each in plan.paths}


@given(STEPS)
def test_a_change_tells_what_its_step_was(step: FileStep) -> None:
    change = change_of(step)
    assert (change.state_before, change.state_after) == (step.now, step.then)
    assert change.path == step.path


@given(st.text(), st.lists(STEPS))
def test_an_intent_is_read_as_it_was_written(what: str, steps: list[FileStep]) -> None:
    intent = RestoreIntent(what, tuple(steps))
    facts = json.loads(canonical({**intent.facts(), "move": 4}))
    assert intent_of(facts) == intent


@given(st.recursive(st.none() | st.integers() | st.text(), lambda inner: st.lists(inner)))
def test_whatever_stands_in_its_place_is_no_intent(rows: object) -> None:
    found = intent_of({"what": "x", "steps": rows})
    assert found is None or rows == []


@given(STEPS)
def test_how_far_a_step_has_come_is_told_from_both_ends(step: FileStep) -> None:
    assert reached(step, step.then) is Reached.DONE
    assert reached(step, step.now) is Reached.OPEN
    assert reached(reversed_step(step), step.now) is Reached.DONE
    assert reached(step, FileState("d" * 64, 0o100644)) is Reached.CONFLICT


@settings(max_examples=50)
@given(st.lists(st.tuples(st.sampled_from("abc"), STATES), min_size=1, max_size=8), st.data())
def test_whoever_was_there_last_decides(edits: list[tuple[str, FileState]], data: st.DataObject) -> None:
    held: dict[str, FileState] = {}
    changes, first = [], {}
    for path, state in edits:
        before = held.get(path, NOTHING)
        if before != state:
            changes.append(change_of(FileStep(path, before, state)))
            first.setdefault(path, before)
            held[path] = state
    theirs = data.draw(st.dictionaries(st.sampled_from("abc"), STATES))
    now = {**held, **theirs}
    for path, (standing, then) in planned(*changes, **now).items():
        if now[path].same_content(held[path]):
            assert standing in (Standing.RESTORED, Standing.AS_IT_WAS)
            assert then.same_content(first[path])
            assert (standing is Standing.AS_IT_WAS) == holds(now[path], then)
        else:
            assert standing is Standing.CONFLICT or now[path].same_content(first[path])


def test_what_an_earlier_version_wrote_has_permissions_but_no_kind() -> None:
    written = FileChange("a", "changed", FILE.digest, OTHER.digest, 0o600)
    assert planned(written, a=OTHER)["a"] == (Standing.RESTORED, FileState(FILE.digest, stat.S_IFREG | 0o600))
    unknown = FileChange("a", "changed", FILE.digest, OTHER.digest)
    assert planned(unknown, a=OTHER)["a"] == (Standing.RESTORED, FILE)


def test_a_name_that_the_disk_takes_for_another_makes_room_when_that_one_goes() -> None:
    renamed = FileChange("Read", "removed", FILE.digest), FileChange("read", "created", "", FILE.digest)
    barred = Barred("its name is spelled read now", "read")
    plan = planned(*renamed, Read=barred, read=FileState(FILE.digest, FILE.mode))
    assert [plan[path][0] for path in ("Read", "read")] == [Standing.RESTORED, Standing.RESTORED]
    plan = planned(*renamed, Read=barred, read=OTHER)
    assert [plan[path][0] for path in ("Read", "read")] == [Standing.BARRED, Standing.CONFLICT]


def test_what_is_above_a_path_makes_room_when_it_goes_back_to_a_folder() -> None:
    replaced = (
        FileChange("d/x", "removed", FILE.digest, "", FILE.mode),
        FileChange("d", "removed", "", "", 0o40755),
        FileChange("d", "created", "", OTHER.digest, None, OTHER.mode),
    )
    inner = {"d/x": Barred("d above it is a file now", "d")}
    plan = planned(*replaced, **inner, d=OTHER)
    assert plan == {
        "d": (Standing.RESTORED, FileState(FOLDER, 0o40755)),
        "d/x": (Standing.RESTORED, FILE),
    }
    assert {each for each, _ in planned(*replaced, **inner, d=FILE).values()} == {
        Standing.CONFLICT,
        Standing.BARRED,
    }
