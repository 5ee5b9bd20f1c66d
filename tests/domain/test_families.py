"""Forks stand below what they are forks of, and nobody is lost."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from local_agent.domain.families import families
from local_agent.domain.sessions import SessionInfo


def session(key: int, parent: int | None) -> SessionInfo:
    return SessionInfo(
        id=key, handle=f"h{key}", title="", title_source="task", workspace_id=1, workspace_root="/w",
        head=None, mode="NORMAL", backend="ollama", host="", model="", model_pinned=False,
        headless=False, trashed=False,
        parent_session=parent, fork_entry=None, created_at="", last_activity="", last_entry=key, turn_count=1,
        error_count=0,
    )  # fmt: skip


def test_a_family_stands_where_its_newest_is() -> None:
    listed = [session(9, 3), session(8, None), session(6, 3), session(5, 99), session(3, None), session(2, 6)]
    assert [each.id for each in families(listed)] == [3, 9, 6, 2, 8, 5]


@settings(max_examples=100, deadline=None)
@given(st.lists(st.one_of(st.none(), st.integers(0, 12)), max_size=12))
def test_nobody_is_lost_whatever_is_written_of_parents(parents: list[int | None]) -> None:
    """Also in a circle, as a damaged file may have it."""
    listed = [session(key, parent) for key, parent in enumerate(parents)]
    ordered = families(listed)
    assert sorted(each.id for each in ordered) == [each.id for each in listed]
    place = {each.id: at for at, each in enumerate(ordered)}
    for each in listed:
        if each.parent_session is not None and each.parent_session < each.id:
            straight = all(p is None or p < key for key, p in enumerate(parents))
            assert not straight or place[each.parent_session] < place[each.id]
