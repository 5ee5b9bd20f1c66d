"""db: check, backup and restore."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from tests.cli.program import environment, run
from tests.proofs.filled import read_rows
from tests.store.other_process import OtherProcess
from tests.support.terminal import Key, Terminal


@pytest.fixture
def database(home: Path) -> Path:
    """With one session that was asked once, and nobody at work in it."""
    path = home / "local-agent.db"
    with OtherProcess(path) as other:
        other.tell("create", "What is a tree?")
        other.tell("settle", "A plant.")
        other.tell("release")
    return path


def copies(database: Path) -> list[Path]:
    return sorted((database.parent / "backups").iterdir())


def test_a_copy_is_made_and_gone_back_to_as_the_lines_say(database: Path, tmp_path: Path) -> None:
    before = read_rows(database)
    made = run("db", "backup", cwd=tmp_path)
    (copy,) = copies(database)
    back = f"local-agent db restore {copy}"
    assert (made.code, made.out, made.line) == (0, "", f"Copied to {copy}. Go back to it with: {back}")

    with OtherProcess(database) as other:
        other.tell("create", "And a forest?")
        other.tell("settle", "Many.")
    restored = run(*back.split()[1:], "--yes", cwd=tmp_path)
    assert restored.code == 0
    first, second = restored.err.splitlines()
    assert first.startswith("local-agent: Restored: 1 session, 2 messages, 1 turn, last used 20")
    kept = next(each for each in copies(database) if each != copy)
    assert second == f"local-agent: What was there before is in {kept}."
    assert read_rows(database) == before
    assert len(read_rows(kept)["sessions"]) == 2


def test_a_named_copy_goes_where_it_was_named_and_replaces_nothing(database: Path, tmp_path: Path) -> None:
    assert run("db", "backup", "mine.db", cwd=tmp_path).code == 0
    assert read_rows(tmp_path / "mine.db") == read_rows(database)
    again = run("db", "backup", "mine.db", cwd=tmp_path)
    assert again.code == 2
    assert again.line == f"{tmp_path / 'mine.db'} is there already. Name a file that is not there yet."


def test_a_check_is_one_screen_and_one_document(database: Path) -> None:
    shown = run("db", "check")
    assert (shown.code, shown.err) == (0, "")
    lines = shown.out.splitlines()
    assert re.fullmatch(r"Database    (.*)  \(0\.\d MB, journal wal, revision 0005\)", lines[0])
    assert lines[1].startswith("Holds       1 session, 2 messages, 1 turn, last used ")
    assert lines[2:] == ["Last copy   none", "All is well."]

    document = json.loads(run("db", "check", "--json").out)
    assert document["holdings"]["entries"] == 2
    assert document["problems"] == []


def test_a_damaged_database_is_a_failure_with_the_way_out(database: Path) -> None:
    assert run("db", "backup").code == 0
    (copy,) = copies(database)
    with database.open("r+b") as file:
        file.write(b"\xa5" * 4096)
    shown = run("db", "check")

    assert shown.code == 1
    assert f"Problem     {database} is damaged." in shown.out
    assert shown.out.splitlines()[-1].endswith(f"local-agent db restore {copy}")
    refused = run("--resume", "latest")
    assert refused.code == 1
    assert refused.line == (
        f"{database} is damaged. "
        "See what is left of it, and which copy to go back to, with: local-agent db check"
    )


def test_nothing_is_replaced_unasked(database: Path, tmp_path: Path) -> None:
    assert run("db", "backup", "mine.db", cwd=tmp_path).code == 0
    refused = run("db", "restore", "mine.db", cwd=tmp_path)
    assert (refused.code, refused.line) == (2, "This replaces the database. Say so with --yes.")

    for answer, code, end in (("n", 1, "Nothing was changed."), ("y", 0, "What was there before is in")):
        with Terminal(["db", "restore", "mine.db"], cwd=tmp_path, env=environment(), size=(120, 24)) as asked:
            shown = asked.wait_for("Replace what is there now, after copying it? [y/N]:")
            assert "There now    1 session, 2 messages, 1 turn, last used" in shown
            assert "In the copy  1 session, 2 messages, 1 turn, last used" in shown
            assert not (database.parent / "backups").exists()
            asked.send(answer, Key.ENTER)
            asked.wait_for(end)
            assert asked.wait_exit() == code
    assert len(copies(database)) == 1


def test_a_question_is_left_with_ctrl_c(database: Path, tmp_path: Path) -> None:
    assert run("db", "backup", "mine.db", cwd=tmp_path).code == 0
    with Terminal(["db", "restore", "mine.db"], cwd=tmp_path, env=environment()) as asked:
        asked.wait_for("[y/N]:")
        # The prompt is written before anything is waited for; what is echoed by the line's editor is read.
        asked.send("n")
        asked.wait_for("[y/N]: n")
        asked.send(Key.CTRL_C)
        assert asked.wait_exit() == 130
        assert "Traceback" not in asked.text
    assert not (database.parent / "backups").exists()


def test_an_open_database_is_named_with_its_holder(database: Path, tmp_path: Path) -> None:
    assert run("db", "backup", "mine.db", cwd=tmp_path).code == 0
    with OtherProcess(database) as other:
        handle = other.tell("create", "Are you there?")["handle"]
        refused = run("db", "restore", "mine.db", "--yes", cwd=tmp_path)
        assert refused.code == 1
        where = f"process {other.process.pid} with session {handle}"
        assert refused.line.replace(" on /dev/pts/", "") == (
            f"The database is open in {where}. Close it there, then try again."
        )


def test_without_a_database_there_is_nothing_to_copy_or_to_find(home: Path) -> None:
    shown = run("db", "check")
    assert (shown.code, shown.out.splitlines()[0]) == (
        0,
        f"Database    {home / 'local-agent.db'}  (not there yet)",
    )
    refused = run("db", "backup")
    assert refused.code == 1
    assert refused.line.startswith("There is no database to copy yet")
    assert not (home / "local-agent.db").exists()
