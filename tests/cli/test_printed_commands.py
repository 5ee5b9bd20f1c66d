"""Every command that any output prints must parse: all string constants of the package are searched."""

from __future__ import annotations

import ast
import re
import shlex
import subprocess
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import click
import pytest

import local_agent
from local_agent.agent.recovery import apply_command, apply_words, seen_by_hand
from local_agent.cli.root import cli
from local_agent.domain.ledger import Observation
from local_agent.tui.commands import COMMANDS

PACKAGE = Path(local_agent.__file__).parent
README = PACKAGE.parent / "README.md"
# A command stands where a reader is told to type it: at the start of a line or a cell, after a colon, a
# backtick, a bracket or an operator. Elsewhere "local-agent" is the program's name in a sentence.
_BEFORE = r"(?:^\s*|[:`(\"|]\s*|&&\s+|\b(?:or|with|try)\s+)"
_WORD = r"(?:\"[^\"]*\"|'[^']*'|[^\s`;,()|&>\"'\[]+)"
_PRINTED = re.compile(f"{_BEFORE}(local-agent(?: {_WORD})*)", re.MULTILINE)
_PLACEHOLDERS = {"limit * 5": "100", "handle": "a1b2c3d"}


def _docstrings(tree: ast.AST) -> set[int]:
    """The constants that no person reads while the program runs; click's commands print theirs."""
    found = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            first = node.body[0] if node.body else None
            if isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant):
                found.add(id(first.value))
    return found


def _texts(tree: ast.AST) -> Iterator[str]:
    """String constants, with f-strings filled in."""
    docstrings = _docstrings(tree)
    parts = {id(part) for node in ast.walk(tree) if isinstance(node, ast.JoinedStr) for part in node.values}
    for node in ast.walk(tree):
        if isinstance(node, ast.JoinedStr):
            yield "".join(_filled(part) for part in node.values)
        elif (
            isinstance(node, ast.Constant)
            and isinstance(node.value, str)
            and id(node) not in docstrings | parts
        ):
            yield node.value


def _filled(part: ast.expr) -> str:
    if isinstance(part, ast.Constant):
        return str(part.value)
    assert isinstance(part, ast.FormattedValue)
    name = ast.unparse(part.value)
    if name.endswith("handle"):
        return "a1b2c3d"
    return _PLACEHOLDERS.get(name, "" if isinstance(part.value, ast.IfExp) else "x")


def printed_commands() -> list[tuple[str, str]]:
    """Where a command is printed, and the command."""
    found = []
    for file in sorted(PACKAGE.rglob("*.py")):
        for text in _texts(ast.parse(file.read_text(encoding="utf-8"))):
            found += [(str(file.relative_to(PACKAGE)), command) for command in _PRINTED.findall(text)]
    found += [("README.md", command) for command in _PRINTED.findall(README.read_text(encoding="utf-8"))]
    return [(where, command.rstrip(".:?! ")) for where, command in found]


def parse(words: list[str]) -> None:
    """Parse a command line to its last word without running anything; ``UsageError`` when it is none."""
    command: click.Command = cli
    name, rest, parent = words[0], words[1:], None
    while True:
        try:
            context = command.make_context(name, rest, parent=parent)
        except click.exceptions.Exit:  # --help and --version are answered while parsing
            return
        rest = [*context._protected_args, *context.args]
        if not isinstance(command, click.Group) or not rest:
            return
        found, inner, rest = command.resolve_command(context, rest)
        assert found is not None
        assert inner is not None
        command, name, parent = inner, found, context


def test_printed_commands_parse() -> None:
    commands = printed_commands()
    for where, command in commands:
        words = shlex.split(command)
        if "--gguf" in words:
            words[words.index("--gguf") + 1] = __file__
        try:
            parse(words)
        except click.UsageError as error:
            pytest.fail(f"{where} prints {command!r}: {error.format_message()}")
    shown = {command for _, command in commands}
    assert len(shown) > 12
    assert {
        "local-agent --resume a1b2c3d",
        "local-agent session untrash a1b2c3d",
        "local-agent --demo",
        "local-agent db check",
        "local-agent db restore x",
        "local-agent session repair a1b2c3d",
        "local-agent execution recover a1b2c3d --all",
    } <= shown


@pytest.mark.parametrize(
    "text",
    ["local-agent fork a1b2c3d", "local-agent --rseume latest", "local-agent session lst", "local-agent -x"],
)
def test_a_command_that_does_not_parse_is_found(text: str) -> None:
    (found,) = _PRINTED.findall(f"Do it with: {text}.")
    assert found.rstrip(".") == text
    with pytest.raises(click.UsageError):
        parse(shlex.split(text))


def test_commands_that_are_put_together_parse() -> None:
    hostile = "it's $HOME `rm` \x1b[31m --apply\n; -x \u202e"
    for observation in Observation:
        evidence = replace(seen_by_hand(observation, "2026-01-31T14:05:00.000Z"), reference=hostile)
        for which in (["0123456789ab"], ["--all", "--set-digest", "0" * 64]):
            printed = apply_command("a1b2c3d", which, evidence, "/a folder/it's")
            place, _, command = printed.partition(" && ")
            assert shlex.split(place) == ["cd", "/a folder/it's"]
            assert printed.isprintable()
            parse(_read_by_bash(command))
    parse(list(apply_words("a1b2c3d", ["0123456789ab"], evidence)))


def _read_by_bash(command: str) -> list[str]:
    """The words of a command, whose quotes may be of a kind that only bash knows."""
    read = subprocess.run(["bash", "-c", f"printf '%s\\0' {command}"], capture_output=True, check=True)
    return [word.decode("utf-8", "replace") for word in read.stdout.split(b"\0")[:-1]]


_SLASH = re.compile(r"(?:^|[\s:(`])/([a-z][a-z-]*)(?![\w/*-]|\.\w)", re.MULTILINE)
_PATHS = {"dev", "proc", "run", "tmp", "x"}
"""Folders, and what stands for something that was typed."""


def test_slash_commands_that_are_named_exist() -> None:
    known = {word for command in COMMANDS for word in (command.name, *command.aliases)}
    named: dict[str, str] = {}
    for file in sorted(PACKAGE.rglob("*.py")):
        for text in _texts(ast.parse(file.read_text(encoding="utf-8"))):
            named |= dict.fromkeys(_SLASH.findall(text), file.name)
    unknown = {word: where for word, where in named.items() if word not in known | _PATHS}
    assert unknown == {}
    assert {"recover", "errors", "model"} <= set(named)
