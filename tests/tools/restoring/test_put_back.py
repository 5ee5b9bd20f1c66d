"""Paths that can't be put back stay whole and are said; the others go on."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from local_agent.domain.restoring import FileStep, Standing, reversed_step
from local_agent.domain.tools import FOLDER, FileChange, FileState
from local_agent.objects.store import LIMIT, ObjectFolder, digest_of
from local_agent.tools.restoring.run import Outcome, clear_scratch, listed, put_back, summary_of
from tests.tools.restoring.worlds import RUN_ID, World, clear, prints_of, states_of, tree_of

SCRATCH = f".local-agent-{RUN_ID}"


@pytest.fixture
def world(tmp_path: Path) -> World:
    """Three files that the session rewrites, beside one that it does not."""
    world = World(tmp_path / "work", ObjectFolder(tmp_path / "objects"))
    for name in ("one.txt", "two.txt", "three.txt", "other.txt"):
        (world.root / name).write_text(f"{name} before\n")
    return world


def rewrite(root: Path) -> None:
    for name in ("one.txt", "two.txt", "three.txt"):
        (root / name).write_text(f"{name} after\n")


def standings(world: World, moment: int = 0) -> dict[str, tuple[Standing, str]]:
    return {each.path: (each.standing, each.note) for each in world.plan(moment).paths}


def test_contents_that_are_gone_or_altered_are_said_and_the_rest_goes_on(
    world: World, tmp_path: Path
) -> None:
    world.session(rewrite)
    objects = {name: digest_of(f"{name} before\n".encode()) for name in ("one.txt", "two.txt", "three.txt")}
    place = {name: tmp_path / "objects" / digest[:2] / digest for name, digest in objects.items()}
    steps = world.plan(0).steps
    place["one.txt"].unlink()
    assert standings(world)["one.txt"] == (Standing.LOST, "what it held then is not kept")
    place["two.txt"].write_bytes(b"rotten")
    ended = put_back(world.folder, steps, RUN_ID)
    assert summary_of(ended) == "1 restored, 2 failed (what it held then is not kept any more)"
    assert listed(ended).startswith("one.txt: what it held then")
    assert (world.root / "one.txt").read_text() == "one.txt after\n"
    assert (world.root / "two.txt").read_text() == "two.txt after\n"
    assert (world.root / "three.txt").read_text() == "three.txt before\n"


def test_what_a_path_has_become_meanwhile_stays(world: World) -> None:
    outside = world.root.parent / "outside.txt"
    outside.write_text("nobody's business\n")
    world.session(rewrite)
    steps = world.plan(0).steps
    for name in ("one.txt", "two.txt", "three.txt"):
        clear(world.root / name)
    (world.root / "one.txt").mkdir()
    (world.root / "two.txt").symlink_to(outside)
    os.mkfifo(world.root / "three.txt")
    plan = standings(world)
    assert plan["one.txt"][0] is plan["two.txt"][0] is Standing.CONFLICT
    assert plan["three.txt"] == (Standing.BARRED, "it is a pipe, a socket or a device now")
    before = prints_of(world.root)
    ended = put_back(world.folder, steps, RUN_ID)
    assert {each.step.path: each.outcome for each in ended} == {
        "one.txt": Outcome.KEPT,
        "two.txt": Outcome.KEPT,
        "three.txt": Outcome.FAILED,
    }
    assert "2 kept (changed by somebody else since)" in summary_of(ended)
    assert prints_of(world.root) == before and outside.read_text() == "nobody's business\n"


def test_no_link_above_a_path_is_followed(world: World) -> None:
    (world.root / "d").mkdir()
    (world.root / "d/file").write_text("before\n")
    world.session(lambda root: (root / "d/file").write_text("after\n"))
    steps = world.plan(0).steps
    (world.root / "d").rename(world.root.parent / "elsewhere")
    (world.root / "d").symlink_to("../elsewhere")
    assert standings(world) == {"d/file": (Standing.BARRED, "d above it is a link now")}
    (ended,) = put_back(world.folder, steps, RUN_ID)
    assert (ended.outcome, ended.reason) == (Outcome.FAILED, "d above it is a link now")
    assert (world.root.parent / "elsewhere/file").read_text() == "after\n"


@pytest.mark.parametrize(
    ("path", "note"),
    [
        (".env", "it is kept from tools: it looks like a secret"),
        (".git/config", "it is kept from tools: it belongs to version control"),
        ("../out", "no file can have that path"),
        ("a/../b", "no file can have that path"),
        ("a\0b", "no file can have that path"),
        ("", "no file can have that path"),
        (".", "it is the workspace, or holds it"),
        ("/", "it is the workspace, or holds it"),
    ],
)
def test_paths_that_are_nobodys_to_restore(world: World, path: str, note: str) -> None:
    world.ledger.append(FileChange(path, "created", "", "0" * 64, None, 0o100644))
    assert standings(world) == {path: (Standing.BARRED, note)}
    step = FileStep(path, FileState("0" * 64, 0o100644), FileState())
    (ended,) = put_back(world.folder, [step], RUN_ID)
    assert (ended.outcome, ended.reason) == (Outcome.FAILED, note)


def test_paths_outside_the_workspace_and_strange_names(world: World) -> None:
    outside = world.root.parent / "outside.txt"
    names = ("line\nbreak", os.fsdecode(b"no-\xff-utf8"), "[bold]x[bold]", "-rf")
    contents = [world.outputs.put(text.encode()) for text in ("before", "after")]
    states = [FileState(digest, 0o100640) for digest in contents]
    outside.write_text("after")
    outside.chmod(0o640)
    for name in names:
        (world.root / name).write_text("after")
        (world.root / name).chmod(0o640)
    steps = [FileStep(path, states[1], states[0]) for path in (str(outside), *names)]
    ended = put_back(world.folder, steps, RUN_ID)
    assert summary_of(ended) == "5 restored"
    assert outside.read_text() == "before" and {(world.root / name).read_text() for name in names} == {
        "before"
    }
    put_back(world.folder, [reversed_step(steps[1])], RUN_ID)
    (world.root / names[0]).write_text("mine")
    assert "\n" not in listed(put_back(world.folder, steps[:2], RUN_ID))


def test_a_folder_stays_while_somebody_elses_file_lies_in_it(world: World) -> None:
    world.session(lambda root: [(root / "made").mkdir(), (root / "made/inner").write_text("mine\n")])
    steps = world.plan(0).steps
    (world.root / "made/theirs").write_text("theirs\n")
    assert standings(world)["made"] == (Standing.CONFLICT, "something else lies in it")
    assert standings(world)["made/inner"][0] is Standing.RESTORED
    ended = put_back(world.folder, steps, RUN_ID)
    assert summary_of(ended) == "1 restored, 1 kept (something else lies in it)"
    assert os.listdir(world.root / "made") == ["theirs"]


def test_folders_that_are_gone_come_back_with_what_lay_in_them(world: World) -> None:
    (world.root / "deep/er").mkdir(parents=True)
    (world.root / "deep/er/file").write_text("before\n")
    world.session(lambda root: (root / "deep/er/file").unlink())
    clear(world.root / "deep")
    ended = world.restore(0)
    assert [each.step.path for each in ended] == ["deep", "deep/er", "deep/er/file"]
    assert (world.root / "deep/er/file").read_text() == "before\n"
    world.restore(1)
    assert not (world.root / "deep").exists()


def test_permissions_of_files_and_closed_folders(world: World) -> None:
    closed = world.root / "closed"
    closed.mkdir()
    (closed / "file").write_text("before\n")
    (closed / "file").chmod(0o4751)
    closed.chmod(0o555)
    before = tree_of(world.root)

    def deed(root: Path) -> None:
        closed.chmod(0o755)
        (closed / "file").chmod(0o600)
        (closed / "file").write_text("after\n")

    world.session(deed)
    after = tree_of(world.root)
    world.restore(0)
    assert tree_of(world.root) == before
    world.restore(len(world.ledger) - 2)
    assert tree_of(world.root) == after

    def remove(root: Path) -> None:
        clear(closed)

    world.restore(0)
    closed.chmod(0o755)
    moment = world.moment
    world.session(remove)
    closed_before = world.ledger[moment]
    world.ledger[moment] = FileChange("closed", "removed", "", "", stat.S_IFDIR | 0o555)
    assert closed_before.path == "closed"
    world.restore(moment)
    assert tree_of(world.root) == before


def test_permissions_that_somebody_else_set_stay(world: World) -> None:
    world.session(rewrite)
    (world.root / "one.txt").chmod(0o751)
    world.restore(0)
    assert (world.root / "one.txt").read_text() == "one.txt before\n"
    assert stat.S_IMODE((world.root / "one.txt").lstat().st_mode) == 0o751


def test_another_name_of_a_file_keeps_what_it_holds(world: World) -> None:
    world.session(rewrite)
    os.link(world.root / "one.txt", world.root / "hard.txt")
    world.restore(0)
    assert (world.root / "one.txt").read_text() == "one.txt before\n"
    assert (world.root / "hard.txt").read_text() == "one.txt after\n"


def test_what_goes_is_kept_first(world: World, tmp_path: Path) -> None:
    world.session(rewrite)
    digest = digest_of(b"one.txt after\n")
    (tmp_path / "objects" / digest[:2] / digest).unlink()
    world.restore(0)
    world.restore(3)
    assert (world.root / "one.txt").read_text() == "one.txt after\n"


def test_what_can_not_be_kept_stays(world: World) -> None:
    huge = world.root / "huge.bin"
    with huge.open("wb") as file:
        file.truncate(LIMIT + 1)
    now = states_of(world.root)["huge.bin"]
    world.ledger.append(FileChange("huge.bin", "created", "", now.digest, None, now.mode))
    (ended,) = world.restore(0)
    assert ended.outcome is Outcome.FAILED and "larger than 67 MB" in ended.reason
    assert huge.stat().st_size == LIMIT + 1
    huge.chmod(0o600)
    world.ledger.append(FileChange("huge.bin", "changed", now.digest, now.digest, now.mode, 0o100600))
    assert summary_of(world.restore(1)) == "1 restored", "for permissions nothing has to be kept"
    assert huge.stat().st_mode == now.mode
    world.folder.keeps_contents = False
    assert summary_of(world.restore(0)) == "1 restored", "nobody wants it to be kept"
    assert not huge.exists()


def test_stopped_between_two_paths(world: World) -> None:
    world.session(rewrite)
    heard: list[tuple[int, int]] = []
    ended = put_back(
        world.folder,
        world.plan(0).steps,
        RUN_ID,
        lambda *so_far: heard.append(so_far),
        lambda: len(heard) == 2,
    )
    assert heard == [(1, 3), (2, 3)] and summary_of(ended) == "2 restored, 1 not done"
    held = sorted(world.root.joinpath(f"{name}.txt").read_text() for name in ("one", "two", "three"))
    assert [text.split()[1] for text in held].count("before") == 2


def test_a_restored_file_counts_as_unread(world: World) -> None:
    world.session(rewrite)
    located = world.folder.locate("one.txt")
    world.folder.note_read(located, digest_of(b"one.txt after\n"))
    world.restore(0)
    assert world.folder.known(located) is None


def test_what_a_killed_run_left_is_taken_away_and_nothing_else(world: World) -> None:
    world.session(rewrite)
    left, theirs = world.root / SCRATCH, world.root / ".local-agent-fedcba987654"
    left.write_text("half")
    theirs.write_text("somebody's")
    steps = world.plan(0).steps
    assert summary_of(put_back(world.folder, steps, RUN_ID)) == "3 restored", "it is no hindrance"
    left.write_text("half")
    clear_scratch(world.folder, steps, RUN_ID)
    assert not left.exists() and theirs.exists()


@pytest.mark.skipif(sys.platform == "win32", reason="limits of POSIX")
def test_no_room_for_one_of_them(world: World) -> None:
    import resource

    (world.root / "two.txt").write_text("x" * 9_000)
    world.session(rewrite)
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (4096, limits[1]))
    try:
        ended = world.restore(0)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert summary_of(ended) == "2 restored, 1 failed (no room on the disk)"
    assert (world.root / "two.txt").read_text() == "two.txt after\n"
    assert not [name for name in os.listdir(world.root) if name.startswith(".local-agent-")]
    assert summary_of(world.restore(0)) == "1 restored"


@pytest.fixture
def mounted(world: World) -> Iterator[tuple[Path, Callable[..., None]]]:
    """A disk of its own inside the workspace, and what mounts it with other options."""
    place = world.root / "disk"
    place.mkdir()

    def mount(*options: str) -> None:
        words = ["mount", "-t", "tmpfs", "-o", ",".join(("size=1m", *options)), "none", str(place)]
        if os.geteuid() != 0 or subprocess.run(words, capture_output=True).returncode != 0:
            pytest.skip("only root can mount a disk")

    mount()
    try:
        yield place, mount
    finally:
        subprocess.run(["umount", "--lazy", str(place)], check=True)


def test_a_disk_that_can_only_be_read_and_one_that_begins_there(
    world: World, mounted: tuple[Path, Callable[..., None]]
) -> None:
    place, mount = mounted
    (place / "file").write_text("before\n")
    world.session(lambda root: [(place / "file").write_text("after\n"), rewrite(root)])
    mount("remount", "ro")
    ended = world.restore(0)
    assert summary_of(ended) == "3 restored, 1 failed (its disk can only be read)"
    assert (place / "file").read_text() == "after\n"
    step = FileStep("disk", states_of(world.root)["disk"], FileState())
    (refused,) = put_back(world.folder, [step], RUN_ID)
    assert refused.outcome is not Outcome.RESTORED and step.now.digest == FOLDER
