"""What a resumed conversation says of what has changed since."""

from __future__ import annotations

import os
import sqlite3
import subprocess
from contextlib import closing
from pathlib import Path

import pytest

from local_agent.domain.tools import UNKNOWN
from local_agent.objects.store import digest_of
from local_agent.runtime.resume_report import Since, head_moves, report
from tests.support.cut_off import completed, cut_off
from tests.support.ollama_server import OllamaServer
from tests.tui.chatting import chatting
from tests.tui.pilots import until

LATER = "2095-01-01T00:00:00+0000"


def git(folder: Path, *arguments: str, at: str = "2020-01-01T00:00:00+0000") -> None:
    environment = {**os.environ, "GIT_COMMITTER_DATE": at, "GIT_AUTHOR_DATE": at}
    identity = ("-c", "user.name=x", "-c", "user.email=x@y")
    subprocess.run(["git", *identity, "-C", str(folder), *arguments], env=environment, check=True)


def commit(folder: Path, at: str) -> None:
    git(folder, "commit", "--quiet", "--allow-empty", "-m", "x", at=at)


async def test_what_has_changed_is_told_once_it_has(home: Path, server: OllamaServer) -> None:
    workspace = home.parent / "api-server"
    workspace.mkdir(parents=True)
    git(workspace, "init", "--quiet")
    commit(workspace, "2020-01-01T00:00:00+0000")
    names = ("kept.py", "edited.py", "removed.py")
    for name in names:
        (workspace / name).write_text("as it was left")
    left = digest_of(b"as it was left")
    (workspace / "link").symlink_to("kept.py")
    there = [*((name, left) for name in names), ("link", digest_of(b"link to kept.py")), ("big", UNKNOWN)]
    calls = [completed("write", {"path": name}, "ok", (name, "created", "", after)) for name, after in there]
    handle, _ = cut_off(home, workspace, calls)

    async with chatting(home, server.url, resume=handle) as chat:
        await chat.ready()
        await until(chat.pilot, lambda: not [w for w in chat.screen.workers if w.group == "changes"])
        assert chat.remarks == []

    (workspace / "edited.py").write_text("by hand")
    (workspace / "removed.py").unlink()
    commit(workspace, LATER)
    commit(workspace, LATER)
    with closing(sqlite3.connect(home / "local-agent.db")) as db:
        db.execute(
            "INSERT INTO error_records (session_id, kind, line, raw, question, model, provider, created_at)"
            " VALUES (1, 'generation', 'It broke.', '', 'Do it', 'm', 'ollama', '2026-01-01T00:00:00.000Z')"
        )
        db.commit()
    async with chatting(home, server.url, resume=handle) as chat:
        await until(chat.pilot, lambda: chat.remarks)
        (told,) = chat.remarks
    assert told.startswith(
        "Changed since by somebody else: removed.py, edited.py. Git's HEAD has moved 2 times"
    )
    assert told.endswith("1 error so far: /errors.")


def test_heads_are_counted_from_a_moment_on_in_work_trees_too(tmp_path: Path) -> None:
    main = tmp_path / "main"
    main.mkdir()
    assert head_moves(main, "2021-01-01T00:00:00.000Z") == (0, "")
    git(main, "init", "--quiet")
    commit(main, "2020-01-01T00:00:00+0000")
    git(main, "worktree", "add", "--quiet", str(tmp_path / "tree"))
    for folder in (main, tmp_path / "tree"):
        commit(folder, LATER)
        # A work tree's own first note carries the time at which it was made.
        count, head = head_moves(folder, "2090-01-01T00:00:00.000Z")
        assert (count, len(head)) == (1, 7)
    assert head_moves(main, "no time") == (0, "")
    assert head_moves(main, "2101-01-01T00:00:00.000Z") == (0, "")


@pytest.mark.parametrize(
    ("since", "words"),
    [
        (Since(), ""),
        (Since(used_tokens=5000), ""),
        (Since(uncertain=1, used_tokens=5000), "1 call has an outcome that nobody knows: /recover. The conv"),
        (Since(lost=2), "close this and run: local-agent session repair a1b2c3d."),
        (Since(missing_model="big:70b\x1b"), "is not there any more: /model chooses another."),
        (Since(differing=["a\nb", "c", "d", "e"]), "Changed since by somebody else: a b, c, d and 1 more."),
    ],
)
def test_a_report_is_quiet_or_names_the_way(since: Since, words: str) -> None:
    told = report(since, "a1b2c3d")
    assert words in told
    assert bool(told) is bool(words)
