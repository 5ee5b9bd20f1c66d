"""Files of one conversation put back to an earlier moment: planned, carried out, and settled after a kill."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Coroutine, Sequence
from dataclasses import dataclass

from local_agent.domain.errors import LeaseLost, LocalAgentError, StoreError
from local_agent.domain.ledger import EventKind, Execution, Receipt
from local_agent.domain.restoring import (
    FilePlan,
    FileStep,
    Reached,
    RestoreIntent,
    change_of,
    intent_of,
    reversed_step,
)
from local_agent.domain.tools import FileChange, ResultStatus
from local_agent.runtime.journal import ConversationJournal
from local_agent.store.store import Store
from local_agent.tools.folder import Folder
from local_agent.tools.restoring.apply import CHANGED
from local_agent.tools.restoring.plan import planned, progress
from local_agent.tools.restoring.run import Ended, Outcome, clear_scratch, listed, put_back, summary_of

_STATUS = {
    EventKind.COMPLETED: ResultStatus.OK,
    EventKind.FAILED: ResultStatus.FAILED,
    EventKind.CANCELLED: ResultStatus.CANCELLED,
}
_LOST = "What this restore was to do can't be read any more."
_LOOK_SECONDS = 0.2
"""How soon is seen that another process has taken the session over."""


@dataclass(frozen=True, slots=True)
class Unfinished:
    """A restore that was cut off, and what its paths held when they were looked at. Every file is whole."""

    execution: Execution
    what: str
    """What it went to, one line."""
    done: tuple[FileStep, ...] = ()
    left: tuple[FileStep, ...] = ()
    conflicts: tuple[FileStep, ...] = ()
    """Somebody else has changed these since, or they can't be looked at: they stay, whatever is chosen."""

    @property
    def line(self) -> str:
        """Why nothing that changes files is done before it is settled."""
        total = len(self.done) + len(self.left) + len(self.conflicts)
        return f"Putting files back was cut off: {len(self.done)} of {total} paths are done."


UNFINISHED_HINT = "Complete it or take it back: /restore. Until then PLAN mode works."


def unfinished_line(unfinished: Unfinished) -> LocalAgentError:
    """Why a turn with effects can't begin, and the way out."""
    return LocalAgentError(unfinished.line, UNFINISHED_HINT)


Progress = Callable[[int, int], None]
"""Hears how many of how many paths are over."""


class Restoring:
    """Reads and writes files off the event loop. What a restore does is written down before and after."""

    def __init__(self, store: Store, journal: ConversationJournal, folder: Folder) -> None:
        self._store = store
        self._journal = journal
        self._folder = folder

    async def plan(self, changes: Sequence[FileChange]) -> FilePlan:
        """What taking back ``changes``, oldest first, would do to each path."""
        return await asyncio.to_thread(planned, self._folder, changes)

    async def run(
        self,
        execution: Execution,
        on_progress: Progress | None = None,
        stop: asyncio.Event | None = None,
    ) -> Execution:
        """Carry out a restore that was begun a moment ago, and write its end.

        ``on_progress`` hears on the event loop how many of how many paths are over. After ``stop`` no further
        path is begun, and it ends with what was done until then. When it is cancelled, as by who leaves, it
        stays unfinished, as after a kill: whoever comes back says what becomes of the rest.
        """
        began, tell = time.monotonic(), _on_the_loop(on_progress)

        async def work(cut_off: asyncio.Event) -> Execution:
            ended = await self._put_back(
                execution.id, _intent(execution).steps, tell, lambda: _any_set(cut_off, stop)
            )
            return execution if cut_off.is_set() else await self._end(execution, ended, began)

        return await self._whole(work)

    async def unfinished(self, session_id: int) -> Unfinished | None:
        """A restore of a session that began and has no end, and how far it came."""
        execution = await self._store.unfinished_restore(session_id)
        return await asyncio.to_thread(_probed, self._folder, execution) if execution is not None else None

    async def complete(self, unfinished: Unfinished, on_progress: Progress | None = None) -> Execution:
        """Do the rest of it, and write its end with all that it has changed."""
        began, execution, tell = time.monotonic(), unfinished.execution, _on_the_loop(on_progress)

        async def work(cut_off: asyncio.Event) -> Execution:
            now = await self._tidied(execution)
            ended = [Ended(step, Outcome.RESTORED) for step in now.done] + _conflicts(now)
            ended += await self._put_back(execution.id, now.left, tell, cut_off.is_set)
            # Cut off, it stays unfinished.
            return execution if cut_off.is_set() else await self._end(execution, ended, began)

        return await self._whole(work)

    async def take_back(self, unfinished: Unfinished, on_progress: Progress | None = None) -> Execution:
        """Put back what it has changed, and write its end: what can't be put back stays changed by it."""
        began, execution, tell = time.monotonic(), unfinished.execution, _on_the_loop(on_progress)

        async def work(cut_off: asyncio.Event) -> Execution:
            now = await self._tidied(execution)
            # What is not done may be half done, such as a folder without its permissions.
            steps = [reversed_step(step) for step in (*now.done, *now.left)]
            ended = await self._put_back(execution.id, steps, tell, cut_off.is_set)
            if cut_off.is_set():
                return execution
            ends = {each.step.path: each for each in ended}
            done = [ends[step.path] for step in now.done]
            failed = {each.step.path for each in done if each.outcome is not Outcome.RESTORED}
            changes = [change_of(step) for step in now.done if step.path in failed]
            receipt = _receipt(EventKind.CANCELLED, done + _conflicts(now), began, "taken back")
            held = await self._journal.saved()
            return await held.take_back_restore(execution, receipt, changes)

        return await self._whole(work)

    async def _whole(self, work: Callable[[asyncio.Event], Coroutine[None, None, Execution]]) -> Execution:
        """Work to its end. Who is cancelled meanwhile sets the event and still waits: what a thread has begun
        can't be left alone, and what it did has to be written down. So does a session that is taken over: two
        processes must not put its files back at once.
        """
        cut_off = asyncio.Event()
        working = asyncio.create_task(work(cut_off))
        watching = asyncio.create_task(self._watch(cut_off))
        try:
            ended = await asyncio.shield(working)
            if watching.done():
                raise watching.result()
            return ended
        except asyncio.CancelledError:
            cut_off.set()
            await asyncio.wait((working,))
            raise
        finally:
            watching.cancel()

    async def _watch(self, cut_off: asyncio.Event) -> LeaseLost:
        """Set the event once the session is another process's."""
        while True:
            await asyncio.sleep(_LOOK_SECONDS)
            try:
                await (await self._journal.saved()).require_held()
            except LeaseLost as lost:
                cut_off.set()
                return lost
            except StoreError:
                continue  # What can't be read now is read the next time.

    async def _tidied(self, execution: Execution) -> Unfinished:
        """How far it has come; the temporary file that it may have left is taken away."""
        await asyncio.to_thread(clear_scratch, self._folder, _intent(execution).steps, execution.id)
        return await asyncio.to_thread(_probed, self._folder, execution)

    async def _put_back(
        self,
        run_id: str,
        steps: Sequence[FileStep],
        tell: Progress,
        stopped: Callable[[], bool],
    ) -> list[Ended]:
        return await asyncio.to_thread(put_back, self._folder, steps, run_id, tell, stopped)

    async def _end(self, execution: Execution, ended: Sequence[Ended], began: float) -> Execution:
        done = [each.step for each in ended if each.outcome is Outcome.RESTORED]
        kind = EventKind.COMPLETED if done else EventKind.FAILED
        if any(each.outcome is Outcome.NOT_DONE for each in ended):
            kind = EventKind.CANCELLED
        held = await self._journal.saved()
        changes = [change_of(step) for step in done]
        return await held.end_restore(execution, kind, _receipt(kind, ended, began), changes)


def _on_the_loop(heard: Progress | None) -> Progress:
    """What a thread may call, for ``heard`` to be called on the event loop."""
    loop = asyncio.get_running_loop()

    def tell(done: int, total: int) -> None:
        if heard is not None:
            loop.call_soon_threadsafe(heard, done, total)

    return tell


def _any_set(*events: asyncio.Event | None) -> bool:
    return any(each is not None and each.is_set() for each in events)


def _intent(execution: Execution) -> RestoreIntent:
    """What it was to do; nothing where that can't be read any more."""
    return intent_of(execution.facts) or RestoreIntent(_LOST, ())


def _probed(folder: Folder, execution: Execution) -> Unfinished:
    intent = _intent(execution)
    found = progress(folder, intent.steps)
    ends = (tuple(found[at]) for at in (Reached.DONE, Reached.OPEN, Reached.CONFLICT))
    return Unfinished(execution, intent.what, *ends)


def _conflicts(unfinished: Unfinished) -> list[Ended]:
    return [Ended(step, Outcome.KEPT, CHANGED) for step in unfinished.conflicts]


def _receipt(kind: EventKind, ended: Sequence[Ended], began: float, done: str = "restored") -> Receipt:
    seconds = round(time.monotonic() - began, 3)
    return Receipt(_STATUS[kind], summary_of(ended, done), seconds=seconds, excerpt=listed(ended))
