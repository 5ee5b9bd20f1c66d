"""Which tools only look or talk, in the order in which a model is told of them."""

from __future__ import annotations

from local_agent.tools.ask_user import ASK_USER
from local_agent.tools.glob import GLOB
from local_agent.tools.grep import GREP
from local_agent.tools.ls import LS
from local_agent.tools.read import READ
from local_agent.tools.todo import TODO
from local_agent.tools.tool import Tool

LOOKING: tuple[Tool, ...] = (READ, GREP, GLOB, LS)
TALKING: tuple[Tool, ...] = (TODO, ASK_USER)


def reading_tools() -> list[Tool]:
    """Tools that change nothing outside the conversation."""
    return [*LOOKING, *TALKING]
