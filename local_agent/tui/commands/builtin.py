"""The commands themselves."""

from __future__ import annotations

from local_agent.tui.commands.screen import CommandScreen
from local_agent.tui.commands.table import COMMANDS


@COMMANDS.command("help", "Keys and commands")
async def show_help(screen: CommandScreen) -> None:
    screen.open_help()


@COMMANDS.command("new", "Begin a new conversation; this one stays as it is", aliases=("clear",))
async def new(screen: CommandScreen) -> None:
    await screen.new_conversation()


@COMMANDS.command("retry", "Ask the last question again")
async def retry(screen: CommandScreen) -> None:
    await screen.retry()


@COMMANDS.command("sessions", "Find, preview and open earlier conversations", aliases=("resume",))
async def sessions(screen: CommandScreen) -> None:
    screen.open_sessions()


@COMMANDS.command("rename", "Give this conversation a title", hint="TITLE")
async def rename(screen: CommandScreen, first: str, *more: str) -> None:
    await screen.rename(" ".join((first, *more)))


@COMMANDS.command("runtime", "What is running: session, model, server, database")
async def runtime(screen: CommandScreen) -> None:
    screen.open_runtime()


@COMMANDS.command("errors", "What went wrong in this conversation")
async def errors(screen: CommandScreen) -> None:
    screen.open_errors()


@COMMANDS.command("exit", "Leave; the way back is printed", aliases=("quit",))
async def leave(screen: CommandScreen) -> None:
    await screen.leave()
