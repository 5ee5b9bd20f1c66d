"""Restores that are stopped or can't be read any more end, and tell what was done; cancelled ones wait."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from local_agent.domain.errors import LocalAgentError
from local_agent.domain.ledger import EventKind
from local_agent.domain.modes import Mode
from local_agent.domain.moves import Scope
from local_agent.domain.restoring import RestoreIntent, change_of
from local_agent.runtime.conversation import Conversation
from tests.proofs.restore_life import opened
from tests.proofs.test_kills_restore import head_of, session
from tests.tools.restoring.worlds import Tree, tree_of


@asynccontextmanager
async def worked(tmp_path: Path) -> AsyncIterator[tuple[Conversation, Path, Tree, Tree]]:
    """A conversation that has changed a folder, which is there too, as it was and as it is."""
    home, root = tmp_path / "home", tmp_path / "work"
    await asyncio.to_thread(home.mkdir)
    handle, before, after = await session(home, root)
    runtime = await opened(home, root)
    try:
        yield await runtime.resume(handle), root, before, after
    finally:
        await runtime.close()


async def test_stopped_half_way_it_says_so_and_can_be_undone(tmp_path: Path) -> None:
    async with worked(tmp_path) as (conversation, root, before, after):
        time, stop, heard = conversation.time, asyncio.Event(), []

        def told(done: int, total: int) -> None:
            heard.append((done, total))
            stop.set()

        arrival = await time.go(await time.undo(), Scope.BOTH, told, stop)
        execution = arrival.files
        assert execution is not None and execution.receipt is not None
        assert execution.state is EventKind.CANCELLED and "not done" in execution.receipt.summary
        assert 0 < len(execution.changes) < heard[0][1]
        assert tree_of(root) not in (before, after)
        await time.go(await time.redo(), Scope.BOTH)
        assert tree_of(root) == after
        await time.go(await time.undo(), Scope.BOTH)
        assert tree_of(root) == before, "also what was not done the first time"


async def test_cancelled_it_waits_for_the_path_at_hand_and_stays_unfinished(tmp_path: Path) -> None:
    async with worked(tmp_path) as (conversation, root, before, after):
        time, begun = conversation.time, asyncio.Event()
        going = asyncio.create_task(time.go(await time.undo(), Scope.BOTH, lambda done, total: begun.set()))
        await begun.wait()
        going.cancel()
        with pytest.raises(asyncio.CancelledError):
            await going
        left = await time.unfinished()
        assert left is not None and left.done and left.left
        heard: list[tuple[int, int]] = []
        execution = await time.complete(left, lambda done, total: heard.append((done, total)))
        assert heard[-1] == (len(left.left), len(left.left))
        assert execution.state is EventKind.COMPLETED and tree_of(root) == before
        await time.go(await time.redo(), Scope.BOTH)
        assert tree_of(root) == after


async def test_one_that_was_cut_off_bars_effects_until_it_is_settled(tmp_path: Path) -> None:
    async with worked(tmp_path) as (conversation, root, _, after):
        time, head = conversation.time, head_of(conversation)
        journey = await time.undo()
        held = await conversation._journal.saved()
        await held.travel(journey.landing, Scope.BOTH, RestoreIntent("the turn", journey.files.steps))
        with pytest.raises(LocalAgentError, match="cut off"):
            await anext(conversation.compact(""))
        left = await time.unfinished()
        assert left is not None and left.what == "the turn" and not left.done and not left.conflicts
        with pytest.raises(LocalAgentError, match="cut off: 0 of") as refused:
            await conversation.hands.require_settled(head, Mode.NORMAL)
        assert "/restore" in refused.value.hint
        await conversation.hands.require_settled(head, Mode.PLAN)
        (root / "edited-1.txt").write_text("theirs\n")
        left = await time.unfinished()
        assert left is not None and [each.path for each in left.conflicts] == ["edited-1.txt"]
        execution = await time.complete(left)
        assert execution.receipt is not None
        assert "1 kept (changed by somebody else since)" in execution.receipt.summary
        assert (root / "edited-1.txt").read_text() == "theirs\n"
        assert {change.path for change in execution.changes} == {
            change_of(step).path for step in journey.files.steps if step.path != "edited-1.txt"
        }
        await conversation.hands.require_settled(head, Mode.NORMAL)
        await time.go(await time.redo(), Scope.BOTH)
        (root / "edited-1.txt").write_bytes(after["edited-1.txt"][1])
        assert tree_of(root) == after


async def test_one_whose_steps_are_gone_ends_without_a_deed(tmp_path: Path) -> None:
    async with worked(tmp_path) as (conversation, root, _, after):
        time = conversation.time
        held = await conversation._journal.saved()
        await held.travel((await time.undo()).landing, Scope.BOTH, RestoreIntent("the turn", ()))
        left = await time.unfinished()
        assert left is not None
        execution = await time.complete(left)
        assert execution.state is EventKind.FAILED and not execution.changes
        assert tree_of(root) == after and await time.unfinished() is None
