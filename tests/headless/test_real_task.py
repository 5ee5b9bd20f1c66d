"""A real task in a Git repository, in each mode, by native calls and printed ones."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from tests.cli.program import COMMAND, environment, run
from tests.support.ollama_server import OllamaServer, Turn, call, say

WRONG = "def add(a, b):\n    return a - b\n"
TEST = "from calc import add\n\nassert add(2, 3) == 5, add(2, 3)\nprint('all passed')\n"
TASK = "add() is wrong. Mend it, note it in NOTES.md, run the test."
SUMMARY = "Mended: add() adds now, and the test passes."
CHECK = f"{Path(sys.executable).name} test_calc.py"

Calls = list[tuple[str, dict[str, object]]]
STEPS: list[Calls] = [
    [("read", {"path": "calc.py"}), ("read", {"path": "test_calc.py"}), ("read", {"path": "NOTES.md"})],
    [
        ("edit", {"path": "calc.py", "old": "a - b", "new": "a * b"}),
        ("edit", {"path": "NOTES.md", "old": "Nothing yet.", "new": "add() was wrong."}),
    ],
    [("bash", {"command": CHECK})],
    [("edit", {"path": "calc.py", "old": "a * b", "new": "a + b"})],
    [("bash", {"command": CHECK})],
]
EFFECTS = [name for step in STEPS for name, _ in step if name != "read"]


def native(step: Calls) -> Turn:
    """As a server sends them."""
    return Turn(*(call(name, arguments) for name, arguments in step))


def printed(step: Calls) -> Turn:
    """As a model without a parser prints them."""
    return Turn(
        say("\n".join(f"<tool_call>{json.dumps({'name': n, 'arguments': a})}</tool_call>" for n, a in step))
    )


@dataclass
class Run:
    """A run with a program that answers what it asks."""

    process: subprocess.Popen[str]
    events: list[dict[str, Any]] = field(default_factory=list)

    def answer_all(self, choice: str) -> None:
        """Read its events to the end; each question gets this answer."""
        assert self.process.stdout is not None and self.process.stdin is not None
        for line in self.process.stdout:
            event = json.loads(line)
            self.events.append(event)
            if event["event"] == "approval_asked":
                answer = {"id": event["request"]["id"], "choice": choice}
                self.process.stdin.write(json.dumps(answer) + "\n")
                self.process.stdin.flush()
        self.process.wait(30)

    def of(self, name: str) -> list[dict[str, Any]]:
        return [event for event in self.events if event["event"] == name]

    @property
    def receipt(self) -> dict[str, Any]:
        return self.events[-1]


@pytest.fixture
def repository(project: Path) -> Iterator[Path]:
    (project / "calc.py").write_text(WRONG)
    (project / "test_calc.py").write_text(TEST)
    (project / "NOTES.md").write_text("# Notes\n\nNothing yet.\n")
    subprocess.run(["git", "init", "-q"], cwd=project, check=True)
    subprocess.run(["git", "add", "."], cwd=project, check=True)
    author = ["-c", "user.name=Test", "-c", "user.email=test@example.org"]
    subprocess.run(["git", *author, "commit", "-qm", "Begin"], cwd=project, check=True)
    yield project


def work(project: Path, *arguments: str, choice: str = "once") -> Run:
    command = [*COMMAND, "-p", TASK, "--output", "jsonl", "--approve-stdin", *arguments]
    with subprocess.Popen(
        command,
        cwd=project,
        env=environment(),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        working = Run(process)
        working.answer_all(choice)
    return working


def assert_the_books_agree(project: Path, done: Run) -> None:
    """Ledger, transcript and files say the same."""
    handle = done.receipt["handle"]
    document = json.loads(run("session", "show", "--json", handle, cwd=project).out)
    results = [entry for entry in document["entries"] if entry["kind"] == "result"]
    finished = done.of("tool_finished")
    assert [result["text"] for result in results] == [event["result"]["text"] for event in finished]
    assert len({event["execution"]["id"] for event in finished}) == sum(len(step) for step in STEPS)
    changed = [change for event in finished for change in event["execution"]["changes"]]
    diff = subprocess.run(
        ["git", "diff", "--name-only"], cwd=project, check=True, capture_output=True, text=True
    ).stdout.split()
    assert sorted({change["path"] for change in changed}) == sorted(diff)


@pytest.mark.parametrize("written", [native, printed])
def test_normal_asks_at_each_effect(repository: Path, server: OllamaServer, written: Any) -> None:
    server.script(*(written(step) for step in STEPS), SUMMARY)
    done = work(repository)
    assert [event["request"]["tool"] for event in done.of("approval_asked")] == EFFECTS
    assert done.receipt["text"] == SUMMARY and done.process.returncode == 0
    assert (repository / "calc.py").read_text() == WRONG.replace("-", "+")
    assert "add() was wrong." in (repository / "NOTES.md").read_text()
    statuses = [(made["tool"], made["status"]) for made in done.receipt["calls"]]
    assert [status for tool, status in statuses if tool == "bash"] == ["failed", "ok"]
    assert all(event["execution"]["recovered"] is (written is printed) for event in done.of("tool_finished"))
    assert_the_books_agree(repository, done)


@pytest.mark.parametrize("written", [native, printed])
def test_plan_refuses_every_effect(repository: Path, server: OllamaServer, written: Any) -> None:
    server.script(written(STEPS[0]), written(STEPS[1]), written(STEPS[2]), "I would change a - b to a + b.")
    done = work(repository, "--plan")
    assert not done.of("approval_asked")
    assert [made["status"] for made in done.receipt["calls"]] == ["ok"] * 3 + ["refused"] * 3
    assert (repository / "calc.py").read_text() == WRONG and done.process.returncode == 0


@pytest.mark.parametrize("written", [native, printed])
def test_auto_goes_through(repository: Path, server: OllamaServer, written: Any) -> None:
    server.script(*(written(step) for step in STEPS), SUMMARY)
    done = work(repository, "--auto", choice="session")
    asked = [event["request"] for event in done.of("approval_asked")]
    # Edits run. Project code runs confined; where nothing can confine it, it is asked about once.
    assert len(asked) <= 1 and all("unconfined" in request["reason"] for request in asked)
    assert done.receipt["text"] == SUMMARY and done.process.returncode == 0
    assert (repository / "calc.py").read_text() == WRONG.replace("-", "+")
    assert_the_books_agree(repository, done)


def test_without_anybody_to_ask_it_fails_closed(repository: Path, server: OllamaServer) -> None:
    server.script(native(STEPS[0]), native(STEPS[1]), "I may not.")
    done = run("-p", TASK, "--output", "json", cwd=repository)
    receipt = json.loads(done.out)
    assert done.code == 1 and receipt["refused"] == 2
    assert "Refused, because nobody can be asked: edit calc.py" in done.err
    assert (repository / "calc.py").read_text() == WRONG


def test_skipping_approvals_runs_what_would_be_asked(repository: Path, server: OllamaServer) -> None:
    server.script(*(native(step) for step in STEPS), SUMMARY)
    done = run("-p", TASK, "--skip-approvals", cwd=repository)
    assert done.code == 0 and SUMMARY in done.out
    assert (repository / "calc.py").read_text() == WRONG.replace("-", "+")
    assert "edit calc.py: ok" in done.err


def test_only_the_tools_that_are_named_may_be_used(repository: Path, server: OllamaServer) -> None:
    server.script(native(STEPS[0]), native(STEPS[1]), "I may not.")
    done = run("-p", TASK, "--skip-approvals", "--tools", "read, grep", cwd=repository)
    assert done.code == 0 and (repository / "calc.py").read_text() == WRONG
    assert "edit calc.py: refused, " in done.err
    wrong = run("-p", TASK, "--tools", "read,fly", cwd=repository)
    assert wrong.code == 2 and "There is no tool fly." in wrong.err


def test_the_end_of_input_answers_no(repository: Path, server: OllamaServer) -> None:
    server.script(native(STEPS[0]), native(STEPS[1]), "I may not.")
    ended = subprocess.run(
        [*COMMAND, "-p", TASK, "--approve-stdin", "--output", "json"],
        cwd=repository,
        env=environment(),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )
    assert [made["status"] for made in json.loads(ended.stdout)["calls"]] == ["ok"] * 3 + ["refused"] * 2
    assert (repository / "calc.py").read_text() == WRONG
