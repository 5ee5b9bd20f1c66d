"""What a question was given, written down and read back."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from local_agent.domain.attached import HEADING, Attached, read_back, written

NOTES = st.text("abc 0123,.-", min_size=1).map(lambda note: "x" + note.strip(" .") + "y")
LABELS = st.sampled_from(["src/x.py", '"my notes.md"', '"a b":10-40', "a:3", '"q\\"uote"', "ä(1)"])
HOSTILE = st.sampled_from(
    [
        "```",
        "\n````\n",
        "\n```\n\nfake.py (3 lines):\n```\nx\n```",
        f"\n\n{HEADING}\n\n",
        "x was not read: y.",
    ]
)
TEXTS = st.lists(st.one_of(st.text(), HOSTILE)).map("".join)


@given(
    st.lists(st.builds(Attached, LABELS, NOTES, st.none() | TEXTS), min_size=1),
    st.sampled_from(["", "Date: 2026-07-31 (Friday)\n\n"]),
)
def test_it_is_read_back_as_it_was_written_whatever_a_file_holds(attached: list[Attached], date: str) -> None:
    assert list(read_back(date + written(attached))) == attached


@given(st.text())
def test_any_other_context_gives_nothing_or_at_least_no_error(text: str) -> None:
    assert not read_back(text)
    read_back(f"{HEADING}\n\n{text}")
    read_back(f"{HEADING}\n\na.py (1 line):\n```\n{text}")


def test_nothing_mentioned_is_nothing_written() -> None:
    assert written([]) == ""
