"""``write``, ``edit`` and ``patch`` over real files: what is shown is what happens, whole or not at all."""

from __future__ import annotations

import asyncio
import os
import stat
from hashlib import sha256
from pathlib import Path

import pytest

from local_agent.domain.tools import Action, Effect, FileChange, ResultStatus, ToolFailed
from tests.support.crash import kill_at_random
from tests.support.permissions import bound_by_modes
from tests.tools.calling import Around, call, failure, prepared, run
from tests.tools.changing.folders import allowed, file_made, folders_made, knows, refusal, seen, workspace


def digest(data: bytes) -> str:
    return sha256(data).hexdigest()


async def test_a_new_file_with_its_folders(tmp_path: Path) -> None:
    root, tools = workspace(tmp_path)
    intent = await prepared(tools, "write", path="src/new/a.py", content="one\ntwo\n")
    assert (intent.action, intent.target, intent.spec.effect) == (
        Action.WRITE,
        "src/new/a.py",
        Effect.EFFECTFUL,
    )
    assert intent.diff == "--- /dev/null\n+++ b/src/new/a.py\n@@ -0,0 +1,2 @@\n+one\n+two\n"
    path, after = str(root / "src/new/a.py"), digest(b"one\ntwo\n")
    assert (intent.expected, intent.intended) == ({path: ""}, {path: after})
    assert seen(root) == {}
    result = await run(tools, intent)
    assert result.text == "Created src/new/a.py (2 lines, 8 B)."
    assert result.summary == "+2 -0"
    assert result.diff == intent.diff
    assert result.changes == (
        *folders_made(root, "src", "src/new"),
        file_made(root, "src/new/a.py", after),
    )
    assert seen(root) == {"src": "/", "src/new": "/", "src/new/a.py": "one\ntwo\n"}
    # What it wrote itself it knows.
    await call(tools, "edit", path="src/new/a.py", old="two", new="2")
    assert (root / "src/new/a.py").read_bytes() == b"one\n2\n"


async def test_a_file_must_have_been_read_as_it_is(tmp_path: Path) -> None:
    root, tools = workspace(tmp_path, {"a.txt": b"one\n", "b.txt": b"two\n"})
    for name, arguments in (
        ("write", {"path": "a.txt", "content": "x"}),
        ("edit", {"path": "a.txt", "old": "one", "new": "x"}),
        ("patch", {"patch": "--- a/a.txt\n+++ b/a.txt\n@@\n-one\n+x\n"}),
    ):
        assert await failure(tools, name, **arguments) == "a.txt was not read in this session: read it first."
    await call(tools, "read", path="a.txt")
    (root / "a.txt").write_bytes(b"one!\n")
    assert await failure(tools, "edit", path="a.txt", old="one", new="x") == (
        "a.txt has changed since it was read: read it again."
    )
    await call(tools, "read", path="a.txt")
    result = await call(tools, "edit", path="a.txt", old="one", new="x")
    assert result.text == "Changed a.txt at line 1 (+1 -1 lines)."
    assert "There is no c.txt. Close to it: " in await failure(tools, "edit", path="c.txt", old="a", new="b")
    assert seen(root) == {"a.txt": "x!\n", "b.txt": "two\n"}


async def test_a_change_between_the_question_and_the_answer_makes_it_void(tmp_path: Path) -> None:
    root, tools = workspace(tmp_path, {"a.txt": b"one\n"})
    knows(tools, "a.txt")
    intent = await prepared(tools, "edit", path="a.txt", old="one", new="two")
    ready = await tools.ready(intent, "1", confined=False)
    (root / "a.txt").write_bytes(b"mine\n")
    with pytest.raises(ToolFailed, match="the answer is void"):
        await tools.ready(intent, "1", confined=False)
    with pytest.raises(ToolFailed, match="the answer is void"):
        await ready.run(Around())
    assert seen(root) == {"a.txt": "mine\n"}
    # Somebody made the file that was to be new.
    intent = await prepared(tools, "write", path="b.txt", content="theirs\n")
    ready = await tools.ready(intent, "1", confined=False)
    (root / "b.txt").write_bytes(b"mine\n")
    with pytest.raises(ToolFailed, match="the answer is void"):
        await ready.run(Around())
    assert seen(root) == {"a.txt": "mine\n", "b.txt": "mine\n"}


@pytest.mark.parametrize(
    ("before", "content", "after"),
    [
        (b"a\r\nb\r\n", "a\nc\nd\n", b"a\r\nc\r\nd\r\n"),
        (b"\xef\xbb\xbfa\n", "b\n", b"\xef\xbb\xbfb\n"),
        (b"\xef\xbb\xbfa\n", "\ufeffb\n", b"\xef\xbb\xbfb\n"),
        ("a\nß\n".encode("utf-16"), "a\nx\n", "a\nx\n".encode("utf-16")),
        (b"a\nb", "a\nb\nc", b"a\nb\nc"),
        (b"a\r\nb\nc\r\n", "a\nb\nc\nd\n", b"a\r\nb\nc\r\nd\r\n"),
        (b"", "a\r\n", b"a\r\n"),
    ],
)
async def test_a_file_keeps_its_line_ends_and_its_mark(
    tmp_path: Path, before: bytes, content: str, after: bytes
) -> None:
    root, tools = workspace(tmp_path, {"a": before})
    os.chmod(root / "a", 0o751)
    result = await call(knows(tools, "a"), "write", path="a", content=content)
    assert (root / "a").read_bytes() == after
    assert stat.S_IMODE((root / "a").stat().st_mode) == 0o751
    mode = stat.S_IFREG | 0o751
    assert result.changes == (FileChange("a", "changed", digest(before), digest(after), mode, mode),)


async def test_some_hunks_of_several_files_are_taken(tmp_path: Path) -> None:
    lines = [f"{number}\r\n" for number in range(1, 41)]
    root, tools = workspace(tmp_path, {"a": "".join(lines).encode(), "b": b"x\n"})
    knows(tools, "a", "b")
    patch = (
        "--- a/a\n+++ b/a\n@@\n-1\n+one\n@@\n-20\n+twenty\n@@\n-40\n"
        "--- a/b\n+++ b/b\n@@\n x\n+y\n--- /dev/null\n+++ b/new/c\n@@\n+c\n"
    )
    whole = await prepared(tools, "patch", patch=patch)
    assert whole.diff.count("@@ -") == 5
    assert whole.target == "a, b, new/c"
    some = await tools.narrowed(whole, frozenset({1, 4}))
    assert some.target == "a, new/c"
    assert some.diff.count("@@ -") == 2
    assert str(root / "b") not in some.expected
    with pytest.raises(ToolFailed, match="No part"):
        await tools.narrowed(whole, frozenset())
    result = await run(tools, some)
    assert result.summary == "+2 -1 in 2 files"
    lines[19] = "twenty\r\n"
    assert seen(root) == {"a": "".join(lines), "b": "x\n", "new": "/", "new/c": "c\n"}


async def test_a_patch_that_fails_half_way_says_what_was_done(tmp_path: Path) -> None:
    root, tools = workspace(tmp_path, {"a": b"1\n", "b": b"1\n"})
    knows(tools, "a", "b")
    patch = "--- a/a\n+++ b/a\n@@\n-1\n+2\n--- a/b\n+++ b/b\n@@\n-1\n+2\n"
    ready = await tools.ready(await prepared(tools, "patch", patch=patch), "1", confined=False)
    (root / "b").write_bytes(b"mine")
    result = await ready.run(Around())
    assert result.status is ResultStatus.FAILED
    assert "b changed after this was looked at" in result.text
    assert "1 of 2 files were not changed." in result.text
    assert [change.path for change in result.changes] == ["a"]
    assert seen(root) == {"a": "2\n", "b": "mine"}
    assert "b twice" in await failure(tools, "patch", patch=patch.replace("/a\n", "/b\n"))


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b"\x00\x01\x02", "is binary"),
        (b"caf\xe9\n", "is not UTF-8 text (byte 3"),
        (b"a" * 9_000_000, "too large to be changed here: 9.0 MB of at most 8.0 MB"),
    ],
    ids=["binary", "latin", "large"],
)
async def test_what_is_no_text_is_left_alone(tmp_path: Path, data: bytes, words: str) -> None:
    root, tools = workspace(tmp_path, {"a": data})
    knows(tools, "a")
    for name, arguments in (("write", {"content": "x"}), ("edit", {"old": "a", "new": "b"})):
        assert words in await refusal(tools, name, path="a", **arguments)
    assert (root / "a").read_bytes() == data


async def test_what_can_t_be_written_is_said(tmp_path: Path) -> None:
    root, tools = workspace(tmp_path, {"a": b"1\n", "d/x": b""})
    knows(tools, "a")
    assert "zero byte" in await refusal(tools, "write", path="n", content="\0")
    assert "half a character" in await refusal(tools, "write", path="n", content="\ud800")
    assert "nothing to do" in await refusal(tools, "write", path="a", content="1\n")
    assert "is a folder" in await refusal(tools, "write", path="d", content="1\n")
    assert "ends in a slash" in await refusal(tools, "write", path="a/", content="1\n")
    assert "part of its path is a file" in await refusal(tools, "write", path="a/b", content="1\n")
    assert "part of its path is a file" in await refusal(tools, "write", path="a/b/c", content="1\n")
    assert "is there already" in await refusal(tools, "patch", patch="--- /dev/null\n+++ b/a\n@@\n+1\n")
    os.chmod(root / "a", 0o444)
    assert "read-only (mode 0444)" in await refusal(tools, "edit", path="a", old="1", new="2")
    assert seen(root) == {"a": "1\n", "d": "/", "d/x": ""}


def test_a_folder_that_can_t_be_written_is_said(tmp_path: Path) -> None:
    root, tools = workspace(tmp_path, {"d/a": b"1\n"})
    knows(tools, "d/a")
    os.chmod(root / "d", 0o555)

    async def try_both() -> tuple[str, str]:
        # The thread that gave up its power starts the ones that write.
        changed = await refusal(tools, "edit", path="d/a", old="1", new="2")
        return changed, await refusal(tools, "write", path="d/n/x", content="2")

    for words in bound_by_modes(lambda: asyncio.run(try_both())):
        assert "no permission to write" in words
    assert seen(root) == {"d": "/", "d/a": "1\n"}


FULL = """
import asyncio, resource, signal, sys
from pathlib import Path
from tests.tools.changing.folders import knows, refusal, workspace
root, tools = workspace(Path(sys.argv[1]), {"a": b"old\\n" * 20_000, "b": b"old\\n"})
knows(tools, "a", "b")
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (50_000, 50_000))
patch = "--- a/b\\n+++ b/b\\n@@\\n-old\\n+new\\n--- a/a\\n+++ b/a\\n@@ -1,1 +1,1 @@\\n-old\\n+new\\n"
patch += "--- /dev/null\\n+++ b/new/c\\n@@\\n+c\\n"
print(asyncio.run(refusal(tools, "patch", patch=patch)))
print(asyncio.run(refusal(tools, "copy", path="a", to="deep/c")))
"""


async def test_no_room_on_the_disk_changes_nothing(tmp_path: Path) -> None:
    import sys

    child = await asyncio.create_subprocess_exec(
        sys.executable, "-c", FULL, str(tmp_path), stdout=asyncio.subprocess.PIPE
    )
    output, _ = await child.communicate()
    patch, copy = output.decode().splitlines()
    assert patch == "There is no room on the disk: a was not written."
    assert copy == "There is no room on the disk: deep/c was not written."
    assert seen(tmp_path / "work") == {"a": "old\n" * 20_000, "b": "old\n"}


def rewrite_for_ever(folder: str) -> None:
    """Until killed: one text in the place of the other."""
    from tests.tools.changing.folders import knows

    root = Path(folder) / "work"
    from local_agent.tools.changing.offered import changing_tools
    from tests.tools import calling

    tools = knows(calling.box(root, tools=changing_tools()), "a")

    async def work() -> None:
        while True:
            for letter in "yx":
                await allowed(tools, "write", path="a", content=f"{letter}\n" * 50_000)

    asyncio.run(work())


@pytest.mark.parametrize("seed", range(3))
def test_a_kill_leaves_the_old_file_or_the_new_one(tmp_path: Path, seed: int) -> None:
    root, _ = workspace(tmp_path, {"a": b"x\n" * 50_000})
    assert kill_at_random(rewrite_for_ever, str(tmp_path), within=2.0, seed=seed)
    assert (root / "a").read_bytes() in (b"x\n" * 50_000, b"y\n" * 50_000)


async def test_a_stop_before_it_begins_changes_nothing(tmp_path: Path) -> None:
    root, tools = workspace(tmp_path)
    intent = await prepared(tools, "write", path="a", content="1")
    ready = await tools.ready(intent, "1", confined=False)
    assert ready.facts == {"target": "a", "expected": intent.expected, "intended": intent.intended}
    import threading

    from local_agent.tools.changing.rewriting import carry_out

    ended = threading.Event()
    ended.set()
    result = carry_out(intent.plan, tools.folder, ended)
    assert (result.status, seen(root)) == (ResultStatus.CANCELLED, {})
    # One that was under way when the person stopped is told as it was.
    around = Around()
    around.stop.set()
    result = await ready.run(around)
    assert (result.status is ResultStatus.OK) == (seen(root) == {"a": "1"})
