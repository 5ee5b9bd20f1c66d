"""Ten turns that work on files, and back to each of them: conversation, files, both, byte for byte."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from local_agent.domain.errors import UsageError
from local_agent.domain.modes import Mode
from local_agent.domain.moves import Scope
from tests.runtime.opened import opened
from tests.runtime.travelling import Tree, Worker, marks_of, tree_of
from tests.support.ollama_server import OllamaServer

Calls = list[tuple[str, dict[str, object]]]

TEN: list[Calls] = [
    [("write", {"path": "new.py", "content": "print('new')\n"})],
    [
        ("read", {"path": "app.py"}),
        ("edit", {"path": "app.py", "old": "count = 1", "new": "count = 2"}),
    ],
    [("move", {"path": "data/old.txt", "to": "data/deep/er/new.txt"})],
    [("remove", {"path": "doomed.txt"})],
    [
        ("read", {"path": "new.py"}),
        ("write", {"path": "new.py", "content": "print('newer')\n"}),
        ("mkdir", {"path": "empty/folder"}),
    ],
    [("move", {"path": "folder", "to": "renamed"})],
    [("copy", {"path": "run.sh", "to": "again.sh"})],
    [("remove", {"path": "renamed", "recursive": True})],
    [
        ("read", {"path": "windows.txt"}),
        ("edit", {"path": "windows.txt", "old": "two", "new": "deux"}),
    ],
    [
        ("write", {"path": "doomed.txt", "content": "back again\n"}),
        ("remove", {"path": "new.py"}),
        ("move", {"path": "app.py", "to": "main.py"}),
    ],
]
"""They write, edit, move, copy and remove files, links and folders."""


def lay_out(work: Path, *, git: bool) -> None:
    """A project with what is hard to put back: modes, links, folders, line ends, bytes that are no text."""
    (work / "app.py").write_text("count = 1\n")
    (work / "windows.txt").write_bytes(b"\xef\xbb\xbfone\r\ntwo\r\nthree")
    (work / "doomed.txt").write_text("not for long\n")
    (work / "untouched.bin").write_bytes(bytes(range(256)))
    (work / "run.sh").write_text("#!/bin/sh\n")
    (work / "run.sh").chmod(0o755)
    (work / "data").mkdir()
    (work / "data/old.txt").write_text("old\n")
    (work / "data/old.txt").chmod(0o600)
    (work / "folder/inner").mkdir(parents=True)
    (work / "folder/inner/a.bin").write_bytes(b"\x00\xff" * 100)
    (work / "folder/link").symlink_to("inner/a.bin")
    if git:
        for words in (["init", "-q"], ["add", "."], ["commit", "-qm", "begin"]):
            identity = ["-c", "user.name=Somebody", "-c", "user.email=somebody@example.org"]
            subprocess.run(["git", *identity, *words], cwd=work, check=True)


def git_state(work: Path) -> dict[str, bytes]:
    """All of the person's own Git but the index, which a mere look may refresh."""
    folder = work / ".git"
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file() and path.name != "index"
    }


@pytest.mark.parametrize("git", [False, True], ids=["without Git", "with Git"])
async def test_back_to_each_of_ten_turns(home: Path, server: OllamaServer, git: bool) -> None:
    async with opened(home, server.url, mode=Mode.AUTO, skip_approvals=True) as runtime:
        work = home.parent / "work"
        lay_out(work, git=git)
        worker = Worker(runtime.new_conversation(), server, work)
        trees: list[Tree] = []
        words: list[list[str]] = []
        for calls in TEN:
            await worker.turn(*calls)
            await worker.conversation.time.checkpoint(f"turn {worker.asked}")
            trees.append(tree_of(work))
            words.append(await worker.said())
        assert len({str(tree) for tree in trees}) == len(TEN)
        checkpoints = (await worker.conversation.time.checkpoints())[::-1]
        outside, untouched = git_state(work), marks_of(work)["untouched.bin"]

        for turn, checkpoint in enumerate(checkpoints):
            await worker.restore(checkpoint.id, Scope.CONVERSATION)
            assert await worker.said() == words[turn]
            assert tree_of(work) == trees[-1], "the conversation alone"
            await worker.undo(Scope.BOTH)
            assert await worker.said() == words[-1]

            await worker.restore(checkpoint.id, Scope.FILES)
            assert tree_of(work) == trees[turn] and await worker.said() == words[-1], "the files alone"
            await worker.undo(Scope.BOTH)
            assert tree_of(work) == trees[-1]

            await worker.restore(checkpoint.id, Scope.BOTH)
            assert tree_of(work) == trees[turn] and await worker.said() == words[turn], "both"
            await worker.undo(Scope.BOTH)
            assert tree_of(work) == trees[-1] and await worker.said() == words[-1]

        # Step by step all the way back, and forth again.
        while (await worker.conversation.time.undo()).landing.question is None:
            await worker.undo(Scope.BOTH)
        for turn in range(len(TEN) - 1, 0, -1):
            arrival = await worker.undo(Scope.BOTH)
            assert arrival.question is not None and arrival.question.text == f"question {turn + 1}"
            assert tree_of(work) == trees[turn - 1] and await worker.said() == words[turn - 1]
        await worker.undo(Scope.BOTH)
        assert await worker.said() == []
        with pytest.raises(UsageError, match="nothing to undo"):
            await worker.conversation.time.undo()
        for turn in range(len(TEN)):
            await worker.redo(Scope.BOTH)
            assert tree_of(work) == trees[turn] and await worker.said() == words[turn]
        assert git_state(work) == outside and marks_of(work)["untouched.bin"] == untouched


async def test_what_somebody_else_changed_last_is_kept_and_said(home: Path, server: OllamaServer) -> None:
    async with opened(home, server.url, mode=Mode.AUTO, skip_approvals=True) as runtime:
        work = home.parent / "work"
        lay_out(work, git=False)
        worker = Worker(runtime.new_conversation(), server, work)
        await worker.turn(text="nothing yet")
        for calls in TEN[:4]:
            await worker.turn(*calls)
        (work / "app.py").write_text("mine now\n")
        (work / "new.py").unlink()
        (work / "doomed.txt").write_text("and this is mine\n")
        outsider = marks_of(work)
        await worker.conversation.time.checkpoint("here")
        first = (await worker.conversation.tail(10_000)).entries[1]
        arrival = await worker.switch(first.id, Scope.BOTH)

        assert (work / "app.py").read_text() == "mine now\n"
        assert (work / "doomed.txt").read_text() == "and this is mine\n"
        assert not (work / "new.py").exists() and (work / "data/old.txt").read_text() == "old\n"
        assert not (work / "data/deep").exists()
        assert marks_of(work)["app.py"] == outsider["app.py"]
        assert "2 kept (changed by somebody else since)" in arrival.line, arrival.line
        await worker.undo(Scope.BOTH)
        assert (work / "data/deep/er/new.txt").read_text() == "old\n"
        assert (work / "app.py").read_text() == "mine now\n"
