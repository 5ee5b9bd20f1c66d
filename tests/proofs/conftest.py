"""What a proof found is told at the end of the run, so that the numbers can be read without a rerun."""

from __future__ import annotations

from collections.abc import Callable

import pytest

PROVEN = "proven"


@pytest.fixture
def proven(record_property: Callable[[str, object], None]) -> Callable[[str], None]:
    """Tell what a proof counted, in one line: ``proven("200 kills, no settled entry missing")``."""
    return lambda line: record_property(PROVEN, line)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    reports = [report for each in terminalreporter.stats.values() for report in each]
    lines = sorted(
        str(value)
        for report in reports
        if getattr(report, "when", "") == "call"
        for name, value in report.user_properties
        if name == PROVEN
    )
    if lines:
        terminalreporter.section("proven", sep="-")
    for line in lines:
        terminalreporter.write_line(line)
