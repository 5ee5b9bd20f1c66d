"""What commands do to files is found out, kept and told; what can't be known is not claimed."""

from __future__ import annotations

import asyncio
import errno
import os
import shutil
import stat
import subprocess
import threading
import time
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from local_agent.domain.tools import FOLDER, UNKNOWN, FileChange, ResultStatus, ToolResult
from local_agent.objects.store import ObjectFolder, digest_of
from local_agent.tools.folder import Folder
from local_agent.tools.shell import contents, snapshot, traces
from local_agent.tools.shell.contents import Contents
from local_agent.tools.shell.effects import Effects
from local_agent.tools.shell.snapshot import NotScanned, look
from local_agent.tools.shell.traces import Traces
from local_agent.workspace.walk import TICK
from tests.tools.calling import Around
from tests.tools.shell.shells import Shell, until

ROOT = hasattr(os, "geteuid") and os.geteuid() == 0


def fill(root: Path, files: Mapping[str, bytes | str]) -> None:
    for path, text in files.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_bytes(text.encode() if isinstance(text, str) else text)


def by_path(result: ToolResult) -> dict[str, FileChange]:
    assert len(result.changes) == len(result.sizes)
    found = {change.path: change for change in result.changes}
    assert len(found) == len(result.changes)
    return found


def forever() -> float:
    return time.monotonic() + 60


async def test_each_change_is_told_with_what_was_there_before(shell: Shell) -> None:
    old = {"src/a.py": "one\n", "src/b.py": "two\n", "gone.txt": "bye\n", "run.sh": "x\n", "same": "s\n"}
    fill(shell.root, old)
    (shell.root / "run.sh").chmod(0o644)
    result = await shell.bash(
        "echo more >> src/a.py; rm gone.txt; mkdir -p new/inner; echo n > new/inner/n; chmod 755 run.sh;"
        "touch same; ln -s src/a.py link; mv src/b.py src/c.py"
    )
    found = by_path(result)

    assert {path: change.kind for path, change in found.items()} == {
        "gone.txt": "removed",
        "link": "created",
        "new": FOLDER,
        "new/inner": FOLDER,
        "new/inner/n": "created",
        "run.sh": "changed",
        "src/a.py": "changed",
        "src/b.py": "removed",
        "src/c.py": "created",
    }
    changed = found["src/a.py"]
    assert (changed.before, changed.after) == (digest_of(b"one\n"), digest_of(b"one\nmore\n"))
    assert found["link"].after == digest_of(b"link to src/a.py")
    assert found["link"].state_after.link and found["new"].state_after.folder
    modes = found["run.sh"].mode_before, found["run.sh"].mode_after
    assert modes == (stat.S_IFREG | 0o644, stat.S_IFREG | 0o755)
    assert found["run.sh"].before == found["run.sh"].after == digest_of(b"x\n")
    for path in ("src/a.py", "gone.txt", "src/b.py"):
        assert shell.outputs.get(found[path].before) == str(old[path]).encode()
    sizes = dict(zip(found, result.sizes, strict=True))
    assert sizes["src/a.py"] == (4, 9, True)
    assert sizes["gone.txt"] == (4, None, True)
    assert sizes["link"][:2] == (None, len("src/a.py"))
    told = "gone.txt (removed), link (new), new/ (new), new/inner/ (new), new/inner/n (new) and 4 more"
    assert result.text.endswith(f"\n[changed: {told}]")
    assert result.unscanned == ""


async def test_a_command_that_changes_nothing_adds_nothing_to_what_is_told(shell: Shell) -> None:
    fill(shell.root, {"a": "one\n"})
    result = await shell.bash("cat a; touch a; cp a b; rm b")

    assert result.text.split("\n", 1)[1] == "one\n"
    assert result.changes == ()


async def test_a_content_of_the_same_size_and_time_is_found_out(shell: Shell) -> None:
    fill(shell.root, {"a": "one\n", "b": "two\n"})
    await shell.bash("touch -d '2001-01-01' a b; touch stamp")
    result = await shell.bash(
        "echo ONE > a; touch -d '2001-01-01' a; echo TWO > new; touch -r b new; mv new b;"
        "touch -d '2031-01-01' stamp"
    )
    found = by_path(result)

    assert found.keys() == {"a", "b"}
    assert [found[name].before for name in "ab"] == [digest_of(b"one\n"), digest_of(b"two\n")]
    assert [found[name].after for name in "ab"] == [digest_of(b"ONE\n"), digest_of(b"TWO\n")]


async def test_what_was_written_a_moment_before_the_command_is_known(shell: Shell) -> None:
    for number in range(5):
        fill(shell.root, {"a": f"{number}\n"})
        result = await shell.bash(f"echo {number + 5} > a")

        assert by_path(result)["a"].before == digest_of(f"{number}\n".encode())


async def test_a_command_waits_for_the_next_tick_of_the_disks_clock(shell: Shell) -> None:
    fill(shell.root, {"a": "one\n"})
    watch = await Effects().watch(shell.box.folder, asyncio.Event())

    assert time.time_ns() >= (shell.root / "a").stat().st_ctime_ns + TICK // 2
    assert (await watch.over(asyncio.Event())) == Traces()


async def test_secrets_and_ignored_files_are_neither_listed_nor_kept(shell: Shell) -> None:
    hidden = {".env": "KEY=1\n", "build/x": "built\n", "notes/p.mine": "mine\n", ".ssh/id_rsa": "key\n"}
    fill(shell.root, {**hidden, ".gitignore": "build/\n", ".agentignore": "*.mine\n", "seen": "s\n"})
    fill(shell.root, {"notes/.gitignore": "!p.mine\n"})
    result = await shell.bash(f"for f in {' '.join(hidden)} seen; do echo more >> $f; done")

    assert by_path(result).keys() == {"seen"}
    kept = {each.digest for each in shell.outputs.all()}
    assert kept.isdisjoint({digest_of(f"{text}more\n".encode()) for text in hidden.values()})
    assert kept.isdisjoint({digest_of(text.encode()) for text in hidden.values()})
    found, known, never = look(shell.root, forever(), threading.Event()), Contents(), threading.Event()
    known.learn(shell.box.folder, found, forever(), never)
    assert [path for path, seen in found.paths.items() if known.of(path, seen)] == [
        path for path, seen in found.paths.items() if not seen.folder and path != ".env"
    ]


async def test_files_that_other_rules_bring_to_light_were_not_created(shell: Shell) -> None:
    fill(shell.root, {".gitignore": "*.log\nout/\n", "a.log": "a\n", "out/deep/b": "b\n", "c.txt": "c\n"})
    result = await shell.bash("echo '*.txt' > .gitignore; echo new > d.log; mkdir fresh; echo e > fresh/e")
    found = by_path(result)

    # d.log was ignored before: that it is new can't be known.
    assert {path: change.kind for path, change in found.items()} == {
        ".gitignore": "changed",
        "fresh": FOLDER,
        "fresh/e": "created",
    }
    later = by_path(await shell.bash("rm c.txt .gitignore"))
    assert later.keys() == {".gitignore"}


async def test_what_became_ignored_and_was_changed_at_once_is_listed(shell: Shell) -> None:
    fill(shell.root, {"c.txt": "c\n", "d.txt": "d\n", "e.txt": "e\n"})
    result = await shell.bash("echo '*.txt' > .gitignore; echo more >> c.txt; rm d.txt")

    kinds = {path: change.kind for path, change in by_path(result).items()}
    assert kinds == {".gitignore": "created", "c.txt": "changed", "d.txt": "removed"}


async def test_folders_links_and_files_that_take_each_others_place(shell: Shell, tmp_path: Path) -> None:
    fill(tmp_path, {"elsewhere/x": "other\n"})
    fill(shell.root, {"folder/x": "x\n", "file": "f\n", "other": "o\n"})
    result = await shell.bash(
        f"rm -r folder; ln -s {tmp_path}/elsewhere folder; rm file; mkdir file; echo y > file/y;"
        "rm other; mkfifo other"
    )
    rows = [(change.path, change.kind) for change in result.changes]

    assert rows == [
        ("file", "removed"),
        ("file", FOLDER),
        ("file/y", "created"),
        ("folder", "removed"),
        ("folder", "created"),
        ("folder/x", "removed"),
        ("other", "removed"),
    ]
    link = next(change for change in result.changes if change.path == "folder" and change.after)
    assert link.after == digest_of(f"link to {tmp_path}/elsewhere".encode())
    assert result.changes[3].state_before.folder
    assert (tmp_path / "elsewhere/x").read_text() == "other\n"


async def test_names_that_are_no_utf8_and_names_with_breaks(shell: Shell) -> None:
    fill(shell.root, {"keep": "k\n"})
    result = await shell.bash("touch $'bad\\xff' $'two\\nlines' \"[b]x\"")

    assert by_path(result).keys() == {"bad\udcff", "two\nlines", "[b]x"}
    result.text.encode()
    assert result.text.count("\n") == 2


async def test_a_large_file_has_an_unknown_past_and_a_known_future(
    shell: Shell, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(contents, "SMALL", 1_000)
    monkeypatch.setattr(contents, "LARGE", 100_000)
    fill(shell.root, {"big": b"a" * 2_000})
    first = await shell.bash("printf b >> big; truncate -s 200K sparse")
    second = await shell.bash("printf c >> big; chmod 600 sparse")
    third = await shell.bash("rm big")

    change = by_path(first)["big"]
    assert (change.before, change.after) == (UNKNOWN, digest_of(b"a" * 2_000 + b"b"))
    assert change.state_before.digest and first.sizes[0] == (2_000, 2_001, False)
    assert by_path(second)["big"].before == change.after
    assert dict(zip(by_path(second), second.sizes, strict=True))["big"].kept
    mode = by_path(second)["sparse"]
    assert mode.before == mode.after != UNKNOWN
    assert shell.outputs.get(by_path(third)["big"].before) == b"a" * 2_000 + b"bc"


async def test_a_huge_file_is_told_without_its_content(shell: Shell) -> None:
    result = await shell.bash("truncate -s 4T huge; echo small > small")
    found = by_path(result)

    assert (found["huge"].kind, found["huge"].after) == ("created", UNKNOWN)
    assert found["small"].after == digest_of(b"small\n")
    assert result.sizes[0].after == 4 << 40


async def test_a_workspace_that_is_removed_or_replaced(shell: Shell) -> None:
    fill(shell.root, {"a/b": "b\n", "c": "c\n"})
    result = await shell.bash('rm -rf "$PWD"')
    assert {path: change.kind for path, change in by_path(result).items()} == dict.fromkeys(
        ("a", "a/b", "c"), "removed"
    )
    assert shell.outputs.get(by_path(result)["a/b"].before) == b"b\n"

    shell.root.mkdir()
    result = await shell.bash('mv "$PWD" "$PWD-2"; ln -s "$PWD-2" "$PWD"')
    assert result.changes == ()
    assert result.unscanned.startswith("not scanned: the workspace can't be looked into")


@pytest.mark.skipif(ROOT, reason="nothing is closed to root")
async def test_folders_and_files_that_may_not_be_read(shell: Shell) -> None:
    fill(shell.root, {"open": "o\n", "closed/x": "x\n", "unread": "u\n"})
    (shell.root / "closed").chmod(0)
    (shell.root / "unread").chmod(0)
    result = await shell.bash("echo more >> open")
    assert by_path(result).keys() == {"open"}
    assert "closed/" in result.unscanned

    result = await shell.bash("chmod 700 closed; chmod 600 unread")
    kinds = {path: (change.kind, change.before) for path, change in by_path(result).items()}
    assert kinds == {"closed": ("changed", FOLDER), "unread": ("changed", digest_of(b"u\n"))}


async def test_too_many_paths_are_not_scanned_and_nothing_is_claimed(
    shell: Shell, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(snapshot, "MOST_PATHS", 300)
    monkeypatch.setattr(traces, "MOST_LISTED", 20)
    some = await shell.bash("seq 100 | xargs touch")
    assert len(some.changes) == 20
    assert some.unscanned == "80 more changes are not listed"
    assert some.text.endswith("[changed: 1 (new), 10 (new), 100 (new), 11 (new), 12 (new) and 95 more]")

    many = await shell.bash("seq 1000 | xargs touch")
    assert (many.changes, many.unscanned) == ((), "not scanned: there are more than 300 files and folders")
    assert "changed" not in many.text
    still = await shell.bash("rm 1")
    assert (still.changes, still.unscanned) == ((), many.unscanned)


async def test_commands_in_the_background_are_not_scanned(shell: Shell) -> None:
    started = await shell.call("bash", command="touch a; sleep 30", background=True)
    ended = await shell.call("bash", command="touch b", background=True)

    assert [result.changes for result in (started, ended)] == [(), ()]
    assert {result.unscanned for result in (started, ended)} == {
        "not scanned: it was started in the background"
    }


@pytest.mark.parametrize("how", ["stopped", "limit"])
async def test_a_command_that_is_stopped_is_scanned_as_well(shell: Shell, how: str) -> None:
    around = Around()
    limit = {"timeout": 1} if how == "limit" else {}
    running = asyncio.create_task(shell.bash("echo a > a; sleep 60", around, **limit))
    await until(lambda: (shell.root / "a").exists() and (shell.root / "a").read_bytes() == b"a\n")
    if how == "stopped":
        around.stop.set()
    result = await running

    assert result.status is ResultStatus.CANCELLED
    assert by_path(result)["a"].after == digest_of(b"a\n")


async def test_a_stop_during_the_first_look_runs_nothing(
    shell: Shell, monkeypatch: pytest.MonkeyPatch
) -> None:
    looking = threading.Event()

    def slowly(root: Path, until: float, stop: threading.Event, before: object = None) -> object:
        looking.set()
        assert stop.wait(10)
        raise NotScanned("it was stopped")

    monkeypatch.setattr("local_agent.tools.shell.effects.look", slowly)
    around = Around()
    running = asyncio.create_task(shell.bash("touch ran", around))
    await until(looking.is_set)
    around.stop.set()
    result = await running

    assert result.status is ResultStatus.CANCELLED
    assert not (shell.root / "ran").exists()


async def test_what_a_command_changed_must_be_read_again_before_it_is_edited(shell: Shell) -> None:
    fill(shell.root, {"a": "one\n", "b": "two\n"})
    folder = shell.box.folder
    for name in "ab":
        located = folder.locate(name)
        folder.note_read(located, digest_of((shell.root / name).read_bytes()))
    await shell.bash("echo more >> a; rm b")

    assert folder.known(folder.locate("a")) != digest_of((shell.root / "a").read_bytes())


async def test_no_content_is_kept_where_the_person_wants_none(shell: Shell) -> None:
    fill(shell.root, {"a": "one\n"})
    shell.box.folder.keeps_contents = False
    result = await shell.bash("echo more >> a")

    assert by_path(result)["a"].before == digest_of(b"one\n")
    assert result.sizes == ((4, 9, False),)
    assert list(shell.outputs.all()) == []


@pytest.mark.skipif(shutil.which("git") is None, reason="needs git")
async def test_a_checkout_of_another_branch(shell: Shell) -> None:
    def git(*words: str) -> None:
        identity = ["-c", "user.name=a", "-c", "user.email=a@b"]
        subprocess.run(["git", *identity, *words], cwd=shell.root, check=True, capture_output=True)

    git("init", "-q", "-b", "main")
    fill(shell.root, {f"f{number}": f"{number}\n" for number in range(30)})
    git("add", "-A")
    git("commit", "-qm", "one")
    git("checkout", "-qb", "other")
    fill(shell.root, {f"f{number}": f"other {number}\n" for number in range(20)})
    git("rm", "-q", "f29")
    git("commit", "-qam", "two")
    result = await shell.bash("git checkout -q main")
    found = by_path(result)

    assert found.keys() == {*(f"f{number}" for number in range(20)), "f29"}
    assert all(
        shell.outputs.get(found[f"f{number}"].before) == f"other {number}\n".encode() for number in range(20)
    )


async def test_a_command_runs_whatever_the_disk_says_of_the_look(
    shell: Shell, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refused(*arguments: object) -> object:
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))

    monkeypatch.setattr("local_agent.tools.shell.traces.look", refused)
    result = await shell.bash("touch a; echo done")
    assert (result.status, result.changes) == (ResultStatus.OK, ())
    assert result.unscanned == "not scanned: the disk says: Permission denied"
    monkeypatch.setattr("local_agent.tools.shell.effects.look", refused)
    assert (await shell.bash("echo done")).unscanned == result.unscanned


@pytest.mark.skipif(
    not os.path.ismount("/dev/shm"), reason="another file system is needed below a folder of this machine"
)
def test_another_file_system_is_not_looked_into() -> None:
    found = look(Path("/dev"), forever(), threading.Event())

    assert "shm" in found.foreign and "shm" in found.paths
    assert not any(path.startswith("shm/") for path in found.paths)
    assert not found.could_see("shm/new")


def test_the_model_is_told_little_of_long_names() -> None:
    long = [FileChange(f"{number}" + "\u6f22" * 60, "created", "", "1") for number in range(3)]
    short = [FileChange("a.py", "changed", "1", "2"), FileChange("b", "removed", "1", "")]

    assert Traces(tuple([*short, *long])).line.startswith("[changed: a.py, b (removed) and 3 more]")
    assert Traces(tuple(long)).line.endswith(" and 2 more]")
    assert all(len(Traces((each,)).line.encode()) < 260 for each in long)
    assert Traces().line == ""


def test_a_second_look_reads_and_decides_only_what_is_new(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = tmp_path / "workspace"
    fill(root, {f"pkg{n % 20}/mod{n}.py": f"{n}\n" for n in range(400)})
    fill(root, {".gitignore": "*.log\n", "pkg1/.gitignore": "*.tmp\n"})
    counts = {"ignored": 0, "rules_of": 0}

    def counting(name: str, real: Callable[..., object]) -> Callable[..., object]:
        def counted(*arguments: object) -> object:
            counts[name] += 1
            return real(*arguments)

        return counted

    for name in counts:
        monkeypatch.setattr(snapshot, name, counting(name, getattr(snapshot, name)))
    never = threading.Event()
    first = look(root, forever(), never)
    assert counts == {"ignored": 422, "rules_of": 2}
    counts |= dict.fromkeys(counts, 0)
    (root / "pkg3/new.py").write_text("new")
    second = look(root, forever(), never, first)
    assert counts == {"ignored": 1, "rules_of": 0}
    assert second.paths.keys() - first.paths.keys() == {"pkg3/new.py"}

    folder, known = Folder(root, shell_outputs(tmp_path)), Contents()
    known.learn(folder, second, forever(), never)
    read: list[str] = []
    monkeypatch.setattr(known, "read", lambda folder, path, *rest: read.append(path))
    known.learn(folder, second, forever(), never)
    assert read == []


def test_a_file_that_changes_while_it_is_read_is_not_known(tmp_path: Path) -> None:
    root = tmp_path / "workspace"
    fill(root, {"a": "one\n", "b": "two\n"})
    never = threading.Event()
    found = look(root, forever(), never)
    (root / "a").write_text("ONE\n")
    os.utime(root / "a", ns=(0, 0))
    (root / "b").unlink()
    known = Contents()
    known.learn(Folder(root, shell_outputs(tmp_path)), found, forever(), never)

    assert [known.of(path, found.paths[path]) for path in ("a", "b")] == [None, None]


def test_where_there_is_no_more_room_digests_are_known_and_nothing_is_lost(tmp_path: Path) -> None:
    root = tmp_path / "workspace"
    fill(root, {f"f{number}": f"{number}" * 100 for number in range(8)})
    never, outputs = threading.Event(), shell_outputs(tmp_path)
    folder, known = Folder(root, outputs), Contents(most=400)
    found = look(root, forever(), never)
    known.learn(folder, found, forever(), never)
    held = [known.of(path, seen) for path, seen in found.paths.items()]

    kept = [content for content in held if content is not None and known.keep(folder, content)]
    assert len(kept) == 4
    assert [outputs.get(content.digest) for content in kept] == [
        (root / path).read_bytes() for path, seen in found.paths.items() if known.of(path, seen) in kept
    ]
    for path in found.paths:
        (root / path).write_text("new")
    known.begin()
    again = look(root, forever(), never)
    known.learn(folder, again, forever(), never)
    assert all(
        known.keep(folder, content) for path, seen in again.paths.items() if (content := known.of(path, seen))
    )


def shell_outputs(place: Path) -> ObjectFolder:
    return ObjectFolder(place / "outputs")
