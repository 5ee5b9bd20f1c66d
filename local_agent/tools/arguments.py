"""Makes what a model gave fit a tool's parameters, or says in one sentence what is wrong with it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import cast

from local_agent.domain.entries import ToolCall
from local_agent.domain.text import one_line
from local_agent.domain.tools import ToolFailed, ToolSpec

MOST_BYTES = 256 * 1024
"""Of all arguments together."""
MOST_CONTENT = 4 * 1024 * 1024
"""Of ``content``, the text of a whole file, which does not count among the others."""
CONTENT = "content"

_OTHER_NAMES = {
    "file_path": "path",
    "filepath": "path",
    "filename": "path",
    "file": "path",
    "dir": "path",
    "directory": "path",
    "folder": "path",
    "regex": "pattern",
    "query": "pattern",
    "cmd": "command",
    "old_string": "old",
    "old_str": "old",
    "new_string": "new",
    "new_str": "new",
    "replace_all": "all",
    "source": "path",
    "src": "path",
    "from": "path",
    "destination": "to",
    "dest": "to",
    "target": "to",
    "new_path": "to",
    "diff": "patch",
    "text": "content",
    "contents": "content",
    "todos": "items",
}
"""What models call a parameter that they know from other programs."""
_WRAPPERS = ("arguments", "parameters", "input", "args")
_TYPES = {
    "string": "text",
    "integer": "a whole number",
    "number": "a number",
    "boolean": "true or false",
    "array": "a list",
    "object": "an object",
}


class _Unfit(Exception):
    """A value can't be read as what it should be."""


def fitted(spec: ToolSpec, call: ToolCall) -> dict[str, object]:
    """The arguments of a call in the types that its tool expects; only those that were given.

    Raises ``ToolFailed`` with one sentence and the example of the spec.
    """
    if call.raw:
        raise _wrong(spec, f"The arguments of {spec.name} must be one JSON object.")
    properties = _objects(spec.parameters.get("properties"))
    given = _named(properties, call.arguments)
    _bounded(spec, given)
    extra = [name for name in given if name not in properties]
    if extra:
        names = ", ".join(properties) or "none"
        raise _wrong(spec, f"{spec.name} has no argument {_quoted(extra[0])}; it has: {names}.")
    missing = [name for name in _names(spec.parameters.get("required")) if name not in given]
    if missing:
        raise _wrong(spec, f"{spec.name} needs {' and '.join(_quoted(name) for name in missing)}.")
    return {name: _value(spec, name, value, properties[name]) for name, value in given.items()}


def _named(properties: Mapping[str, object], arguments: Mapping[str, object]) -> dict[str, object]:
    """By the names that the tool knows, without what is null."""
    if len(arguments) == 1:
        [(name, inner)] = arguments.items()
        if name in _WRAPPERS and name not in properties and isinstance(inner, Mapping):
            arguments = inner
    given = {name: value for name, value in arguments.items() if value is not None}
    for name in [name for name in given if name not in properties]:
        plain = name.strip().lower().replace("-", "_")
        known = plain if plain in properties else _OTHER_NAMES.get(plain, "")
        if known in properties and known not in given:
            given[known] = given.pop(name)
    return given


def _bounded(spec: ToolSpec, given: Mapping[str, object]) -> None:
    content = given.get(CONTENT)
    rest = {name: value for name, value in given.items() if name != CONTENT or not isinstance(content, str)}
    if isinstance(content, str) and (size := _size(content)) > MOST_CONTENT:
        raise ToolFailed(
            f'"{CONTENT}" is too large: {size:,} bytes, at most {MOST_CONTENT:,}. Write it in several files.'
        )
    if (size := _size(json.dumps(rest, ensure_ascii=False))) > MOST_BYTES:
        raise ToolFailed(
            f"The arguments of {spec.name} are too large: {size:,} bytes, at most {MOST_BYTES:,}. "
            "Do it in several smaller calls."
        )


def _value(spec: ToolSpec, name: str, value: object, schema: object) -> object:
    wanted = _objects(schema)
    kind = str(wanted.get("type", ""))
    try:
        found = _converted(value, kind)
        if kind == "array":
            inner = str(_objects(wanted.get("items")).get("type", ""))
            found = [_converted(each, inner) for each in cast(list[object], found)]
    except _Unfit:
        raise _wrong(spec, f"{_quoted(name)} of {spec.name} must be {_TYPES.get(kind, kind)}.") from None
    choices = wanted.get("enum")
    if isinstance(choices, list | tuple) and found not in choices:
        allowed = ", ".join(json.dumps(each) for each in choices)
        raise _wrong(spec, f"{_quoted(name)} of {spec.name} must be one of {allowed}.")
    return found


def _converted(value: object, kind: str) -> object:
    """A value as its type, with what small models mix up put right; raises ``_Unfit``."""
    match kind, value:
        case "", _:
            return value
        case ("string", str()) | ("boolean", bool()) | ("array", list()) | ("object", Mapping()):
            return value
        case (("integer" | "number"), bool()):
            raise _Unfit
        case "integer", int() | float() | str():
            return _whole(value)
        case "number", int() | float():
            return value
        case "string", int() | float() if not isinstance(value, bool):
            return str(value)
        case "string", [str(only)]:
            return only
        case "boolean", _:
            return _truth(value)
        case "array", str():
            return _listed(value)
    raise _Unfit


def _whole(value: float | str) -> int:
    try:
        number = float(value)
        if number.is_integer():
            return int(value) if isinstance(value, int) else int(number)
    except (ValueError, OverflowError):
        pass
    raise _Unfit


def _truth(value: object) -> bool:
    word = str(value).strip().lower()
    if word in ("true", "yes", "1"):
        return True
    if word in ("false", "no", "0", ""):
        return False
    raise _Unfit


def _listed(value: str) -> list[object]:
    if value.lstrip().startswith("["):
        try:
            found = json.loads(value)
        except (ValueError, RecursionError):
            return [value]
        if isinstance(found, list):
            return found
    return [value]


def _wrong(spec: ToolSpec, sentence: str) -> ToolFailed:
    return ToolFailed(f"{sentence} Right: {json.dumps(spec.example, ensure_ascii=False)}")


def _quoted(name: str) -> str:
    return f'"{one_line(name, 60)}"'


def _size(text: str) -> int:
    return len(text) if text.isascii() else len(text.encode("utf-8", "surrogatepass"))


def _objects(value: object) -> Mapping[str, object]:
    return cast(Mapping[str, object], value) if isinstance(value, Mapping) else {}


def _names(value: object) -> list[str]:
    return [str(name) for name in value] if isinstance(value, list | tuple) else []
