"""Tool calls that a model wrote into its text, because its server or its template knows no better way.

A text is read as calls only where it is one: a call between tags, with or without words around it; or a
text that is nothing but calls, as JSON or written like a function. What stands in a code block or in a
sentence shows how to call, and calls nothing. Every call has to name a tool and fit its parameters, or
none of the text is read as any.
"""

from __future__ import annotations

import ast
import json
import re
import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from local_agent.domain.entries import ToolCall
from local_agent.domain.tools import ToolFailed, ToolSpec
from local_agent.tools.arguments import fitted

LONGEST = 512 * 1024
"""Characters of a text that is looked at."""

_TAGS = "tool_call|tool_calls|function_call|function_calls|tool_use|tools"
_TAGGED = re.compile(rf"<(?P<tag>{_TAGS})>(?P<body>.*?)(?:</(?P=tag)>|\Z)", re.DOTALL)
_FUNCTION = re.compile(
    r"<(?:function=(?P<name>[\w.-]+)"
    r'|function name="(?P<named>[\w.-]+)"|invoke name="(?P<invoked>[\w.-]+)")\s*>'
    r"(?P<body>.*?)(?:</function>|</invoke>|\Z)",
    re.DOTALL,
)
_PARAMETER = re.compile(
    r'<(?:parameter=(?P<name>[\w.-]+)|parameter name="(?P<named>[\w.-]+)")>\n?(?P<value>.*?)\n?</parameter>',
    re.DOTALL,
)
_MARKED = re.compile(r"\[TOOL_CALLS\]|<\|tool_call\|>|<\|python_tag\|>")
_MISTRAL = re.compile(r"\s*(?P<name>[\w.-]+)\s*(?:\[CALL_ID\]\S*?)?\[ARGS\]\s*(?=\{)")
_END_MARKS = re.compile(r"(?:\s*(?:<\|(?:/tool_call|eom_id|eot_id|im_end)\|>|</s>))+\s*\Z")
_FENCE = re.compile(r"\A(?P<fence>`{3,})(?P<language>[\w+-]*)[ \t]*\n(?P<body>.*?)\n?(?P=fence)\Z", re.DOTALL)
_CODE = re.compile(r"(?P<fence>`{3,}).*?(?:(?P=fence)|\Z)|`[^`\n]+`", re.DOTALL)
_FUNCTION_STYLE = re.compile(r"\s*(?:print\()?\[?\s*[A-Za-z_][\w.]*\(")

_NAMES = ("name", "tool", "tool_name", "function", "function_name", "action")
_ARGUMENTS = ("arguments", "parameters", "args", "input", "tool_input", "params", "action_input")
_WORDS = {"true": True, "false": False, "null": None, "none": None}

Named = tuple[str, object]
"""What may be a call: a name, and what stands in the place of its arguments."""


@dataclass(frozen=True, slots=True)
class Rescued:
    """Calls, and the words that are left of the text."""

    text: str
    calls: tuple[ToolCall, ...]


def rescued(text: str, specs: Sequence[ToolSpec]) -> Rescued | None:
    """The calls that ``text`` is or holds; None when there is none. Their ids are empty."""
    if not specs or len(text) > LONGEST or not text.strip():
        return None
    known = {spec.name: spec for spec in specs}
    whole = _END_MARKS.sub("", text).strip()
    if (fenced := _FENCE.match(whole)) and "`" * 3 not in fenced["body"]:
        whole = fenced["body"].strip()
    for read in (_tagged, _functions, _marked, _bare):
        found, left = read(whole, known)
        if found and (calls := _fitting(found, known)):
            return Rescued(left.strip(), calls)
    return None


def _fitting(found: Sequence[Named], known: Mapping[str, ToolSpec]) -> tuple[ToolCall, ...]:
    """All of them as calls, or none when one does not fit."""
    calls = []
    for name, given in found:
        arguments = _object(given)
        spec = known.get(name)
        if spec is None or arguments is None:
            return ()
        call = ToolCall("", name, arguments, recovered=True)
        try:
            fitted(spec, call)
        except ToolFailed:
            return ()
        calls.append(call)
    return tuple(calls)


def _tagged(text: str, known: Mapping[str, ToolSpec]) -> tuple[list[Named], str]:
    """``<tool_call>{...}</tool_call>``, also around any of the other ways; the last may be left open."""
    found: list[Named] = []
    kept: list[str] = []
    place = 0
    for match in _outside_code(_TAGGED, text):
        body = _unfenced(match["body"].strip())
        inner, _ = _functions(body, known)
        inner = inner or _json_calls(body, known) or _function_style(body, known)
        if not inner:
            return [], text
        found += inner
        kept.append(text[place : match.start()])
        place = match.end()
    return found, "".join([*kept, text[place:]])


def _functions(text: str, known: Mapping[str, ToolSpec]) -> tuple[list[Named], str]:
    """``<function=read>`` with JSON or ``<parameter=path>`` in it, and ``<invoke name="read">``."""
    found: list[Named] = []
    kept: list[str] = []
    place = 0
    for match in _outside_code(_FUNCTION, text):
        body = match["body"].strip()
        values = {each["name"] or each["named"]: each["value"] for each in _PARAMETER.finditer(body)}
        given: object = values if values or not body else body
        found.append((match["name"] or match["named"] or match["invoked"], given))
        kept.append(text[place : match.start()])
        place = match.end()
    return found, "".join([*kept, text[place:]])


def _marked(text: str, known: Mapping[str, ToolSpec]) -> tuple[list[Named], str]:
    """What follows ``[TOOL_CALLS]`` and its like, up to the end of the text."""
    match = next(_outside_code(_MARKED, text), None)
    if match is None:
        return [], text
    found: list[Named] = []
    for body in _MARKED.split(text[match.end() :]):
        rest = body.strip()
        if named := _MISTRAL.match(rest):
            found.append((named["name"], rest[named.end() :]))
        else:
            inner = _json_calls(rest, known) or _function_style(rest, known)
            if not inner:
                return [], text
            found += inner
    return found, text[: match.start()]


def _bare(text: str, known: Mapping[str, ToolSpec]) -> tuple[list[Named], str]:
    """A text that is nothing but calls."""
    return _json_calls(text, known) or _function_style(text, known), ""


def _json_calls(text: str, known: Mapping[str, ToolSpec]) -> list[Named]:
    """JSON objects, alone, in a list, or one after the other; nothing else may stand there."""
    if not text.startswith(("{", "[")):
        return []
    found: list[Named] = []
    place = 0
    decoder = json.JSONDecoder(strict=False)
    while place < len(text):
        try:
            value, place = decoder.raw_decode(text, place)
        except (ValueError, RecursionError):
            return []
        for each in value if isinstance(value, list) else [value]:
            named = _named(each, known)
            if named is None:
                return []
            found += named
        place += len(text[place:]) - len(text[place:].lstrip(" \t\r\n,;"))
    return found


def _named(value: object, known: Mapping[str, ToolSpec]) -> list[Named] | None:
    """The call that an object is, in one of the shapes that models write."""
    if not isinstance(value, dict):
        return None
    inner = value.get("function")
    if isinstance(inner, dict):
        return _named(inner, known)
    listed = value.get("tool_calls")
    if isinstance(listed, list) and listed:
        each = [_named(one, known) for one in listed]
        return [call for calls in each if calls for call in calls] if all(each) else None
    for key in _NAMES:
        name = value.get(key)
        if isinstance(name, str) and name in known:
            rest = {other: item for other, item in value.items() if other not in (key, "id", "type")}
            given = [other for other in rest if other in _ARGUMENTS]
            if given:
                return [(name, rest[given[0]])]
            return [(name, rest)] if rest else None
    if len(value) == 1:
        [(name, given_object)] = value.items()
        if name in known and isinstance(given_object, dict):
            return [(name, given_object)]
    return None


def _function_style(text: str, known: Mapping[str, ToolSpec]) -> list[Named]:
    """``read(path="a.txt")``: one a line, or in a list."""
    if not _FUNCTION_STYLE.match(text):
        return []
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of strings with odd escapes
            statements = ast.parse(text.strip()).body
    except (ValueError, SyntaxError, RecursionError, MemoryError):
        return []
    found: list[Named] = []
    for statement in statements:
        if not isinstance(statement, ast.Expr):
            return []
        value = statement.value
        for node in value.elts if isinstance(value, ast.List | ast.Tuple) else [value]:
            named = _called(node, known)
            if named is None:
                return []
            found.append(named)
    return found


def _called(node: ast.expr, known: Mapping[str, ToolSpec]) -> Named | None:
    if not isinstance(node, ast.Call):
        return None
    name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
    if name == "print" and name not in known and len(node.args) == 1 and not node.keywords:
        return _called(node.args[0], known)
    spec = known.get(name)
    if spec is None:
        return None
    properties = spec.parameters.get("properties")
    order = list(properties) if isinstance(properties, Mapping) else []
    if len(node.args) > len(order) or any(keyword.arg is None for keyword in node.keywords):
        return None
    try:
        given = {key: _literal(value) for key, value in zip(order, node.args, strict=False)}
        named = {str(keyword.arg): _literal(keyword.value) for keyword in node.keywords}
    except (ValueError, RecursionError):
        return None
    if given.keys() & named.keys():
        return None
    if not named and list(given) == order[:1] and isinstance(given[order[0]], dict):
        return name, given[order[0]]
    return name, {**given, **named}


def _literal(node: ast.expr) -> object:
    """A value that JSON can hold; raises ``ValueError`` for any other."""
    if isinstance(node, ast.Name) and node.id in _WORDS:
        return _WORDS[node.id]
    value = ast.literal_eval(node)
    return json.loads(json.dumps(value, allow_nan=False)) if not isinstance(value, str) else value


def _object(value: object) -> dict[str, object] | None:
    """Arguments as an object, which may be written as JSON in a string."""
    if isinstance(value, str):
        try:
            value, _ = json.JSONDecoder(strict=False).raw_decode(value.strip())
        except (ValueError, RecursionError):
            return None
        if isinstance(value, str):
            return None
    return value if isinstance(value, dict) else None


def _unfenced(text: str) -> str:
    fenced = _FENCE.match(text)
    return fenced["body"].strip() if fenced else text


def _outside_code(pattern: re.Pattern[str], text: str) -> Iterator[re.Match[str]]:
    """The matches that begin in no code block and in no code of a sentence."""
    code = [match.span() for match in _CODE.finditer(text)]
    for match in pattern.finditer(text):
        if not any(start < match.start() < end for start, end in code):
            yield match
