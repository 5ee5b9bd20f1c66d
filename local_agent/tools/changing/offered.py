"""Which tools change files, in the order in which a model is told of them."""

from __future__ import annotations

from local_agent.tools.changing.copy import COPY
from local_agent.tools.changing.edit import EDIT
from local_agent.tools.changing.mkdir import MKDIR
from local_agent.tools.changing.move import MOVE
from local_agent.tools.changing.patch import PATCH
from local_agent.tools.changing.remove import REMOVE
from local_agent.tools.changing.write import WRITE
from local_agent.tools.tool import Tool


def changing_tools() -> list[Tool]:
    """Tools with an effect on files."""
    return [WRITE, EDIT, PATCH, MKDIR, MOVE, COPY, REMOVE]
