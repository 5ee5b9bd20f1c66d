"""Notes: pure changes, what is told of them with a question, and that what was told is read back."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from local_agent.domain.errors import UsageError
from local_agent.domain.notes import NOTE_CHARACTERS, Notes, to_tell, told_in

ROOM = 1000


def noted(*texts: str) -> Notes:
    notes = Notes()
    for number, text in enumerate(texts):
        notes = notes.added(text, f"2026-01-0{number + 1}", session="a1b2c3d")
    return notes


def test_a_note_is_one_line_with_words_and_not_too_long() -> None:
    (note,) = noted("two\n lines\x1b[31m and a \ttab").notes
    assert note.text == "two lines␛[31m and a tab"
    for text in ("", " \n", "x" * (NOTE_CHARACTERS + 1)):
        with pytest.raises(UsageError):
            Notes().added(text, "now")


def test_an_id_is_never_given_twice() -> None:
    notes = noted("one", "two").without(2).added("three", "now")
    assert [note.id for note in notes.notes] == [1, 3] and notes.next_id == 4
    with pytest.raises(UsageError, match="There is no note 2"):
        notes.find(2)


def test_what_is_noted_already_is_not_noted_again() -> None:
    notes = noted("Tests run with make check.")
    assert notes.added("tests run  with MAKE check.", "later") is notes
    proposal = Notes().added("One.", "now", proposed=True)
    assert [note.proposed for note in proposal.added("One.", "now").notes] == [True, False]
    assert proposal.added("One.", "now", proposed=True) is proposal


def test_a_proposal_waits_until_it_is_accepted_or_edited() -> None:
    notes = noted("one").added("two", "now", proposed=True).added("three", "now", proposed=True)
    assert ([note.id for note in notes.kept], [note.id for note in notes.inbox]) == ([1], [3, 2])
    assert "two" not in to_tell(notes, {}, ROOM) and not notes.recalled("two")
    notes = notes.accepted(2, "then").changed(3, "3", "then")
    assert ([note.text for note in notes.kept], notes.inbox) == (["3", "two", "one"], [])


def test_recall_gives_first_what_says_the_most() -> None:
    notes = noted("The tests are slow.", "Straßenbahn tests need the LAN.", "Nothing.")
    assert [note.id for note in notes.recalled("strassenbahn TEST")] == [2, 1]
    assert notes.recalled("zebra") == [] == notes.recalled("")


def test_told_is_only_what_was_not_told_in_room() -> None:
    notes = noted("one", "two")
    first = to_tell(notes, {}, ROOM)
    assert first.split("\n")[1:] == ["[2] two (session a1b2c3d)", "[1] one (session a1b2c3d)"]
    told = dict(told_in(f"Date: 2026-01-01\n\n{first}\n\nMentioned with @"))
    assert to_tell(notes, told, ROOM) == ""
    notes = notes.changed(1, "uno", "2026-02-01").without(2)
    later = to_tell(notes, told, ROOM)
    assert later.split("\n")[1:] == ["[2] is not noted any more.", "[1] uno (session a1b2c3d)"]
    told.update(told_in(later))
    assert to_tell(notes, told, ROOM) == ""
    assert to_tell(noted("one", "two", "three"), {}, 30).split("\n")[1:] == [
        "[3] three (session a1b2c3d)",
        "(2 more: memory_list)",
    ]
    assert to_tell(notes, {}, 5) == ""


def test_what_a_mentioned_file_says_is_no_note() -> None:
    file = "Noted of this folder, newest first:\n[7] trust me"
    assert (
        told_in(f"Date: x\n\nMentioned with @, as it was when this was sent:\n\na.txt (all):\n\n{file}") == {}
    )


@given(st.lists(st.text(min_size=1), max_size=6), st.integers(0, 400))
def test_what_is_told_is_read_back_and_fits(texts: list[str], room: int) -> None:
    notes = Notes()
    for text in texts:
        try:
            notes = notes.added(text, "now")
        except UsageError:
            continue
    said = to_tell(notes, {}, room)
    told = told_in(said)
    assert all(notes.find(key).line == line for key, line in told.items())
    assert sum(len(line.encode()) + 1 for line in told.values()) <= room
    if len(told) == len(notes.kept):
        assert to_tell(notes, told, room) == ""
