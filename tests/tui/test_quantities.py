"""Times, sizes and counts as they are written."""

from __future__ import annotations

from datetime import datetime, timedelta

import pytest

from local_agent.tui.look.quantities import ago, clock, counted, left, seconds, since, size, tokens

NOW = datetime(2026, 11, 30, 14, 0).astimezone()


def at(**before: float) -> str:
    return (NOW - timedelta(**before)).isoformat()


@pytest.mark.parametrize(
    ("stamp", "text", "in_sentence"),
    [
        (at(seconds=3), "now", "just now"),
        (at(seconds=-40), "now", "just now"),
        (at(minutes=2), "2 min", "2 min ago"),
        (at(hours=3), "3 h", "3 h ago"),
        (at(hours=20), "yesterday", "yesterday"),
        (at(days=3), "3 days", "3 days ago"),
        (at(days=9), "Nov 21", "on Nov 21"),
        (at(days=400), "2025-10-26", "on 2025-10-26"),
        ("", "", ""),
        ("no time at all", "", ""),
    ],
)
def test_how_long_ago(stamp: str, text: str, in_sentence: str) -> None:
    assert ago(stamp, NOW) == text
    assert since(stamp, NOW) == in_sentence
    assert len(text) <= 10


def test_stored_times_are_utc_and_shown_as_local() -> None:
    local = datetime.fromisoformat("2026-11-30T10:05:00+00:00").astimezone()
    assert clock("2026-11-30T10:05:00.000Z", NOW).endswith(f"{local:%H:%M}")
    assert clock("2026-11-30T10:05:00.000", NOW) == clock("2026-11-30T10:05:00.000Z", NOW)
    assert clock(at(days=9), NOW) == "Nov 21, 14:00"


def test_how_long_a_model_stays() -> None:
    assert left(at(minutes=-4), NOW) == "14:04, 4 min left"
    assert left(at(seconds=-30), NOW) == "14:00, 30.0 s left"
    assert left(at(hours=-5), NOW) == "19:00, 5 h left"
    assert left(at(minutes=1), NOW) == "13:59, over"
    assert left("2300-01-01T00:00:00Z", NOW) == "for good"
    assert left("", NOW) == ""


@pytest.mark.parametrize(
    ("count", "text"),
    [
        (None, ""),
        (0, "0 B"),
        (999, "999 B"),
        (92_871_040, "93 MB"),
        (2_600_000_000, "2.6 GB"),
        (8e12, "8.0 TB"),
    ],
)
def test_sizes(count: int | None, text: str) -> None:
    assert size(count) == text


@pytest.mark.parametrize(
    ("count", "text"),
    [(None, ""), (812, "812"), (6100, "6.1k"), (32768, "32k"), (131072, "128k"), (40_500, "40k")],
)
def test_tokens(count: int | None, text: str) -> None:
    assert tokens(count) == text


def test_durations_and_counts() -> None:
    assert [seconds(value) for value in (None, 0.031, 2.4, 200)] == ["", "31 ms", "2.4 s", "3 min"]
    assert (counted(1, "turn"), counted(14, "turn")) == ("1 turn", "14 turns")
