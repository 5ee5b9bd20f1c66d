"""Steps undone a second time, and why files stay that an undo leaves."""

from __future__ import annotations

import shutil
from pathlib import Path

from local_agent.domain.modes import Mode
from local_agent.domain.moves import Scope
from tests.runtime.opened import opened
from tests.runtime.travelling import Worker, tree_of
from tests.support.ollama_server import OllamaServer


async def test_files_that_stayed_the_first_time_go_back_the_second(home: Path, server: OllamaServer) -> None:
    async with opened(home, server.url, mode=Mode.AUTO, skip_approvals=True) as runtime:
        worker = Worker(runtime.new_conversation(), server, home.parent / "work")
        await worker.turn(("write", {"path": "made.txt", "content": "made"}))
        await worker.undo(Scope.CONVERSATION)
        await worker.redo(Scope.BOTH)
        assert (worker.work / "made.txt").exists()
        await worker.undo(Scope.BOTH)
        assert not (worker.work / "made.txt").exists() and await worker.said() == []


async def test_a_workspace_that_a_command_removed_comes_back_once_there_is_a_folder(
    home: Path, server: OllamaServer
) -> None:
    async with opened(home, server.url, mode=Mode.AUTO, skip_approvals=True) as runtime:
        worker = Worker(runtime.new_conversation(), server, home.parent / "work")
        (worker.work / "folder").mkdir()
        (worker.work / "folder/a.txt").write_text("a\n")
        before = tree_of(worker.work)
        await worker.turn(("bash", {"command": 'rm -rf "$PWD"'}))
        shutil.rmtree(worker.work, ignore_errors=True)  # a sandbox holds the folder itself
        refused = await worker.undo(Scope.BOTH)
        assert "failed (its folder is not there)" in refused.line and not worker.work.exists()
        worker.work.mkdir()
        await worker.redo(Scope.BOTH)
        done = await worker.undo(Scope.BOTH)
        assert "2 restored" in done.line and tree_of(worker.work) == before


async def test_each_reason_for_which_something_stays_is_said(home: Path, server: OllamaServer) -> None:
    async with opened(home, server.url, mode=Mode.AUTO, skip_approvals=True) as runtime:
        worker = Worker(runtime.new_conversation(), server, home.parent / "work")
        await worker.turn(
            ("write", {"path": "new/made.txt", "content": "made"}), ("write", {"path": "b", "content": "b"})
        )
        (worker.work / "new/theirs.txt").write_text("theirs")
        (worker.work / "b").write_text("theirs")
        arrival = await worker.undo(Scope.BOTH)
        assert "1 restored" in arrival.line
        assert "1 kept (changed by somebody else since)" in arrival.line
        assert "1 kept (something else lies in it)" in arrival.line
