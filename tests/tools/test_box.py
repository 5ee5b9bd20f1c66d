"""Calls as models really make them: put right where that is safe, else one sentence that shows the way."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from local_agent.domain.entries import ToolCall
from local_agent.domain.tools import Action, Effect, ToolFailed, ToolSpec
from local_agent.tools.arguments import MOST_BYTES, fitted
from local_agent.tools.box import Box, closest
from local_agent.tools.reading import reading_tools
from tests.tools.calling import Around, box, call, failure, prepared

SPEC = ToolSpec(
    "make",
    "Make it.",
    {
        "type": "object",
        "properties": {
            "path": {"type": "string"},
            "content": {"type": "string"},
            "count": {"type": "integer"},
            "share": {"type": "number"},
            "all": {"type": "boolean"},
            "names": {"type": "array", "items": {"type": "string"}},
            "kind": {"type": "string", "enum": ["a", "b"]},
        },
        "required": ["path"],
    },
    Effect.EFFECTFUL,
    {"path": "a.py"},
)
NAMES = "path, content, count, share, all, names, kind."
RIGHT = ' Right: {"path": "a.py"}'


def fit(**arguments: object) -> dict[str, object]:
    return fitted(SPEC, ToolCall("1", "make", arguments))


@pytest.fixture
def root(tmp_path: Path) -> Path:
    root = tmp_path / "project"
    root.mkdir()
    return root


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({"path": "a", "count": "3"}, {"path": "a", "count": 3}),
        ({"path": "a", "count": 3.0}, {"path": "a", "count": 3}),
        ({"path": "a", "count": " 3 "}, {"path": "a", "count": 3}),
        ({"path": "a", "share": 0.5}, {"path": "a", "share": 0.5}),
        ({"path": "a", "all": "true"}, {"path": "a", "all": True}),
        ({"path": "a", "all": "False"}, {"path": "a", "all": False}),
        ({"path": "a", "all": 1}, {"path": "a", "all": True}),
        ({"path": "a", "names": "x"}, {"path": "a", "names": ["x"]}),
        ({"path": "a", "names": '["x", "y"]'}, {"path": "a", "names": ["x", "y"]}),
        ({"path": "a", "names": "[x"}, {"path": "a", "names": ["[x"]}),
        ({"path": "a", "names": ["x", 2]}, {"path": "a", "names": ["x", "2"]}),
        ({"path": 7}, {"path": "7"}),
        ({"path": ["a"]}, {"path": "a"}),
        ({"file_path": "a"}, {"path": "a"}),
        ({"filename": "a"}, {"path": "a"}),
        ({"Path": "a", "TEXT": "x"}, {"path": "a", "content": "x"}),
        ({"path": "a", "count": None, "unknown": None}, {"path": "a"}),
        ({"arguments": {"path": "a"}}, {"path": "a"}),
    ],
)
def test_what_small_models_mix_up_is_put_right(given: dict[str, object], expected: dict[str, object]) -> None:
    assert fit(**given) == expected


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        ({}, 'make needs "path".' + RIGHT),
        ({"path": None}, 'make needs "path".' + RIGHT),
        ({"path": "a", "count": "many"}, '"count" of make must be a whole number.' + RIGHT),
        ({"path": "a", "count": True}, '"count" of make must be a whole number.' + RIGHT),
        ({"path": "a", "count": 3.5}, '"count" of make must be a whole number.' + RIGHT),
        ({"path": "a", "count": float("inf")}, '"count" of make must be a whole number.' + RIGHT),
        ({"path": {"a": 1}}, '"path" of make must be text.' + RIGHT),
        ({"path": True}, '"path" of make must be text.' + RIGHT),
        ({"path": "a", "all": "maybe"}, '"all" of make must be true or false.' + RIGHT),
        ({"path": "a", "names": [{}]}, '"names" of make must be a list.' + RIGHT),
        ({"path": "a", "names": 3}, '"names" of make must be a list.' + RIGHT),
        ({"path": "a", "kind": "c"}, '"kind" of make must be one of "a", "b".' + RIGHT),
        (
            {"path": "a", "file_path": "b"},
            'make has no argument "file_path"; it has: path, content, count, share, all, names, kind.'
            + RIGHT,
        ),
        (
            {"path": "a", "x\x1b[2J\n": 1},
            'make has no argument "x␛[2J"; it has: ' + NAMES + RIGHT,
        ),
    ],
)
def test_what_does_not_fit_is_one_sentence_with_the_example(given: dict[str, object], sentence: str) -> None:
    with pytest.raises(ToolFailed) as failed:
        fit(**given)
    assert str(failed.value) == sentence


def test_only_the_content_of_a_file_may_be_large() -> None:
    large = "ü" * (MOST_BYTES // 2 + 1)
    assert fit(path="a", content=large)["content"] == large
    with pytest.raises(ToolFailed, match=r"of make are too large: 262,\d+ bytes, at most 262,144"):
        fit(path="a", names=[large])
    with pytest.raises(ToolFailed, match=r'"content" is too large: 4,194,306 bytes, at most 4,194,304\.'):
        fit(path="a", content="ü" * (2 * 1024 * 1024 + 1))


async def test_arguments_that_were_no_object_are_said_to_be_none(root: Path) -> None:
    with pytest.raises(ToolFailed, match=r"The arguments of read must be one JSON object\. Right: \{"):
        await box(root).prepare(ToolCall("1", "read", {}, raw="[1, 2"))


@settings(max_examples=100, deadline=None)
@given(
    st.dictionaries(
        st.sampled_from(["path", "count", "all", "names", "kind", "file", "x", "arguments"]),
        st.recursive(
            st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
            lambda inner: (
                st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=2)
            ),
            max_leaves=5,
        ),
    )
)
def test_any_arguments_fit_or_fail_in_a_sentence(arguments: dict[str, object]) -> None:
    try:
        found = fit(**arguments)
    except ToolFailed as failed:
        assert str(failed).endswith(RIGHT)
        return
    kinds = {"path": str, "content": str, "count": int, "all": bool, "names": list, "kind": str}
    assert all(isinstance(value, kinds[name]) for name, value in found.items() if name in kinds)


@pytest.mark.parametrize(
    ("name", "close"),
    [
        ("read_file", ["read"]),
        ("Read", ["read"]),
        ("cat", ["read"]),
        ("search_files", ["grep", "glob"]),
        ("list_directory", ["ls"]),
        ("todo_write", ["todo"]),
        ("grpe", ["grep"]),
        ("fly_to_the_moon", []),
        ("", []),
    ],
)
def test_an_unknown_tool_is_answered_with_the_closest(name: str, close: list[str]) -> None:
    assert closest(name, [tool.spec.name for tool in reading_tools()]) == close


async def test_an_unknown_tool_is_a_sentence(root: Path) -> None:
    assert await failure(box(root), "read_file", path="a") == 'There is no tool "read_file". Closest: read.'
    everything = 'There is no tool "fly". There are: read, grep, glob, ls, todo, ask_user.'
    assert await failure(box(root), "fly") == everything
    assert await failure(box(root, tools=[]), "fly") == 'There is no tool "fly". There are no tools.'


def test_specs_are_short_in_a_fixed_order_and_their_examples_fit() -> None:
    tools = reading_tools()
    written = [
        {"name": spec.name, "description": spec.description, "parameters": spec.parameters}
        for spec in (tool.spec for tool in tools)
    ]
    assert len(json.dumps(written)) < 2_000
    assert json.dumps(written) == json.dumps(
        [
            {"name": spec.name, "description": spec.description, "parameters": spec.parameters}
            for spec in (tool.spec for tool in reading_tools())
        ]
    )
    for spec in (tool.spec for tool in tools):
        assert fitted(spec, ToolCall("1", spec.name, spec.example)) == spec.example
        assert "\n" not in spec.description


async def test_an_intent_says_what_is_run(root: Path) -> None:
    (root / "a b").touch()
    intent = await prepared(box(root), "read", filename="./x/../a b", offset="2")
    assert (intent.action, intent.target) == (Action.READ, "a b:2")
    assert intent.call.arguments == {"path": "./x/../a b", "offset": 2}
    assert isinstance(box(root), Box)


async def test_a_list_of_steps_is_kept_in_one_form(root: Path) -> None:
    tools = box(root)
    items = ["[x] read", "[X]code", "- [~] fix", "test", {"content": "say\nit", "status": "completed"}]
    result = await call(tools, "todo", items=items)
    assert result.text == "[x] read\n[x] code\n[>] fix\n[ ] test\n[x] say it"
    assert result.summary == "3 of 5 done"
    assert (await prepared(tools, "todo", items=items)).action is Action.TALK
    assert (await call(tools, "todo", items=[])).text == "The list is empty."
    assert await failure(tools, "todo", items=[""]) == (
        'An item of the list has no words. Right: "[ ] run the tests"'
    )
    assert "at most 50" in await failure(tools, "todo", items=["x"] * 51)


async def test_the_person_is_asked_and_may_be_gone(root: Path) -> None:
    tools, around = box(root), Around(answers=["SQLite, please"])
    result = await call(
        tools, "ask_user", around, question="Which one?", options=["SQLite", "SQLite", "\x1b[31mred"]
    )
    assert around.asked == [("Which one?", ("SQLite", "␛[31mred"))]
    assert (result.text, result.status) == ("SQLite, please", "ok")
    nobody = await call(tools, "ask_user", around, question="And now?")
    assert (nobody.status, nobody.summary) == ("failed", "no answer")
    around.stop.set()
    assert (await call(tools, "ask_user", around, question="And now?")).status == "cancelled"
    assert await failure(tools, "ask_user", question=" ") == "The question is empty."
