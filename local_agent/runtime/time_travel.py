"""Where one conversation can go: to checkpoints, to other branches, back by a step and forth again.

Every way is looked at first and gone afterwards: a ``Journey`` has changed nothing, and is void once
something else has moved the head.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from local_agent.domain.branches import TreeNode
from local_agent.domain.checkpoints import LABEL_LENGTH, Checkpoint
from local_agent.domain.drafts import Prompt
from local_agent.domain.entries import Entry, Kind, Slice
from local_agent.domain.errors import UsageError
from local_agent.domain.ledger import Execution
from local_agent.domain.marks import Mark, mark_text
from local_agent.domain.moves import Cause, Landing, Scope
from local_agent.domain.own_command import as_typed
from local_agent.domain.restoring import FilePlan, RestoreIntent, Standing
from local_agent.domain.sessions import SessionInfo
from local_agent.domain.text import one_line
from local_agent.domain.titles import cut
from local_agent.runtime.asking import Asking
from local_agent.runtime.journal import ConversationJournal
from local_agent.store.store import Store

if TYPE_CHECKING:
    from local_agent.runtime.restoring import Restoring, Unfinished

ASK_FIRST = "Ask something first."


@dataclass(frozen=True, slots=True)
class Journey:
    """A way that can be gone, and what it would do to files. Looking at it has changed nothing."""

    landing: Landing
    files: FilePlan

    @property
    def files_known(self) -> bool:
        """False for a place that was written before the program noted what files held."""
        return self.landing.ledger_number is not None

    @property
    def asks(self) -> bool:
        """Whether a person has to choose what goes there."""
        return self.files.changes_anything


@dataclass(frozen=True, slots=True)
class Arrival:
    """A way that was gone."""

    head: int | None
    """The last entry of the path now."""
    line: str
    """What happened, for the person, with the way back."""
    question: Prompt | None = None
    """What an undone turn was asked, for the composer."""
    files: Execution | None = None
    """The restore of files, ended; its receipt says what came of it."""
    checkpoint_id: int | None = None
    """Of the checkpoint that was made first."""


class TimeTravel:
    """Every method raises ``UsageError`` where there is nothing to go to and ``StoreError`` where it can't be
    written; ``LocalAgentError`` while a turn runs.
    """

    def __init__(
        self,
        store: Store,
        journal: ConversationJournal,
        asking: Asking,
        restoring: Restoring,
        info: Callable[[], SessionInfo | None],
    ) -> None:
        self._store = store
        self._journal = journal
        self._asking = asking
        self._restoring = restoring
        self._info = info
        """The session, also one that is only read."""

    async def checkpoint(self, label: str = "") -> Checkpoint:
        """Name where the conversation stands now; costs one row."""
        self._asking.require_idle()
        self._session_id()
        return await (await self._journal.saved()).make_checkpoint(cut(one_line(label), LABEL_LENGTH))

    async def checkpoints(self, before: int | None = None, limit: int = 100) -> Sequence[Checkpoint]:
        """A page of the session's, newest first; ``before`` is the id that the page before ended with."""
        info = self._info()
        return await self._store.checkpoints(info.id, before, limit) if info is not None else ()

    async def leading_to(self, entry_id: int, count: int) -> Slice:
        """The last ``count`` entries of the path to one of any branch."""
        return await self._store.tail(self._session_id(), count, leaf=entry_id)

    async def files_since(self, checkpoint: Checkpoint) -> FilePlan:
        """What putting the files back to a checkpoint would do."""
        return await self._files(checkpoint.session_id, checkpoint.ledger_number)

    async def undo(self) -> Journey:
        """Back by the newest step that is not undone."""
        return await self._look(await self._store.undo_landing(self._session_id()))

    async def redo(self) -> Journey:
        """Forth by the step that was undone last."""
        return await self._look(await self._store.redo_landing(self._session_id()))

    async def to_checkpoint(self, checkpoint_id: int) -> Journey:
        """To a checkpoint of this session."""
        return await self._look(await self._store.checkpoint_landing(self._session_id(), checkpoint_id))

    async def to_entry(self, entry_id: int, cause: Cause = Cause.SWITCH) -> Journey:
        """To an entry of this session's tree."""
        return await self._look(await self._store.entry_landing(self._session_id(), entry_id, cause))

    async def go(
        self,
        journey: Journey,
        scope: Scope,
        on_progress: Callable[[int, int], None] | None = None,
        stop: asyncio.Event | None = None,
    ) -> Arrival:
        """Go there with the conversation, the files, or both. The files that a plan names are put back, each
        whole or not at all; ``on_progress`` hears how many of how many are done.
        """
        self._asking.require_idle()
        if scope.moves_files and not journey.files_known:
            raise UsageError(
                "It was not noted yet what files held then: an earlier version wrote that part.",
                "Only the conversation can go there.",
            )
        steps = journey.files.steps if scope.moves_files else ()
        intent = RestoreIntent(journey.landing.what, steps) if steps else None
        held = await self._journal.saved()
        travelled = await held.travel(journey.landing, scope, intent)
        self._asking.moved(travelled.head)
        files = None
        if travelled.execution_id:
            execution = await self._store.execution(travelled.execution_id)
            assert execution is not None  # it was written a moment ago
            files = await self._restoring.run(execution, on_progress, stop)
        question = journey.landing.question if scope.moves_head else None
        return Arrival(
            head=travelled.head,
            line=_line(journey, scope, files),
            question=_typed(question) if question is not None else None,
            files=files,
            checkpoint_id=travelled.checkpoint_id,
        )

    async def tree(self) -> Sequence[TreeNode]:
        """All branches of the session, and what it inherited, oldest first."""
        info = self._info()
        return await self._store.tree(info.id) if info is not None else ()

    async def question(self, entry_id: int) -> Entry:
        """A question of any branch, to be asked otherwise; see ``Conversation.ask``."""
        part = await self._store.tail(self._session_id(), 1, leaf=entry_id)
        found = next((entry for entry in part.entries if entry.id == entry_id), None)
        if found is None or found.kind is not Kind.QUESTION or not found.readable:
            raise UsageError("This is no question that can be asked again.", "Choose one: /tree")
        return found

    async def mark(self, mark: Mark, entry_id: int) -> None:
        """Keep an exchange in requests, leave it (or one result) out of them, or neither."""
        self._asking.require_idle()
        head = self._asking.head
        if head is None:
            raise UsageError("There is nothing to mark yet.", ASK_FIRST)
        # Raises for an entry that the session does not know.
        await self._store.entry_landing(self._session_id(), entry_id, Cause.SWITCH)
        self._asking.moved(await self._journal.mark(head, mark_text(mark, entry_id)))

    async def unfinished(self) -> Unfinished | None:
        """A restore that was cut off, and how far it came; None when there is none."""
        info = self._info()
        return await self._restoring.unfinished(info.id) if info is not None else None

    async def complete(
        self, unfinished: Unfinished, on_progress: Callable[[int, int], None] | None = None
    ) -> Execution:
        """Do the rest of a restore that was cut off."""
        self._asking.require_idle()
        return await self._restoring.complete(unfinished, on_progress)

    async def take_back(
        self, unfinished: Unfinished, on_progress: Callable[[int, int], None] | None = None
    ) -> Execution:
        """Take back what a restore that was cut off has done, with its move of the head."""
        self._asking.require_idle()
        execution = await self._restoring.take_back(unfinished, on_progress)
        self._asking.moved(await self._store.head(self._session_id()))
        return execution

    async def _look(self, landing: Landing) -> Journey:
        self._asking.require_idle()
        number = landing.ledger_number
        return Journey(
            landing, FilePlan() if number is None else await self._files(self._session_id(), number)
        )

    async def _files(self, session_id: int, ledger_number: int) -> FilePlan:
        changes = await self._store.changes_since(session_id, ledger_number)
        return await self._restoring.plan(changes) if changes else FilePlan()

    def _session_id(self) -> int:
        info = self._info()
        if info is None:
            raise UsageError("There is no conversation yet.", ASK_FIRST)
        return info.id


_WORDS = {
    Standing.LOST: "left (what it held then is not kept)",
    Standing.BARRED: "left (not reachable)",
}
_DONE = {Cause.UNDO: "Undone:", Cause.REDO: "Done again:", Cause.RESTORE: "Back at", Cause.SWITCH: "Now at"}


def _typed(question: Entry) -> Prompt:
    text = as_typed(question.text) if question.kind is Kind.COMMAND else question.text
    return Prompt(text, question.pictures)


def _line(journey: Journey, scope: Scope, files: Execution | None) -> str:
    landing = journey.landing
    parts = [f"{_DONE.get(landing.cause, 'Moved to')} {landing.what}."]
    if scope is Scope.FILES:
        parts = [f"Files are put back to {landing.what}."]
    if scope.moves_files:
        done = files.receipt.summary if files is not None and files.receipt is not None else ""
        said = [words for words in (done, *_stays(journey.files)) if words]
        parts.append(f"Files: {', '.join(said)}." if said else "No file had to be changed.")
    if scope is Scope.CONVERSATION and journey.asks:
        parts.append("The files stay as they are.")
    if landing.redoable and landing.cause is not Cause.REDO:
        parts.append("What could be done again is in /tree.")
    parts.append("/redo does it again." if landing.cause is Cause.UNDO else "/undo takes it back.")
    return " ".join(parts)


def _stays(plan: FilePlan) -> list[str]:
    """What was never touched, and why."""
    kept = Counter(path.note for path in plan.of(Standing.CONFLICT))
    parts = [f"{count:,} kept ({why})" for why, count in kept.items()]
    return parts + [f"{len(found):,} {words}" for each, words in _WORDS.items() if (found := plan.of(each))]
