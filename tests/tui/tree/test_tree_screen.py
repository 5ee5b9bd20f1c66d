"""The tree alone on a stage: many turns, many branches, narrow terminals, damaged text."""

from __future__ import annotations

from time import perf_counter

import pytest
from rich.cells import cell_len

from local_agent.domain.branches import TreeNode
from local_agent.domain.entries import Kind, TurnStatus
from local_agent.domain.errors import StoreError
from local_agent.tui.look.glyphs import ASCII
from local_agent.tui.screens.tree import TreeChoice, TreeScreen, TreeWish
from tests.tui.pilots import screen_text, until
from tests.tui.stage import Stage
from tests.tui.tree.shown import Given, turn


async def test_ten_thousand_turns_are_there_at_once_and_the_pointer_is_where_the_head_is() -> None:
    nodes = [turn(10 * n, 10 * (n - 1) or None, f"question {n}") for n in range(1, 10_001)]
    screen = TreeScreen(Given(nodes, nodes[-1].last))
    app = Stage(screen)
    started = perf_counter()
    async with app.run_test(size=(30, 12)) as pilot:
        await until(pilot, lambda: screen.selected is not None)
        assert perf_counter() - started < 5
        assert screen.selected is not None and screen.selected.at_head
        await until(pilot, lambda: "question 10000" in screen_text(pilot))
        await pilot.press("home")
        await until(pilot, lambda: "question 1\n" in screen_text(pilot).replace(" \n", "\n"))
        await pilot.press("h", "left", "f")
        await until(pilot, lambda: app.given)
    assert app.given == [TreeChoice(TreeWish.FORK, nodes[-2])]


@pytest.mark.parametrize("size", [(120, 36), (40, 20), (30, 12)])
async def test_five_hundred_branches_within_branches_stay_within_the_screen(size: tuple[int, int]) -> None:
    nodes = [turn(10, None, "the first")]
    for n in range(2, 502):
        # Each has two followers in the end, of which the other one is newer: no tree is deeper.
        nodes.append(turn(10 * n, 10 * (n - 1), f"q{n}"))
    nodes += [turn(10 * n, 10 * (1002 - n), f"other {n}") for n in range(502, 1001)]
    screen = TreeScreen(Given(nodes, 11))
    app = Stage(screen)
    async with app.run_test(size=size) as pilot:
        await until(pilot, lambda: screen.selected is not None)
        assert max(row.depth for row in screen.rows) > 400
        deepest = max(range(len(screen.rows)), key=lambda place: screen.rows[place].depth)
        screen.row_list.highlighted = deepest
        words = screen.rows[deepest].node.text
        await until(pilot, lambda: words in screen_text(pilot))
        assert all(cell_len(line) <= size[0] for line in screen_text(pilot).split("\n"))


async def test_what_can_not_be_read_is_drawn_as_that_and_markup_as_it_is() -> None:
    nodes = [
        turn(10, None, ""),
        turn(20, 10, "[red]not markup[/red] \x1b[31mnor this"),
        TreeNode(30, 20, 30, Kind.MARKER, "drop 10", ""),
        TreeNode(40, 30, 40, Kind.MARKER, "drop " + "9" * 5_000, ""),
        TreeNode(50, 40, 50, Kind.SUMMARY, "All was well.", ""),
        TreeNode(60, 50, 61, Kind.COMMAND, "git status", "", TurnStatus.FAILED),
    ]
    screen = TreeScreen(Given(nodes, None), glyphs=ASCII)
    app = Stage(screen)
    async with app.run_test(size=(80, 24)) as pilot:
        await until(pilot, lambda: screen.selected is not None)
        shown = screen_text(pilot)
        assert "(nothing that can be read)" in shown
        assert "[red]not markup[/red]" in shown
        assert "left out of requests" in shown
        assert "summary: All was well." in shown
        assert "x !git status" in shown
        assert screen.selected is not None and screen.selected.node.entry_id == 60
        await pilot.press("e")  # a command is no question
        await pilot.press("escape")
        await until(pilot, lambda: app.given)
    assert app.given == [None]


async def test_an_empty_tree_and_one_that_can_not_be_read_say_so() -> None:
    for source, words in (
        (Given((), None), "There is no turn yet: ask something first."),
        (Given((), None, StoreError("The disk is gone.", "Plug it in.")), "The disk is gone. Plug it in."),
    ):
        screen = TreeScreen(source)
        app = Stage(screen)
        async with app.run_test(size=(80, 24)) as pilot:
            await until(pilot, lambda words=words, pilot=pilot: words in screen_text(pilot))
            await pilot.press("enter", "f", "e", "escape")
            await until(pilot, lambda app=app: app.given)
        assert app.given == [None]
