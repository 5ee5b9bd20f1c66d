"""Calls that a model wrote as text: which texts are calls, and which only speak of them."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from local_agent.agent.rescue import Rescued, rescued
from local_agent.domain.tools import Effect, ToolSpec


def spec(name: str, required: tuple[str, ...], **types: str) -> ToolSpec:
    properties = {key: {"type": kind} for key, kind in types.items()}
    schema = {"type": "object", "properties": properties, "required": list(required)}
    return ToolSpec(name, f"Do {name}.", schema, Effect.READ_ONLY)


SPECS = (
    spec("read", ("path",), path="string", offset="integer", limit="integer"),
    spec("grep", ("pattern",), pattern="string", path="string"),
    spec("ls", (), path="string"),
    spec("write", ("path", "content"), path="string", content="string"),
    spec("bash", ("command",), command="string", background="boolean"),
    spec("todo", ("items",), items="array"),
)
Case = tuple[str, Mapping[str, object]]

READ: Case = ("read", {"path": "a.txt"})
J = '{"name": "read", "arguments": {"path": "a.txt"}}'
GREP: Case = ("grep", {"pattern": "x"})
G = '{"name": "grep", "arguments": {"pattern": "x"}}'
F = "```"

CALLS: list[tuple[str, list[Case], str]] = [
    # Tagged, with and without words around it.
    (f"<tool_call>{J}</tool_call>", [READ], ""),
    (f"<tool_call>\n{J}\n</tool_call>", [READ], ""),
    (f"<tool_call>\n{J}", [READ], ""),
    (f"I shall look.\n<tool_call>{J}</tool_call>", [READ], "I shall look."),
    (f"<tool_call>{J}</tool_call>\nNow I wait.", [READ], "Now I wait."),
    (f"Before.\n<tool_call>{J}</tool_call>\nAfter.", [READ], "Before.\n\nAfter."),
    (f"<tool_call>{J}</tool_call><tool_call>{G}</tool_call>", [READ, GREP], ""),
    (f"<tool_call>\n{J}\n{G}\n</tool_call>", [READ, GREP], ""),
    (f"<tool_call>[{J}, {G}]</tool_call>", [READ, GREP], ""),
    (f"<tool_calls>[{J}]</tool_calls>", [READ], ""),
    (f"<tools>{J}</tools>", [READ], ""),
    (f"<function_call>{J}</function_call>", [READ], ""),
    (f"<tool_call>\n{F}json\n{J}\n{F}\n</tool_call>", [READ], ""),
    (f"{F}\n<tool_call>{J}</tool_call>\n{F}", [READ], ""),
    (f"{F}xml\n<tool_call>{J}</tool_call>\n{F}", [READ], ""),
    ('<tool_call>read(path="a.txt")</tool_call>', [READ], ""),
    (f"<tool_call>{J}</tool_call><|im_end|>", [READ], ""),
    ("Use `read` for it:\n<tool_call>" + J + "</tool_call>", [READ], "Use `read` for it:"),
    # Marks of other templates.
    (f"[TOOL_CALLS][{J}]", [READ], ""),
    (f"[TOOL_CALLS] [{J}, {G}]</s>", [READ, GREP], ""),
    ('[TOOL_CALLS]read[ARGS]{"path": "a.txt"}', [READ], ""),
    ('[TOOL_CALLS]read[ARGS]{"path": "a.txt"}[TOOL_CALLS]grep[ARGS]{"pattern": "x"}', [READ, GREP], ""),
    (f"Right.\n<|tool_call|>[{J}]", [READ], "Right."),
    ('<|python_tag|>{"name": "read", "parameters": {"path": "a.txt"}}<|eom_id|>', [READ], ""),
    ('<|python_tag|>read.call(path="a.txt")', [], ""),
    # Fenced, and nothing else.
    (f"{F}json\n{J}\n{F}", [READ], ""),
    (f"{F}\n{J}\n{F}", [READ], ""),
    (f"\n\n{F}json\n{J}\n{F}\n", [READ], ""),
    (f"{F}json\n[{J}, {G}]\n{F}", [READ, GREP], ""),
    (f'{F}tool_code\nread(path="a.txt")\n{F}', [READ], ""),
    (f'{F}python\nprint(read(path="a.txt"))\n{F}', [READ], ""),
    # Bare JSON, in the shapes that models know.
    (J, [READ], ""),
    (f"  {J}\n", [READ], ""),
    (f"{J}\n{G}", [READ, GREP], ""),
    (f"{J}, {G}", [READ, GREP], ""),
    (f"{J}; {G}", [READ, GREP], ""),
    (f"[{J}]", [READ], ""),
    ('{"name": "read", "parameters": {"path": "a.txt"}}', [READ], ""),
    ('{"tool": "read", "args": {"path": "a.txt"}}', [READ], ""),
    ('{"tool_name": "read", "tool_input": {"path": "a.txt"}}', [READ], ""),
    ('{"action": "read", "action_input": {"path": "a.txt"}}', [READ], ""),
    ('{"function": "read", "arguments": {"path": "a.txt"}}', [READ], ""),
    ('{"type": "function", "function": ' + J + "}", [READ], ""),
    ('{"type": "function", "name": "read", "parameters": {"path": "a.txt"}}', [READ], ""),
    ('{"id": "1", "name": "read", "arguments": {"path": "a.txt"}}', [READ], ""),
    ('{"tool_calls": [' + J + "]}", [READ], ""),
    ('{"name": "read", "arguments": "{\\"path\\": \\"a.txt\\"}"}', [READ], ""),
    ('{"thought": "look", "name": "read", "arguments": {"path": "a.txt"}}', [READ], ""),
    ('{"name": "read", "path": "a.txt"}', [READ], ""),
    ('{"read": {"path": "a.txt"}}', [READ], ""),
    ('{"name": "ls", "arguments": {}}', [("ls", {})], ""),
    (
        '{"name": "write", "arguments": {"path": "a", "content": "x\ny"}}',
        [("write", {"path": "a", "content": "x\ny"})],
        "",
    ),
    (
        '{"name": "write", "arguments": {"path": "a", "content": "<s>no</s>"}}',
        [("write", {"path": "a", "content": "<s>no</s>"})],
        "",
    ),
    # Like a function.
    ('read(path="a.txt")', [READ], ""),
    ("read('a.txt')", [READ], ""),
    ('read("a.txt", 5, limit=10)', [("read", {"path": "a.txt", "offset": 5, "limit": 10})], ""),
    ('read(path="a.txt")\ngrep(pattern="x")', [READ, GREP], ""),
    ('[read(path="a.txt"), grep(pattern="x")]', [READ, GREP], ""),
    ('default_api.read(path="a.txt")', [READ], ""),
    ('read({"path": "a.txt"})', [READ], ""),
    ("ls()", [("ls", {})], ""),
    ('bash(command="ls", background=true)', [("bash", {"command": "ls", "background": True})], ""),
    (r'grep(pattern="\d+")', [("grep", {"pattern": r"\d+"})], ""),
    ('todo(items=["a", "b"])', [("todo", {"items": ["a", "b"]})], ""),
    ('write(path="a", content="""one\ntwo""")', [("write", {"path": "a", "content": "one\ntwo"})], ""),
    # Like XML.
    ('<function=read>{"path": "a.txt"}</function>', [READ], ""),
    ("<function=read>\n<parameter=path>\na.txt\n</parameter>\n</function>", [READ], ""),
    (
        "<tool_call>\n<function=read>\n<parameter=path>\na.txt\n</parameter>\n</function>\n</tool_call>",
        [READ],
        "",
    ),
    ("Look:\n<function=read><parameter=path>a.txt</parameter></function>", [READ], "Look:"),
    ('<invoke name="read"><parameter name="path">a.txt</parameter></invoke>', [READ], ""),
    (
        "<function=read>\n<parameter=path>a.txt</parameter>\n<parameter=limit>5</parameter>\n</function>",
        [("read", {"path": "a.txt", "limit": "5"})],
        "",
    ),
    (
        "<function=write><parameter=path>a</parameter><parameter=content>\n  x\n  y\n</parameter></function>",
        [("write", {"path": "a", "content": "  x\n  y"})],
        "",
    ),
    ("<function=ls></function>", [("ls", {})], ""),
]

NO_CALLS = [
    "",
    " \n",
    "The file a.txt says hello.",
    "I would call read with path a.txt.",
    # It shows how.
    f"To read a file, write:\n\n{F}json\n{J}\n{F}\n\nThat is all.",
    f"Use this:\n{F}\n<tool_call>{J}</tool_call>\n{F}",
    f"Write `<tool_call>{J}</tool_call>` to read it.",
    f"An example:\n{F}xml\n<function=read><parameter=path>a.txt</parameter></function>\n{F}\nSo it goes.",
    f"First:\n{F}python\nread('a.txt')\n{F}",
    f"{F}json\n{J}\n{F}\n\n{F}json\n{G}\n{F}",
    f"Here is JSON: {J}",
    f"{J}\nThis reads the file.",
    'read(path="a.txt") reads the file.',
    'Call read(path="a.txt").',
    # No such tool, or none that it would fit.
    '<tool_call>{"name": "rm", "arguments": {"path": "a.txt"}}</tool_call>',
    '{"name": "format_disk", "arguments": {}}',
    '{"name": "read", "arguments": {}}',
    '{"name": "read", "arguments": {"path": ["a", "b"]}}',
    '{"name": "read", "arguments": {"path": "a.txt", "sudo": 1}}',
    '{"name": "read", "arguments": ["a.txt"]}',
    '{"name": "read", "arguments": "a.txt"}',
    '{"name": "read"}',
    '{"name": "Ada", "age": 36}',
    '{"path": "a.txt"}',
    f'[{J}, {{"name": "Ada"}}]',
    f'<tool_call>{J}</tool_call><tool_call>{{"name": "rm", "arguments": {{}}}}</tool_call>',
    "<tool_call>a.txt</tool_call>",
    "<tool_call></tool_call>",
    '<tool_call>{"name": "read", "arguments": {"path": "a.tx',
    "<function=read></function>",
    "<function=rm><parameter=path>a</parameter></function>",
    "<function=read><parameter=path>a</parameter></function><function=rm></function>",
    "[TOOL_CALLS]",
    "[TOOL_CALLS]read",
    "<p>read</p>",
    # Code that is no call.
    f"{F}python\nimport os\nos.remove('a')\n{F}",
    f"{F}bash\nls -la\n{F}",
    'x = read(path="a.txt")',
    "read(path=open('a').name)",
    "read(**{'path': 'a.txt'})",
    'read("a.txt", path="b.txt")',
    "read('a', 1, 2, 3)",
    'read(path="a.txt"',
    "read",
    "[1, 2, 3]",
    "{}",
    "[]",
    "null",
]


def plain(found: Rescued | None) -> list[Case]:
    return [(call.name, dict(call.arguments)) for call in found.calls] if found is not None else []


@pytest.mark.parametrize(("text", "calls", "left"), [case for case in CALLS if case[1]])
def test_texts_that_are_calls(text: str, calls: list[Case], left: str) -> None:
    found = rescued(text, SPECS)
    assert plain(found) == calls
    assert found is not None and found.text == left
    assert all(call.recovered and not call.raw for call in found.calls)


@pytest.mark.parametrize("text", [*NO_CALLS, *[case[0] for case in CALLS if not case[1]]])
def test_texts_that_call_nothing(text: str) -> None:
    assert rescued(text, SPECS) is None


def test_nothing_is_called_where_nothing_is_offered() -> None:
    assert rescued(J, ()) is None


@pytest.mark.parametrize(
    "text",
    [
        "[" * 100_000,
        "{" * 100_000,
        "read(" * 50_000,
        "read(" + "(" * 50_000,
        "<tool_call>" * 40_000,
        "<function=read>" * 30_000,
        "```" * 100_000,
        "`" * 300_000,
        '{"name": "read", "arguments": ' * 10_000,
        "[TOOL_CALLS]" * 40_000,
        "x" * 600_000,
    ],
)
def test_hostile_texts_cost_no_time(text: str) -> None:
    started = time.process_time()
    assert rescued(text, SPECS) is None
    assert time.process_time() - started < 2


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=6,
)


@settings(max_examples=100)
@given(st.one_of(st.text(max_size=60), json_values.map(json.dumps)))
def test_any_text_is_read_or_left_alone(text: str) -> None:
    for wrapped in (text, f"<tool_call>{text}</tool_call>", f"{F}\n{text}\n{F}", f"read({text})"):
        found = rescued(wrapped, SPECS)
        assert found is None or all(call.name in {each.name for each in SPECS} for call in found.calls)


@settings(max_examples=100)
@given(st.text(max_size=30), st.text("abc. ", max_size=20))
def test_what_is_written_to_a_file_arrives_as_it_was(content: str, words: str) -> None:
    call = json.dumps({"name": "write", "arguments": {"path": "a", "content": content}})
    found = rescued(f"{words}\n<tool_call>{call}</tool_call>", SPECS)
    if "tool_call>" not in content:
        assert plain(found) == [("write", {"path": "a", "content": content})]
