"""Finds exchanges by the words that they say, in a folder's sessions or in all of them."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Iterator, Sequence
from functools import cached_property
from itertools import islice
from typing import Any, NamedTuple

from sqlalchemy.orm import Session

from local_agent.domain.entries import Entry, Kind
from local_agent.domain.searching import Exchange, Passage, SearchPage, SoughtWord, WordQuery
from local_agent.store import entries, sessions
from local_agent.store.batches import BATCH, MARKS, rows_of
from local_agent.store.entries import Node
from local_agent.store.models import SessionRow

NEWEST = 5
"""How many sessions are named where nothing was found."""
SHOWN_LENGTH = 2_000
"""Characters of a question or an answer."""
_LOOKED_AT = 200
"""Entries of one word that are looked at, newest first, where none has all of the words."""
_RAREST = 8
_ASKED = (Kind.QUESTION, Kind.COMMAND)
_SAID = (*_ASKED, Kind.ASSISTANT)

_MATCHES = "SELECT rowid FROM entry_terms WHERE entry_terms MATCH ? ORDER BY rowid DESC"
_COUNT = "SELECT doc FROM entry_term_counts WHERE term = ?"
_PLACES = f"""
    SELECT e.id, e.parent, e.kind, e.turn_id, e.session_id, s.trashed FROM entries AS e
    JOIN sessions AS s ON s.id = e.session_id WHERE e.id IN ({MARKS}) ORDER BY e.id DESC
"""
_OF_TURN = "SELECT id, parent, kind, turn_id FROM entries WHERE turn_id = ? AND kind <> 'result' ORDER BY id"
_FORKS = """
    WITH RECURSIVE forks (id) AS (
        SELECT id FROM sessions WHERE parent_session = ?
        UNION SELECT s.id FROM sessions AS s JOIN forks ON s.parent_session = forks.id
    )
    SELECT s.id, s.fork_entry FROM sessions AS s JOIN forks USING (id) WHERE NOT s.trashed ORDER BY s.id
"""


class _Place(NamedTuple):
    """An entry that may be shown, and the session that it is shown in."""

    node: Node
    session_id: int

    @property
    def exchange(self) -> int:
        """What entries of one turn have in common."""
        return -self.node.id if self.node.turn_id is None else self.node.turn_id


def search(
    db: Session, typed: str, root: str | None, limit: int = 20, leave_out: Collection[int] = ()
) -> SearchPage:
    """At most ``limit`` exchanges, newest first among those that say as many of the words.

    ``root`` None is every folder. Neither sessions in the trash nor entries of ``leave_out`` are found.
    """
    query = WordQuery.of(typed)
    look = _Look(db, query, root, frozenset(leave_out))
    passages, partly = [], False
    if query.words:
        passages = list(islice(look.with_all(), limit))
        if not passages and len(query.words) > 1:
            passages, partly = look.with_most(limit), True
    newest: tuple[tuple[str, str], ...] = ()
    if not passages:
        newest = tuple((each.handle, each.title) for each in sessions.page(db, root, "", NEWEST, None))
    return SearchPage(tuple(passages), query.dropped, partly and bool(passages), newest)


def exchange(db: Session, entry_id: int, root: str) -> Exchange | None:
    """The exchange of an entry that a search in the folder could find; None for any other."""
    places = rows_of(db, _PLACES, [entry_id])
    look = _Look(db, WordQuery(()), root, frozenset())
    for place in look.seen(places):
        passage = look.around(place)
        question = next((entry for entry in passage if entry.kind in _ASKED), None)
        return Exchange(question.text if question is not None else "", _answer(passage))
    return None


class _Look:
    """One search."""

    def __init__(self, db: Session, query: WordQuery, root: str | None, leave_out: frozenset[int]) -> None:
        self._db = db
        self._query = query
        self._leave_out = leave_out
        workspace = sessions.workspace(db, root) if root is not None else None
        self._nowhere = root is not None and workspace is None
        self._workspace_id = workspace.id if workspace is not None else None
        self._forked: dict[int, list[tuple[int, frozenset[int]]]] = {}

    def with_all(self) -> Iterator[Passage]:
        """Exchanges with an entry that says every word: first where they stand by themselves."""
        seen: set[int] = set()
        words = self._query.words
        exact = " AND ".join(_all_of(word.exact) for word in words)
        inside = " AND ".join(_all_of(word.inside or word.exact) for word in words)
        for expression in dict.fromkeys((exact, inside)):
            for place in self._places(expression):
                if place.exchange in seen:
                    continue
                passage = self._passage(place, words)
                if passage is not None:
                    seen.add(place.exchange)
                    yield passage

    def with_most(self, limit: int) -> list[Passage]:
        """Exchanges that say the most of the words together, a rare word counting more than a common one."""
        by_rarity = sorted(
            ((self._count(word), word) for word in self._query.words), key=lambda each: each[0]
        )
        total = self._db.connection().exec_driver_sql("SELECT max(id) FROM entries").scalar() or 1
        scores: dict[int, float] = {}
        places: dict[int, _Place] = {}
        for count, word in by_rarity[:_RAREST]:
            terms = word.exact if count else word.inside
            if not terms:
                continue
            said: set[int] = set()
            for place in islice(self._places(_all_of(terms)), _LOOKED_AT):
                places.setdefault(place.exchange, place)
                if place.exchange not in said:
                    said.add(place.exchange)
                    weight = math.log(1 + total / max(1, count))
                    scores[place.exchange] = scores.get(place.exchange, 0) + weight
        if not scores:
            return []
        enough = max(scores.values()) / 2
        best = sorted(scores, key=lambda each: (scores[each], places[each].node.id), reverse=True)
        found = (self._passage(places[each], ()) for each in best if scores[each] >= enough)
        return list(islice((each for each in found if each is not None), limit))

    def _count(self, word: SoughtWord) -> int:
        counts = [self._db.connection().exec_driver_sql(_COUNT, (term,)).scalar() or 0 for term in word.exact]
        return min(counts)

    def _places(self, expression: str) -> Iterator[_Place]:
        """What matches and may be seen, newest first."""
        if self._nowhere:
            return
        matches = self._db.connection().exec_driver_sql(_MATCHES, (expression,))
        while ids := [row[0] for row in matches.fetchmany(BATCH)]:
            yield from self.seen(rows_of(self._db, _PLACES, ids))

    def seen(self, rows: Iterable[Sequence[Any]]) -> Iterator[_Place]:
        """Those of the rows of ``_PLACES`` that may be seen here."""
        for *node, session_id, trashed in rows:
            place = _Place(entries.node_of(*node), session_id)
            visible = self._sessions is None or session_id in self._sessions
            if place.node.id in self._leave_out or not visible or place.node.kind not in _SAID:
                continue
            shown_in = self._fork_with(place) if trashed else session_id
            if shown_in is not None:
                yield place._replace(session_id=shown_in)

    @cached_property
    def _sessions(self) -> frozenset[int] | None:
        """Those of the folder, in the trash or not; None for all."""
        if self._workspace_id is None:
            return None
        query = "SELECT id FROM sessions WHERE workspace_id = ?"
        rows = self._db.connection().exec_driver_sql(query, (self._workspace_id,))
        return frozenset(row[0] for row in rows)

    def _fork_with(self, place: _Place) -> int | None:
        """A session out of the trash that stands on an entry of one that is in it."""
        if place.session_id not in self._forked:
            rows = self._db.connection().exec_driver_sql(_FORKS, (place.session_id,)).all()
            self._forked[place.session_id] = [
                (fork, frozenset(node.id for node in entries.walk(self._db, start))) for fork, start in rows
            ]
        forks = self._forked[place.session_id]
        return next((fork for fork, path in forks if place.node.id in path), None)

    def around(self, place: _Place) -> list[Entry]:
        """What was asked and said in the turn of a place."""
        nodes = [place.node]
        if place.node.turn_id is not None:
            rows = self._db.connection().exec_driver_sql(_OF_TURN, (place.node.turn_id,))
            nodes = [entries.node_of(*row) for row in rows]
        return entries.read(self._db, nodes)

    def _passage(self, place: _Place, words: Sequence[SoughtWord]) -> Passage | None:
        """The exchange around a place; None when its entry does not say the words after all."""
        exchange = self.around(place)
        hit = next((entry for entry in exchange if entry.id == place.node.id), None)
        if hit is None or len(self._query.said_in(hit.text)) < len(words):
            return None
        info = self._db.get(SessionRow, place.session_id)
        if info is None:
            return None
        question = next((entry for entry in exchange if entry.kind in _ASKED), None)
        return Passage(
            session_id=info.id,
            handle=info.handle,
            title=info.title,
            workspace_root=sessions.root_of(self._db, info.workspace_id),
            entry_id=hit.id,
            kind=hit.kind,
            created_at=hit.created_at,
            question=question.text[:SHOWN_LENGTH] if question is not None else "",
            answer=_answer(exchange)[:SHOWN_LENGTH],
            snippet=self._query.snippet(hit.text),
        )


def _answer(exchange: Sequence[Entry]) -> str:
    said = [entry.text for entry in exchange if entry.kind is Kind.ASSISTANT and entry.text.strip()]
    return said[-1] if said else ""


def _all_of(terms: Sequence[str]) -> str:
    """An expression of FTS5; a term may hold a quotation mark no more than a blank."""
    return "(" + " AND ".join(f'"{term}"' for term in terms) + ")"
