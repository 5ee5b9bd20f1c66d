"""``@path`` in a prompt."""

from __future__ import annotations

import os
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from local_agent.domain.text import normalise, sanitise
from local_agent.workspace.mentions import Mention, find_mentions, word_at, written_path

FILE_NAMES = st.binary(min_size=1, max_size=40).map(
    lambda data: os.fsdecode(data.replace(b"\0", b"0").replace(b"~", b"-"))
)
NAMES = st.one_of(FILE_NAMES, st.text(' ab.,:)"\\-1\u202e\u0301\U0001f600', min_size=1))


@given(NAMES, st.sampled_from(["", "see ", "(", "x\n"]), st.sampled_from(["", " and", ", and", ")", ".\n"]))
def test_every_name_can_be_written_seen_kept_and_read_back(name: str, before: str, after: str) -> None:
    written = written_path(name)
    assert sanitise(written) == written and normalise(written) == written and "\n" not in written
    assert [mention.path for mention in find_mentions(f"{before}@{written}{after}")] == [name]


@pytest.mark.parametrize(
    ("text", "mentions"),
    [
        ("see @src/a.py, and (@b.md).", [Mention("src/a.py"), Mention("b.md")]),
        ("@a.py:10-40 @a.py:7", [Mention("a.py", False, 10, 40), Mention("a.py", False, 7, 7)]),
        ("@a.py:9-, then", [Mention("a.py", False, 9)]),
        ('@"my notes.md":3-4.', [Mention("my notes.md", True, 3, 4)]),
        ("@a @a", [Mention("a")]),
        ("me@example.org a@b `@code` @ @@ x@", []),
        ("@a@b", []),
        ('@"open', []),
        ('@""', []),
    ],
)  # fmt: skip
def test_a_mention_begins_a_word_and_ends_before_its_punctuation(text: str, mentions: list[Mention]) -> None:
    assert find_mentions(text) == mentions


def test_the_label_of_a_range_is_read_back() -> None:
    for text in ("@a.py:10-40", "@a.py:7", "@a.py:9-", '@"a b":1-2'):
        (mention,) = find_mentions(text)
        assert f"@{mention.label}" == text


@pytest.mark.parametrize(
    ("before", "after", "word"),
    [
        ("see @", "", (4, 5, "")),
        ("see @sr", "c/x and", (4, 10, "sr")),
        ('@"my no', "", (0, 7, "my no")),
        ('@"my no', 'tes.md" x', (0, 14, "my no")),
        ('@"', '"', (0, 3, "")),
        ("(@a", ")", (1, 3, "a")),
        ('@"done"', "", None),
        ("me@exam", "", None),
        ("@a b", "", None),
        ("", "@a", None),
        ("@a@", "", None),
    ],
)
def test_the_word_at_the_cursor(before: str, after: str, word: tuple[int, int, str] | None) -> None:
    assert word_at(before + after, len(before)) == word


@pytest.mark.parametrize(
    "text",
    [
        "@" + "." * 200_000,
        "@a" * 100_000,
        '@"' + "\\" * 200_000,
        " @a:" * 100_000,
        "@" * 200_000,
        '@"a ' * 50_000,
    ],
)
def test_no_prompt_makes_the_search_slow(text: str) -> None:
    begin = time.process_time()
    find_mentions(text)
    word_at(text, len(text))
    assert time.process_time() - begin < 1.5
