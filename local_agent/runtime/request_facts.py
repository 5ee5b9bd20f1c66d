"""What a conversation's model is asked with, and who decided each part of it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import PurePath

from local_agent.domain.thinking import Thinking
from local_agent.runtime.planning import Planner


def request_facts(planner: Planner) -> dict[str, object]:
    """Label to value and origin, such as ``8192 (config.yaml, line 3)``; empty while there is no model."""
    return dict(_facts(planner)) if planner.info is not None else {}


def _facts(planner: Planner) -> Iterator[tuple[str, str]]:
    wishes = planner.wishes
    proxied = planner.info is not None and planner.info.proxied
    fallback = "the model's own" if proxied else "by this machine's memory"
    yield "window", _with_origin(planner.window, wishes.origins.get("num_ctx", fallback))
    longest = _with_origin(planner.max_output, wishes.origins.get("max_output", "half the window"))
    yield "longest reply", longest
    yield "thinking", _with_origin(_thinking(planner), _thinking_origin(planner))
    if wishes.keep_alive is not None:
        yield "keep loaded", _with_origin(wishes.keep_alive, wishes.origins["keep_alive"])
    else:
        yield "keep loaded", "as the server does"
    for name, value in wishes.options.items():
        yield name, _with_origin(value, wishes.origins[name])


def _thinking(planner: Planner) -> str:
    if planner.info is not None and planner.info.can_think is False:
        return "not of this model"
    return _word(planner.think)


def _thinking_origin(planner: Planner) -> str:
    if planner.thinking_chosen:
        return "chosen here"
    return planner.wishes.origins.get("thinking", "")


def _word(think: Thinking | None) -> str:
    match think:
        case None:
            return "as the model does"
        case bool():
            return "on" if think else "off"
        case level:
            return level


def _with_origin(value: object, origin: str) -> str:
    """A file is named without its folders: yours and a project's have names of their own."""
    name = PurePath(origin).name if "/" in origin else origin
    return f"{value} ({name})" if name else str(value)
