"""Which tools only look or talk, in the order in which a model is told of them."""

from __future__ import annotations

from local_agent.tools.read import READ
from local_agent.tools.tool import Tool


def reading_tools() -> list[Tool]:
    """Tools that change nothing outside the conversation."""
    return [READ]
