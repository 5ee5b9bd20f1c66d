"""Calls as tools prepare them."""

from __future__ import annotations

from pathlib import Path

from local_agent.domain.entries import ToolCall
from local_agent.domain.tools import Action, Effect, Intent, ToolSpec


def bash(command: str) -> Intent:
    """A command of the model's."""
    return _intent("bash", Action.RUN, command, {"command": command}, command=command)


def read(path: str, *outside: str) -> Intent:
    """A look at a file; ``outside``: where it leads."""
    return _intent("read", Action.READ, path, {"path": path}, outside=outside)


def todo() -> Intent:
    """A list of the model's own."""
    return _intent("todo", Action.TALK, "2 items", {"items": ["a", "b"]})


def edit(root: Path, path: str, text: str = "x") -> Intent:
    """A change to a file in the workspace."""
    return _intent("edit", Action.WRITE, path, {"path": path, "text": text}, expected={str(root / path): "0"})


def write_outside(path: str) -> Intent:
    """A new file elsewhere."""
    return _intent("write", Action.WRITE, path, {"path": path}, outside=(path,), expected={path: ""})


def move(root: Path, source: str, target: str) -> Intent:
    """Another name for a file."""
    expected = {str(root / source): "0", str(root / target): ""}
    return _intent("move", Action.REMOVE, f"{source} -> {target}", {"from": source}, expected=expected)


def remove(root: Path, path: str) -> Intent:
    """No file any more."""
    return _intent("remove", Action.REMOVE, path, {"path": path}, expected={str(root / path): "0"})


def _intent(name: str, action: Action, target: str, arguments: dict[str, object], **more: object) -> Intent:
    call = ToolCall("1", name, arguments)
    spec = ToolSpec(name, "", {}, Effect.UNKNOWN)
    return Intent(call, spec, action, target, **more)  # type: ignore[arg-type]  # fields by name
