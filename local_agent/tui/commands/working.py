"""Commands about the work of tools."""

from __future__ import annotations

from local_agent.tui.commands.screen import CommandScreen
from local_agent.tui.commands.table import COMMANDS


@COMMANDS.command("plan", "Have a task planned before anything is changed", hint="[TASK]")
async def plan(screen: CommandScreen, *task: str) -> None:
    screen.working.plan(" ".join(task))


@COMMANDS.command("changes", "The files that this session changed, with their diffs")
async def changes(screen: CommandScreen) -> None:
    screen.working.changes()


@COMMANDS.command("permissions", "What runs without a question here, and what never does")
async def permissions(screen: CommandScreen) -> None:
    screen.working.permissions()
