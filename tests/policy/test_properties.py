"""What holds for every command line that anybody could write, with a real shell as the judge of words."""

from __future__ import annotations

import subprocess
import sys
from collections import Counter
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from local_agent.policy.commands import Kind, classify, forbidden_in, named_in
from local_agent.policy.shell_syntax import read
from tests.policy import table

_ORDINARY = st.sampled_from(
    [row for row in table.rows(table.READS) + table.rows(table.PROJECT) if "#" not in row and row[:2] != "cd"]
)
_EXPANSION = st.sampled_from(
    [
        "$HOME",
        "${x}",
        '"$x"',
        "$(id)",
        "`id`",
        '"$(id)"',
        '"`id`"',
        "$((1))",
        "$'x'",
        '$"x"',
        "~",
        "~/x",
        "{a,b}",
    ]
)
_REDIRECTION = st.sampled_from(
    [">x", ">>x", "2>x", "&>x", "<a.txt", "<<<x", ">|x", "<>x", ">&x", "3>x", ">/dev/tcp/1.2.3.4/1"]
)
_ASSIGNMENT = st.sampled_from(["A=1", "PATH=.", "LD_PRELOAD=./x", "GIT_PAGER=x", "A+=1", "A[0]=1", "A="])
_OUTSIDE = st.sampled_from(
    [
        "/etc/passwd",
        "..",
        "../x",
        "src/../../x",
        "/",
        "out",
        "out/notes.txt",
        "docs/passwd.md",
        "/tmp/../etc",
        "'/etc/passwd'",
        '"../x"',
        "/etc/pass''wd",
        "./../x",
        "src/inner/../../../x",
        "/etc/p*",
        "docs/*.md",
        "*/../..",
    ]
)
_PROGRAM = st.sampled_from(
    (
        "cat",
        "ls -la",
        "wc -l",
        "grep -n x",
        "find",
        "git diff --",
        "pytest -q",
        "stat",
        "make",
        "tree",
        "python src/main.py",
        "ruff check",
        "./build.sh",
        "npm test --",
        "cd . && cat",
        "ls | head",
    )
)
_INSIDE = st.sampled_from(("a.txt", "src", "README.md", "src/*.py"))
# Behind a pipe rg searches what comes out of it, and no folder.
_BAD = st.sampled_from([row for row in table.rows(table.ASKS) if row != "rg x"])
_OPERATOR = st.sampled_from((" && ", "; ", " | ", " || ", "\n", " & "))
_QUICK = settings(max_examples=60)


@_QUICK
@given(_ORDINARY, _EXPANSION | _REDIRECTION)
def test_nothing_that_the_shell_replaces_or_redirects_is_admitted(
    workspace: Path, command: str, extra: str
) -> None:
    assert classify(f"{command} {extra}", workspace).kind is Kind.ASKS


@_QUICK
@given(_ASSIGNMENT, _ORDINARY)
def test_no_command_after_an_assignment_is_admitted(workspace: Path, assigned: str, command: str) -> None:
    assert classify(f"{assigned} {command}", workspace).kind is Kind.ASKS


@_QUICK
@given(_PROGRAM, st.lists(_INSIDE, max_size=2), _OUTSIDE, st.lists(_INSIDE, max_size=1))
def test_no_operand_outside_is_admitted(
    workspace: Path, program: str, before: list[str], outside: str, after: list[str]
) -> None:
    found = classify(" ".join([program, *before, outside, *after]), workspace)
    assert found.kind is Kind.ASKS
    assert found.prefix is None


@_QUICK
@given(_BAD, _ORDINARY, _OPERATOR)
def test_one_bad_command_is_enough(workspace: Path, bad: str, good: str, operator: str) -> None:
    assert classify(f"{good}{operator}{bad}", workspace).kind is Kind.ASKS


@_QUICK
@given(st.text(max_size=60) | st.text(alphabet="ls cat.*?[]{}()<>|&;$`'\"\\~#=!-/\n\t", max_size=40))
def test_nothing_makes_it_fail(workspace: Path, command: str) -> None:
    found = classify(command, workspace)
    assert found.reason and "\n" not in found.reason
    named_in(command, workspace)
    assert not forbidden_in(command, ("no-such", "thing"))


_PIECES = st.sampled_from(
    (
        " ",
        "  ",
        " # ",
        "\n",
        "\\\n",
        " | p ",
        " && p ",
        "\np ",
        "'x y'",
        '"x y"',
        " 2>&1",
        " >/dev/null",
        "\\ ",
        *tuple(
            [
                "a",
                "b",
                "#",
                ";",
                "=",
                "-",
                ".",
                "é",
                "*",
                "?",
                "[a]",
                "!",
                "^",
                "%",
                "@",
                ":",
                ",",
                "+",
                "|",
                "&",
                "{}",
                "''",
                '""',
                "2",
                "$",
                "`",
                "~",
                "(",
                ")",
                "<",
                ">",
                "\\n",
                "\\$",
                "'",
                '"',
                "\\'",
                '\\"',
                "\\\\",
            ]
        ),
        '"\\$x"',
        "b c",
        "\t",
        "/",
    )
)
_PROBE = "exec 3>&1 1>/dev/null; set -f; p() { printf '%s\\0' p \"$@\" $'\\1' >&3; }\n"
"""Each call says its words; the third descriptor carries them past pipes, in one write each."""


@settings(max_examples=100)
@given(st.lists(_PIECES, max_size=8).map("".join))
def test_what_is_plain_is_what_a_real_shell_reads(rest: str) -> None:
    command = f"p {rest}"
    found = read(command)
    if found.unclear or any(each.texts[0] != "p" for each in found.commands):
        return
    done = subprocess.run(
        ["bash", "--norc", "-c", f"{_PROBE}{command}\nwait"], capture_output=True, timeout=20, check=False
    )
    calls = [tuple(call.split("\0")[:-1]) for call in done.stdout.decode().split("\1\0")[:-1]]
    told = Counter(each.texts for each in found.commands)
    # A shell that finds no sense in a line runs less of it than was read, and never something else.
    less = b"syntax error" in done.stderr or any(each.after == "||" for each in found.commands)
    assert Counter(calls) <= told if less else Counter(calls) == told


_EVERY_PLANE = """
from local_agent.policy.shell_syntax import every_command, read
for point in range(0x100, 0x110000, 101):
    if not 0xD800 <= point < 0xE000:
        for text in ("{" + chr(point), "ls " + chr(point) + "?", chr(point) + "=1"):
            read(text), list(every_command(text))
"""


def test_no_character_ends_the_process() -> None:
    assert subprocess.run([sys.executable, "-c", _EVERY_PLANE], timeout=120, check=False).returncode == 0
