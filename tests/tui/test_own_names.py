"""No class of ours keeps something under a private name that Textual uses: both would go wrong, far apart."""

from __future__ import annotations

import ast
import importlib
import inspect
import pkgutil
import textwrap
from functools import cache

import local_agent.tui


@cache
def kept(kind: type) -> frozenset[str]:
    """The private names that a class assigns on itself."""
    tree = ast.parse(textwrap.dedent(inspect.getsource(kind)))
    return frozenset(
        node.attr
        for node in ast.walk(tree)
        if isinstance(node, ast.Attribute)
        and isinstance(node.ctx, ast.Store)
        and isinstance(node.value, ast.Name)
        and node.value.id == "self"
        and node.attr.startswith("_")
    )


def test_no_private_name_is_textuals_own() -> None:
    ours: set[type] = set()
    for module in pkgutil.walk_packages(local_agent.tui.__path__, "local_agent.tui."):
        found = vars(importlib.import_module(module.name)).values()
        ours |= {each for each in found if isinstance(each, type) and each.__module__ == module.name}
    clashes = {
        f"{kind.__qualname__}.{name} is {base.__qualname__}'s"
        for kind in ours
        for base in kind.__mro__
        if base.__module__.startswith("textual.")
        for name in kept(kind) & kept(base)
    }
    assert not clashes
    assert len(ours) > 100
