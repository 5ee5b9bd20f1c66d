"""Whatever a tool does to a path, what was there can be had again: its content, its kind and its mode."""

from __future__ import annotations

import asyncio
import itertools
import os
import stat
import threading
from functools import partial
from hashlib import sha256
from pathlib import Path

import pytest

from local_agent.domain.restoring import touched
from local_agent.domain.tools import FOLDER, FileChange, FileState, ResultStatus
from local_agent.objects.store import LIMIT, ObjectFolder, digest_of
from local_agent.tools.box import Box
from local_agent.tools.changing.edit import EDIT
from local_agent.tools.changing.keeping import kept, unkept
from local_agent.tools.changing.move import MOVE
from local_agent.tools.changing.remove import REMOVE
from tests.support.crash import kill_at_random
from tests.support.permissions import bound_by_modes
from tests.tools import calling
from tests.tools.calling import call, prepared
from tests.tools.changing.folders import knows, seen, workspace

State = dict[str, tuple[FileState, bytes]]


def states(root: Path) -> State:
    """What is below a folder, as the ledger says it, with what each content is."""
    found: State = {}
    for path in root.rglob("*"):
        mode = path.lstat().st_mode
        if stat.S_ISDIR(mode):
            found[path.relative_to(root).as_posix()] = FileState(FOLDER, mode), b""
        else:
            link = path.is_symlink()
            data = b"link to " + os.fsencode(os.readlink(path)) if link else path.read_bytes()
            found[path.relative_to(root).as_posix()] = FileState(sha256(data).hexdigest(), mode), data
    return found


def explained(before: State, after: State, changes: tuple[FileChange, ...]) -> None:
    """The changes say of each path what it was and is, and name no other."""
    nothing = FileState(), b""
    differing = {
        path for path in {*before, *after} if before.get(path, nothing)[0] != after.get(path, nothing)[0]
    }
    assert {path: sides for path, sides in touched(changes).items() if sides[0] != sides[1]} == {
        path: (before.get(path, nothing)[0], after.get(path, nothing)[0]) for path in differing
    }


def objects_of(tools: Box) -> ObjectFolder:
    assert isinstance(tools.folder.outputs, ObjectFolder)
    return tools.folder.outputs


async def test_every_tool_keeps_what_it_changes_and_says_what_it_was(tmp_path: Path) -> None:
    nasty = os.fsdecode(b"d/caf\xe9")
    root, tools = workspace(
        tmp_path, {"a.py": b"one\ntwo\n", "run.sh": b"#!/bin/sh\n", "d/x": b"x", "d/sub/y": b"y"}
    )
    (root / nasty).write_bytes(b"\xff\0")
    (root / "d/empty").mkdir(mode=0o700)
    os.chmod(root / "run.sh", 0o751)
    os.chmod(root / "d/sub", 0o550)
    os.chmod(root / "d/x", 0o400)
    os.symlink("nowhere", root / "d/link")
    os.symlink("a.py", root / "alias")
    os.link(root / "a.py", root / "twin")
    knows(tools, "a.py", "run.sh")

    calls: list[tuple[str, dict[str, object]]] = [
        ("write", {"path": "new/deep/b.txt", "content": "hello\n"}),
        ("edit", {"path": "a.py", "old": "two", "new": "2"}),
        ("write", {"path": "run.sh", "content": "#!/bin/sh\nexit 1\n"}),
        (
            "patch",
            {
                "patch": "--- a/a.py\n+++ b/a.py\n@@ -1,2 +1,2 @@\n-one\n+1\n 2\n"
                "--- /dev/null\n+++ b/p/q\n@@ -0,0 +1 @@\n+q\n"
            },
        ),
        ("mkdir", {"path": "m/n"}),
        ("move", {"path": "run.sh", "to": "bin/run"}),
        ("move", {"path": "alias", "to": "m/alias"}),
        ("copy", {"path": "d", "to": "e"}),
        ("move", {"path": "d", "to": "new/d"}),
        ("copy", {"path": "bin/run", "to": "run2"}),
        ("remove", {"path": "m/alias"}),
        ("remove", {"path": "new", "recursive": True}),
        ("remove", {"path": "m/n"}),
        ("remove", {"path": "twin"}),
    ]
    for name, arguments in calls:
        before = states(root)
        result = await call(tools, name, None, **arguments)
        after = states(root)
        assert result.status is ResultStatus.OK, (name, result.text)
        explained(before, after, result.changes)
        assert "can't be undone" not in result.summary + result.text
        contents = {state.digest: data for state, data in (*before.values(), *after.values())}
        for change in result.changes:
            for state in (change.state_before, change.state_after):
                assert kept(tools.folder.outputs, state.digest), (name, change)
                if state.digest not in ("", FOLDER):
                    assert tools.folder.outputs.get(state.digest) == contents[state.digest]
    assert {"a.py", "bin/run", "run2", "e/sub/y", nasty.replace("d/", "e/")} < set(seen(root))
    assert not (root / "new").exists()


async def test_a_content_of_many_files_is_kept_once(tmp_path: Path) -> None:
    _, tools = workspace(tmp_path, {f"d/{number}": b"same" for number in range(50)})
    await call(tools, "move", path="d", to="e")
    await call(tools, "remove", path="e", recursive=True)
    assert [each.digest for each in objects_of(tools).all()] == [digest_of(b"same")]
    assert objects_of(tools).written == 4


async def test_what_can_not_be_kept_is_told_to_the_person_alone(tmp_path: Path) -> None:
    root, tools = workspace(tmp_path, {"small": b"1", "a.txt": b"one\n", "b.txt": b"two\n"})
    (root / "large").touch()
    os.truncate(root / "large", LIMIT + 1)
    moved = await call(tools, "move", path="large", to="larger")
    assert moved.summary == "67 MB; can't be undone: it is larger than 67 MB"
    assert moved.text == "Moved large to larger."
    assert not kept(tools.folder.outputs, moved.changes[0].before)
    assert list(objects_of(tools).all()) == []

    # A file stands where objects would lie.
    objects_of(tools).folder.touch()
    knows(tools, "a.txt", "b.txt")
    edited = await call(tools, "edit", path="a.txt", old="one", new="1")
    assert edited.summary == "+1 -1; can't be undone: it can't be kept (File exists)"
    assert edited.text == "Changed a.txt at line 1 (+1 -1 lines)."
    # Nothing is lost by a new file.
    assert (await call(tools, "write", path="c.txt", content="3")).summary == "+1 -0"
    gone = await call(tools, "remove", path="small")
    assert "1 B; can't be undone: " in gone.summary
    assert seen(root).keys() == {"a.txt", "b.txt", "c.txt", "larger"}


async def test_a_folder_that_no_object_can_be_written_to_stops_nothing(tmp_path: Path) -> None:
    root, tools = workspace(tmp_path, {"a.txt": b"one\n", "d/x": b"x"})
    objects_of(tools).folder.mkdir(mode=0o500)
    knows(tools, "a.txt")
    edit = await prepared(tools, "edit", path="a.txt", old="one", new="1")
    remove = await prepared(tools, "remove", path="d", recursive=True)
    for tool, intent in ((EDIT, edit), (REMOVE, remove)):
        work = partial(tool.carry_out, intent.plan, tools.folder, threading.Event())  # type: ignore[arg-type]  # its own
        result = bound_by_modes(work)
        assert result.status is ResultStatus.OK
        assert result.summary.endswith("; can't be undone: it can't be kept (Permission denied)")
    assert seen(root) == {"a.txt": "1\n"}


async def test_nothing_is_kept_where_the_person_wants_no_history(tmp_path: Path) -> None:
    _, tools = workspace(tmp_path, {"a.txt": b"one\n", "d/x": b"x"})
    tools.folder.keeps_contents = False
    knows(tools, "a.txt")
    assert (await call(tools, "edit", path="a.txt", old="one", new="1")).summary == "+1 -1"
    assert (await call(tools, "move", path="d", to="e")).summary == "1 file, 1 B"
    assert list(objects_of(tools).all()) == []


@pytest.mark.parametrize("name", [".env", "id_rsa", ".git/config", "hidden/plan"])
def test_what_is_kept_from_tools_is_never_kept(tmp_path: Path, name: str) -> None:
    _, tools = workspace(tmp_path, {name: b"secret", ".agentignore": b"hidden/\n"})
    located = tools.folder.locate(name)
    assert unkept(tools.folder, located, digest_of(b"secret"))
    assert unkept(tools.folder, located, digest_of(b"secret"))
    assert list(objects_of(tools).all()) == []


def test_what_is_not_there_as_it_was_said_is_not_called_kept(tmp_path: Path) -> None:
    root, tools = workspace(tmp_path, {"a": b"1", "d/x": b"x"})
    folder = tools.folder
    os.mkfifo(root / "pipe")
    os.symlink("a", root / "link")
    one = digest_of(b"1")

    assert not unkept(folder, folder.locate("a"), one)
    assert not unkept(folder, folder.locate("link", through=False), digest_of(b"link to a"))
    assert not unkept(folder, folder.locate("nothing"), "")
    assert not unkept(folder, folder.locate("d"), FOLDER)
    assert unkept(folder, folder.locate("link", through=False), one) == "it changed meanwhile"
    (root / "a").write_bytes(b"grown")
    assert unkept(folder, folder.locate("a"), one) == "it changed meanwhile"
    assert unkept(folder, folder.locate("gone"), one) == "it can't be read (No such file or directory)"
    assert unkept(folder, folder.locate("d"), one) == "it is no file"
    assert unkept(folder, folder.locate("pipe"), one) == "it is no file"
    (root / "a").chmod(0)
    unreadable = bound_by_modes(lambda: unkept(folder, folder.locate("a"), one))
    assert unreadable == "it can't be read (Permission denied)"
    # A file of 10 GB without anything in it is not read.
    os.truncate(root / "d/x", 10 * 1000**3)
    assert unkept(folder, folder.locate("d/x"), one) == "it is larger than 67 MB"


def test_what_a_name_or_a_digest_says_is_no_path(tmp_path: Path) -> None:
    _, tools = workspace(tmp_path)
    outputs = tools.folder.outputs
    assert [kept(outputs, name) for name in ("", FOLDER, "ab" * 32, "../work", "x")] == [
        True, True, False, False, False,
    ]  # fmt: skip


class StoppedAt:
    """An event that is set once it was asked so many times."""

    def __init__(self, times: int) -> None:
        self._times = itertools.count(1)
        self._last = times

    def is_set(self) -> bool:
        return next(self._times) > self._last


async def test_a_stop_while_contents_are_kept_changes_nothing(tmp_path: Path) -> None:
    root, tools = workspace(tmp_path, {f"d/{number}": bytes([number]) for number in range(20)})
    before = states(root)
    moving = await prepared(tools, "move", path="d", to="e/f")
    removing = await prepared(tools, "remove", path="d", recursive=True)
    for tool, intent in ((MOVE, moving), (REMOVE, removing)):
        stopped = tool.carry_out(intent.plan, tools.folder, StoppedAt(6))  # type: ignore[arg-type]  # an event
        assert (stopped.status, stopped.changes) == (ResultStatus.CANCELLED, ())
    assert states(root) == before
    assert 0 < len(list(objects_of(tools).all())) < 20


def number_for_ever(folder: str) -> None:
    """Until killed: each content once, so that the one before is the one that was kept last."""
    from local_agent.tools.changing.offered import changing_tools

    root = Path(folder) / "work"
    tools = knows(calling.box(root, tools=changing_tools()), "a")

    async def work() -> None:
        for number in itertools.count(1):
            await call(tools, "write", path="a", content=numbered(number).decode())

    asyncio.run(work())


def numbered(number: int) -> bytes:
    return f"{number}\n".encode() * 10_000


@pytest.mark.parametrize("seed", range(3))
def test_a_kill_never_comes_between_a_content_and_its_being_kept(tmp_path: Path, seed: int) -> None:
    root, tools = workspace(tmp_path, {"a": numbered(0)})
    assert kill_at_random(number_for_ever, str(tmp_path), within=1.5, seed=seed)
    now = int((root / "a").read_bytes().partition(b"\n")[0])
    assert (root / "a").read_bytes() == numbered(now)
    for number in range(now):
        assert tools.folder.outputs.get(digest_of(numbered(number))) == numbered(number)
