"""Changes one key of the user's config.yaml, and leaves every other character of it alone."""

from __future__ import annotations

import stat
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml

from local_agent.config.file import check_text, read_text
from local_agent.config.private_files import write_private
from local_agent.config.settings import Key
from local_agent.config.values import check_value
from local_agent.domain.errors import ConfigError

_INDENT = "  "


def typed_value(key: Key, typed: str) -> Any:
    """What a person typed for a key, as a file would give it. Raises ``ConfigError`` in the file's words."""
    text = typed.strip()
    try:
        value = yaml.safe_load(text)
    except (yaml.YAMLError, ValueError):  # a date that is none
        value = text
    try:
        check_value(key, _plain(value, text))
    except ConfigError:
        # 8080 is a number, and yet may be meant as a name.
        if isinstance(value, list | dict) or not _takes_text(key, text):
            raise
        return text
    return _plain(value, text)


def _takes_text(key: Key, text: str) -> bool:
    try:
        check_value(key, text)
    except ConfigError:
        return False
    return True


def write_setting(path: Path, keys: Mapping[str, Key], name: str, value: Any) -> None:
    """Set a key to a checked plain value, or take it out (None).

    Raises ``ConfigError``, and then all is as it was. The file is replaced in one step and keeps its mode.
    A link is left alone: what it leads to is somebody's arrangement.
    """
    if path.is_symlink():
        raise ConfigError(f"{path} is a link, which is not followed.", f"Change {name} in {path.resolve()}.")
    there = path.exists()
    if there and not path.stat().st_mode & stat.S_IWUSR:
        raise ConfigError(f"{path} is read-only.", "Make it writable, or change it by hand.")
    text = read_text(path) if there else ""
    before = {found.key: found.value for found in check_text(path, text, keys)}
    changed = edited(text, name, None if value is None else _flow(value))
    _make_sure(path, keys, changed, name, before, value)
    mode = stat.S_IMODE(path.stat().st_mode) if there else 0o600
    try:
        write_private(path, changed.encode())
        if mode != 0o600:
            path.chmod(mode)
    except OSError as error:
        raise ConfigError(f"Can't write {path}: {error.strerror}.") from error


def edited(text: str, name: str, value: str | None) -> str:
    """The text with ``section.key`` set to one line of YAML, or without it. ``text`` is valid and checked.

    Raises ``ConfigError`` for a value of several lines: its comments would be lost.
    """
    section, _, leaf = name.partition(".")
    line_end = "\r\n" if "\r\n" in text else "\n"
    root = yaml.compose(text, Loader=yaml.SafeLoader)
    pairs = _pairs(root)
    body = _found(pairs, section)
    if body is None:
        return text if value is None else _with_section(text, root, section, leaf, value, line_end)
    if not isinstance(body[1], yaml.MappingNode):
        return text if value is None else _with_first(text, body, f"{leaf}: {value}", line_end)
    inner = _pairs(body[1])
    pair = _found(inner, leaf)
    if pair is None:
        return text if value is None else _with_pair(text, body[1], f"{leaf}: {value}", line_end)
    start, end = pair[0].start_mark.index, _end(pair[1])
    if "\n" in text[start:end]:
        line = pair[0].start_mark.line + 1
        raise ConfigError(
            f"The value of {name} has several lines in your file, from line {line} on.", "Change it there."
        )
    if value is not None:
        begin = pair[1].start_mark.index
        gap = "" if begin > pair[0].end_mark.index + 1 else " "
        return text[:begin] + gap + value + text[end:]
    if body[1].flow_style:
        return _without_flow_pair(text, inner, pair, start, end)
    row = text.rfind("\n", 0, start) + 1
    return text[:row] + text[_row_end(text, end) + len(line_end) :]


_Pair = tuple[yaml.Node, yaml.Node]


def _pairs(node: yaml.Node | None) -> list[_Pair]:
    return list(node.value) if isinstance(node, yaml.MappingNode) else []


def _found(pairs: list[_Pair], name: str) -> _Pair | None:
    return next((pair for pair in pairs if pair[0].value == name), None)


def _with_section(
    text: str, root: yaml.Node | None, section: str, leaf: str, value: str, line_end: str
) -> str:
    if isinstance(root, yaml.MappingNode) and root.flow_style:
        return _with_pair(text, root, f"{section}: {{{leaf}: {value}}}", line_end)
    gap = "" if not text or text.endswith("\n") else line_end
    return f"{text}{gap}{section}:{line_end}{_INDENT}{leaf}: {value}{line_end}"


def _with_first(text: str, section: _Pair, pair: str, line_end: str) -> str:
    """Below a section that says nothing, or says so (``~``)."""
    start, end = section[1].start_mark.index, _end(section[1])
    if start == end:
        start = end = _row_end(text, section[0].end_mark.index)
    return f"{text[:start].rstrip(' ')}{line_end}{_INDENT}{pair}{text[end:]}"


def _with_pair(text: str, mapping: yaml.MappingNode, pair: str, line_end: str) -> str:
    """Behind the last pair of a mapping."""
    pairs = _pairs(mapping)
    if not pairs:
        at = mapping.start_mark.index + 1
        return text[:at] + pair + text[at:]
    at = _end(pairs[-1][1])
    if mapping.flow_style:
        return f"{text[:at]}, {pair}{text[at:]}"
    at = _row_end(text, at)
    return f"{text[:at]}{line_end}{' ' * pairs[0][0].start_mark.column}{pair}{text[at:]}"


def _without_flow_pair(text: str, pairs: list[_Pair], pair: _Pair, start: int, end: int) -> str:
    place = pairs.index(pair)
    if place + 1 < len(pairs):
        return text[:start] + text[pairs[place + 1][0].start_mark.index :]
    return text[: _end(pairs[place - 1][1]) if place else start] + text[end:]


def _end(node: yaml.Node) -> int:
    """Behind the last character of a value; PyYAML counts what follows a block to the block."""
    if isinstance(node, yaml.CollectionNode) and not node.flow_style and node.value:
        last = node.value[-1]
        return _end(last[1] if isinstance(last, tuple) else last)
    return int(node.end_mark.index)


def _row_end(text: str, at: int) -> int:
    """Where the line of a place ends, before its line end."""
    found = text.find("\n", at)
    end = len(text) if found < 0 else found
    return end - 1 if found > 0 and text[found - 1] == "\r" else end


def _flow(value: Any) -> str:
    """A value in one line, quoted where it must be inside of braces."""
    dumped = yaml.safe_dump([value], default_flow_style=True, allow_unicode=True, width=10**6)
    return dumped.strip()[1:-1]


def _plain(value: Any, text: str) -> Any:
    """What JSON knows too; a date or a time of day is the text as it was typed."""
    return value if isinstance(value, bool | int | float | str | list | dict) or value is None else text


def _make_sure(
    path: Path, keys: Mapping[str, Key], text: str, name: str, before: Mapping[str, Any], value: Any
) -> None:
    """What is to be written says what was there and the change, and nothing else."""
    refused = ConfigError(
        f"{path} is written in a way that can't be changed from here.", "Change it by hand."
    )
    try:
        after = {found.key: found.value for found in check_text(path, text, keys)}
    except ConfigError as error:
        raise refused from error
    others = {key: old for key, old in before.items() if key != name}
    if {key: new for key, new in after.items() if key != name} != others or (name in after) is (
        value is None
    ):
        raise refused
