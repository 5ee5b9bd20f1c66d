"""Calls of tools as a turn tells of them, for pilots that draw events of their own."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from local_agent.domain.approvals import ApprovalRequest, Choice, Offer
from local_agent.domain.entries import Entry, Kind, Origin, Slice, ToolCall, Turn, TurnStatus, Usage
from local_agent.domain.events import Event, ReplyRecorded, ToolFinished, ToolRequested, ToolStarted
from local_agent.domain.ledger import EventKind, Execution, Receipt
from local_agent.domain.tools import Action, Effect

DIFF = """\
--- a/src/restore.py
+++ b/src/restore.py
@@ -10,4 +10,4 @@ def restore():
     import tempfile
\x20
-    folder = tempfile.mkdtemp()
+    folder = tmp_path_factory.mktemp("restore")
     return folder
@@ -40,3 +40,4 @@ def cleanup():
     done = True
+    print("done")
     return done
\x20
"""


def entry(key: int, kind: Kind, text: str = "", parent: int | None = None, **more: Any) -> Entry:
    """A stored entry of turn 1."""
    origin = {Kind.ASSISTANT: Origin.MODEL, Kind.RESULT: Origin.TOOL}.get(kind, Origin.PERSON)
    return Entry(key, 1, 1, parent, kind, origin, text, created_at="2026-01-02T03:04:05.000Z", **more)


def asked(number: int, tool: str, arguments: Mapping[str, object], **more: Any) -> Execution:
    """A call that was asked for, of entry 2."""
    effect = Effect.READ_ONLY if tool in ("read", "grep", "glob", "ls") else Effect.EFFECTFUL
    return Execution(f"e{number:011}", 1, 1, 2, number, tool, arguments, effect, **more)


def ended(execution: Execution, text: str = "", **more: Any) -> Execution:
    """The same call, over: completed unless ``state`` says something else."""
    state, changes = more.pop("state", EventKind.COMPLETED), more.pop("changes", ())
    receipt = Receipt(**{"status": "ok", "seconds": 0.012, "excerpt": text, **more})
    facts = {**execution.facts, "target": next(map(str, execution.arguments.values()), "")}
    return replace(execution, state=state, receipt=receipt, facts=facts, changes=changes)


def reply_of(executions: list[Execution], text: str = "") -> Entry:
    """The reply that asks for these calls."""
    calls = tuple(ToolCall(each.id, each.tool, each.arguments) for each in executions)
    return entry(2, Kind.ASSISTANT, text, 1, calls=calls)


def told(executions: list[Execution], texts: list[str], reply_text: str = "") -> list[Event]:
    """What a turn tells of a reply whose calls have all ended."""
    events: list[Event] = [ReplyRecorded(reply_of(executions, reply_text))]
    events += [ToolRequested(replace(each, state=EventKind.REQUESTED, receipt=None)) for each in executions]
    for number, (each, text) in enumerate(zip(executions, texts, strict=True)):
        events.append(ToolStarted(each.id, each.target))
        events.append(ToolFinished(each, entry(10 + number, Kind.RESULT, text, 2, call_number=number)))
    return events


def stored(executions: list[Execution], texts: list[str], reply_text: str = "") -> Slice:
    """The same turn as it is read from the store, behind its question."""
    results = [
        entry(10 + number, Kind.RESULT, text, 2, call_number=number) for number, text in enumerate(texts)
    ]
    turn = Turn(1, 1, TurnStatus.SETTLED, "stop", "qwen3:4b", Usage(), "", "")
    nodes = (entry(1, Kind.QUESTION, "do it"), reply_of(executions, reply_text), *results)
    return Slice(nodes, {1: turn}, {}, False, {(2, each.call_number): each for each in executions})


def request(**more: Any) -> ApprovalRequest:
    """A question about an edit, with every wider answer on offer."""
    given: dict[str, Any] = {
        "id": "q1",
        "execution_id": "e00000000000",
        "tool": "edit",
        "action": Action.WRITE,
        "target": "src/restore.py",
        "reason": "Edits ask in NORMAL.",
        "arguments": {"path": "src/restore.py", "old": "a", "new": "b"},
        "diff": DIFF,
        "offers": (
            Offer(Choice.REQUEST, "this very edit again, in this session"),
            Offer(Choice.SESSION, "edits of src/restore.py in this session"),
            Offer(Choice.WORKSPACE, "edits of src/restore.py, always in this workspace"),
        ),
    }
    return ApprovalRequest(**{**given, **more})
