"""A conversation with the real tools, rules and ledger, as its server sees it: requests only grow."""

from __future__ import annotations

import itertools
import json
from contextlib import aclosing
from pathlib import Path
from typing import cast

from local_agent.domain.approvals import Answer, Choice
from local_agent.domain.drafts import Prompt
from local_agent.domain.entries import TurnStatus
from local_agent.domain.events import ApprovalAsked, Event, ToolFinished, ToolStarted, TurnEnded
from local_agent.domain.ledger import EventKind
from local_agent.domain.modes import Mode
from local_agent.runtime.conversation import Conversation
from tests.runtime.opened import events_of, opened
from tests.support.ollama_server import OllamaServer, RequestRecord, Turn, call, say

PRINTED = '<tool_call>\n{"name": "read", "arguments": {"path": "a.txt"}}\n</tool_call>'


async def answered(conversation: Conversation, text: str, choice: Choice) -> list[Event]:
    """A turn whose questions all get the same answer."""
    seen: list[Event] = []
    async with aclosing(conversation.ask(Prompt(text))) as events:
        async for event in events:
            seen.append(event)
            if isinstance(event, ApprovalAsked):
                assert conversation.answer(event.request.id, Answer(choice))
    return seen


def messages(record: RequestRecord) -> list[dict[str, str]]:
    return cast(list[dict[str, str]], record.body["messages"])


def states(events: list[Event]) -> list[EventKind]:
    return [event.execution.state for event in events if isinstance(event, ToolFinished)]


async def test_every_request_begins_with_the_one_before_whatever_happens(
    home: Path, server: OllamaServer
) -> None:
    work = home.parent / "work"
    write = call("write", {"path": "b.txt", "content": "B\n"})
    server.script(
        Turn(say("I look. "), call("read", {"path": "a.txt"}), call("ls", {"path": "."})),
        Turn(write),
        "I was not allowed to.",
        Turn(write),
        f"So I read again.\n{PRINTED}",
        "Done.",
        Turn(call("write", {"path": "c.txt", "content": "C\n"}), call("grep", {"pattern": "hello"})),
        "So I would do it.",
        Turn(call("bash", {"command": "sleep 60"})),
        "I go on.",
        "Once more.",
    )
    async with opened(home, server.url) as runtime:
        (work / "a.txt").write_text("hello\n")
        conversation = runtime.new_conversation()
        refused = await answered(conversation, "write b", Choice.NO)
        assert states(refused) == [EventKind.COMPLETED, EventKind.COMPLETED, EventKind.DENIED]
        allowed = await answered(conversation, "do write b", Choice.ONCE)
        assert states(allowed) == [EventKind.COMPLETED, EventKind.COMPLETED]
        assert (work / "b.txt").read_text() == "B\n"

        await events_of(conversation.run_command("cat b.txt"))
        await conversation.set_mode(Mode.PLAN)
        planned = await answered(conversation, "plan it", Choice.ONCE)
        assert states(planned) == [EventKind.DENIED, EventKind.COMPLETED]

        await conversation.set_mode(Mode.NORMAL)
        stopped: list[Event] = []
        async with aclosing(conversation.ask(Prompt("run it"))) as events:
            async for event in events:
                stopped.append(event)
                if isinstance(event, ApprovalAsked):
                    conversation.answer(event.request.id, Answer(Choice.ONCE))
                if isinstance(event, ToolStarted):
                    conversation.stop()
        assert isinstance(stopped[-1], TurnEnded) and stopped[-1].status is TurnStatus.INTERRUPTED
        assert states(stopped) == [EventKind.CANCELLED]
        await answered(conversation, "go on", Choice.NO)
        handle = conversation.handle
    async with opened(home, server.url) as runtime:
        resumed = await runtime.resume(handle)
        await answered(resumed, "and again", Choice.NO)
        executions = await resumed.executions()

    assert len(server.chats) == 11
    for before, after in itertools.pairwise(server.chats):
        assert messages(after)[: len(messages(before))] == messages(before)
    assert len({json.dumps(chat.body["tools"]) for chat in server.chats}) == 1
    asked = [each["content"] for each in messages(server.chats[-1]) if each["role"] == "user"]
    assert [text.count("Mode: ") for text in asked] == [1, 0, 1, 1, 0, 0]
    assert "$ cat b.txt\n" in asked[2] and "\n    B" in asked[2] and asked[2].endswith("plan it")
    assert len(executions) == 9 and all(each.ended and not each.uncertain for each in executions)
