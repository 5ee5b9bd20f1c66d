"""``session purge``: what was said is in no file any more."""

from __future__ import annotations

import json
import os
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from local_agent.domain.drafts import Draft, Prompt
from local_agent.domain.modes import Mode
from tests.cli.program import converse, opened, run, stored_session
from tests.support.ollama_server import ModelSpec, OllamaServer, Turn, call, think
from tests.support.pictures import drawn

WORD = "zyxplanted"


def files_with(home: Path, word: str = WORD) -> list[str]:
    """Every file under the folder that has the word in its bytes or in its name, in either case."""
    there = [path for path in home.rglob("*") if path.is_file()]
    sought = word.encode()
    return [str(path) for path in there if sought in path.read_bytes().lower() or word in path.name.lower()]


async def planted(url: str, home: Path, project: Path) -> tuple[str, str]:
    """Handles of a session that says the word in many places, and of a fork that stands on its beginning."""
    async with opened(url, project) as runtime:
        conversation = await converse(runtime, "What is shared?")
        fork = await runtime.library.fork(conversation.handle, "The fork")
        picture = await runtime.pictures.accept_bytes(drawn(), f"{WORD}.png")
        await conversation.set_mode(Mode.AUTO)
        async for _ in conversation.ask(Prompt(f"Say {WORD}", (picture,))):
            pass
        await conversation.rename(f"All about {WORD}")
        async for _ in conversation.run_command(f"for i in $(seq 9000); do echo {WORD} $i; done"):
            pass
        await conversation.time.checkpoint(f"label {WORD}")
        await runtime.save_draft(conversation, Draft(f"unsent {WORD}"))
        handle = conversation.handle
        await conversation.close()
    unsaved = home / "unsaved"
    unsaved.mkdir(exist_ok=True)
    (unsaved / f"{handle}-20260101-000000-000000.md").write_text(WORD)
    return handle, fork.handle


async def test_the_words_are_in_no_file_and_the_fork_lives(
    home: Path, project: Path, server: OllamaServer
) -> None:
    able = ("completion", "vision", "tools", "thinking")
    server.models["llama3.2:3b"] = ModelSpec("llama3.2:3b", capabilities=able)
    write = call("write", {"path": f"{WORD}.txt", "content": f"content {WORD}"})
    server.script("shared answer", Turn(think(f"I think of {WORD}."), write), f"on {WORD}")
    handle, fork = await planted(server.url, home, project)
    said = json.loads(run("session", "show", fork, "--json", cwd=project).out)
    assert files_with(home)
    assert (project / f"{WORD}.txt").read_text() == f"content {WORD}"
    told = run("session", "show", handle, "--json", cwd=project).out
    assert f"I think of {WORD}." in told and f"content {WORD}" in told
    assert list((home / "images" / "objects").rglob("*.*")) or list((home / "images").rglob("*"))

    refused = run("session", "purge", handle, "--confirm", handle, cwd=project)
    assert (refused.code, refused.line) == (
        1,
        f"Session {handle} is not in the trash. Put it there first: local-agent session trash {handle}",
    )
    assert run("session", "trash", handle, cwd=project).code == 0
    asked = run("session", "purge", handle, cwd=project)
    assert asked.code == 2
    assert asked.line.endswith(f"local-agent session purge {handle} --confirm {handle}")
    wrong = run("session", "purge", handle, "--confirm", fork, cwd=project)
    assert (wrong.code, wrong.line) == (1, "That is not its handle: nothing was deleted.")

    done = run("session", "purge", handle, "--confirm", handle, cwd=project)

    assert (done.code, done.err.splitlines()[0]) == (0, f"local-agent: Session {handle} is deleted.")
    assert files_with(home) == []
    assert files_with(home, handle) == []
    assert not [path for path in (home / "images" / "objects").rglob("*") if path.is_file()]
    now = json.loads(run("session", "show", fork, "--json", cwd=project).out)
    assert [e["text"] for e in now["entries"]] == [e["text"] for e in said["entries"]]
    assert now["messages"] == said["messages"]
    assert run("session", "export", fork, "--out", str(project / "out"), cwd=project).code == 0
    assert run("db", "check", cwd=project).code == 0
    assert run("session", "show", handle, cwd=project).code == 2


async def test_copies_are_named_and_left_alone(home: Path, project: Path, server: OllamaServer) -> None:
    server.script(f"on {WORD}")
    handle = await stored_session(server.url, project, f"Say {WORD}")
    run("db", "backup", cwd=project)
    (copy,) = (home / "backups").glob("*.db")
    run("session", "trash", handle, cwd=project)

    done = run("session", "purge", handle, "--confirm", handle, cwd=project)

    assert done.code == 0
    assert f"delete it yourself: {copy}" in done.err
    assert files_with(home) == [str(copy)]


async def test_what_another_process_still_reads_is_wiped_later(
    home: Path, project: Path, server: OllamaServer
) -> None:
    server.script(f"on {WORD}")
    handle = await stored_session(server.url, project, f"Say {WORD}")
    run("session", "trash", handle, cwd=project)
    with closing(sqlite3.connect(home / "local-agent.db", isolation_level=None)) as reader:
        reader.execute("BEGIN")
        reader.execute("SELECT count(*) FROM entries").fetchone()
        done = run("session", "purge", handle, "--confirm", handle, cwd=project)
        assert done.code == 1
        assert done.err.splitlines()[-1].endswith("local-agent session purge --finish")
        assert files_with(home)
    finished = run("session", "purge", "--finish", cwd=project)
    assert finished.code == 0, finished.err
    assert files_with(home) == []


async def test_a_session_that_is_open_is_not_purged(home: Path, project: Path, server: OllamaServer) -> None:
    server.script("one")
    handle = await stored_session(server.url, project, "First question")
    run("session", "trash", handle, cwd=project)
    async with opened(server.url, project) as runtime:
        conversation = await runtime.resume(handle)
        refused = run("session", "purge", handle, "--confirm", handle, cwd=project)
        assert refused.code == 1
        assert f"is open in process {os.getpid()}" in refused.line
        await conversation.close()
    assert "First question" in run("session", "show", handle, cwd=project).out


@pytest.mark.parametrize("side", ["before", "after"])
async def test_killed_half_way_it_is_all_or_nothing(
    home: Path, project: Path, server: OllamaServer, side: str
) -> None:
    server.script(f"on {WORD}")
    handle = await stored_session(server.url, project, f"Say {WORD}")
    run("session", "trash", handle, cwd=project)
    crash = {"LOCAL_AGENT_CRASH_AT": f"session.purge:{side}-commit"}
    assert run("session", "purge", handle, "--confirm", handle, cwd=project, env=crash).code < 0
    there = run("session", "show", handle, cwd=project)
    assert run("db", "check", cwd=project).code == 0
    if side == "before":
        assert WORD in there.out
        assert run("session", "purge", handle, "--confirm", handle, cwd=project).code == 0
    else:
        assert there.code == 2
        aside = home / "unsaved" / f"{handle}-20260101-000000-000000.md"
        aside.parent.mkdir(exist_ok=True)
        aside.write_text(WORD)
        told = run("session", "purge", "--finish", cwd=project)
        assert (told.code, f"delete it yourself: {aside}" in told.err) == (1, True)
        aside.unlink()
        assert run("session", "purge", "--finish", cwd=project).code == 0
    assert files_with(home) == []


async def test_the_trash_is_listed(home: Path, project: Path, server: OllamaServer) -> None:
    server.script("one", "two")
    handle = await stored_session(server.url, project, "First question")
    other = await stored_session(server.url, project, "Another")
    empty = run("session", "list", "--trash", cwd=project)
    line = "Nothing of this folder is in the trash. Others: local-agent session list --all --trash"
    assert (empty.out, empty.line) == ("", line)

    run("session", "trash", handle, cwd=project)

    listed = run("session", "list", "--trash", cwd=project).out
    assert handle in listed
    assert other not in listed
    (row,) = json.loads(run("session", "list", "--trash", "--json", cwd=project).out)
    assert (row["handle"], row["trashed"], row["pinned"]) == (handle, True, False)
    run("session", "purge", handle, "--confirm", handle, cwd=project)
    assert run("session", "list", "--trash", "--all", cwd=project).line == "Nothing is in the trash."
