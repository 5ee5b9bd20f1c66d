"""The table of slash commands: what is typed, what is offered, what is shown."""

from __future__ import annotations

import inspect

import pytest
from hypothesis import given
from hypothesis import strategies as st

from local_agent.domain.errors import UsageError
from local_agent.tui.commands import COMMANDS, is_command
from local_agent.tui.commands.table import CommandTable

TYPED = [
    "help",
    "new",
    "clear",
    "retry",
    "sessions",
    "resume",
    "rename",
    "runtime",
    "model",
    "errors",
    "exit",
]


def parsed(line: str) -> tuple[str, list[str]]:
    command, arguments = COMMANDS.parse(line)
    return command.name, arguments


@pytest.mark.parametrize("name", TYPED)
def test_every_promised_command_is_there_in_any_letter_case(name: str) -> None:
    arguments = " x" if name == "rename" else ""
    assert COMMANDS.parse(f"/{name}{arguments}") == COMMANDS.parse(f"  /{name.upper()}{arguments} ")


@pytest.mark.parametrize(
    ("line", "arguments"),
    [
        ("/rename Polish the page", ["Polish", "the", "page"]),
        ('/rename "Polish  the page"', ["Polish  the page"]),
        (r"/rename it\'s $HOME *.py ~ `date`", ["it's", "$HOME", "*.py", "~", "`date`"]),
        ("/rename before Bob's own change, it's his", ["before", "Bob's", "own", "change,", "it's", "his"]),
        ("""/rename "Bob's own" 'a b'""", ["Bob's own", "a b"]),
        ("/model qwen3:4b", ["qwen3:4b"]),
        ("/model", []),
    ],
)
def test_quotes_and_backslashes_are_a_shells_and_nothing_is_expanded(line: str, arguments: list[str]) -> None:
    assert parsed(line)[1] == arguments


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("/rename", "/rename takes at least 1 argument. Usage: /rename TITLE"),
        ("/model a b", "/model takes at most 1 argument. Usage: /model [NAME|auto|list]"),
        ("/sessions a1b2c3d", "/sessions takes no arguments. Usage: /sessions"),
        ("/resume a1b2c3d", "/sessions takes no arguments. Usage: /sessions"),
        ('/rename "half', "A quote is left open. Usage: /rename TITLE"),
        ("/renmae x", "There is no command /renmae. Did you mean /rename?"),
        ("/sess", "There is no command /sess. Did you mean /sessions?"),
        ("/zzz", "There is no command /zzz. /help shows them all."),
        ("/", "There is no command /. /help shows them all."),
    ],
)
def test_what_is_wrong_is_one_line_with_the_way_out(line: str, says: str) -> None:
    with pytest.raises(UsageError) as refused:
        COMMANDS.parse(line)
    assert str(refused.value) == says


@given(st.text())
def test_any_line_is_a_command_or_a_usage_error(text: str) -> None:
    line = f"/{text}"
    if is_command(line):
        try:
            command, arguments = COMMANDS.parse(line)
        except UsageError as refused:
            assert "\n" not in str(refused)
        else:
            assert len(arguments) >= command.least


@pytest.mark.parametrize("text", ["/etc/hosts is what?", "what is /help", "//", "/2", "", "/*"])
def test_a_path_or_a_sentence_is_no_command(text: str) -> None:
    assert not is_command(text)


@pytest.mark.parametrize(
    ("typed", "first"),
    [
        ("/", "help"),
        ("/re", "retry"),
        ("/ren", "rename"),
        ("/cl", "new"),
        ("/ss", "sessions"),
        ("/MOD", "model"),
    ],
)
def test_completion_offers_the_likeliest_first(typed: str, first: str) -> None:
    assert COMMANDS.complete(typed)[0].name == first


@pytest.mark.parametrize("typed", ["", "re", "/rename ", "/zzz", "/rename x", "a /re"])
def test_completion_is_silent_where_no_command_is_being_typed(typed: str) -> None:
    assert COMMANDS.complete(typed) == []


def test_a_hint_says_what_the_signature_takes() -> None:
    for command in COMMANDS:
        assert bool(command.hint) == (command.most != 0)
        assert command.hint.startswith("[") == (bool(command.hint) and command.least == 0)
        assert inspect.iscoroutinefunction(command.handler)
        assert command.summary


def test_two_commands_of_one_name_are_a_mistake_of_ours() -> None:
    table = CommandTable()

    async def nothing(screen: object) -> None: ...

    table.command("go", "Go")(nothing)
    with pytest.raises(ValueError, match="/go is already"):
        table.command("walk", "Walk", aliases=("go",))(nothing)
