"""Checkpoints, plans and restores for the looks of the screens that show them."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

from textual.pilot import Pilot

from local_agent.domain.checkpoints import Checkpoint, CheckpointKind
from local_agent.domain.entries import Slice
from local_agent.domain.moves import Cause, Landing
from local_agent.domain.restoring import FilePlan, PlannedPath, Standing
from local_agent.domain.tools import FileState
from local_agent.tui.app import LocalAgentApp
from local_agent.tui.screens.checkpoints import CheckpointsScreen
from local_agent.tui.screens.journey import JourneyDialog
from local_agent.tui.screens.restoring import RestoringScreen
from local_agent.tui.screens.unfinished import UnfinishedDialog
from tests.tui.calling import DIFF, ended, stored
from tests.tui.pilots import screen_text, until

LONG_AGO = "2020-05-04T12:00:00.000Z"
FILE, OTHER = FileState("1" * 64, 0o100644), FileState("2" * 64, 0o100644)
NOTHING = FileState()
PLAN = FilePlan(
    (
        PlannedPath("docs/notes.md", Standing.RESTORED, FILE, NOTHING),
        PlannedPath("docs/release-notes-of-last-year.md", Standing.RESTORED, NOTHING, FILE),
        PlannedPath("pyproject.toml", Standing.CONFLICT, FILE, OTHER, "changed by somebody else since"),
        PlannedPath("src/restore.py", Standing.RESTORED, FILE, OTHER),
        PlannedPath("tests/data/dump.bin", Standing.LOST, FILE, OTHER, "what it held then is not kept"),
    )
)
LANDING = Landing(Cause.RESTORE, 4, 7, 3, 'checkpoint 12 "before the refactor"')
CHECKPOINTS = tuple(
    Checkpoint(number, 1, 4, number // 2, label, kind, messages, LONG_AGO)
    for number, label, kind, messages in (
        (14, "", CheckpointKind.BEFORE_RESTORE, 36),
        (13, "", CheckpointKind.BEFORE_COMPACTION, 36),
        (12, "before the refactor", CheckpointKind.MANUAL, 34),
        (7, "tests are green, the fixture has a folder of its own", CheckpointKind.MANUAL, 21),
        (2, "", CheckpointKind.MANUAL, 1),
    )
)


class Listed:
    """A few checkpoints; files changed since the older ones."""

    def __init__(self, checkpoints: Sequence[Checkpoint] = CHECKPOINTS) -> None:
        self._checkpoints = checkpoints

    async def checkpoints(self, before: int | None, limit: int) -> Sequence[Checkpoint]:
        return [each for each in self._checkpoints if before is None or each.id < before][:limit]

    async def files_since(self, checkpoint: Checkpoint) -> FilePlan:
        return PLAN if checkpoint.ledger_number < 6 else FilePlan()

    async def leading_to(self, entry_id: int, count: int) -> Slice:
        return stored([ended_call()], ["1 import tempfile"], "The fixture shares its folder.")

    async def compare(self, paths: Sequence[PlannedPath]) -> str:
        return DIFF


def ended_call() -> Any:
    """A call that was read, for a preview."""
    from tests.tui.calling import asked

    return ended(asked(0, "read", {"path": "tests/test_restore.py"}))


async def checkpoints_screen(app: LocalAgentApp, pilot: Pilot[Any]) -> None:
    """The list, with what was compared."""
    app.push_screen(CheckpointsScreen(Listed(), glyphs=app.chat.glyphs))
    await until(pilot, lambda: "5 files" in screen_text(pilot) or app.size.width < 60)


async def journey_dialog(app: LocalAgentApp, pilot: Pilot[Any]) -> None:
    """A restore that is asked about."""

    async def compare(paths: Sequence[PlannedPath]) -> str:
        return DIFF

    app.push_screen(JourneyDialog(LANDING, PLAN, compare, glyphs=app.chat.glyphs))


async def restoring_screen(app: LocalAgentApp, pilot: Pilot[Any]) -> None:
    """A third of it is done, and no more will be."""
    screen = RestoringScreen(
        "Putting files back", asyncio.Event(), app.chat.composer.insert, glyphs=app.chat.glyphs
    )
    screen.note(31, 93)
    app.push_screen(screen)
    await until(pilot, lambda: "31 of 93" in screen_text(pilot))


async def unfinished_dialog(app: LocalAgentApp, pilot: Pilot[Any]) -> None:
    """Two of five files were back when the program died."""
    paths = [path.path for path in PLAN.paths]
    what = 'checkpoint 12 "before the refactor"'
    app.push_screen(UnfinishedDialog(what, paths[:2], paths[3:], paths[2:3], glyphs=app.chat.glyphs))
