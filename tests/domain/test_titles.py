"""Titles from questions."""

from __future__ import annotations

import pytest
from hypothesis import given

from local_agent.domain.graphemes import clusters
from local_agent.domain.text import one_line
from local_agent.domain.titles import LIMIT, UNTITLED, cut, title_from
from tests.domain.test_text import hostile


@given(hostile)
def test_a_title_is_one_drawable_line_that_fits(question: str) -> None:
    title = title_from(question)
    assert title
    assert title == one_line(title)
    assert len(list(clusters(title))) <= LIMIT


@pytest.mark.parametrize(
    ("question", "title"),
    [
        ("Polish transcript UX", "Polish transcript UX"),
        ("\n\n  \t\nFix   the\tparser\nplease", "Fix the parser"),
        ("/plan Add a login page", "Add a login page"),
        ("/etc/hosts looks wrong", "/etc/hosts looks wrong"),
        ("```python\nprint(1)\n```\nWhy does this fail?", "Why does this fail?"),
        ("~~~\nprint(1)\n~~~", "print(1)"),
        ("<context>\nBuild the thing", "Build the thing"),
        ("<p class='x'>Centre</p> a <b>div</b>", "Centre a div"),
        ("Vec<String> or a < b and c > d", "Vec<String> or a < b and c > d"),
        ("# Heading", "Heading"),
        ("> quoted\nmine", "quoted"),
        ("\u202eevil\u202c title", "evil title"),
        ("***\n---\n", UNTITLED),
        ("", UNTITLED),
        ("什么是递归？", "什么是递归？"),
    ],
)
def test_the_first_meaningful_line_becomes_the_title(question: str, title: str) -> None:
    assert title_from(question) == title


def test_a_long_title_is_cut_at_a_word() -> None:
    title = title_from("please explain, " * 20)
    assert title == "please explain, " * 4 + "please…"


def test_a_line_that_fits_exactly_is_not_cut() -> None:
    assert cut("ab cd", 5) == "ab cd"
    assert cut("ab cd e", 6) == "ab cd…"
    assert cut("ab cdef", 5) == "ab…"
    assert cut("x" * 100) == "x" * 71 + "…"
    assert cut("👨‍👩‍👧‍👦" * 73) == "👨‍👩‍👧‍👦" * 71 + "…"
