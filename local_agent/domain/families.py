"""Sessions and their forks: which of a list stand together."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from local_agent.domain.sessions import SessionInfo


def families(listed: Sequence[SessionInfo]) -> list[SessionInfo]:
    """The same sessions, each fork below the one that it is a fork of, where both are listed.

    A family stands where its first one was listed; who belongs to no other one keeps the order.
    """
    by_id = {session.id: session for session in listed}
    forks: dict[int, list[SessionInfo]] = {}
    for session in listed:
        if session.parent_session in by_id:
            forks.setdefault(session.parent_session, []).append(session)
    ordered: dict[int, SessionInfo] = {}
    for session in listed:
        if session.id not in ordered:
            ordered.update((each.id, each) for each in _below(_founder(session, by_id), forks))
    return list(ordered.values())


def _founder(session: SessionInfo, by_id: dict[int, SessionInfo]) -> SessionInfo:
    seen = {session.id}
    while session.parent_session in by_id and session.parent_session not in seen:
        session = by_id[session.parent_session]
        seen.add(session.id)
    return session


def _below(founder: SessionInfo, forks: dict[int, list[SessionInfo]]) -> Iterator[SessionInfo]:
    waiting, seen = [founder], set[int]()
    while waiting:
        session = waiting.pop()
        if session.id not in seen:
            seen.add(session.id)
            yield session
            waiting += reversed(forks.get(session.id, ()))
