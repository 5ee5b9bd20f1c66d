"""Values of settings, held against the types and rules of their keys, wherever they come from."""

from __future__ import annotations

import difflib
import json
import re
from collections.abc import Mapping
from typing import Any

from pydantic import ConfigDict, TypeAdapter, ValidationError

from local_agent.config.settings import Key, Rule, settings_keys
from local_agent.domain.errors import ConfigError
from local_agent.domain.text import one_line


class BadEntry(ConfigError):
    """A value inside a mapping is refused; ``within`` are the keys that lead to it."""

    def __init__(self, within: tuple[str, ...], line: str, hint: str) -> None:
        super().__init__(line, hint)
        self.within = within


def check_value(key: Key, value: Any) -> Any:
    """A plain value as the type that its key has; ``ConfigError`` says what the key expects."""
    if value is None or value == "":
        raise _bad(key, value)
    # JSON's strict mode takes text for a path and a list for a tuple, but no text for a number.
    adapter: TypeAdapter[Any] = TypeAdapter(key.annotation, config=ConfigDict(strict=True))
    try:
        checked = adapter.validate_json(json.dumps(value))
    except ValidationError as error:
        raise _bad(key, value) from error
    if not _acceptable(checked, key.rule):
        raise _bad(key, value)
    return _check_entries(key, checked) if isinstance(checked, dict) else checked


def _check_entries(key: Key, value: dict[str, Any]) -> dict[str, Any]:
    """The entries of a mapping by their own rules; ``BadEntry`` says which one is refused."""
    if key.rule.entry is not None:
        for name, item in value.items():
            problem = key.rule.entry(name, item)
            if problem is not None:
                got = "" if problem.hint else f", not {_got(item)}."
                raise BadEntry((name,), f"{key.name}.{shown(name)} {problem.words}{got}", problem.hint)
    if key.rule.each is None:
        return value
    return {name: _check_group(key, key.rule.each, name, group) for name, group in value.items()}


def _check_group(key: Key, known: Mapping[str, str], name: str, group: dict[str, Any]) -> dict[str, Any]:
    checked = {}
    for leaf, value in group.items():
        owner = f"{key.name}.{shown(name)}.{shown(leaf)}"
        if leaf not in known:
            raise BadEntry((name, leaf), f"unknown key {owner}.", offer(leaf, list(known)))
        try:
            checked[leaf] = check_value(settings_keys()[known[leaf]]._replace(name=owner), value)
        except ConfigError as error:
            within = error.within if isinstance(error, BadEntry) else ()
            raise BadEntry((name, leaf, *within), error.line, error.hint) from error
    return checked


def offer(name: str, known: list[str]) -> str:
    """The way out of a name that is not known."""
    close = difflib.get_close_matches(name, known, n=1)
    return f"Did you mean {close[0]}?" if close else f"Known: {', '.join(known)}."


def shown(name: str) -> str:
    """A name from outside, fit for a line."""
    return one_line(name, 60)


def _bad(key: Key, value: Any) -> ConfigError:
    return ConfigError(f"{key.name} must be {key.rule.expects}, not {_got(value)}.")


def _got(value: Any) -> str:
    return "empty" if value is None or value == "" else one_line(json.dumps(value, ensure_ascii=False), 40)


def _acceptable(value: Any, rule: Rule) -> bool:
    if isinstance(value, str):
        looks = rule.pattern is None or re.fullmatch(rule.pattern, value) is not None
        return looks and bool(value.strip()) and value.isprintable()
    if isinstance(value, int) and not isinstance(value, bool) and rule.minimum is not None:
        return rule.maximum is not None and rule.minimum <= value <= rule.maximum
    return True
