"""One YAML file of settings, read with the line of every key and checked against the model."""

from __future__ import annotations

import math
import os
import stat
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from local_agent.config.settings import Key
from local_agent.config.values import BadEntry, check_value, offer, shown
from local_agent.domain.errors import ConfigError
from local_agent.domain.text import one_line, sanitise

MAX_BYTES = 64 * 1024
MAX_DEPTH = 8


@dataclass(frozen=True, slots=True)
class Found:
    """One key of a file, checked."""

    key: str
    value: Any
    line: int


def read_file(path: Path, keys: Mapping[str, Key], *, of_project: bool) -> list[Found]:
    """Read and check a file; ``ConfigError`` names the file, the line and the key."""
    return check_text(path, read_text(path), keys, of_project=of_project)


def read_text(path: Path) -> str:
    """What a file holds, without a byte order mark. Raises ``ConfigError``."""
    try:
        if not stat.S_ISREG(path.stat().st_mode):
            raise ConfigError(f"{path} is no file.", "Move it away, or put a file in its place.")
        with path.open("rb") as file:
            data = file.read(MAX_BYTES + 1)
    except OSError as error:
        raise ConfigError(f"Can't read {path}: {error.strerror}.") from error
    if len(data) > MAX_BYTES:
        raise ConfigError(f"{path} is over {MAX_BYTES // 1024} KB: that is no configuration file.")
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data[: error.start].count(b"\n") + 1
        raise _error(path, line, "not UTF-8 text.", "Save it as UTF-8.") from error


def check_text(path: Path, text: str, keys: Mapping[str, Key], *, of_project: bool = False) -> list[Found]:
    """Check what a file holds, or is going to hold; ``ConfigError`` names the file, the line and the key."""
    return _Reader(path, keys, of_project).read(text)


class _Reader:
    def __init__(self, path: Path, keys: Mapping[str, Key], of_project: bool) -> None:
        self._path = path
        self._keys = keys
        self._of_project = of_project
        self._loader = yaml.SafeLoader("")

    def read(self, text: str) -> list[Found]:
        try:
            self._guard(text)
            self._loader = yaml.SafeLoader(text)
            root = self._loader.get_single_node()
            if root is None or self._is_null(root):
                return []
            return [
                self._leaf(f"{section}.{name}", key, value)
                for section, section_key, body in self._pairs(root, "the file")
                for name, key, value in self._section(section, section_key, body)
            ]
        except yaml.MarkedYAMLError as error:
            line = getattr(error.problem_mark or error.context_mark, "line", 0) + 1
            raise self._error(line, f"no valid YAML: {error.problem}.") from error
        except yaml.YAMLError as error:
            raise self._error(1, f"no valid YAML: {one_line(str(error), 120)}.") from error

    def _guard(self, text: str) -> None:
        """Refuse what makes a small file big or deep, before anything recursive looks at it."""
        depth = 0
        for event in yaml.parse(text, Loader=yaml.SafeLoader):
            line = getattr(event.start_mark, "line", 0) + 1
            if isinstance(event, yaml.AliasEvent):
                raise self._error(line, "aliases (*name) are not supported here.", "Write the value out.")
            if isinstance(event, yaml.CollectionStartEvent):
                depth += 1
            elif isinstance(event, yaml.CollectionEndEvent):
                depth -= 1
            if depth > MAX_DEPTH:
                raise self._error(line, "nested too deeply.")

    def _section(
        self, section: str, section_key: yaml.Node, body: yaml.Node
    ) -> Iterator[tuple[str, yaml.Node, yaml.Node]]:
        known = list(dict.fromkeys(name.partition(".")[0] for name in self._keys))
        if section not in known:
            raise self._unknown(section_key, section, known)
        if self._is_null(body):
            return iter(())
        return self._pairs(body, section)

    def _pairs(self, node: yaml.Node, owner: str) -> Iterator[tuple[str, yaml.Node, yaml.Node]]:
        if not isinstance(node, yaml.MappingNode):
            raise self._error(_line(node), f"{owner} must be a mapping of keys to values.")
        seen: dict[str, int] = {}
        for key, value in node.value:
            name = key.value if isinstance(key, yaml.ScalarNode) else "?"
            if name in seen:
                raise self._error(_line(key), f"{shown(name)} is set twice (first in line {seen[name]}).")
            seen[name] = _line(key)
            yield name, key, value

    def _leaf(self, name: str, key_node: yaml.Node, node: yaml.Node) -> Found:
        line = _line(key_node)
        key = self._keys.get(name)
        if key is None:
            raise self._unknown(key_node, name, list(self._keys))
        if self._of_project and not key.rule.project:
            raise self._error(line, f"{name} can't be set by a project.", "Put this in your own config.yaml.")
        value = self._check(key, node, line)
        only = key.rule.project_only
        if self._of_project and only is not None and value is not only:
            raise self._error(
                line,
                f"a project can set {name} only to {str(only).lower()}.",
                "Put this in your own config.yaml.",
            )
        return Found(name, value, line)

    def _plain(self, node: yaml.Node, name: str) -> Any:
        """The node as JSON-like data; duplicate keys and numbers that are none are refused at any depth."""
        if isinstance(node, yaml.MappingNode):
            return {
                inner: self._plain(value, f"{name}.{inner}") for inner, _, value in self._pairs(node, name)
            }
        if isinstance(node, yaml.SequenceNode):
            return [self._plain(item, name) for item in node.value]
        try:
            value = self._loader.construct_object(node)
        except ValueError:  # a date that is none, or thousands of digits
            return node.value
        if isinstance(value, float) and not math.isfinite(value):
            raise self._error(_line(node), f"{name} must be a finite number.")
        if value is None or isinstance(value, bool | int | float | str):
            return value
        return node.value  # a date or a time of day: the text as it was written

    def _check(self, key: Key, node: yaml.Node, line: int) -> Any:
        plain = self._plain(node, key.name)
        try:
            checked = check_value(key, plain)
        except BadEntry as error:
            raise self._error(_line_within(node, error.within), error.line, error.hint) from error
        except ConfigError as error:
            raise self._error(line, error.line) from error
        return self._path.parent / os.path.expanduser(checked) if isinstance(checked, Path) else checked

    def _unknown(self, node: yaml.Node, name: str, known: list[str]) -> ConfigError:
        return self._error(_line(node), f"unknown key {shown(name)}.", offer(name, known))

    def _error(self, line: int, problem: str, hint: str = "") -> ConfigError:
        return _error(self._path, line, problem, hint)

    def _is_null(self, node: yaml.Node) -> bool:
        return isinstance(node, yaml.ScalarNode) and node.tag == "tag:yaml.org,2002:null"


def _error(path: Path, line: int, problem: str, hint: str = "") -> ConfigError:
    return ConfigError(f"{sanitise(str(path))}, line {line}: {problem}", hint)


def _line_within(node: yaml.Node, within: tuple[str, ...]) -> int:
    """The line of the key that ``within`` leads to."""
    line = _line(node)
    for name in within:
        pairs = node.value if isinstance(node, yaml.MappingNode) else []
        found = next(((key, value) for key, value in pairs if key.value == name), None)
        if found is None:
            return line
        line, node = _line(found[0]), found[1]
    return line


def _line(node: yaml.Node) -> int:
    return int(node.start_mark.line) + 1
