"""Commands about the branches of a session, and other sessions that begin in it."""

from __future__ import annotations

from typing import Protocol

from local_agent.domain.marks import Mark
from local_agent.tui.commands.table import COMMANDS


class _Branching(Protocol):
    async def tree(self) -> None: ...

    async def fork(self, title: str = "") -> None: ...

    async def edit(self) -> None: ...

    async def mark(self, mark: Mark) -> None: ...


class _Screen(Protocol):
    @property
    def branching(self) -> _Branching: ...


@COMMANDS.command("tree", "The turns of this session and its branches: go there, fork, ask otherwise")
async def tree(screen: _Screen) -> None:
    await screen.branching.tree()


@COMMANDS.command("fork", "Go on in another session from here; this one stays as it is", hint="[TITLE]")
async def fork(screen: _Screen, *title: str) -> None:
    await screen.branching.fork(" ".join(title))


@COMMANDS.command("edit", "Edit your last question, and ask it as a new branch")
async def edit(screen: _Screen) -> None:
    await screen.branching.edit()


@COMMANDS.command("pin", "Keep the last exchange word for word in every summary; again: no more")
async def pin(screen: _Screen) -> None:
    await screen.branching.mark(Mark.PIN)


@COMMANDS.command("drop", "Leave the last exchange out of requests; again: no more")
async def drop(screen: _Screen) -> None:
    await screen.branching.mark(Mark.DROP)
