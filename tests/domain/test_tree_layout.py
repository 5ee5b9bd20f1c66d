"""The layout of any tree: nothing is lost, the way to the head is straight, only branches are indented."""

from __future__ import annotations

from time import process_time

from hypothesis import given, settings
from hypothesis import strategies as st

from local_agent.domain.branches import TreeNode
from local_agent.domain.checkpoints import Checkpoint, CheckpointKind
from local_agent.domain.entries import Kind
from local_agent.domain.marks import Mark
from local_agent.domain.tree_layout import branch_count, labels_by_node, layout, marks_on_path, place_of


def node(entry_id: int, parent: int | None, text: str = "", kind: Kind = Kind.QUESTION) -> TreeNode:
    """A turn of two entries, or a marker."""
    last = entry_id + 1 if kind is Kind.QUESTION else entry_id
    return TreeNode(entry_id, parent, last, kind, text, "2026-01-01T00:00:00.000Z")


@st.composite
def trees(draw: st.DrawFn) -> tuple[list[TreeNode], int | None]:
    """Nodes with any parents before them, and any head; a parent may be unknown."""
    nodes: list[TreeNode] = []
    for place in range(draw(st.integers(0, 40))):
        above = (
            draw(st.integers(max(-1, place - draw(st.sampled_from([1, 1, 2, 40]))), place - 1))
            if place
            else -1
        )
        parent = nodes[above].entry_id if above >= 0 else draw(st.sampled_from([None, 999_999]))
        nodes.append(node(10 * (place + 1), parent))
    head = draw(st.sampled_from([None, *(each.last for each in nodes), 5]))
    return nodes, head


@settings(max_examples=100, deadline=None)
@given(trees())
def test_every_tree_is_shown_whole_and_straight(tree: tuple[list[TreeNode], int | None]) -> None:
    nodes, head = tree
    rows = layout(nodes, head)
    assert sorted(row.node.entry_id for row in rows) == [each.entry_id for each in nodes]
    row_of = {row.node.entry_id: place for place, row in enumerate(rows)}
    followers: dict[int | None, list[int]] = {}
    for each in nodes:
        followers.setdefault(each.parent if each.parent in row_of else None, []).append(row_of[each.entry_id])

    for place, row in enumerate(rows):
        above = row_of.get(row.node.parent) if row.node.parent is not None else None
        depth = rows[above].depth if above is not None else 0
        assert above is None or above < place
        assert row.depth == depth + row.opens
        assert row.ends is (row.node.entry_id not in followers)
        alone = len(followers[row.node.parent if above is not None else None]) == 1
        if alone:
            assert not row.opens and place == (above + 1 if above is not None else 0)
        # One of those that follow goes straight on, the others open branches before it.
    for places in followers.values():
        opening = [rows[place].opens for place in sorted(places)]
        assert opening == [True] * (len(places) - 1) + [False]

    expected = set()
    at = next((each for each in nodes if each.last == head), None)
    while at is not None:
        expected.add(at.entry_id)
        at = next((each for each in nodes if each.entry_id == at.parent), None)
    assert {row.node.entry_id for row in rows if row.on_path} == expected
    assert all(row.depth == 0 for row in rows if row.on_path)
    assert [row.node.last for row in rows if row.at_head] == ([head] if expected else [])
    assert branch_count(rows) == sum(row.ends for row in rows)


def test_what_was_written_last_goes_straight_on_where_the_head_does_not() -> None:
    nodes = [node(10, None), node(20, 10), node(30, 10), node(40, 20)]
    shown = [(row.node.entry_id, row.depth) for row in layout(nodes, 11)]
    assert shown == [(10, 0), (30, 1), (20, 0), (40, 0)]


def test_ten_thousand_turns_in_a_row_are_one_column_at_once() -> None:
    nodes = [node(10 * place, 10 * (place - 1) or None) for place in range(1, 10_001)]
    started = process_time()
    rows = layout(nodes, nodes[-1].last)
    assert process_time() - started < 1
    assert {row.depth for row in rows} == {0}


def test_marks_and_checkpoints_stand_at_the_turn_they_are_of() -> None:
    nodes = [
        node(10, None),
        node(20, 10, "drop 10", Kind.MARKER),
        node(30, 20, "pin 10", Kind.MARKER),
        node(40, 20),
    ]
    assert marks_on_path(layout(nodes, 41)) == {10: Mark.DROP}
    assert marks_on_path(layout(nodes, 30)) == {10: Mark.PIN}
    assert place_of(nodes, 11) == 0
    assert place_of(nodes, 15) is None

    def checkpoint(number: int, entry_id: int | None, label: str) -> Checkpoint:
        return Checkpoint(number, 1, entry_id, 0, label, CheckpointKind.MANUAL, 1, "")

    made = [checkpoint(9, 41, ""), checkpoint(4, 41, "green\nagain"), checkpoint(2, None, "start")]
    assert labels_by_node(nodes, made) == {40: ["4 green again", "9"]}
