"""``session bundle`` and ``session import`` as a person types them."""

from __future__ import annotations

import asyncio
import json
import os
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from local_agent.store.store import Store
from tests.cli.program import converse, opened, run, stored_session
from tests.store.samples import VERSION, opening, settled, talk
from tests.support.cut_off import completed, started, working
from tests.support.ollama_server import OllamaServer


def snapshot(home: Path) -> dict[str, bytes]:
    """Every file but the log, and what SQLite keeps beside its file while that is open."""
    left = (path for path in home.rglob("*") if path.is_file() and "logs" not in path.parts)
    return {str(path): path.read_bytes() for path in left if not path.name.endswith(("-wal", "-shm"))}


def imported(err: str) -> str:
    found = re.search(
        r"Session ([0-9a-f]{7}) was imported\. Go on with: local-agent --resume \1$", err.strip()
    )
    assert found, err
    return found[1]


def texts(handle: str, folder: Path, **variables: str) -> list[str]:
    shown = run("session", "show", "--json", handle, cwd=folder, env=variables)
    return [entry["text"] for entry in json.loads(shown.out)["entries"]]


async def test_a_session_moves_to_an_empty_home(home: Path, project: Path, server: OllamaServer) -> None:
    server.script("one", "two")
    handle = await stored_session(server.url, project, "First question", "Second")
    file = project / "it.bundle"

    made = run("session", "bundle", handle, "it.bundle", cwd=project)

    assert (made.code, made.out) == (0, "")
    assert (
        made.line
        == f"Session {handle} is in it.bundle: 4 messages. Nothing in it is redacted: mind who gets it."
    )
    assert file.stat().st_mode & 0o777 == 0o600
    refused = run("session", "bundle", handle, "it.bundle", cwd=project)
    assert (refused.code, refused.line) == (
        2,
        "it.bundle is there already. Name another file, or replace it with --force.",
    )
    before = file.read_bytes()
    assert run("session", "bundle", "--force", handle, "it.bundle", cwd=project).code == 0
    assert file.read_bytes() == before

    other = {"LOCAL_AGENT_HOME": str(home.parent / "other")}
    elsewhere = project.parent / "elsewhere"
    elsewhere.mkdir()
    first = imported(run("session", "import", str(file), cwd=elsewhere, env=other).err)
    second = imported(run("session", "import", str(file), cwd=elsewhere, env=other).err)
    assert len({handle, first, second}) == 3
    for each in (first, second):
        assert texts(each, elsewhere, **other) == texts(handle, project)
    rows = json.loads(run("session", "list", "--json", cwd=elsewhere, env=other).out)
    assert [(row["handle"], row["title"]) for row in rows] == [
        (second, "First question"),
        (first, "First question"),
    ]
    assert run("db", "check", env=other).code == 0
    found = run("session", "search", "second", cwd=elsewhere, env=other)
    assert first in found.out and second in found.out


def test_of_a_first_turn_that_runs_nothing_is_written(home: Path, project: Path) -> None:
    calls = [completed("bash", {"command": "echo"}, "out"), started("write", {"path": "a"}, target="a")]
    with working(home, project, calls) as (handle, _, _):
        nothing = run("session", "bundle", handle, "x", cwd=project)
        assert nothing.code == 1
        assert "nothing to bundle" in nothing.line
        assert not (project / "x").exists()


async def test_while_a_process_holds_it_all_that_is_settled_is_bundled(
    home: Path, project: Path, server: OllamaServer
) -> None:
    server.script("one")
    async with opened(server.url, project) as runtime:
        conversation = await converse(runtime, "First question")
        made = run("session", "bundle", conversation.handle, "x", cwd=project)
        assert (made.code, "left out" in made.err) == (0, False)
        handle = imported(run("session", "import", "x", cwd=project).err)
        await conversation.close()
    assert texts(handle, project) == ["First question", "one"]


async def test_a_turn_that_runs_is_left_out_and_that_is_said(home: Path, project: Path) -> None:
    store = Store.open(home / "local-agent.db", program_version=VERSION)
    held = await talk(store, "First question", root=str(project))
    turn = await held.begin(opening("running", held.info.head))
    made = run("session", "bundle", held.info.handle, "x", cwd=project)
    assert made.code == 0
    assert made.err.splitlines()[-1].endswith("was left out, such as a turn that still runs.")
    await held.settle(turn, settled())
    await held.release()
    await store.close()
    handle = imported(run("session", "import", "x", cwd=project).err)
    assert texts(handle, project) == ["First question", "On First question"]


def wrong_files(folder: Path, whole: bytes) -> Iterator[tuple[str, int]]:
    (folder / "cut").write_bytes(whole[:-30])
    (folder / "words").write_text("just words")
    (folder / "empty").write_bytes(b"")
    yield from (("cut", 1), ("words", 1), ("empty", 1), ("gone", 2), (".", 2))


async def test_a_refused_file_leaves_nothing_behind(home: Path, project: Path, server: OllamaServer) -> None:
    server.script("one")
    handle = await stored_session(server.url, project, "First question")
    run("session", "bundle", handle, "it", cwd=project)
    before = snapshot(home)
    empty = home.parent / "empty"
    for name, code in wrong_files(project, (project / "it").read_bytes()):
        refused = run("session", "import", name, cwd=project)
        assert (refused.code, refused.out) == (code, ""), name
        assert refused.line.startswith(name if name != "gone" else "There is no file gone")
        assert snapshot(home) == before
        run("session", "import", name, cwd=project, env={"LOCAL_AGENT_HOME": str(empty)})
        assert not snapshot(empty)
    assert run("session", "bundle", "0000000", "y", cwd=project).code == 2


def test_a_place_that_can_not_be_written_is_said(home: Path, project: Path) -> None:
    with working(home, project, []) as (handle, _, _):
        pass
    (project / "locked").mkdir(mode=0o500)
    for place in ("/proc/it", "no/such/folder/it", *(["locked/it"] if os.geteuid() else [])):
        refused = run("session", "bundle", handle, place, cwd=project)
        assert refused.code == 1
        assert "can't be written" in refused.line


async def test_two_at_once_make_two_sessions(home: Path, project: Path, server: OllamaServer) -> None:
    server.script("one")
    handle = await stored_session(server.url, project, "First question")
    run("session", "bundle", handle, "it", cwd=project)
    both = [asyncio.to_thread(run, "session", "import", "it", cwd=project) for _ in range(2)]
    handles = {imported(each.err) for each in await asyncio.gather(*both)}
    assert len(handles) == 2
    for each in handles:
        assert texts(each, project) == ["First question", "one"]
    assert run("db", "check", cwd=project).code == 0


@pytest.mark.parametrize("side", ["before", "after"])
async def test_killed_half_way_it_is_all_or_nothing(
    home: Path, project: Path, server: OllamaServer, side: str
) -> None:
    server.script("one")
    handle = await stored_session(server.url, project, "First question")
    run("session", "bundle", handle, "it", cwd=project)
    crash = {"LOCAL_AGENT_CRASH_AT": f"session.import:{side}-commit"}
    assert run("session", "import", "it", cwd=project, env=crash).code < 0
    rows = json.loads(run("session", "list", "--json", cwd=project).out)
    assert len(rows) == (1 if side == "before" else 2)
    assert run("db", "check", cwd=project).code == 0
