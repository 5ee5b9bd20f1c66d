"""A process that lives on the real runtime until it is killed, and tells what it was told is kept.

Each line on its standard output is a JSON object: ``{"handle": ...}`` of its session,
``{"settled": ID, "digest": ...}`` for an entry that was committed, ``{"draft": ...}`` for unsent work that
was, and at its own end ``{"passed": [...]}``, the crash points. What is in the pipe outlives the process.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import os
import signal
import sys
from contextlib import aclosing
from dataclasses import replace
from pathlib import Path

from local_agent.config.launch import LaunchOptions
from local_agent.config.load import load_without_files
from local_agent.config.paths import Paths
from local_agent.domain import crashpoints
from local_agent.domain.approvals import Answer, Choice
from local_agent.domain.drafts import Draft, Prompt
from local_agent.domain.entries import Entry
from local_agent.domain.errors import LocalAgentError
from local_agent.domain.events import (
    ApprovalAsked,
    ReplyRecorded,
    ToolFinished,
    ToolStarted,
    TurnEnded,
    TurnStarted,
)
from local_agent.domain.ledger import Evidence, Observation, Source
from local_agent.domain.marks import Mark
from local_agent.domain.modes import Mode
from local_agent.domain.moves import Scope
from local_agent.domain.pictures import Picture
from local_agent.domain.restoring import FilePlan, PlannedPath, RestoreIntent, Standing
from local_agent.domain.tools import FileState
from local_agent.runtime.bundling import checked_bundle
from local_agent.runtime.conversation import Conversation
from local_agent.runtime.runtime import Runtime
from tests.support.pictures import drawn

TURNS = 1000
WORK = "Write it down"
FOUND = Evidence(
    Observation.EFFECT_NOT_APPLIED,
    Source.OPERATOR_OBSERVATION,
    "the folder",
    "Nothing was done.",
    "2026-01-31T14:05:00Z",
)


def digest(text: str) -> str:
    """What a text is compared by."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


async def talk(runtime: Runtime, handle: str = "") -> None:
    """Turn after turn, in a new session or in ``handle``."""
    conversation = await runtime.resume(handle) if handle else runtime.new_conversation()
    for number in range(1, TURNS):
        await _ask(conversation, number)


async def every_commit(runtime: Runtime) -> None:
    """Whatever the program commits once its database is built, at least once."""
    await _save_draft(runtime, None, "half a thought")
    await runtime.take_draft(None)
    conversation = runtime.new_conversation()
    await _ask(conversation, 1)
    await _save_draft(runtime, conversation, "another half")
    picture = await runtime.pictures.accept_bytes(drawn(), "cat.png")
    await _ask(conversation, 2, picture)
    await conversation.forget_pictures()
    await conversation.rename("A title")
    await conversation.set_model(conversation.model)
    await conversation.set_mode(Mode.PLAN)
    handle = conversation.handle
    await conversation.close()
    await runtime.library.trash(handle)
    await runtime.library.untrash(handle)
    forked = await runtime.library.fork(handle)
    await runtime.library.trash(forked.handle)
    await runtime.purging.purge(forked.handle)
    bundle = Path(f"{handle}.bundle")
    await runtime.bundling.write(handle, bundle, replace=True)
    with checked_bundle(bundle) as checked:
        await runtime.bundling.take_in(checked)
    conversation = await runtime.resume(handle)
    await _ask(conversation, 3)
    await _travel(conversation)
    conversation = await runtime.take_over(handle)
    await conversation.set_mode(Mode.NORMAL)
    await _work(conversation)
    conversation = await _leave_uncertain(runtime, conversation)
    await settle_pending(conversation)
    await conversation.hands.recovering.repair(handle)
    await _ask(conversation, 4)


async def work(runtime: Runtime) -> None:
    """One turn with a call."""
    await _work(runtime.new_conversation())


async def go_on(runtime: Runtime, handle: str) -> None:
    """The next question in a session, or why there is none."""
    conversation = await runtime.resume(handle)
    try:
        async with aclosing(conversation.ask(Prompt("And then?"))) as events:
            async for event in events:
                if isinstance(event, TurnEnded):
                    _tell(ended=event.status)
    except LocalAgentError as error:
        _tell(ended=str(error))
    await conversation.close()


async def checkpoint(runtime: Runtime, handle: str, largest: str) -> None:
    """Turns in ``handle`` while no file may grow past ``largest`` bytes.

    The system kills the process at the write that would make one larger.
    """
    import resource  # not on Windows

    _, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    signal.signal(signal.SIGXFSZ, signal.SIG_DFL)
    resource.setrlimit(resource.RLIMIT_FSIZE, (int(largest), hard))
    await talk(runtime, handle)


async def settle_pending(conversation: Conversation) -> None:
    """Settle every call whose outcome nobody knows, as a person does who looked."""
    for each in await conversation.pending():
        await conversation.hands.recovering.settle(each.handle, [each.execution.id], FOUND)


async def _work(conversation: Conversation) -> None:
    """A turn in which the model wants to write a file, and may."""
    async with aclosing(conversation.ask(Prompt(WORK))) as events:
        async for event in events:
            if isinstance(event, ApprovalAsked):
                conversation.answer(event.request.id, Answer(Choice.ONCE))
            elif isinstance(event, ReplyRecorded):
                _tell_settled(event.reply)
            elif isinstance(event, ToolFinished):
                _tell_settled(event.result)


async def _travel(conversation: Conversation) -> None:
    """Back by a mark and forth again, each time with a file, and a compaction.

    Whatever it dies in, each question stays on the path.
    """
    time = conversation.time
    await time.checkpoint("here")
    question = (await conversation.tail(2)).entries[0]
    await time.mark(Mark.PIN, question.id)
    await time.go(replace(await time.undo(), files=FilePlan((_new_file(),))), Scope.BOTH)
    held = await conversation._journal.saved()
    await held.travel((await time.redo()).landing, Scope.BOTH, RestoreIntent("there", (_new_file().step,)))
    left = await time.unfinished()
    assert left is not None
    await time.take_back(left)
    head = held.info.head
    assert head is not None
    await held.compact(head, "Questions were asked.", question.id)


def _new_file() -> PlannedPath:
    """A file that is there now, to be removed."""
    path = Path("travelled.txt")
    path.write_text("soon gone")
    now = FileState(hashlib.sha256(path.read_bytes()).hexdigest(), path.stat().st_mode)
    return PlannedPath(path.name, Standing.RESTORED, now, FileState())


async def _leave_uncertain(runtime: Runtime, conversation: Conversation) -> Conversation:
    """The session, taken over while a command of the one that had it runs."""
    async with aclosing(conversation.run_command("sleep 30")) as events:
        async for event in events:
            if isinstance(event, ToolStarted):
                break
        return await runtime.take_over(conversation.handle)


async def _ask(conversation: Conversation, number: int, *pictures: Picture) -> None:
    async with aclosing(conversation.ask(Prompt(f"Question {number} of {os.getpid()}", pictures))) as events:
        async for event in events:
            if isinstance(event, TurnStarted):
                _tell(handle=event.handle)
                _tell_settled(event.question)
            elif isinstance(event, TurnEnded) and event.reply is not None:
                _tell_settled(event.reply)


async def _save_draft(runtime: Runtime, conversation: Conversation | None, text: str) -> None:
    await runtime.save_draft(conversation, Draft(text))
    _tell(draft=text)


def _tell_settled(entry: Entry) -> None:
    _tell(settled=entry.id, digest=digest(entry.text))


def _tell(**what: object) -> None:
    sys.stdout.write(json.dumps(what) + "\n")
    sys.stdout.flush()


async def _live(life: str, *arguments: str) -> None:
    lives = {
        "talk": talk,
        "every_commit": every_commit,
        "checkpoint": checkpoint,
        "work": work,
        "go_on": go_on,
    }
    options = LaunchOptions(workspace=Path.cwd())
    runtime = await Runtime.open(options, load_without_files().settings, Paths.discover())
    await lives[life](runtime, *arguments)
    await runtime.close()
    _tell(passed=sorted(crashpoints.visits))


if __name__ == "__main__":
    asyncio.run(_live(*sys.argv[1:]))
