"""Calls whose outcome nobody knows, looked into and settled on the command line."""

from __future__ import annotations

import hashlib
import json
import shlex
import sqlite3
import subprocess
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from local_agent.cli import root
from local_agent.domain.executions import NOTES
from local_agent.domain.ledger import Observation
from tests.cli.program import COMMAND, Ran, environment, run
from tests.support.cut_off import Call, completed, cut_off, started, working
from tests.support.ollama_server import OllamaServer, Turn, call

KEY = "0123456789ab"
EVIDENCE = (
    "--observation", "effect_applied", "--source", "operator_observation", "--reference", "seen",
    "--summary", "It is there.", "--observed-at", "2026-01-31T14:05:00Z",
)  # fmt: skip
OTHERWISE = ("--observation", "effect_not_applied", *EVIDENCE[2:])


def digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def write_call(project: Path, name: str, before: str, after: str) -> Call:
    path = str(project / name)
    return started(
        "write", {"path": name, "content": after}, target=name,
        expected={path: digest(before) if before else ""}, intended={path: digest(after)},
    )  # fmt: skip


def recover(*arguments: str, cwd: Path) -> Ran:
    return run("execution", "recover", *arguments, cwd=cwd)


def printed(ran: Ran) -> list[list[str]]:
    """The words of the commands that were printed, without what comes before."""
    lines = [line for line in ran.out.splitlines() if "--apply" in line]
    return [shlex.split(line)[shlex.split(line).index("local-agent") + 1 :] for line in lines]


def ledger(home: Path) -> list[tuple[object, ...]]:
    with closing(sqlite3.connect(home / "local-agent.db")) as db:
        events = db.execute("SELECT execution_id, kind FROM execution_events ORDER BY number").fetchall()
        return events + db.execute("SELECT execution_id, observation FROM reconciliations").fetchall()


def test_one_call_from_its_death_to_its_settlement(home: Path, project: Path) -> None:
    (project / "a.py").write_text("new")
    handle, (key,) = cut_off(home, project, [write_call(project, "a.py", "old", "new")])

    before = ledger(home)
    assert "⚠ 1 uncertain" in run("session", "list", cwd=project).out
    shown = recover(handle, key, cwd=project)
    assert (shown.code, shown.err) == (0, "")
    assert "a.py holds what it was to hold." in shown.out
    assert "Proposed: it was done." in shown.out
    assert ledger(home) == before  # looking writes nothing

    (words,) = printed(shown)
    assert words[:4] == ["execution", "recover", handle, key]
    first, again = run(*words, cwd=project), run(*words, cwd=project)
    assert (first.code, again.code) == (0, 0)
    assert "is settled" in first.line
    assert "by the same evidence before" in again.line
    assert ledger(home)[-2:] == [(key, "outcome_unknown"), (key, "effect_applied")]

    other = recover(handle, key, "--apply", *OTHERWISE, cwd=project)
    assert other.code == 1
    assert "settled by other evidence" in other.line
    assert "was settled: it was done." in recover(handle, key, cwd=project).line

    document = json.loads(run("session", "show", "--json", handle, cwd=project).out)
    results = [message["content"] for message in document["messages"] if message["role"] == "tool"]
    assert results == [NOTES[Observation.EFFECT_APPLIED]]


def test_what_can_not_be_known_leaves_three_commands(home: Path, project: Path) -> None:
    (project / "a.py").write_text("edited by somebody else")
    handle, (key,) = cut_off(home, project, [write_call(project, "a.py", "old", "new")])
    shown = recover(handle, key, cwd=project)
    assert "can't be told from here" in shown.out
    commands = printed(shown)
    assert [words[words.index("--observation") + 1] for words in commands] == [*Observation]
    assert run(*commands[1], cwd=project).code == 0


def test_a_set_is_settled_together_or_not_at_all(home: Path, project: Path, tmp_path: Path) -> None:
    calls = [write_call(project, f"{number}.py", "", "new") for number in range(3)]
    handle, ids = cut_off(home, project, calls)
    elsewhere = recover(handle, "--all", cwd=tmp_path)
    assert f"cd '{project}' && local-agent execution recover" in elsewhere.out

    words = printed(elsewhere)[-1]
    assert words[3] == "--all"
    document = json.loads(recover(handle, "--all", "--json", cwd=project).out)
    assert [each["execution"]["id"] for each in document["uncertain"]] == ids
    assert document["set_digest"] == words[words.index("--set-digest") + 1]

    stale = [*words]
    stale[stale.index("--set-digest") + 1] = "0" * 64
    refused = run(*stale, cwd=project)
    assert refused.code == 1
    assert "has changed since it was looked at" in refused.line
    assert not [row for row in ledger(home) if row[1] in tuple(Observation)]

    assert run(*words, cwd=tmp_path).code == 1  # it belongs to its folder
    assert run(*words, cwd=project).line.startswith("Settled: 3.")
    assert "by the same evidence before" in run(*words, cwd=project).line


def test_calls_with_other_outcomes_are_settled_one_by_one(home: Path, project: Path) -> None:
    (project / "1.py").write_text("new")
    calls = [write_call(project, f"{number}.py", "", "new") for number in range(2)]
    handle, _ = cut_off(home, project, calls)
    shown = recover(handle, "--all", cwd=project)
    assert "settle them one by one" in shown.out
    assert [words[3] == "--all" for words in printed(shown)] == [False, False]


def test_a_set_holds_a_hundred(home: Path, project: Path) -> None:
    calls = [write_call(project, f"{number}.py", "", "new") for number in range(103)]
    handle, _ = cut_off(home, project, calls)
    shown = recover(handle, "--all", cwd=project)
    assert "Uncertain: 100." in shown.out
    assert "There are 3 more" in shown.out
    settled = run(*printed(shown)[-1], cwd=project)
    assert "Settled: 100." in settled.line
    assert f"3 more: local-agent execution recover {handle} --all" in settled.line


def test_two_that_settle_at_once_agree_on_one(home: Path, project: Path) -> None:
    handle, (key,) = cut_off(home, project, [write_call(project, "a.py", "", "new")])
    both = [
        subprocess.Popen(
            [*COMMAND, "execution", "recover", handle, key, "--apply", *evidence],
            cwd=project, env=environment(), stderr=subprocess.PIPE, text=True,
        )
        for evidence in (EVIDENCE, OTHERWISE)
    ]  # fmt: skip
    lines = [process.communicate(timeout=60)[1] for process in both]
    assert sorted(process.returncode for process in both) == [0, 1], lines
    assert all(len(line.splitlines()) == 1 and "Traceback" not in line for line in lines)
    assert len([row for row in ledger(home) if row[1] in tuple(Observation)]) == 1


def test_a_session_that_is_open_is_looked_at_but_not_settled(home: Path, project: Path) -> None:
    call = write_call(project, "a.py", "", "new")
    with working(home, project, [call]) as (handle, (key,), process):
        assert "uncertain" not in run("session", "list", cwd=project).out
        looked = recover(handle, key, cwd=project)
        refused = recover(handle, key, "--apply", *EVIDENCE, cwd=project)
    assert looked.line.endswith("is not uncertain: it is started.")
    assert refused.code == 1
    assert f"open in process {process.pid}" in refused.line


def test_what_is_over_is_not_uncertain(home: Path, project: Path) -> None:
    calls = [completed("bash", {"command": "true"}, "ok"), started("read", {"path": "a"}, effect="read_only")]
    handle, (ended, reading) = cut_off(home, project, calls)
    assert recover(handle, ended, cwd=project).line.endswith("it is completed.")
    refused = recover(handle, reading, "--apply", *EVIDENCE, cwd=project)
    assert refused.code == 1
    assert "is not uncertain: it is cancelled" in refused.line


def test_a_ledger_row_that_was_edited_by_hand_is_shown_as_such(home: Path, project: Path) -> None:
    (project / "a.py").write_text("new")
    handle, (key,) = cut_off(home, project, [write_call(project, "a.py", "old", "new")])
    with closing(sqlite3.connect(home / "local-agent.db")) as db:
        db.execute("DROP TRIGGER execution_events_never_change")
        db.execute("UPDATE execution_events SET detail = '{\"target\": 1' WHERE kind = 'started'")
        db.commit()
    shown = recover(handle, key, cwd=project)
    assert shown.code == 0
    assert "not what the program wrote" in shown.out
    assert len(printed(shown)) == 3


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        ((), "Name one execution, or say --all."),
        ((KEY, "--all"), "Name one execution, or say --all."),
        (("zzz",), "'zzz' is no execution: that is twelve hex digits."),
        ((KEY, "--reference", "x"), "--reference goes with --apply."),
        (("--all", "--set-digest", "x"), "--set-digest goes with --all --apply."),
        ((KEY, "--apply", *EVIDENCE[:2]), "--apply needs --source, --reference, --summary, --observed-at."),
        ((KEY, "--apply", *EVIDENCE[:-1], "noon"), "--observed-at 'noon' is no RFC 3339 time."),
        ((KEY, "--apply", *EVIDENCE, "--observation", "maybe"), "Invalid value for '--observation'"),
        (("--all", "--apply", *EVIDENCE), "--all --apply needs the --set-digest of what was looked at"),
    ],
)  # fmt: skip
def test_usage_is_refused_in_a_line(
    home: Path, capsys: pytest.CaptureFixture[str], arguments: tuple[str, ...], line: str
) -> None:
    # In this process: these are refused before anything is opened.
    assert root.run(["execution", "recover", "a1b2c3d", *arguments]) == 2
    (said,) = capsys.readouterr().err.splitlines()
    assert said.removeprefix("local-agent: ").startswith(line)
    assert not home.exists()


def test_an_execution_of_another_session_is_unknown_here(home: Path, project: Path) -> None:
    handle, _ = cut_off(home, project, [])
    _, (other,) = cut_off(home, project, [write_call(project, "a.py", "", "new")])
    for arguments in ((), ("--apply", *EVIDENCE)):
        refused = recover(handle, other, *arguments, cwd=project)
        assert refused.code == 2
        assert refused.line.startswith(f"Session {handle} wrote no execution {other}.")


def test_a_command_that_the_program_died_in(home: Path, project: Path, server: OllamaServer) -> None:
    server.script(Turn(call("bash", {"command": "echo x > made.txt; sleep 100"})))
    with subprocess.Popen(
        [*COMMAND, "-p", "Make it", "--skip-approvals"],
        cwd=project,
        env=environment(),
        stdin=subprocess.DEVNULL,
    ) as program:
        _wait(lambda: (project / "made.txt").exists())
        program.kill()
    (handle,) = [line[:7] for line in run("session", "list", cwd=project).out.splitlines()]

    def looked() -> str:
        return recover(handle, "--all", cwd=project).out

    _wait(lambda: "Its process has ended." in looked())  # its watcher has two seconds
    shown = looked()
    assert "bash echo x > made.txt; sleep 100" in shown
    assert "made.txt" in next(line for line in shown.splitlines() if "Changed in this folder since" in line)
    assert "Proposed: it was done." in shown
    (words,) = printed(Ran(0, shown, ""))
    assert run(*words, cwd=project).code == 0
    assert "Nothing is uncertain" in recover(handle, "--all", cwd=project).line


def _wait(holds: Callable[[], object], seconds: float = 60.0) -> None:
    end = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < end
        time.sleep(0.02)
