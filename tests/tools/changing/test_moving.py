"""``mkdir``, ``move``, ``copy`` and ``remove`` over real folders: nothing overwritten, nothing half done."""

from __future__ import annotations

import asyncio
import os
import stat
import threading
from hashlib import sha256
from pathlib import Path

import pytest

from local_agent.domain.tools import Action, FileChange, ResultStatus, ToolFailed
from local_agent.tools.changing import disk
from local_agent.tools.changing.copy import COPY
from local_agent.tools.changing.remove import REMOVE
from tests.support.permissions import bound_by_modes
from tests.tools.calling import Around, call, failure, prepared, run
from tests.tools.changing.folders import file_made, folders_made, knows, refusal, seen, workspace

ONE, TWO = sha256(b"1").hexdigest(), sha256(b"22").hexdigest()
TREE = {"d/a": b"1", "d/sub/b": b"22"}


async def test_folders_are_made(tmp_path: Path) -> None:
    root, tools = workspace(tmp_path, {"x/f": b""})
    intent = await prepared(tools, "mkdir", path="x/y/z/")
    assert (intent.action, intent.target) == (Action.WRITE, "x/y/z")
    result = await run(tools, intent)
    assert result.changes == tuple(folders_made(root, "x/y", "x/y/z"))
    assert intent.intended == {str(root / "x/y"): "folder", str(root / "x/y/z"): "folder"}
    assert "is there already" in await failure(tools, "mkdir", path="x/y")
    assert "is a file" in await failure(tools, "mkdir", path="x/f")
    # Somebody was faster with one of them.
    intent = await prepared(tools, "mkdir", path="p/q")
    ready = await tools.ready(intent, "1", confined=False)
    (root / "p").mkdir()
    assert (await ready.run(Around())).changes == tuple(folders_made(root, "p/q"))
    assert set(seen(root)) == {"x", "x/f", "x/y", "x/y/z", "p", "p/q"}


async def test_a_file_is_moved_with_what_is_known_of_it(tmp_path: Path) -> None:
    root, tools = workspace(tmp_path, {"a": b"1"})
    os.chmod(root / "a", 0o640)
    knows(tools, "a")
    intent = await prepared(tools, "move", path="a", to="new/A")
    assert (intent.action, intent.target) == (Action.REMOVE, "a -> new/A")
    assert intent.diff == "rename from a\nrename to new/A\n"
    assert intent.expected == {str(root / "a"): ONE, str(root / "new/A"): ""}
    assert intent.intended == {str(root / "a"): "", str(root / "new/A"): ONE}
    result = await run(tools, intent)
    assert result.changes == (
        *folders_made(root, "new"),
        FileChange("a", "removed", ONE, "", stat.S_IFREG | 0o640),
        file_made(root, "new/A", ONE),
    )
    await call(tools, "edit", path="new/A", old="1", new="one")
    await call(tools, "move", path="new/A", to="new/a")
    assert seen(root) == {"new": "/", "new/a": "one"}


async def test_a_tree_is_moved_copied_and_removed(tmp_path: Path) -> None:
    root, tools = workspace(tmp_path, TREE)
    os.symlink("../elsewhere", root / "d/link")
    os.chmod(root / "d/sub/b", 0o755)
    os.chmod(root / "d/sub", 0o550)
    copied = await call(tools, "copy", path="d", to="e")
    assert copied.summary == "3 files, 3 B"
    link = copied.changes[2].after
    assert copied.changes == (
        *folders_made(root, "e"),
        file_made(root, "e/a", ONE),
        file_made(root, "e/link", link),
        *folders_made(root, "e/sub"),
        file_made(root, "e/sub/b", TWO),
    )
    assert stat.S_IMODE((root / "e/sub").stat().st_mode) == 0o550
    assert stat.S_IMODE((root / "e/sub/b").stat().st_mode) == 0o755
    moved = await call(tools, "move", path="d", to="f")
    kinds = [change.kind for change in moved.changes]
    assert kinds == [*["removed"] * 5, "folder", "created", "created", "folder", "created"]
    assert "not empty (3 files, 3 B): set recursive=true" in await failure(tools, "remove", path="f")
    intent = await prepared(tools, "remove", path="f", recursive=True)
    assert (intent.action, intent.target) == (Action.REMOVE, "f")
    assert intent.diff == "deleted f/\ndeleted f/a\ndeleted f/link\ndeleted f/sub/\ndeleted f/sub/b\n"
    removed = await run(tools, intent)
    assert removed.changes[-1] == FileChange("f/sub/b", "removed", TWO, "", stat.S_IFREG | 0o755)
    assert seen(root) == {"e": "/", "e/a": "1", "e/link": "-> ../elsewhere", "e/sub": "/", "e/sub/b": "22"}


async def test_what_is_removed_is_shown(tmp_path: Path) -> None:
    root, tools = workspace(tmp_path, {"a": b"x\r\ny", "b": b"\0", "target": b"1"})
    os.symlink("target", root / "link")
    (root / "empty").mkdir()
    intent = await prepared(tools, "remove", path="a")
    shown = "@@ -1,2 +0,0 @@\n-x\r\n-y\n\\ No newline at end of file\n"
    assert intent.diff == f"deleted a\n--- a\n+++ /dev/null\n{shown}"
    assert await tools.narrowed(intent, frozenset()) is intent
    for name in ("a", "b", "link", "empty/"):
        await call(tools, "remove", path=name)
    assert seen(root) == {"target": "1"}
    assert await failure(tools, "remove", path="targit") == "There is no targit. Close to it: target."


async def test_nothing_is_overwritten(tmp_path: Path) -> None:
    root, tools = workspace(tmp_path, {"a": b"1", "b": b"2", "d/x": b"3", "e/x": b"4"})
    os.symlink("nowhere", root / "dangling")
    before = seen(root)
    for tool in ("move", "copy"):
        assert "b is there already" in await failure(tools, tool, path="a", to="b")
        assert "dangling is there already" in await failure(tools, tool, path="a", to="dangling")
        assert "such as d/a" in await failure(tools, tool, path="a", to="d")
        assert "such as n/a" in await failure(tools, tool, path="a", to="n/")
        assert "such as e/d" in await failure(tools, tool, path="d", to="e")
        assert "can't go into itself" in await failure(tools, tool, path="d", to="d/x/y")
        assert "are the same" in await failure(tools, tool, path="a", to="./d/../a")
        assert "There is no c" in await failure(tools, tool, path="c", to="f")
        # Somebody made the target after the look.
        for source in ("a", "d"):
            intent = await prepared(tools, tool, path=source, to="late")
            ready = await tools.ready(intent, "1", confined=False)
            (root / "late").write_bytes(b"mine")
            with pytest.raises(ToolFailed, match="late changed after this was looked at"):
                await ready.run(Around())
            assert seen(root) == {**before, "late": "mine"}
            (root / "late").unlink()


@pytest.mark.parametrize("name", ["move", "copy", "remove"])
async def test_a_tree_that_changed_after_the_look_is_left_alone(tmp_path: Path, name: str) -> None:
    root, tools = workspace(tmp_path, TREE)
    arguments = {"recursive": True} if name == "remove" else {"to": "e"}
    intent = await prepared(tools, name, path="d", **arguments)
    ready = await tools.ready(intent, "1", confined=False)
    (root / "d/sub/new").write_bytes(b"mine")
    with pytest.raises(ToolFailed, match="the answer is void"):
        await ready.run(Around())
    assert seen(root) == {"d": "/", "d/a": "1", "d/sub": "/", "d/sub/b": "22", "d/sub/new": "mine"}


async def test_what_is_too_much_is_refused_with_the_way_out(tmp_path: Path) -> None:
    root, tools = workspace(tmp_path, {"big/x": b""})
    for number in range(1_000):
        (root / "big" / f"{number}").touch()
    os.truncate(root / "big/x", 600_000_000)
    for name, arguments in (("move", {"to": "e"}), ("copy", {"to": "e"}), ("remove", {"recursive": True})):
        words = await failure(tools, name, path="big", **arguments)
        assert f"big is too much to {name} at once: over 1,000 files" in words
        assert "bash" in words
    assert "or 537 MB" in await failure(tools, "copy", path="big/x", to="y")


async def test_what_is_kept_from_tools_keeps_its_folder(tmp_path: Path) -> None:
    files = {
        "d/.env": b"1",
        "g/.git/config": b"2",
        "h/hidden/x": b"3",
        "i/.agentignore": b"4",
        ".agentignore": b"hidden/",
    }
    root, tools = workspace(tmp_path, files)
    before = seen(root)
    for name, arguments in (("move", {"to": "e"}), ("copy", {"to": "e"}), ("remove", {"recursive": True})):
        for path in "dghi":
            words = await failure(tools, name, path=path, **arguments)
            assert f"{path} holds something that is kept" in words
        for path in ("d/.env", "g/.git", "g/.git/config", "h/hidden", "h/hidden/x", "i/.agentignore", "."):
            await failure(tools, name, path=path, **arguments)
    assert seen(root) == before


def test_a_folder_without_the_right_to_write_keeps_all(tmp_path: Path) -> None:
    root, tools = workspace(tmp_path, {"d/a": b"1", "e/b": b"2"})
    os.chmod(root / "d", 0o555)

    async def try_all() -> list[str]:
        return [
            await refusal(tools, "remove", path="d/a"),
            await refusal(tools, "move", path="d/a", to="n/c"),
            await refusal(tools, "move", path="e/b", to="d/c"),
            await refusal(tools, "copy", path="e", to="d/c"),
            await refusal(tools, "mkdir", path="d/n/m"),
        ]

    for words in bound_by_modes(lambda: asyncio.run(try_all())):
        assert "no permission to write it" in words
    assert seen(root) == {"d": "/", "d/a": "1", "e": "/", "e/b": "2"}


async def test_a_stop_leaves_a_copy_undone_and_says_what_was_removed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root, tools = workspace(tmp_path, TREE)
    before = seen(root)
    ended = threading.Event()
    synced: list[int] = []

    def stop_then(descriptor: int) -> None:
        synced.append(descriptor)
        ended.set()

    os.chmod(root / "d/sub/b", 0o640)
    copying = await prepared(tools, "copy", path="d", to="n/e")
    ended.set()
    stopped = COPY.carry_out(copying.plan, tools.folder, ended)
    assert (stopped.status, seen(root)) == (ResultStatus.CANCELLED, before)
    ended.clear()
    # The person stops while the first file is removed.
    removing = await prepared(tools, "remove", path="d", recursive=True)
    monkeypatch.setattr("local_agent.tools.changing.remove.sync", stop_then)
    part = REMOVE.carry_out(removing.plan, tools.folder, ended)
    assert part.status is ResultStatus.CANCELLED
    assert "1 of 4 files and folders were removed, the others are there." in part.text
    assert part.changes == (FileChange("d/sub/b", "removed", TWO, "", stat.S_IFREG | 0o640),)
    assert seen(root) == {"d": "/", "d/a": "1", "d/sub": "/"}


async def test_a_file_that_changes_while_others_are_removed_stays(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root, tools = workspace(tmp_path, TREE)
    intent = await prepared(tools, "remove", path="d", recursive=True)
    monkeypatch.setattr(
        "local_agent.tools.changing.remove.sync", lambda _: (root / "d/a").write_bytes(b"mine")
    )
    result = await run(tools, intent)
    assert result.status is ResultStatus.FAILED
    assert "d/a changed after this was looked at" in result.text
    assert [change.path for change in result.changes] == ["d/sub", "d/sub/b"]
    assert seen(root) == {"d": "/", "d/a": "mine"}


def test_without_hard_links_nothing_is_overwritten_either(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def no_link(*_: object, **__: object) -> None:
        raise PermissionError(1, "Operation not permitted")

    monkeypatch.setattr(disk.os, "link", no_link)
    root, tools = workspace(tmp_path, {"a": b"1", "b": b"2"})
    asyncio.run(call(tools, "write", path="c", content="3"))
    asyncio.run(call(tools, "move", path="a", to="d"))
    parent = os.open(root, os.O_RDONLY)
    os.symlink("nowhere", root / "dangling")
    for name in ("c", "dangling"):
        with pytest.raises(FileExistsError):
            disk.put_new(parent, "b", parent, name)
    os.close(parent)
    assert seen(root) == {"b": "2", "c": "3", "d": "1", "dangling": "-> nowhere"}
