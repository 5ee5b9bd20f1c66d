"""The screens of checkpoints and of what goes back, on a stage: many rows, small terminals, mean text."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from time import perf_counter

from local_agent.domain.checkpoints import Checkpoint, CheckpointKind
from local_agent.domain.errors import StoreError
from local_agent.domain.moves import Cause, Landing
from local_agent.domain.restoring import FilePlan, PlannedPath, Standing
from local_agent.tui.look.glyphs import ASCII
from local_agent.tui.screens.checkpoints import CheckpointsScreen, CheckpointWish, Wanted
from local_agent.tui.screens.journey import Going, JourneyDialog
from local_agent.tui.screens.restoring import RestoringScreen
from local_agent.tui.screens.unfinished import UnfinishedDialog, named
from tests.proofs.hostile import NASTY, unsafe
from tests.tui.calling import DIFF
from tests.tui.pilots import listening, screen_text, until
from tests.tui.stage import Stage
from tests.tui.time.shown import FILE, LANDING, LONG_AGO, NOTHING, OTHER, PLAN, Listed

MANY = 10_000


class Counted(Listed):
    """Ten thousand of them, and what was asked of the store."""

    def __init__(self) -> None:
        super().__init__(
            [
                Checkpoint(number, 1, 4, number, f"step {number}", CheckpointKind.MANUAL, number, LONG_AGO)
                for number in range(MANY, 0, -1)
            ]
        )
        self.pages: list[int | None] = []
        self.compared: list[int] = []

    async def checkpoints(self, before: int | None, limit: int) -> Sequence[Checkpoint]:
        self.pages.append(before)
        start = 0 if before is None else MANY - before + 1
        return self._checkpoints[start : start + limit]

    async def files_since(self, checkpoint: Checkpoint) -> FilePlan:
        self.compared.append(checkpoint.id)
        return PLAN


async def test_ten_thousand_checkpoints_come_in_pages_and_only_those_in_view_are_compared() -> None:
    source = Counted()
    screen = CheckpointsScreen(source)
    app = Stage(screen)
    async with app.run_test(size=(100, 20)) as pilot:
        began = perf_counter()
        await until(pilot, lambda: "step 10000" in screen_text(pilot))
        assert perf_counter() - began < 5
        await until(pilot, lambda: len(source.compared) >= screen.row_list.size.height)
        assert len(source.compared) < 40 and source.pages[0] is None
        for _ in range(8):
            await pilot.press("pagedown")
        await until(pilot, lambda: len(source.pages) > 1 and "5 files" in screen_text(pilot))
        assert source.pages[1:] == [MANY - 50 * page + 1 for page in range(1, len(source.pages))]
        chosen = screen.selected
        assert chosen is not None
        await pilot.press("enter")
        await until(pilot, lambda: app.given == [CheckpointWish(Wanted.RESTORE, chosen)])


async def test_a_list_that_can_not_be_read_says_so_and_an_empty_one_says_how_to_begin() -> None:
    class Broken(Listed):
        async def checkpoints(self, before: int | None, limit: int) -> Sequence[Checkpoint]:
            raise StoreError("The disk is gone.", "Mount it.")

    for source, words in ((Broken(), "The disk is gone. Mount it."), (Listed([]), "/checkpoint LABEL")):
        screen = CheckpointsScreen(source)
        app = Stage(screen)
        async with app.run_test(size=(60, 16)) as pilot:
            await until(pilot, lambda words=words: words in screen_text(pilot))  # type: ignore[misc]  # bound here
            await pilot.press("enter", "d", "f", "down", "pagedown")
            assert not app.given and app.screen is screen


async def test_hostile_labels_and_paths_are_drawn_safely() -> None:
    labels = [
        Checkpoint(number, 1, 4, number, text, CheckpointKind.MANUAL, 1, LONG_AGO)
        for number, text in enumerate(NASTY.values(), 1)
    ][::-1]
    app = Stage(CheckpointsScreen(Listed(labels), glyphs=ASCII))
    async with app.run_test(size=(80, 40)) as pilot:
        await until(pilot, lambda: f"{len(NASTY)}  " in screen_text(pilot))
        assert not unsafe(screen_text(pilot).replace("\n", ""))
    plan = FilePlan(tuple(PlannedPath(text, Standing.CONFLICT, FILE, OTHER, text) for text in NASTY.values()))
    landing = Landing(Cause.UNDO, None, 1, 1, next(iter(NASTY.values())))
    app = Stage(JourneyDialog(landing, plan, Listed().compare, glyphs=ASCII))
    async with app.run_test(size=(80, 40)) as pilot:
        await listening(pilot, JourneyDialog)
        assert not unsafe(screen_text(pilot).replace("\n", ""))


async def test_what_goes_is_chosen_by_digit_letter_or_pointer_and_esc_is_nothing() -> None:
    for keys, going in (
        (("enter",), Going.CONVERSATION),
        (("2", "enter"), Going.FILES),
        (("f", "enter"), Going.FILES),
        (("down", "down", "enter"), Going.BOTH),
        (("b", "1", "enter"), Going.CONVERSATION),
        # Into the files and out again: what was chosen is chosen still.
        (("down", "down", "down", "down", "up", "up", "enter"), Going.BOTH),
        (("3", "escape"), Going.NOTHING),
    ):
        app = Stage(JourneyDialog(LANDING, PLAN, Listed().compare))
        async with app.run_test(size=(30, 12)) as pilot:
            await listening(pilot, JourneyDialog)
            await pilot.press(*keys)
            await until(pilot, lambda app=app: app.given)  # type: ignore[misc]  # bound here
            assert app.given == [going], keys


async def test_files_are_scrolled_through_and_looked_at() -> None:
    asked: list[Sequence[PlannedPath]] = []

    async def compare(paths: Sequence[PlannedPath]) -> str:
        asked.append(paths)
        return DIFF

    many = FilePlan(tuple(PlannedPath(f"f{n:03}", Standing.RESTORED, FILE, NOTHING) for n in range(300)))
    dialog = JourneyDialog(LANDING, many, compare)
    app = Stage(dialog)
    async with app.run_test(size=(30, 12)) as pilot:
        await listening(pilot, JourneyDialog)
        await pilot.press("v")
        await until(pilot, lambda: app.screen is not dialog)
        await pilot.press("escape")
        await until(pilot, lambda: app.screen is dialog)
        await pilot.press("pagedown", "down", "enter")
        await until(pilot, lambda: app.screen is not dialog)
        assert len(asked[0]) == 300 and len(asked[1]) == 1
        assert asked[1][0].path in ("f004", "f005", "f006")
        await pilot.press("escape", "escape")
        await until(pilot, lambda: app.given == [Going.NOTHING])


async def test_a_restore_that_is_over_at_once_shows_nothing_and_a_long_one_is_stopped() -> None:
    stop, typed = asyncio.Event(), list[str]()
    shown = RestoringScreen("Putting files back", stop, typed.append)
    shown.end()
    app = Stage(shown)
    async with app.run_test(size=(30, 12)) as pilot:
        await until(pilot, lambda: app.screen is not shown)
    shown = RestoringScreen("Putting files back", stop, typed.append, glyphs=ASCII)
    app = Stage(shown)
    async with app.run_test(size=(30, 12)) as pilot:
        shown.note(3, 4_000)
        await until(pilot, lambda: "3 of 4,000 files" in screen_text(pilot))
        await pilot.press("h", "space", "i", "escape")
        assert typed == ["h", " ", "i"]
        await until(pilot, lambda: "stopping" in screen_text(pilot) and stop.is_set())
        shown.end()
        await until(pilot, lambda: app.screen is not shown)


async def test_a_restore_that_was_cut_off_names_what_is_done_and_keeps_its_answers_in_sight() -> None:
    paths = [f"src/part_{n}.py" for n in range(40)]
    assert named(paths) == f"40 files ({', '.join(paths[:6])} and 34 more)" and named([]) == "nothing"
    app = Stage(UnfinishedDialog("checkpoint 3", paths, paths[:1], paths[1:2]))
    async with app.run_test(size=(30, 12)) as pilot:
        await listening(pilot, UnfinishedDialog)
        text = screen_text(pilot)
        assert "complete it" in text and "take it back" in text and "later" in text
