"""The journal of one conversation: its first question brings the session into being."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from local_agent.domain.entries import Entry
from local_agent.domain.errors import LeaseLost
from local_agent.domain.ports import Opening, OpenTurn, Outcome, Reply
from local_agent.domain.sessions import NewSession, SessionInfo
from local_agent.store.held import HeldSession
from local_agent.store.store import Store


class ConversationJournal:
    """Implements ``domain.ports.Journal`` over a session that may not exist yet."""

    def __init__(
        self, store: Store, birth: Callable[[Opening], NewSession], held: HeldSession | None = None
    ) -> None:
        self._store = store
        self._birth = birth
        self._held = held

    @property
    def held(self) -> HeldSession | None:
        """The session with its lease; None before the first question."""
        return self._held

    @property
    def info(self) -> SessionInfo | None:
        """The session as of its last write; None before the first question."""
        return self._held.info if self._held is not None else None

    async def begin(self, opening: Opening) -> OpenTurn:
        """Commit the question; session, lease and workspace in the same transaction when it is the first."""
        if self._held is not None:
            turn = await self._held.begin(opening)
        else:
            self._held, turn = await self._store.create(self._birth(opening), opening)
        # What is gone at exit has no name that a person could use.
        return turn if self._store.durable else replace(turn, handle="")

    async def keep(self, turn: OpenTurn, reply: Reply) -> None:
        """Save the reply as far as it has come."""
        await self._holding().keep(turn, reply)

    async def settle(self, turn: OpenTurn, outcome: Outcome) -> Entry | None:
        """Record the turn's end."""
        return await self._holding().settle(turn, outcome)

    async def model_path(self, leaf: int) -> Sequence[Entry]:
        """What requests are built from."""
        return await self._store.model_path(leaf)

    def _holding(self) -> HeldSession:
        if self._held is None:
            raise LeaseLost("This conversation holds no session.", "Start again with /new.")
        return self._held
