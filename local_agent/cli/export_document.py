"""A session as files for a reader and for a program: JSON lines, and a summary with its open issues."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, replace

from local_agent import __version__
from local_agent.agent.recovery import left_open
from local_agent.domain.audit import Audit
from local_agent.domain.entries import Entry, Kind, ToolCall, Turn
from local_agent.domain.ledger import EventKind, Execution, Pending
from local_agent.domain.quoting import quoted
from local_agent.domain.text import one_line
from local_agent.domain.times import local_time
from local_agent.headless.jsonl import as_json
from local_agent.policy.redaction import redacted, redacted_text

SCHEMA_VERSION = 1
MOST = 100_000
"""Entries, and events of the ledger, of one export."""
TEXT_CHARACTERS = 4_000_000
"""Of one text of an entry."""
ROWS = 500
"""Of a table or list of the summary."""
REVIEW = "Review before sharing: here is what was asked and answered, and what files and commands said."
_MARKDOWN = re.compile(r"([\\`*_{}\[\]<>()#|!~&$])")


@dataclass(frozen=True, slots=True)
class Issue:
    """Something that a person has to settle, and the command that begins it."""

    what: str
    about: str
    command: str


def issues(audit: Audit) -> list[Issue]:
    """What is uncertain, files that were being put back when the program ended, and results that are lost."""
    pending = list(audit.pending)
    if audit.session.holder is None:
        known = {each.execution.id for each in pending}
        left = [each for each in audit.executions if left_open(each) and each.id not in known]
        pending += [Pending(each, audit.session.handle, audit.session.workspace_root) for each in left]
    found = [
        Issue(
            "uncertain",
            _about(each.execution),
            f"local-agent execution recover {each.handle} {each.execution.id}",
        )
        for each in pending
    ]
    by_id = {each.id: each for each in audit.executions}
    place = f"cd {quoted(audit.session.workspace_root)} && "
    found += [
        Issue("files half put back", _about(each), f"{place}local-agent --resume {audit.session.handle}")
        for each in audit.executions
        if audit.session.holder is None and each.entry_id == 0 and each.state is EventKind.STARTED
    ]
    found += [
        Issue("result lost", _about(by_id[key]), f"{place}local-agent session repair {audit.session.handle}")
        for key in audit.without_result
        if key in by_id
    ]
    return found


def json_lines(audit: Audit, made_at: str, *, raw: bool) -> Iterator[str]:
    """One ``{"kind": ..., "value": ...}`` a line."""
    bounds = {
        "entries": MOST,
        "execution_events": MOST,
        "checkpoints": MOST,
        "head_moves": MOST,
        "text_characters": TEXT_CHARACTERS,
    }
    metadata = {
        "schema_version": SCHEMA_VERSION,
        "program_version": __version__,
        "made_at": made_at,
        "notice": REVIEW,
        "redacted": not raw,
        "bounds": bounds,
        "left_out": audit.left_out,
    }
    yield _line("metadata", metadata)
    yield _line("session", audit.session)
    path = set(audit.path)
    for entry in audit.entries:
        yield _line("entry", {**_entry(entry, raw=raw), "on_path": entry.id in path or entry.parent in path})
    for turn in audit.turns:
        yield _line("turn", turn)
    executions = {each.id: each for each in audit.executions}
    for event in audit.events:
        about = executions.get(event.execution_id)
        value = {**asdict(event), "detail": event.detail if raw else redacted(event.detail)}
        yield _line("execution_event", {**value, **(_call(about, raw=raw) if about is not None else {})})
    for each in audit.executions:
        if each.evidence is not None:
            yield _line("reconciliation", {"execution_id": each.id, **asdict(each.evidence)})
    for checkpoint in audit.checkpoints:
        yield _line("checkpoint", checkpoint)
    for move in audit.moves:
        yield _line("head_move", move)
    for error in audit.errors:
        yield _line("error", error)
    for issue in issues(audit):
        yield _line("open_issue", replace(issue, about=_shareable(issue.about, raw)))


def _line(kind: str, value: object) -> str:
    return as_json({"kind": kind, "value": value}) + "\n"


def _entry(entry: Entry, *, raw: bool) -> dict[str, object]:
    value: dict[str, object] = {name: getattr(entry, name) for name in Entry.__slots__}
    for name in ("text", "context", "thinking"):
        text = getattr(entry, name)
        if len(text) > TEXT_CHARACTERS:
            value |= {name: text[:TEXT_CHARACTERS], f"{name}_cut_from": len(text)}
    if not raw:
        value["calls"] = tuple(map(_redacted_call, entry.calls))
        if entry.kind is Kind.COMMAND:
            value["text"] = redacted_text(str(value["text"]))
    return value


def _redacted_call(call: ToolCall) -> ToolCall:
    arguments = redacted(call.arguments)
    assert isinstance(arguments, Mapping)
    return replace(call, arguments=arguments, raw=redacted_text(call.raw))


def _call(execution: Execution, *, raw: bool) -> dict[str, object]:
    return {
        "tool": execution.tool,
        "target": _shareable(execution.target, raw),
        "effect": execution.effect,
        "origin": execution.origin,
        "entry_id": execution.entry_id,
        "call_number": execution.call_number,
        "readable": execution.readable,
    }


def _shareable(text: str, raw: bool) -> str:
    return text if raw else redacted_text(text)


def _about(execution: Execution) -> str:
    return one_line(f"{execution.tool} {execution.target}".strip(), 120)


def summary(audit: Audit, made_at: str, *, raw: bool) -> str:
    """The session in Markdown: what was asked, what was done, what is open."""
    info = audit.session
    lines = [
        f"# Session {info.handle}: {_plain(info.title)}",
        "",
        f"{REVIEW}",
        "",
        f"- Folder: {_plain(info.workspace_root)}",
        f"- Model: {_plain(info.model) or 'none'}",
        f"- Mode: {_plain(info.mode)}",
        f"- Begun: {local_time(info.created_at)}; last: {local_time(info.last_activity)}",
        f"- Exported: {local_time(made_at)} by local-agent {__version__}",
        *(f"- Left out: {count:,} older lines of kind {kind}" for kind, count in audit.left_out.items()),
        "" if raw else "- What looks like a secret in arguments of calls is replaced by \\[redacted\\].",
        "",
        "## Open issues",
        "",
        *_issue_rows(audit, raw),
        "",
        "## Turns",
        "",
        *_turn_rows(audit),
        "",
        "## Calls",
        "",
        *_call_rows(audit),
        "",
        "## Changed files",
        "",
        *_file_rows(audit),
        "",
        "## Errors",
        "",
        *_bounded([f"- {local_time(each.created_at)}: {_plain(each.line)}" for each in audit.errors]),
    ]
    return "\n".join(lines) + "\n"


def _issue_rows(audit: Audit, raw: bool) -> list[str]:
    found = issues(audit)
    if not found:
        return ["None: every call's outcome is known, and every result is in the conversation."]
    rows = [f"| {each.what} | {_plain(_shareable(each.about, raw))} | `{each.command}` |" for each in found]
    return ["| What | Call | Command |", "| --- | --- | --- |", *_bounded(rows)]


def _turn_rows(audit: Audit) -> list[str]:
    asked = {entry.turn_id: entry for entry in audit.entries if entry.kind in (Kind.QUESTION, Kind.COMMAND)}
    return _bounded([_turn_row(turn, asked.get(turn.id)) for turn in audit.turns])


def _turn_row(turn: Turn, question: Entry | None) -> str:
    sign = "!" if question is not None and question.kind is Kind.COMMAND else ""
    text = _plain(redacted_text(sign + question.text[:2000]), 160) if question is not None else ""
    return f"- {local_time(turn.started_at)}, {turn.status}, {_plain(turn.model) or 'no model'}: {text}"


def _call_rows(audit: Audit) -> list[str]:
    counts = Counter((each.tool, str(each.state)) for each in audit.executions)
    return _bounded([f"- {_plain(tool)}: {count} {state}" for (tool, state), count in sorted(counts.items())])


def _file_rows(audit: Audit) -> list[str]:
    counts = Counter((change.path, change.kind) for each in audit.executions for change in each.changes)
    return _bounded(
        [f"- {_plain(path)}: {kind}, {count} x" for (path, kind), count in sorted(counts.items())]
    )


def _bounded(rows: list[str]) -> list[str]:
    if not rows:
        return ["None."]
    return rows if len(rows) <= ROWS else [*rows[:ROWS], "", f"There are {len(rows) - ROWS:,} more."]


def _plain(text: str, most: int = 200) -> str:
    """Outside text on one line, with nothing in it that Markdown would make something of."""
    return _MARKDOWN.sub(r"\\\1", one_line(text, most))
