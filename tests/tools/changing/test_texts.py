"""Texts changed in part: every byte that was not meant stays, whatever line ends and marks a file has."""

from __future__ import annotations

import random
import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from local_agent.domain.tools import ToolFailed
from local_agent.tools.changing.endings import NoText, Searched, decode, dressed, with_line_feeds
from local_agent.tools.changing.hunks import changes_between, hunks_between, lines_of, taken, unified
from local_agent.tools.changing.patches import applied, parse
from local_agent.tools.changing.replacing import replaced

TEXTS = st.text(alphabet="ab \t\r\nß\ufeff", max_size=60)
LINES = st.lists(st.sampled_from(["a\n", "b\n", "b\r\n", "c\n", "\n", "}\n"]), max_size=40)


def by_the_diff(before: list[str], diff: str, chosen: set[int]) -> list[str]:
    """Apply hunks by the line numbers in their heads alone, as any other program would."""
    lines, shift = list(before), 0
    for number, hunk in enumerate(re.split(r"^(?=@@ )", diff, flags=re.MULTILINE)[1:]):
        head, *body = re.findall(r"[^\n]*\n", hunk)
        start, count = map(int, re.findall(r"\d+", head)[:2])
        new: list[str] = []
        for line in body:
            if line.startswith("\\"):
                new[-1] = new[-1].removesuffix("\n")
            elif line[0] in " +":
                new.append(line[1:])
        if number in chosen:
            place = start - (count > 0) + shift
            lines[place : place + count] = new
            shift += len(new) - count
    return lines


@settings(max_examples=100)
@given(LINES, LINES, st.sets(st.integers(0, 6)), st.booleans())
def test_some_hunks_are_those_hunks_alone(
    before: list[str], after: list[str], chosen: set[int], ends: bool
) -> None:
    if before and not ends:
        before = [*before[:-1], before[-1].rstrip("\r\n") or "z"]
    hunks = hunks_between(before, after)
    some = taken(before, after, [hunk for number, hunk in enumerate(hunks) if number in chosen])
    if ends or not before:
        assert some == by_the_diff(before, unified(before, after, hunks), chosen)
    assert taken(before, after, hunks) == after
    assert taken(before, after, []) == before


def test_a_large_file_with_changes_at_both_ends_has_two_hunks() -> None:
    before = [f"line {number}\n" if number % 3 else "\n" for number in range(5_000)]
    after = ["first\n", *before[1:-1], "last\n"]
    assert len(hunks_between(before, after)) == 2
    after = [line.replace("line 7", "row 7") for line in before]
    assert taken(before, after, hunks_between(before, after)) == after
    assert len(changes_between(before, after)) > 30


@settings(max_examples=100)
@given(st.binary(max_size=40) | TEXTS.map(str.encode) | TEXTS.map(lambda text: text.encode("utf-16")))
def test_what_can_be_decoded_comes_back_as_the_same_bytes(data: bytes) -> None:
    try:
        text = decode(data)
    except NoText as refusal:
        assert str(refusal)
        return
    assert text.encode() == data


@settings(max_examples=100)
@given(TEXTS, st.data())
def test_an_edit_leaves_every_byte_outside_it(text: str, data: st.DataObject) -> None:
    start = data.draw(st.integers(0, len(text)))
    end = data.draw(st.integers(start, len(text)))
    # The part of a line end belongs to the text of nobody.
    if text[start - 1 : start + 1] == "\r\n" or text[end - 1 : end + 1] == "\r\n":
        return
    old = with_line_feeds(text[start:end])
    new = data.draw(st.text(alphabet="ab\n", max_size=12))
    # A model that writes a carriage return before a line feed means the one line end.
    if not old or old == new or "\r\n" in old:
        return
    try:
        result, places = replaced(text, old, new, everywhere=False, shown="x")
    except ToolFailed as failed:
        assert "times" in str(failed)
        assert len(list(Searched(text).spans(old, overlapping=True))) > 1
        return
    assert places == 1
    assert result.startswith(text[:start])
    assert result.endswith(text[end:])
    middle = result[start : len(result) - len(text) + end]
    assert with_line_feeds(middle) == new or "\r" in old


@settings(max_examples=100)
@given(TEXTS, st.text(alphabet="ab\n", max_size=60), st.sampled_from(["\n", "\r\n"]))
def test_a_dressed_text_says_the_same_and_keeps_line_ends(before: str, text: str, ending: str) -> None:
    result = dressed(text, before, ending)
    assert with_line_feeds(result) == text
    assert dressed(with_line_feeds(before), before, ending) == before or "\r\r\n" in before


def test_a_line_that_stays_keeps_its_own_end_in_a_mixed_file() -> None:
    text = "one\r\ntwo\nthree\r\nfour"
    result, _ = replaced(text, "one\ntwo\nthree", "one\nTWO\nand\nthree", everywhere=False, shown="x")
    assert result == "one\r\nTWO\nand\nthree\r\nfour"
    result, _ = replaced(text, "two", "2\n2", everywhere=False, shown="x")
    assert result == "one\r\n2\n2\nthree\r\nfour"
    result, places = replaced("a\r\nb\r\na\r\n", "a\n", "A\nA\n", everywhere=True, shown="x")
    assert (result, places) == ("A\r\nA\r\nb\r\nA\r\nA\r\n", 2)


PYTHON = "def area(width, height):\n\treturn width * height\n\n\nprint(area(2, 3))\nprint(area(2, 4))\n"


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("", "x", "old is empty"),
        ("print", "print", "the same"),
        ("print\r\n", "print\n", "the same"),
        ("x" * 70_000, "y", "too large: 70,000 characters of at most 65,536"),
        ("print(", "say(", "stands in x.py 2 times (at lines 5, 6)"),
        (
            "    return width * height",
            "x",
            "indentation differs (spaces or tabs). Closest, from line 2:",
        ),
        ("def area( width,height ):", "x", "White space differs. Closest, from line 1:"),
        ("Print(Area(2, 3))", "x", "Upper and lower case differ. Closest, from line 5:"),
        ("print(area(2, 3))  \nprint(area(2, 4))", "x", "end of a line differs. Closest, from line 5:"),
        ("def area(width, height):\n\treturn width + height", "x", "The text differs. Closest, from line 1:"),
        ("print(areas(2, 33))", "x", "The text differs. Closest, from line 5:"),
        ("class Nothing: pass", "x", "nor anything like it"),
        ("5\tprint(area(2, 3))\n6\tprint(area(2, 4))\n", "x", "leave out the line numbers"),
    ],
    ids=lambda value: value[:20],
)
def test_what_can_t_be_replaced_is_said(old: str, new: str, words: str) -> None:
    with pytest.raises(ToolFailed) as failed:
        replaced(PYTHON, old, new, everywhere=False, shown="x.py")
    assert words in str(failed.value)
    assert len(str(failed.value)) < 1_000


def test_a_text_that_overlaps_itself_is_ambiguous() -> None:
    with pytest.raises(ToolFailed, match="2 times"):
        replaced("aXaXa", "aXa", "b", everywhere=False, shown="x")


def test_hostile_texts_take_no_time() -> None:
    text = "\n" * 1_000_000
    with pytest.raises(ToolFailed):
        replaced(text, "\n" * 30_000 + "x", "y", everywhere=False, shown="x")
    with pytest.raises(ToolFailed):
        parse("--- a\n+++ a\n@@\n" + "\n" * 200_000 + "?")
    for text, new in (("x" * 1_000_000, "y"), ("\r\n" + "x" * 90_000, "y\n" * 1_000)):
        with pytest.raises(ToolFailed, match="too much to replace at once"):
            replaced(text, "x", new, everywhere=True, shown="x")
    assert replaced("x" * 99_000, "x", "y\n", everywhere=True, shown="x") == ("y\n" * 99_000, 99_000)
    hunks_between(["a\n", "b\n"] * 2_000, ["b\n", "a\n", "a\n"] * 2_000)


def patched(text: str, patch: str) -> str:
    (each,) = parse(patch)
    return applied(text, each.hunks, "x")


HEAD = "--- a/x\n+++ b/x\n"
TEN = "".join(f"{number}\n" for number in range(1, 11))


@pytest.mark.parametrize(
    ("text", "patch", "result"),
    [
        (TEN, "@@ -2,3 +2,3 @@\n 2\n-3\n+three\n 4\n", TEN.replace("3", "three")),
        (TEN, "@@ -999,1 +1,77 @@ def f():\n 2\n-3\n+three\n 4", TEN.replace("3", "three")),
        (TEN, "@@\n-10\n+ten\n", TEN.replace("10", "ten")),
        (TEN, "@@ -1,0 +1 @@\n+one and a half\n", TEN.replace("1\n", "1\none and a half\n", 1)),
        (TEN, "@@\n 1\n-2\n@@\n 9\n-10\n", TEN.replace("2\n", "", 1).replace("10\n", "")),
        ("a\r\n\r\nb\r\n", "@@\n a\n\n-b\n+c\n+d\n", "a\r\n\r\nc\r\nd\r\n"),
        ("a\nb", "@@\n a\n-b\n+c\n", "a\nc"),
        ("a\nb", "@@\n a\n-b\n\\ No newline at end of file\n+b\n", "a\nb\n"),
        ("a\nb\n", "@@\n a\n-b\n+b\n\\ No newline at end of file\n", "a\nb"),
        ("a\nb\n", "@@\n a\n--- b\n+c\n", None),
        ("- b\n", "@@\n-- b\n+++ c\n", "++ c\n"),
        ("", "@@ -0,0 +1 @@\n+new\n", "new\n"),
    ],
)
def test_patches_as_models_write_them(text: str, patch: str, result: str | None) -> None:
    if result is None:
        with pytest.raises(ToolFailed, match="not found"):
            patched(text, HEAD + patch)
    else:
        assert patched(text, HEAD + patch) == result
        assert (
            patched(text, f"```diff\ndiff --git a/x b/x\nindex 12..34 100644\n{HEAD}{patch}\n```") == result
        )


@pytest.mark.parametrize(
    ("patch", "words"),
    [
        ("", "names no file"),
        ("*** Begin Patch\n*** Update File: x\n", "Line 1 of the patch is not understood"),
        (HEAD, "no hunk"),
        (HEAD + "@@\n 1\nnonsense\n", "Line 5 of the patch is not understood"),
        ("--- a/x\n+++ /dev/null\n@@\n-1\n", "use remove"),
        ("--- a/x\n+++ b/y\n@@\n-1\n", "use move"),
        ("diff --git a/x b/y\nrename from x\n", "use move"),
        ("diff --git a/x b/x\nBinary files a/x and b/x differ\n", "binary"),
        (HEAD + "@@\n+1\n", "holds no line of the file"),
        (HEAD + "@@\n-1\n+2\n@@\n-0\n+2\n", "Hunk 2 of x was not found"),
        (HEAD + "@@\n-5\n+6\n@@\n-2\n+2\n", "Hunk 2 of x belongs before"),
        (HEAD * 2 + "@@\n-5\n", "no hunk"),
        ("".join(f"--- a/{n}\n+++ b/{n}\n@@\n-5\n" for n in range(21)), "21 files; at most 20"),
    ],
)
def test_what_is_no_patch_is_said(patch: str, words: str) -> None:
    with pytest.raises(ToolFailed) as failed:
        patched(TEN, patch)
    assert words in str(failed.value)


def test_a_hunk_that_fits_twice_needs_more_lines() -> None:
    with pytest.raises(ToolFailed, match=r"several places \(lines 1, 2\)"):
        patched("a\na\n", HEAD + "@@\n-a\n+b\n")


@settings(max_examples=100)
@given(LINES, LINES)
def test_a_diff_of_ours_is_a_patch(before: list[str], after: list[str]) -> None:
    old, new = "".join(before).replace("\r", ""), "".join(after).replace("\r", "")
    hunks = hunks_between(lines_of(old), lines_of(new))
    if hunks:
        assert patched(old, HEAD + unified(lines_of(old), lines_of(new), hunks)) == new


def test_a_patch_keeps_the_bytes_of_a_random_file() -> None:
    chance = random.Random(5)
    for _ in range(50):
        lines = [f"{chance.randrange(1000)}" + chance.choice(["\n", "\r\n"]) for _ in range(30)]
        place = chance.randrange(2, 28)
        around = [with_line_feeds(line) for line in lines[place - 2 : place + 3]]
        body = [f" {around[0]} {around[1]}-{around[2]}+new\n {around[3]} {around[4]}"]
        result = patched("".join(lines), HEAD + f"@@ -{place - 1},5 +1,5 @@\n" + "".join(body))
        ends = lines[place][len(lines[place].rstrip("\r\n")) :]
        assert result == "".join([*lines[:place], "new" + ends, *lines[place + 1 :]])
