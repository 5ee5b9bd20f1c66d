"""The index of a folder: what it finds, what it leaves out, and that no tree is too much for it."""

from __future__ import annotations

import os
import threading
import time
from pathlib import Path

import pytest

from local_agent.workspace.index import FileIndex, Matches
from local_agent.workspace.ranking import Ranking
from local_agent.workspace.walk import Found, walk


def make(root: Path, *names: str) -> None:
    for name in names:
        path = root / name
        if name.endswith("/"):
            path.mkdir(parents=True, exist_ok=True)
        else:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(name)


def settled(index: FileIndex, query: str = "") -> Matches:
    """What is found once nothing is looked at any more."""
    index.refresh()
    end = time.monotonic() + 10
    while index.building:
        assert time.monotonic() < end
        time.sleep(0.001)
    return index.find(query)


def test_a_walk_heeds_ignore_files_at_every_level_and_above_the_root(tmp_path: Path) -> None:
    make(tmp_path, ".git/info/", ".git/objects/ab/cd", "sub/.git-kept", "outside.log", "sub/a.log")
    (tmp_path / ".gitignore").write_text("*.log\n/sub/top.txt\n")
    (tmp_path / ".git" / "info" / "exclude").write_text("excluded/\n")
    root = tmp_path / "sub"
    make(root, "top.txt", "deep/top.txt", "excluded/x", "build/x", "deep/build/y", "deep/keep.log", "b.py")
    make(root, "node_modules/m/i.js", "deep/node_modules/n.js", "notes/secret.md", "notes/open.md")
    (root / "deep" / ".gitignore").write_text("build/\n!keep.log\n!node_modules/\n")
    (root / "notes" / ".agentignore").write_text("secret*\n")
    found = walk(root)
    assert found.whole
    assert set(found.paths) == {
        ".git-kept", "b.py", "build/", "build/x", "deep/", "deep/.gitignore", "deep/keep.log",
        "deep/node_modules/", "deep/node_modules/n.js", "deep/top.txt", "notes/", "notes/.agentignore",
        "notes/open.md",
    }  # fmt: skip


def test_what_is_strange_in_a_tree_is_passed_by(tmp_path: Path) -> None:
    make(tmp_path, "a/b/file.txt", "new\nline.txt", "locked/x", "\u202ebidi.txt")
    with open(os.fsencode(tmp_path) + b"/caf\xe9.txt", "w"):
        pass
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "loop").symlink_to(tmp_path)
    (tmp_path / "a" / "self").symlink_to("self")
    (tmp_path / "a" / "gone").symlink_to("nowhere")
    (tmp_path / "link.txt").symlink_to("a/b/file.txt")
    os.mkfifo(tmp_path / ".gitignore")
    os.chmod(tmp_path / "locked", 0)
    try:
        paths = set(walk(tmp_path).paths)
    finally:
        os.chmod(tmp_path / "locked", 0o700)
    paths.discard("locked/x")  # root may read everything
    assert paths == {
        "a/", "a/b/", "a/b/file.txt", "new\nline.txt", "locked/", "\u202ebidi.txt", "caf\udce9.txt",
        "link.txt",
    }  # fmt: skip


def test_a_walk_keeps_its_bounds_and_what_is_near_the_top(tmp_path: Path) -> None:
    make(tmp_path, *(f"dir{number}/deep/file{number}" for number in range(50)), "README.md")
    found = walk(tmp_path, most=60)
    assert len(found.paths) == 60 and not found.whole
    assert {"README.md", "dir0/", "dir49/"} <= set(found.paths)
    assert not walk(tmp_path, seconds=0).whole
    assert not walk(tmp_path / "nothing").paths


def test_the_root_of_the_machine_stays_cheap() -> None:
    begin = time.monotonic()
    found = walk(Path("/"), most=5_000, seconds=2.0)
    assert time.monotonic() - begin < 6
    assert not any(path.startswith(("proc/", "sys/", "dev/")) for path in found.paths)


def test_what_is_new_gone_or_ignored_since_is_seen_at_the_next_word(tmp_path: Path) -> None:
    make(tmp_path, "src/one.py", "src/two.py")
    index = FileIndex(tmp_path, fresh=0)
    assert not index.find("one").paths and not index.find("one").whole
    assert settled(index, "one").paths == ["src/one.py"]
    make(tmp_path, "src/only.py")
    (tmp_path / "src" / "one.py").unlink()
    assert settled(index, "on").paths == ["src/only.py"]
    (tmp_path / "src" / ".gitignore").write_text("two*\n")
    assert settled(index, "two").paths == []
    (tmp_path / "src" / ".gitignore").write_text("only*\n")
    assert settled(index, "two").paths == ["src/two.py"]


def test_nothing_is_walked_again_while_nothing_changed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    make(tmp_path, "a.py", ".gitignore")
    time.sleep(0.05)  # older than a tick of the file system's clock
    walks: list[Path] = []

    def counted(root: Path, *arguments: object, **options: object) -> Found:
        walks.append(root)
        return walk(root)

    monkeypatch.setattr("local_agent.workspace.index.walk", counted)
    index = FileIndex(tmp_path, fresh=0)
    for _ in range(3):
        settled(index)
    assert len(walks) == 1


def test_what_is_known_so_far_is_offered_and_a_close_ends_the_walk(tmp_path: Path) -> None:
    index = FileIndex(tmp_path)
    going, told = threading.Event(), threading.Event()
    make(tmp_path, *(f"d{number // 100}/file{number}" for number in range(5_000)))

    def watched(found: Found) -> bool:
        keep = FileIndex._tell(index, found)
        told.set()
        going.wait(10)
        return keep

    index._tell = watched  # type: ignore[method-assign]  # to look in the middle of a walk
    index.refresh()
    assert told.wait(10)
    half = index.find("file")
    assert half.building and not half.whole and half.known >= 2_000 and len(half.paths) == 50
    index.close()
    going.set()
    settled(index)
    assert index.find("").known < 5_050


@pytest.mark.parametrize(
    ("query", "best"),
    [
        ("chat", ["tui/screens/chat.py", "tests/test_chat.py"]),
        ("CHAT", ["tui/screens/chat.py", "tests/test_chat.py"]),
        ("README", ["README.md"]),
        ("screens/", ["tui/screens/chat.py", "tui/screens/help.py"]),
        ("tui/s", ["tui/screens/", "tui/status.py", "tui/screens/chat.py"]),
        ("tui/screens/", ["tui/screens/chat.py"]),
        ("./read", ["README.md"]),
        ("techat", ["tests/test_chat.py"]),
        ("scrhelp", ["tui/screens/help.py"]),
        ("help.py", ["tui/screens/help.py"]),
        ("zzz", []),
        ("[", []),
        ("\udce9", []),
        ("\n", []),
        ("a" * 10_000, []),
    ],
)
def test_what_is_meant_comes_first(query: str, best: list[str]) -> None:
    screens = [f"tui/screens/{name}" for name in ("", "chat.py", "help.py")]
    ranking = Ranking(
        [
            *screens,
            "tui/",
            "tui/status.py",
            "README.md",
            "tests/",
            "tests/test_chat.py",
            "tests/chapter.txt",
            "docs/whatchat/x.md",
        ]
    )
    assert ranking.find(query)[: len(best)] == best
    assert bool(best) == bool(ranking.find(query))


def test_what_was_taken_before_is_offered_first(tmp_path: Path) -> None:
    make(tmp_path, *(f"file{number}.py" for number in range(9)))
    index = FileIndex(tmp_path)
    settled(index)
    index.used("file7.py")
    assert index.find("").paths[0] == "file7.py"
    assert index.find("file").paths[:2] == ["file0.py", "file7.py"]
    assert len(set(index.find("").paths)) == 9


def test_a_hundred_thousand_names_are_searched_within_a_key(tmp_path: Path) -> None:
    words = ("polish", "rename", "server", "parser", "picture", "window", "model")
    paths = [
        f"{words[a % 7]}_{a}/{words[b % 7]}-{b}/{words[c % 7]}_{words[(a + c) % 7]}{c}.py"
        for a in range(50)
        for b in range(20)
        for c in range(100)
    ]
    ranking = Ranking(paths)
    for query in ("s", "py", "server_picture42", "spw42", "zq", "window-3/mod"):
        begin = time.thread_time()
        ranking.find(query)
        assert time.thread_time() - begin < 0.5, f"{query}: ten times the budget"
