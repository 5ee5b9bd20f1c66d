"""Calls while nothing can be saved: what reads goes on, what has an effect does not, nothing is lost."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import AsyncIterator
from contextlib import closing
from pathlib import Path

import pytest

from local_agent import __version__
from local_agent.domain.entries import Kind, Slice, ToolCall
from local_agent.domain.errors import LeaseLost, NotSaved, StoreError
from local_agent.domain.executions import NotAllowed
from local_agent.domain.ledger import EventKind, Execution, Receipt
from local_agent.domain.ports import Opening, Reply
from local_agent.domain.requests import build_messages
from local_agent.domain.sessions import NewSession
from local_agent.domain.tools import FileChange
from local_agent.runtime.journal import ConversationJournal
from local_agent.runtime.set_aside import SetAside
from local_agent.runtime.unsaved import FIRST_ID
from local_agent.store.store import Store
from tests.proofs.faulty_disk import FaultyDisk
from tests.store.samples import BASH, EFFECTS, READ, ROOT, WANTED, opening, settled

K = EventKind
FOR_GOOD = 1000
CHANGE = FileChange("a.py", "changed", "0" * 64, "1" * 64, 0o644)


class Desk:
    """A journal on a disk that fails when it is told to."""

    def __init__(self, path: Path, disk: FaultyDisk) -> None:
        self.path = path
        self.disk = disk
        self.store = Store(disk, path)
        self.journal = ConversationJournal(
            self.store,
            lambda asked: NewSession(ROOT, asked.text, "ollama", "", "tiny:1b"),
            aside=SetAside(path.parent / "unsaved"),
        )

    def fail_from(self, number: int, last: int = FOR_GOOD) -> None:
        """Let every write fail from that one on, counted from 1 and from the beginning."""
        self.disk.fault, self.disk.first, self.disk.last = FaultyDisk.protect, number, last

    def fail_now(self) -> None:
        self.disk.protect()

    async def tail(self, leaf: int) -> Slice:
        info = self.journal.info
        return await self.journal.tail(info.id if info is not None else None, leaf, 40)


@pytest.fixture
async def desk(tmp_path: Path) -> AsyncIterator[Desk]:
    path = tmp_path / "home" / "local-agent.db"
    await (await asyncio.to_thread(Store.open, path, program_version=__version__)).close()
    desk = Desk(path, FaultyDisk(path))
    yield desk
    await desk.store.close()


async def read_only(journal: ConversationJournal, call: Execution, text: str = "read") -> Execution:
    call = await journal.start(call, {"target": "notes.md"})
    return (await journal.finish(call, K.COMPLETED, Receipt("ok"), text, ()))[0]


async def with_effect(journal: ConversationJournal, call: Execution) -> Execution:
    """As the loop does it: approved, and cancelled where it can't be started."""
    call = await journal.note(call, K.APPROVAL_REQUESTED, {"target": "make test"})
    call = await journal.note(call, K.APPROVED, {})
    try:
        call = await journal.start(call, {"pid": 4711})
    except NotSaved as error:
        assert error.hint
        return (await journal.finish(call, K.CANCELLED, Receipt("cancelled"), "not run", ()))[0]
    return (await journal.finish(call, K.COMPLETED, Receipt("ok"), "ran", (CHANGE,)))[0]


async def one_turn(journal: ConversationJournal, asked: Opening) -> tuple[int, list[Execution]]:
    """A turn with a call that reads and one that has an effect, another that reads, and the answer."""
    turn = await journal.begin(asked)
    reply, (read, bash) = await journal.record(turn, WANTED, EFFECTS)
    calls = [await read_only(journal, read), await with_effect(journal, bash)]
    await journal.keep(turn, Reply("And"))
    more, (again,) = await journal.record(turn, Reply("And?", calls=(READ,)), EFFECTS[:1])
    calls.append(await read_only(journal, again, "read again"))
    assert (more.parent or 0) in (reply.id, journal.unsaved.real(reply.id))
    answer = await journal.settle(turn, settled("All well."))
    assert answer is not None
    return answer.id, calls


def shown(part: Slice) -> list[tuple[object, ...]]:
    """Entries with their calls' states; what ids and times have no part in."""
    return [
        (
            entry.kind,
            entry.text,
            entry.call_number,
            tuple(
                (each.state, each.changes, dict(each.facts), each.receipt)
                for number in range(len(entry.calls))
                if (each := part.executions.get((entry.id, number))) is not None
            ),
        )
        for entry in part.entries
    ]


def text_of(path: str) -> str:
    return Path(path).read_text("utf-8")


def events_in(path: Path) -> list[str]:
    with closing(sqlite3.connect(path)) as db:
        return [kind for (kind,) in db.execute("SELECT kind FROM execution_events ORDER BY number")]


WRITES = [
    "session.create",
    "tool.record",
    "tool.start",
    "tool.finish",
    "tool.note",
    "tool.note",
    "tool.start",
    "tool.finish",
    "reply.keep",
    "tool.record",
    "tool.start",
    "tool.finish",
    "turn.settle",
]


async def test_a_turn_with_calls_is_written_as_it_happens(desk: Desk) -> None:
    leaf, calls = await one_turn(desk.journal, opening())
    assert desk.disk.names == WRITES
    info = desk.journal.info
    assert info is not None and await desk.store.executions(info.id) == calls
    part = await desk.tail(leaf)
    assert [entry.text for entry in part.entries if entry.kind is Kind.RESULT] == [
        "read",
        "ran",
        "read again",
    ]
    assert desk.journal.unsaved.turns == [] and desk.journal.unsaved.ids == {}


@pytest.mark.parametrize("lasting", [0, FOR_GOOD])
@pytest.mark.parametrize("first", range(1, len(WRITES) + 1))
async def test_whatever_write_fails_nothing_is_lost_or_doubled(desk: Desk, first: int, lasting: int) -> None:
    journal = desk.journal
    desk.fail_from(first, first + lasting)
    leaf, calls = await one_turn(journal, opening())
    before = shown(await desk.tail(leaf))
    path = await journal.model_path(leaf)
    messages = build_messages("", path)
    # Only a start that could not be written, or had something before it that could not, did not run.
    ran = calls[1].state is K.COMPLETED
    assert ran or first <= WRITES.index("tool.start", 5) + 1
    assert lasting == 0 or ran == (first > WRITES.index("tool.start", 5) + 1)
    desk.disk.mend()
    await journal.save()

    assert journal.trouble is None and not journal.unsaved.waiting and journal.set_aside() is None
    info = journal.info
    assert info is not None
    stored = await desk.store.tail(info.id, 40)
    assert shown(stored) == before == shown(await desk.tail(leaf))
    assert info.head == journal.unsaved.real(leaf) == stored.entries[-1].id
    assert build_messages("", await journal.model_path(leaf)) == messages
    assert all(each.readable for each in await desk.store.executions(info.id))
    assert await desk.store.pending(info.id, info.head) == ()
    assert events_in(desk.path).count("started") == 2 + ran
    assert await desk.store.find(info.handle) == info


async def test_what_waits_latches_effects_until_it_is_written(desk: Desk) -> None:
    journal = desk.journal
    turn = await journal.begin(opening())
    reply, (first, second) = await journal.record(turn, Reply("x", calls=(BASH, BASH)), (EFFECTS[1],) * 2)
    first = await journal.start(first, {})
    desk.fail_now()
    first, result = await journal.finish(first, K.COMPLETED, Receipt("ok"), "ran", (CHANGE,))

    assert (first.state, result.id > FIRST_ID, journal.trouble is not None) == (K.COMPLETED, True, True)
    part = await desk.tail(reply.id)
    assert part.entries[-1] == result and part.executions[reply.id, 0] == first
    with pytest.raises(NotSaved, match="before all is saved"):
        await journal.start(second, {})
    assert (await desk.tail(reply.id)).executions[reply.id, 1] == second
    # Another process sees what this one died in, were it to die now.
    other = Store(FaultyDisk(desk.path), desk.path)
    (seen,) = [each for each in await other.executions(reply.session_id) if each.id == first.id]
    assert seen.state is K.STARTED
    await other.close()

    desk.disk.mend()
    second = await journal.start(second, {})
    assert journal.trouble is None
    assert events_in(desk.path) == ["requested", "requested", "started", "completed", "started"]


async def test_dying_before_the_end_is_written_leaves_it_uncertain(desk: Desk) -> None:
    turn = await desk.journal.begin(opening())
    _, (call,) = await desk.journal.record(turn, Reply("x", calls=(BASH,)), EFFECTS[1:])
    call = await desk.journal.start(call, {})
    desk.fail_now()
    await desk.journal.finish(call, K.COMPLETED, Receipt("ok"), "ran", ())
    other = Store(FaultyDisk(desk.path), desk.path)
    info = desk.journal.info
    assert info is not None
    held = await other.take_over(info.handle)
    assert [each.execution.id for each in await other.pending(info.id, held.info.head)] == [call.id]
    await other.close()

    desk.disk.mend()
    with pytest.raises(LeaseLost) as lost:
        await desk.journal.save()
    aside = text_of(lost.value.hint.rpartition(" ")[2])
    assert "## Result of bash" in aside and "ran" in aside and "What is a tree?" in aside
    assert "Let me" not in aside and desk.journal.lost
    with pytest.raises(LeaseLost):
        await desk.journal.settle(turn, settled())


async def test_all_that_waits_is_in_the_file_that_is_set_aside(desk: Desk) -> None:
    desk.fail_from(1)
    await one_turn(desk.journal, opening())
    path = desk.journal.set_aside()
    assert path is not None
    kept = path.read_text("utf-8")
    places = [
        kept.index(each) for each in ("What is a tree?", "Let me look.", "\nread\n", "not run", "All well.")
    ]
    assert places == sorted(places)
    assert '[call] bash {"command": "make test"}' in kept


async def test_reads_go_on_side_by_side(desk: Desk) -> None:
    desk.fail_from(3, 6)
    turn = await desk.journal.begin(opening())
    many = tuple(ToolCall(f"c{number}", "read", {"path": str(number)}) for number in range(6))
    _, calls = await desk.journal.record(turn, Reply(calls=many), (EFFECTS[0],) * 6)
    done = await asyncio.gather(
        *(read_only(desk.journal, each, str(each.arguments["path"])) for each in calls)
    )
    assert {each.state for each in done} == {K.COMPLETED}
    answer = await desk.journal.settle(turn, settled())
    desk.disk.mend()
    await desk.journal.save()
    assert answer is not None
    path = await desk.journal.model_path(answer.id)
    tools = [message.content for message in build_messages("", path) if message.role == "tool"]
    assert tools == [str(number) for number in range(6)]


async def test_a_start_that_nobody_waits_for_any_more_can_be_ended(desk: Desk) -> None:
    turn = await desk.journal.begin(opening())
    _, (call,) = await desk.journal.record(turn, Reply("x", calls=(BASH,)), EFFECTS[1:])
    with closing(sqlite3.connect(desk.path, isolation_level=None)) as lock:
        lock.execute("BEGIN IMMEDIATE")
        starting = asyncio.create_task(desk.journal.start(call, {}))
        while desk.disk.names[-1] != "tool.start":  # noqa: ASYNC110 - the write has no event of its own
            await asyncio.sleep(0)
        starting.cancel()
        await asyncio.wait({starting})
        ending = asyncio.create_task(
            desk.journal.finish(call, K.CANCELLED, Receipt("cancelled"), "not run", ())
        )
        await asyncio.sleep(0)
        lock.execute("ROLLBACK")
    call, _ = await ending
    assert call.state is K.CANCELLED and starting.cancelled()
    assert (await desk.store.execution(call.id)) == call
    assert events_in(desk.path) == ["requested", "started", "cancelled"]


async def test_a_command_waits_as_a_question_does(desk: Desk) -> None:
    desk.fail_from(1)
    asked = Opening("make test", None, "tiny:1b", command=BASH)
    turn = await desk.journal.begin(asked)
    (call,) = await desk.journal.requested(turn)
    assert (call.id, call.entry_id, turn.question.kind) == (
        asked.execution_id,
        turn.question.id,
        Kind.COMMAND,
    )
    with pytest.raises(NotSaved):
        await desk.journal.start(call, {})
    desk.disk.mend()
    call = await desk.journal.start(call, {})
    assert call.entry_id < FIRST_ID
    call, result = await desk.journal.finish(call, K.COMPLETED, Receipt("ok"), "ran", ())
    await desk.journal.settle(turn, settled(""))
    assert await desk.store.execution(call.id) == call
    assert result.parent == desk.journal.unsaved.real(turn.question.id) == call.entry_id


async def test_a_job_ends_after_its_turn(desk: Desk) -> None:
    turn = await desk.journal.begin(opening())
    _, (call,) = await desk.journal.record(turn, Reply("x", calls=(BASH,)), EFFECTS[1:])
    call = await with_effect(desk.journal, call)
    await desk.journal.settle(turn, settled())
    call = await desk.journal.note(call, K.JOB_ENDED, {"exit_code": 1})
    assert await desk.store.execution(call.id) == call
    for again in (K.JOB_ENDED, K.STARTED):
        with pytest.raises(NotAllowed):
            await desk.journal.note(call, again, {})
    with pytest.raises(StoreError, match="is over"):
        await desk.journal.start(call, {})


async def test_what_may_not_follow_holds_nothing_up(desk: Desk) -> None:
    turn = await desk.journal.begin(opening())
    _, (read, bash) = await desk.journal.record(turn, WANTED, EFFECTS)
    with pytest.raises(NotAllowed):
        await desk.journal.finish(read, K.COMPLETED, Receipt("ok"), "never started", ())
    assert not desk.journal.unsaved.waiting
    # Somebody else's hand in the ledger.
    with closing(sqlite3.connect(desk.path)) as db:
        db.execute(
            "INSERT INTO execution_events (execution_id, session_id, kind, detail, digest, created_at)"
            " VALUES (?, 1, 'cancelled', '{}', '', '')",
            (read.id,),
        )
        db.commit()
    await read_only(desk.journal, read)
    assert (await with_effect(desk.journal, bash)).state is K.COMPLETED
    await desk.journal.settle(turn, settled())
    assert desk.journal.trouble is None
