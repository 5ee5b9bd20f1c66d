"""Whether rows are those of one session, as this program writes them: every value and every reference."""

from __future__ import annotations

import hashlib
import os
from collections import Counter
from collections.abc import Iterable
from itertools import pairwise

from local_agent.domain.bundles import NoBundle, Row, Rows
from local_agent.domain.entries import Kind, ToolCall
from local_agent.domain.ledger import TERMINAL
from local_agent.store import attachments, drafts, executions
from local_agent.store.bundle_tables import TABLES, named_places
from local_agent.store.models import ExecutionEventRow, ExecutionRow, FileChangeRow, ReconciliationRow
from local_agent.store.stored_text import calls_from_json, encode

_PICTURE = ("sha256", "name", "mime", "size", "width", "height")


def require_sound(rows: Rows) -> None:
    """Raise ``NoBundle``, which names the table and the row."""
    counts = {table: len(found) for table, found in rows.items()}
    for table, fields in TABLES.items():
        names = {field.name for field in fields}
        for number, row in enumerate(rows[table], 1):
            _require(row.keys() == names, table, number)
            for field in fields:
                _require(field.fits(row[field.name], counts), table, number)
    _require(counts["sessions"] == 1, "sessions", counts["sessions"])
    _require(counts["drafts"] <= 1, "drafts", counts["drafts"])
    calls = _tree(rows["entries"])
    _places(rows)
    _prompts(rows)
    _moves(rows["head_moves"])
    _unsent(rows)
    _ledger(rows, calls)


def _require(holds: bool, table: str, number: int) -> None:
    if not holds:
        raise NoBundle(f"has a row that this program can't have written: {table}, number {number}")


def _tree(entries: list[Row]) -> list[tuple[ToolCall, ...]]:
    """The calls of each entry."""
    found: list[tuple[ToolCall, ...]] = []
    for number, row in enumerate(entries, 1):
        try:
            found.append(calls_from_json(row["calls"]))
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
            _require(False, "entries", number)
        _require(all((row[name] or 0) < number for name in ("parent", "kept_from")), "entries", number)
        _require(_stands(row, entries, found), "entries", number)
        _require(all(place < number for place in named_places(row)), "entries", number)
    return found


def _stands(row: Row, entries: list[Row], calls: list[tuple[ToolCall, ...]]) -> bool:
    """A result hangs under the entry that called; nothing follows a result."""
    above = entries[row["parent"] - 1] if row["parent"] is not None else None
    if above is not None and above["kind"] == Kind.RESULT:
        return False
    if row["kind"] != Kind.RESULT:
        return row["call_number"] is None
    called = len(calls[row["parent"] - 1]) if above is not None else 0
    return row["call_number"] is not None and row["call_number"] < called


def _places(rows: Rows) -> None:
    """Whatever points at the end of a path points at no result."""
    ends = {"sessions": ("head", "fork_entry"), "checkpoints": ("entry_id",)}
    ends["head_moves"] = ("from_entry", "to_entry")
    for table, names in ends.items():
        for number, row in enumerate(rows[table], 1):
            found = [rows["entries"][row[name] - 1] for name in names if row[name] is not None]
            _require(all(entry["kind"] != Kind.RESULT for entry in found), table, number)
    events = len(rows["execution_events"])
    for table in ("head_moves", "checkpoints"):
        for number, row in enumerate(rows[table], 1):
            _require((row["ledger_number"] or 0) <= events, table, number)


def _prompts(rows: Rows) -> None:
    digests = [row["digest"] for row in rows["prompt_texts"]]
    known = set(digests)
    for number, row in enumerate(rows["prompt_texts"], 1):
        _require(hashlib.sha256(encode(row["text"])).hexdigest() == row["digest"], "prompt_texts", number)
    _require(digests == sorted(known), "prompt_texts", len(digests))
    for number, row in enumerate(rows["turns"], 1):
        _require(row["prompt_digest"] is None or row["prompt_digest"] in known, "turns", number)


def _moves(moves: list[Row]) -> None:
    _ascend([(row["number"],) for row in moves], "head_moves")
    numbers = {0} | {row["number"] for row in moves}
    for number, row in enumerate(moves, 1):
        others = [row[name] for name in ("step", "undo_below", "redo_below") if row[name] is not None]
        _require(all(each in numbers and each <= row["number"] for each in others), "head_moves", number)


def _unsent(rows: Rows) -> None:
    """Pictures and drafts are as the program writes them."""
    _ascend([(row["entry_id"], row["number"]) for row in rows["attachments"]], "attachments")
    for number, row in enumerate(rows["attachments"], 1):
        picture = [{name: row[name] for name in _PICTURE}]
        _require(attachments.to_json(attachments.from_json(picture)) == picture, "attachments", number)
    for number, row in enumerate(rows["drafts"], 1):
        _require(drafts.is_whole(row["text"], row["queue"], row["pictures"]), "drafts", number)


def _ledger(rows: Rows, calls: list[tuple[ToolCall, ...]]) -> None:
    """Each call is one that an entry holds, and its events, findings and changes are its own."""
    events = _by_execution(rows["execution_events"])
    changes = _by_execution(rows["file_changes"])
    findings = _by_execution(rows["reconciliations"])
    for number, row in enumerate(rows["executions"], 1):
        entry = row["entry_id"]
        empty = {row[name] is None for name in ("turn_id", "entry_id", "call_number")}
        _require(len(empty) == 1, "executions", number)
        if entry is not None:
            _require(rows["entries"][entry - 1]["turn_id"] == row["turn_id"], "executions", number)
        execution = executions.folded(
            ExecutionRow(**{**row, "entry_id": entry or 0, "call_number": row["call_number"] or 0}),
            calls[entry - 1] if entry is not None else (),
            [FileChangeRow(**each) for each in changes.get(number, ())],
            [ReconciliationRow(**each) for each in findings.get(number, ())],
            [ExecutionEventRow(**each) for each in events.get(number, ())],
        )
        _require(execution.readable and len(findings.get(number, ())) <= 1, "executions", number)
    called = Counter((r["entry_id"], r["call_number"]) for r in rows["executions"] if r["entry_id"])
    _require(not called or max(called.values()) == 1, "executions", len(rows["executions"]))
    _changes(rows)


def _changes(rows: Rows) -> None:
    _ascend([(row["event_number"], row["place"]) for row in rows["file_changes"]], "file_changes")
    for number, row in enumerate(rows["file_changes"], 1):
        event = rows["execution_events"][row["event_number"] - 1]
        path = row["path"]
        told = event["execution_id"] == row["execution_id"] and event["kind"] in TERMINAL
        _require(told, "file_changes", number)
        known = path and "\0" not in path and ".." not in path.split("/") and os.path.normpath(path) == path
        _require(bool(known), "file_changes", number)


def _by_execution(rows: Iterable[Row]) -> dict[int, list[Row]]:
    found: dict[int, list[Row]] = {}
    for row in rows:
        found.setdefault(row["execution_id"], []).append(row)
    return found


def _ascend(keys: list[tuple[int, ...]], table: str) -> None:
    for number, (before, after) in enumerate(pairwise(keys), 2):
        _require(before < after, table, number)
