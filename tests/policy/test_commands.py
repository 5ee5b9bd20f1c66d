"""What each command of the tables is, and what no command can be."""

from __future__ import annotations

from pathlib import Path

import pytest

from local_agent.policy.commands import Kind, classify
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
