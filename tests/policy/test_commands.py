"""What each command of the tables is, and what no command can be."""

from __future__ import annotations

from pathlib import Path

import pytest

from local_agent.policy.catalogue import lines
from local_agent.policy.commands import Kind, classify
from local_agent.policy.shell_syntax import read
from tests.policy import table


@pytest.mark.parametrize("command", table.rows(table.READS))
def test_only_reads(command: str, workspace: Path) -> None:
    found = classify(command, workspace)
    assert found.kind is Kind.READS, found.reason


@pytest.mark.parametrize("command", table.rows(table.PROJECT))
def test_runs_project_code(command: str, workspace: Path) -> None:
    found = classify(command, workspace)
    assert found.kind is Kind.PROJECT_CODE, found.reason


@pytest.mark.parametrize("command", [*table.rows(table.ASKS), *table.STRANGE])
def test_is_asked_about(command: str, workspace: Path) -> None:
    found = classify(command, workspace)
    assert found.kind is Kind.ASKS
    assert found.reason.endswith(".")


def test_two_readings_that_differ_are_not_plain() -> None:
    assert read('echo "a$"').unclear == "a variable"
    assert read(r'echo "a\$b"').unclear == "something that shells read in different ways"


def test_the_catalogue_can_be_shown() -> None:
    shown = lines()
    assert max(map(len, shown)) <= 80
    for name in ("git status", "python --version", "cargo (test, build", "./build.sh", "sed"):
        assert any(name in line for line in shown), name
