"""Hypothesis strategies for stored histories: sound ones, and ones as damaged as they can be."""

from __future__ import annotations

from hypothesis import strategies as st

from local_agent.domain.entries import PICTURES_FORGOTTEN, Entry, EntryStatus, Kind, Origin, ToolCall
from local_agent.domain.marks import Mark, mark_text
from local_agent.domain.pictures import Picture

any_text = st.one_of(
    st.text(st.characters(), max_size=12),
    st.text("ab \n\t\ud83d\ude00\ud800\udc00\x1b\u200d\u0301", max_size=8),
    st.sampled_from(["", " ", "\n\n", "word", "\ud800"]),
)
some_text = st.text("abcde\ud800é", min_size=1, max_size=8)

calls = st.lists(
    st.builds(
        ToolCall,
        id=st.sampled_from(["", "call_1", "call_2", "\udc00"]),
        name=st.sampled_from(["read", "bash", "\ud800"]),
        arguments=st.dictionaries(
            any_text,
            st.one_of(any_text, st.integers(), st.none(), st.lists(any_text, max_size=2)),
            max_size=2,
        ),
    ),
    max_size=3,
).map(tuple)


pictures = st.lists(
    st.sampled_from(["a", "b", "c"]).map(lambda letter: Picture(letter * 64, "x.png", "image/png", 9, 2, 2)),
    max_size=2,
).map(tuple)


marks = st.builds(mark_text, st.sampled_from(Mark), st.integers(1, 16))


@st.composite
def damaged_paths(draw: st.DrawFn) -> list[Entry]:
    """Any entries in any order: nothing that the builder may be handed is left out."""
    count = draw(st.integers(0, 12))
    entry = st.builds(
        Entry,
        id=st.integers(1, 15),
        session_id=st.just(1),
        turn_id=st.none(),
        parent=st.one_of(st.none(), st.integers(1, 15)),
        kind=st.sampled_from(Kind),
        origin=st.sampled_from(Origin),
        text=st.one_of(any_text, st.just(PICTURES_FORGOTTEN), marks),
        context=any_text,
        thinking=any_text,
        status=st.sampled_from(EntryStatus),
        calls=calls,
        call_number=st.one_of(st.none(), st.integers(-1, 4)),
        kept_from=st.one_of(st.none(), st.integers(0, 16)),
        pictures=pictures,
        readable=st.booleans(),
    )
    return draw(st.lists(entry, min_size=count, max_size=count))


@st.composite
def growing_paths(draw: st.DrawFn) -> list[list[Entry]]:
    """The path of each request of a session whose turns settle, are interrupted or fail, in order.

    Entries are only added at the end, as the store does it; every turn that has an answer counts.
    """
    path: list[Entry] = []
    requests: list[list[Entry]] = []
    for _ in range(draw(st.integers(1, 5))):
        for _ in range(draw(st.integers(0, 2))):
            command = add(path, Kind.COMMAND, "make", calls=(ToolCall("c", "bash", {"command": "make"}),))
            add(path, Kind.RESULT, draw(any_text), parent=command.id, call_number=0)
        add(
            path,
            Kind.QUESTION,
            draw(some_text),
            context=draw(st.sampled_from(["", "Date: today"])),
            pictures=draw(pictures),
        )
        requests.append(list(path))
        while asked := draw(calls):
            answer = add(path, Kind.ASSISTANT, draw(any_text), calls=asked)
            for number in draw(st.permutations(range(len(asked)))):
                add(path, Kind.RESULT, draw(any_text), parent=answer.id, call_number=number)
            requests.append(list(path))
        status = draw(st.sampled_from([EntryStatus.SETTLED, EntryStatus.INTERRUPTED]))
        add(path, Kind.ASSISTANT, draw(some_text), status=status)
        if draw(st.booleans()):
            add(path, Kind.MARKER, "")
    return requests


def add(
    path: list[Entry],
    kind: Kind,
    text: str,
    *,
    context: str = "",
    calls: tuple[ToolCall, ...] = (),
    status: EntryStatus = EntryStatus.SETTLED,
    parent: int | None = None,
    call_number: int | None = None,
    kept_from: int | None = None,
    readable: bool = True,
    thinking: str = "",
    pictures: tuple[Picture, ...] = (),
) -> Entry:
    """Append one entry to a path, as a child of the newest node unless ``parent`` is given."""
    nodes = [entry.id for entry in path if entry.kind is not Kind.RESULT]
    entry = Entry(
        id=len(path) + 1,
        session_id=1,
        turn_id=None,
        parent=parent if parent is not None else (nodes[-1] if nodes else None),
        kind=kind,
        origin=Origin.PERSON if kind in (Kind.QUESTION, Kind.COMMAND) else Origin.MODEL,
        text=text,
        context=context,
        thinking=thinking,
        status=status,
        calls=calls,
        call_number=call_number,
        kept_from=kept_from,
        pictures=pictures,
        readable=readable,
    )
    path.append(entry)
    return entry
