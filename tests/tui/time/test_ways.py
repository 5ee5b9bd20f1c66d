"""What is typed behind ``/restore``, ``/undo`` and ``/redo``: one number as it is shown, one way, no more."""

from __future__ import annotations

import pytest

from local_agent.domain.errors import UsageError
from local_agent.domain.moves import Scope
from local_agent.tui.commands.time import LARGEST_ID, checkpoint_id, only_way, read_way


@pytest.mark.parametrize(
    "word",
    ["0", "-1", "+1", "01", "1.0", "1e3", "1_000", "٣", "²", "12a", "", " ", "#12", "0x1f", "a1b2c3d", "١٢"],
)
def test_a_number_is_written_as_it_is_shown(word: str) -> None:
    with pytest.raises(UsageError, match=r"/checkpoints shows them\. Usage: /restore ID"):
        checkpoint_id(word)


@pytest.mark.parametrize("word", [str(LARGEST_ID + 1), "9" * 20, "9" * 5000])
def test_a_number_that_no_checkpoint_can_have_is_no_failure_of_the_program(word: str) -> None:
    with pytest.raises(UsageError, match="has no checkpoint 9") as raised:
        checkpoint_id(word)
    assert len(str(raised.value)) < 120


def test_one_way_at_most() -> None:
    assert read_way(["12", "--both"], "") == (["12"], Scope.BOTH)
    assert read_way(["--files", "12"], "") == (["12"], Scope.FILES)
    assert only_way(["--conversation"], "undo") is Scope.CONVERSATION
    assert only_way([], "redo") is None
    for words, says in (
        (["--all"], "There is no --all here. Usage: /undo"),
        (["--files", "--both"], "--files and --both: one of them. Usage: /undo"),
        (["3"], "/undo goes by one step; '3' is too much. Usage: /undo"),
    ):
        with pytest.raises(UsageError) as raised:
            only_way(words, "undo")
        assert str(raised.value).startswith(says)
