"""A session as files: whole, private, in one piece, with its open issues; and lost results repaired."""

from __future__ import annotations

import json
import os
import re
import shlex
import sqlite3
from collections import Counter
from contextlib import closing
from pathlib import Path

import pytest

from local_agent.policy.redaction import redacted, redacted_text
from tests.cli.program import run
from tests.cli.test_printed_commands import parse
from tests.support.cut_off import completed, cut_off, started

HOSTILE = "| x | <img src=http://a.b/c> `rm` \x1b]0;t\x07 [a](b) \u202e"


def lose_results(home: Path) -> None:
    """Take the results of all calls away, as a faulty program might."""
    with closing(sqlite3.connect(home / "local-agent.db")) as db:
        for (name,) in db.execute("SELECT name FROM sqlite_master WHERE type = 'trigger'").fetchall():
            if name.startswith("entries"):
                db.execute(f"DROP TRIGGER {name}")
        db.execute("DELETE FROM entries WHERE kind = 'result'")
        db.commit()


def lines_of(folder: Path) -> list[tuple[str, dict[str, object]]]:
    (file,) = folder.glob("session-*.jsonl")
    rows = [json.loads(line) for line in file.read_text().splitlines()]
    return [(row["kind"], row["value"]) for row in rows]


def test_an_export_is_whole_private_and_names_what_is_open(home: Path, project: Path) -> None:
    secret = "curl -H 'Authorization: Bearer abcdef0123456789' x"
    calls = [
        completed(
            "bash", {"command": secret, "api_key": "k"}, "said | this", ("a.py", "created", "", "1" * 64)
        ),
        started("bash", {"command": "make"}, target=HOSTILE),
    ]
    handle, (ended, open_call) = cut_off(home, project, calls, f"Do it {HOSTILE}")

    made = run("session", "export", handle, cwd=project)
    folder = project / f"local-agent-audit-{handle}"
    assert made.code == 0, made.err
    assert made.err.splitlines()[-1].startswith("local-agent: Review before sharing")
    files = sorted(folder.iterdir())
    assert [re.sub(r"\d+", "N", file.name) for file in files] == ["session-N-summary.md", "session-N.jsonl"]
    assert [file.stat().st_mode & 0o777 for file in files] == [0o600, 0o600]

    found = lines_of(folder)
    assert Counter(kind for kind, _ in found) == {
        "metadata": 1, "session": 1, "entry": 3, "turn": 1, "execution_event": 5,
        "head_move": 2, "open_issue": 1,
    }  # fmt: skip
    assert found[0][1]["schema_version"] == 1
    assert found[0][1]["left_out"] == {}
    text = json.dumps(found)
    assert "abcdef0123456789" not in text
    assert "[redacted]" in text
    command = f"local-agent execution recover {handle} {open_call}"
    assert found[-1][1]["command"] == command
    parse(shlex.split(command)[0:])

    summary = files[0].read_text()
    (row,) = [line for line in summary.splitlines() if command in line]
    assert row.count("|") - row.count("\\|") == 4
    assert not {"\x1b", "\x07", "\u202e"} & set(summary)
    assert "<img" not in summary.replace("\\<img", "")
    assert "a.py: created, 1 x" in summary
    assert ended not in row

    again = run("session", "export", "--format", "jsonl", "--raw", "--out", "other", handle, cwd=project)
    assert again.code == 0
    assert [file.suffix for file in (project / "other").iterdir()] == [".jsonl"]
    assert "Bearer abcdef0123456789" in json.dumps(lines_of(project / "other"))


def test_what_stands_in_the_way_is_refused_and_left_alone(home: Path, project: Path, tmp_path: Path) -> None:
    handle, _ = cut_off(home, project, [])
    (project / "file").write_text("mine")
    (project / "link").symlink_to(tmp_path)
    (project / "full").mkdir()
    (project / "full" / "session-1.jsonl").symlink_to(project / "file")
    for out, line in (
        ("file", "is no folder."),
        ("link", "is a symbolic link."),
        ("full", "is no plain file."),
    ):
        refused = run("session", "export", "--format", "jsonl", "--out", out, handle, cwd=project)
        assert refused.code == 1
        assert line in refused.line
    assert (project / "file").read_text() == "mine"
    assert sorted(path.name for path in project.rglob("*session*")) == ["session-1.jsonl"]


@pytest.mark.skipif(os.geteuid() == 0, reason="nothing is read-only to root")
def test_a_folder_that_can_not_be_written_is_said(home: Path, project: Path) -> None:
    handle, _ = cut_off(home, project, [])
    project.chmod(0o500)
    refused = run("session", "export", handle, cwd=project)
    project.chmod(0o700)
    assert refused.code == 1
    assert "can't be made" in refused.line


def test_lost_results_are_repaired_once_nothing_is_uncertain(home: Path, project: Path) -> None:
    calls = [
        completed("bash", {"command": "echo"}, "the output"),
        started("write", {"path": "a"}, target="a"),
    ]
    handle, (_, open_call) = cut_off(home, project, calls)
    lose_results(home)
    refused = run("session", "repair", handle, cwd=project)
    assert refused.code == 1
    assert f"local-agent execution recover {handle} --all" in refused.line
    exported = run("session", "export", "--format", "jsonl", handle, cwd=project)
    assert exported.code == 0
    commands = [
        value["command"]
        for kind, value in lines_of(project / f"local-agent-audit-{handle}")
        if kind == "open_issue"
    ]
    assert commands == [
        f"local-agent execution recover {handle} {open_call}",
        f"cd '{project}' && local-agent session repair {handle}",
    ]

    settle = (
        "--apply", "--observation", "effect_not_applied", "--source", "operator_observation",
        "--reference", "r", "--summary", "s", "--observed-at", "2026-01-31T14:05:00Z",
    )  # fmt: skip
    assert run("execution", "recover", handle, open_call, *settle, cwd=project).code == 0
    assert (
        run("session", "repair", handle, cwd=project).line
        == f"One lost result of session {handle} is in the conversation again."
    )
    assert "Nothing to repair" in run("session", "repair", handle, cwd=project).line
    document = json.loads(run("session", "show", "--json", handle, cwd=project).out)
    results = [message["content"] for message in document["messages"] if message["role"] == "tool"]
    assert "the output" in results[0]
    assert len(results) == 2


@pytest.mark.parametrize(
    ("text", "shared"),
    [
        ("curl -H 'Authorization: Bearer abcdef0123'", "curl -H 'Authorization: [redacted] [redacted]'"),
        ("export API_KEY=abc && run", "export API_KEY=[redacted] && run"),
        ("mysql --password hunter2 -u me", "mysql --password [redacted] -u me"),
        ("psql postgres://me:pw@host/db", "psql postgres://me:[redacted]@host/db"),
        ("echo ghp_abcdefghijklmnopqrstuvwxyz", "echo [redacted]"),
        ('{"password": "x y"}', '{"password": [redacted]}'),
        ("max_tokens=300 tokenizer=bpe", "max_tokens=300 tokenizer=bpe"),
        ("grep -rn password src", "grep -rn password src"),
        ("pytest -k test_token", "pytest -k test_token"),
    ],
)
def test_what_looks_like_a_secret_is_taken_out(text: str, shared: str) -> None:
    assert redacted_text(text) == shared


def test_secrets_are_known_by_their_names_too() -> None:
    given = {"apiKey": "x", "path": "a", "max_tokens": 5, "env": {"DB_PASSWORD": "x", "HOME": "/"}, "n": None}
    assert redacted(given) == {
        "apiKey": "[redacted]", "path": "a", "max_tokens": 5,
        "env": {"DB_PASSWORD": "[redacted]", "HOME": "/"}, "n": None,
    }  # fmt: skip


@pytest.mark.parametrize("piece", ["-a", "_", "token ", "://", "eyJ", 'password:"', "--a-"])
def test_no_text_takes_long(piece: str) -> None:
    # A quadratic pattern takes minutes for this.
    redacted_text(piece * 20_000)
