"""Trees for the screen that shows them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from textual.pilot import Pilot

from local_agent.domain.branches import TreeNode
from local_agent.domain.checkpoints import Checkpoint, CheckpointKind
from local_agent.domain.entries import Kind, Slice, TurnStatus
from local_agent.domain.errors import LocalAgentError
from local_agent.tui.app import LocalAgentApp
from local_agent.tui.screens.tree import TreeScreen
from tests.tui.calling import stored
from tests.tui.pilots import until
from tests.tui.time.shown import LONG_AGO, ended_call


class Given:
    """A tree as it is given."""

    def __init__(
        self,
        nodes: Sequence[TreeNode],
        head: int | None,
        error: LocalAgentError | None = None,
        checkpoints: Sequence[Checkpoint] = (),
    ) -> None:
        self._head = head
        self._nodes = nodes
        self._error = error
        self._checkpoints = checkpoints

    async def tree(self) -> Sequence[TreeNode]:
        if self._error is not None:
            raise self._error
        return self._nodes

    async def head(self) -> int | None:
        return self._head

    async def checkpoints(self, before: int | None, limit: int) -> Sequence[Checkpoint]:
        return self._checkpoints

    async def leading_to(self, entry_id: int, count: int) -> Slice:
        return stored([ended_call()], ["1 import tempfile"], "The fixture shares its folder.")


def turn(entry_id: int, parent: int | None, text: str, status: TurnStatus = TurnStatus.SETTLED) -> TreeNode:
    return TreeNode(entry_id, parent, entry_id + 1, Kind.QUESTION, text, LONG_AGO, status)


NODES = (
    turn(10, None, "Why does the restore test flake on CI?"),
    turn(20, 10, "Give each worker its own folder"),
    turn(30, 20, "Run it twenty times, please"),
    turn(40, 10, "Delete the fixture instead", TurnStatus.FAILED),
    turn(50, 10, "Mark the test as flaky"),
    turn(60, 50, "And open an issue about it", TurnStatus.INTERRUPTED),
    turn(70, 50, "No: skip it on CI alone"),
    TreeNode(80, 30, 80, Kind.SUMMARY, "Two workers shared one temporary folder.", LONG_AGO),
    TreeNode(90, 80, 90, Kind.MARKER, "drop 20", LONG_AGO),
    TreeNode(100, 90, 101, Kind.COMMAND, "pytest -x", LONG_AGO, TurnStatus.SETTLED),
    turn(110, 100, "Write the release note for it"),
    turn(120, 110, "Shorter"),
)
CHECKPOINTS = (
    Checkpoint(12, 1, 31, 1, "twenty green runs", CheckpointKind.MANUAL, 6, LONG_AGO),
    Checkpoint(13, 1, 31, 1, "", CheckpointKind.BEFORE_COMPACTION, 6, LONG_AGO),
)


async def tree_screen(app: LocalAgentApp, pilot: Pilot[Any]) -> None:
    """A tree with a bit of everything; the head is not at the end of its branch."""
    screen = TreeScreen(Given(NODES, 111, checkpoints=CHECKPOINTS), glyphs=app.chat.glyphs)
    app.push_screen(screen)
    await until(pilot, lambda: screen.selected is not None)
