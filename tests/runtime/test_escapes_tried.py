"""A hostile model tries every way out in a real conversation: what it is told holds nothing from outside."""

from __future__ import annotations

import json
from contextlib import aclosing
from pathlib import Path

import pytest

from local_agent.domain.approvals import NO
from local_agent.domain.drafts import Prompt
from local_agent.domain.events import ApprovalAsked, Event, ToolFinished
from local_agent.domain.ledger import EventKind
from local_agent.domain.modes import Mode
from tests.runtime.opened import opened
from tests.support.ollama_server import OllamaServer, Turn, call
from tests.tools.escapes import CANARY, READING, Way, hostile, placed

A_REPLY = 40
# Half a character does not come through as it was sent: what comes through is another name.
TRIED = [escape for escape in READING if "\\ud" not in json.dumps(dict(escape.arguments))]


@pytest.mark.parametrize("mode", [Mode.NORMAL, Mode.PLAN])
async def test_no_way_out_is_open_to_a_model(home: Path, server: OllamaServer, mode: Mode) -> None:
    folder = home.parent / "hostile"
    folder.mkdir(parents=True)
    root, outside = hostile(folder)
    calls = [
        call(escape.tool, {name: placed(value, root, outside) for name, value in escape.arguments.items()})
        for escape in TRIED
    ]
    parts = [calls[start : start + A_REPLY] for start in range(0, len(calls), A_REPLY)]
    server.script(*(Turn(*part) for part in parts), "I give up.")
    seen: list[Event] = []
    async with opened(home, server.url, workspace=root) as runtime:
        conversation = runtime.new_conversation()
        await conversation.set_mode(mode)
        async with aclosing(conversation.ask(Prompt("go"))) as events:
            async for event in events:
                seen.append(event)
                if isinstance(event, ApprovalAsked):
                    assert conversation.answer(event.request.id, NO)
        executions = await conversation.executions()
    assert len(server.chats) == len(parts) + 1
    assert all(CANARY not in json.dumps(chat.body) for chat in server.chats)
    finished = [event.execution for event in seen if isinstance(event, ToolFinished)]
    assert len(finished) == len(executions) == len(TRIED)
    asked = [event for event in seen if isinstance(event, ApprovalAsked)]
    ways = [escape.way for escape in TRIED]
    assert len(asked) == (0 if mode is Mode.PLAN else ways.count(Way.ASKED))
    ended = {kind: [each.state for each in executions].count(kind) for kind in EventKind}
    assert ended[EventKind.DENIED] == ways.count(Way.ASKED)
    assert ended[EventKind.COMPLETED] == ways.count(Way.INSIDE) + ways.count(Way.EMPTY)
    assert ended[EventKind.FAILED] + ended[EventKind.CANCELLED] == ways.count(Way.REFUSED)
