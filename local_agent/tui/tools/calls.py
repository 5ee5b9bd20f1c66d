"""One call as it is drawn: its line and, opened, its arguments, its diff and its output."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from textual.content import Content

from local_agent.domain.entries import Origin
from local_agent.domain.ledger import EventKind, Execution
from local_agent.domain.text import one_line, sanitise
from local_agent.domain.tools import ResultStatus
from local_agent.tui.look.glyphs import Glyphs
from local_agent.tui.look.growing_lines import PlainLines
from local_agent.tui.look.lines import Line, decoration
from local_agent.tui.look.quantities import counted, seconds, size
from local_agent.tui.tools.changes import lines_of, note_of
from local_agent.tui.tools.diffs import hunks_of, typeset

READS = ("read", "grep", "glob", "ls")
"""What is folded into one line once it is over."""
PROGRESS_ROWS = 5
OUTPUT_ROWS = 20
DIFF_ROWS = 60
CHANGE_ROWS = 12
ARGUMENT_ROWS = 6
ARGUMENTS = 12
TARGET_LIMIT = 400
_OUTPUT_CHARACTERS = 16_000
_LEAST_TARGET = 12
_LEAST_WHY = 20
"""Cells: fewer would not tell why."""
_NAME_CELLS = 5
_TARGETS = ("path", "command", "pattern", "source", "from", "question", "id")
"""Arguments that name what a call is about, before the program has looked."""


@dataclass(frozen=True, slots=True)
class Call:
    """An execution, and what of its output is there to be drawn."""

    execution: Execution
    text: str = ""
    """What the model reads of it, once it has ended."""
    progress: str = ""
    """The end of what it has written while it runs."""

    @property
    def folds(self) -> bool:
        """Whether it is a read that went well: several of them are one line."""
        receipt = self.execution.receipt
        return self.execution.tool in READS and receipt is not None and receipt.status == ResultStatus.OK

    @property
    def output(self) -> str:
        """What there is to read of its result without asking the store."""
        receipt = self.execution.receipt
        return self.text or (receipt.excerpt if receipt is not None else "")

    @property
    def why(self) -> str:
        """Why nothing came of it, in one line, unless the person said so or its summary does."""
        receipt, words = self.execution.receipt, self.text.strip().split("\n", 1)[0]
        match self.execution.state:
            case EventKind.FAILED if receipt is None or not receipt.summary:
                return one_line(words, TARGET_LIMIT)
            case EventKind.DENIED if "reason" not in self.execution.facts:
                return one_line(words, TARGET_LIMIT)
            case _:
                return ""


class Sign(NamedTuple):
    """How a state looks."""

    glyph: str
    style: str
    words: str = ""
    """Said where the sign alone would not do."""


def sign_of(execution: Execution, glyphs: Glyphs) -> Sign:
    """What has become of a call."""
    receipt = execution.receipt
    match execution.state:
        case EventKind.REQUESTED | EventKind.APPROVED:
            return Sign(glyphs.waiting, "$text-muted")
        case EventKind.APPROVAL_REQUESTED:
            return Sign(glyphs.waiting, "$text-warning", "waits for your answer")
        case EventKind.STARTED:
            return Sign(glyphs.bullet, "$text-primary", "running")
        case EventKind.DENIED:
            return Sign(glyphs.error, "$text-warning", "refused")
        case EventKind.CANCELLED:
            return Sign(glyphs.stopped, "$text-warning", "cancelled")
        case EventKind.OUTCOME_UNKNOWN if execution.evidence is not None:
            return Sign(glyphs.warning, "$text-muted", execution.evidence.observation.replace("_", " "))
        case EventKind.OUTCOME_UNKNOWN:
            return Sign(glyphs.warning, "$text-warning", "outcome not known: /recover")
        case EventKind.FAILED:
            return Sign(glyphs.error, "$text-error", "" if receipt and receipt.summary else "failed")
        case _ if receipt is not None and (receipt.status == ResultStatus.FAILED or receipt.exit_code):
            return Sign(glyphs.error, "$text-error")
        case _:
            return Sign(glyphs.ok, "$text-success")


def target_of(execution: Execution) -> str:
    """What a call is about, in one line that is safe to draw."""
    named = execution.target
    if not named:
        named = next((str(execution.arguments[key]) for key in _TARGETS if execution.arguments.get(key)), "")
    return one_line(named[: TARGET_LIMIT * 4], TARGET_LIMIT)


def call_line(call: Call, width: int, glyphs: Glyphs, *, opened: bool) -> Line:
    """``✓ bash   pytest -x   exit 1      2.4 s ▸``; what does not fit is cut, the target last."""
    execution = call.execution
    sign = sign_of(execution, glyphs)
    aside = f" {_took(execution)} {glyphs.opened if opened else glyphs.closed}"
    name = one_line(execution.tool, 40).ljust(_NAME_CELLS)
    own = execution.origin is Origin.PERSON
    # A command of the person's own stands above it as it was typed.
    lead = Content.assemble((f"{sign.glyph} ", sign.style), ("" if own else f"{name} ", "$text-muted"))
    room = max(width - lead.cell_length - len(aside) - 1, 2)
    target = Content.styled("" if own else target_of(execution), "$text")
    notes = _fitting(sign, list(_notes(execution)), room - min(target.cell_length, _LEAST_TARGET) - 2)
    left = room - target.cell_length - notes.cell_length - 4
    if call.why and left >= _LEAST_WHY:
        why = Content.styled(call.why, "$text-muted").truncate(left, ellipsis=True)
        notes = Content.assemble(notes, "  ", why)
    if notes and target.cell_length + notes.cell_length + 2 > room:
        target = target.truncate(room - notes.cell_length - 2, ellipsis=True)
    body = Content.assemble(target, "  " if target and notes else "", notes).truncate(room, ellipsis=True)
    return Line(Content.assemble(lead, body), gutter=2, aside=Content.styled(aside, "$text-muted"))


def _fitting(sign: Sign, notes: Sequence[str], room: int) -> Content:
    """What is said behind the target, as much of it as finds room."""
    words = [Content.styled(sign.words, sign.style)] if sign.words else []
    words += [Content.styled(note, "$text-muted") for note in notes if note]
    while words and Content("  ").join(words).cell_length > room:
        words.pop()
    return Content("  ").join(words)


def _took(execution: Execution) -> str:
    receipt = execution.receipt
    return seconds(receipt.seconds) if receipt is not None and receipt.seconds is not None else ""


def _notes(execution: Execution) -> Iterable[str]:
    receipt = execution.receipt
    if receipt is not None:
        summary = one_line(receipt.summary, 120)
        yield summary if summary != target_of(execution) else ""
        if receipt.exit_code is not None and str(receipt.exit_code) not in receipt.summary:
            yield f"exit {receipt.exit_code}"
        yield note_of(execution)
    if execution.facts.get("confined"):
        yield "sandboxed"
    if execution.recovered:
        yield "found in the text"


def read_words(calls: Sequence[Call]) -> str:
    """``read 6 files, grep 2``"""
    tally = Counter(call.execution.tool for call in calls)
    names = sorted(tally, key=READS.index)
    return ", ".join(f"read {counted(tally[n], 'file')}" if n == "read" else f"{n} {tally[n]}" for n in names)


def reads_line(calls: Sequence[Call], width: int, glyphs: Glyphs, *, opened: bool) -> Line:
    """The one line for reads that follow each other."""
    took = sum(call.execution.receipt.seconds or 0.0 for call in calls if call.execution.receipt is not None)
    aside = f" {seconds(took)} {glyphs.opened if opened else glyphs.closed}"
    line = Content.assemble((f"{glyphs.ok} ", "$text-success"), (read_words(calls), "$text-muted"))
    shown = line.truncate(max(width - len(aside) - 1, 2), ellipsis=True)
    return Line(shown, gutter=2, aside=Content.styled(aside, "$text-muted"))


def progress_rows(call: Call, width: int, glyphs: Glyphs) -> list[Line]:
    """The last rows of what a running command has written."""
    rows = (
        PlainLines(width, sanitise(call.progress).rstrip("\n"), _bar(glyphs)) if call.progress.strip() else ()
    )
    return [_muted(row) for row in rows[-PROGRESS_ROWS:]]


def details(call: Call, width: int, glyphs: Glyphs) -> list[Line]:
    """What an opened call shows below its line, behind a bar; the viewer has all of it."""
    bar = _bar(glyphs)
    execution = call.execution
    receipt = execution.receipt
    diff = receipt.diff if receipt is not None else ""
    lines = [] if execution.origin is Origin.PERSON else _arguments(execution, width, bar, short=bool(diff))
    if diff:
        rows = typeset(hunks_of(diff), width - len(bar), glyphs)
        lines += [row.behind(bar) for row in rows[:DIFF_ROWS]]
        lines += _rest(len(rows) - DIFF_ROWS, bar, glyphs)
    if call.output.strip() and not diff:
        lines += _output(call, width, bar, glyphs)
    changed = list(lines_of(execution))
    for line in changed[:CHANGE_ROWS]:
        lines += [_muted(row) for row in PlainLines(width, line, bar)]
    lines += _rest(len(changed) - CHANGE_ROWS, bar, glyphs)
    if not execution.ended:
        return lines
    return lines or [decoration("no arguments, no output", "$text-muted").behind(bar)]


def _output(call: Call, width: int, bar: Content, glyphs: Glyphs) -> list[Line]:
    """The end of what a command wrote, the beginning of anything else."""
    text, at_end = call.output, call.execution.tool not in READS
    part = text[-_OUTPUT_CHARACTERS:] if at_end else text[:_OUTPUT_CHARACTERS]
    rows = PlainLines(width, sanitise(part).strip("\n"), bar)
    shown = rows[-OUTPUT_ROWS:] if at_end else rows[:OUTPUT_ROWS]
    rest = _rest(len(rows) - len(shown), bar, glyphs, whole=len(part) == len(text))
    receipt = call.execution.receipt
    if receipt is not None and receipt.output:
        rest = [_more(f"{size(receipt.size)} in all" if receipt.size else "more", bar, glyphs)]
    return [*rest, *shown] if at_end else [*shown, *rest]


def _arguments(execution: Execution, width: int, bar: Content, *, short: bool) -> list[Line]:
    lines: list[Line] = []
    for name, value in list(execution.arguments.items())[:ARGUMENTS]:
        text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)
        if short and ("\n" in text or len(text) > 200):
            text = counted(text.count("\n") + 1, "line")
        label = Content.assemble(bar, (f"{one_line(name, 40)}: ", "$text-muted"))
        head = sanitise(text[: ARGUMENT_ROWS * max(width, 2)]).strip("\n")
        rows = PlainLines(width - label.cell_length, head)[:ARGUMENT_ROWS]
        rest = Content.assemble(bar, " " * (label.cell_length - bar.cell_length))
        lines += [row.behind(rest if place else label) for place, row in enumerate(rows)]
    return lines


def _rest(count: int, bar: Content, glyphs: Glyphs, *, whole: bool = True) -> list[Line]:
    if count > 0:
        return [_more(counted(count, "more row") if whole else "more", bar, glyphs)]
    return []


def _more(words: str, bar: Content, glyphs: Glyphs) -> Line:
    return decoration(f"{glyphs.ellipsis} {words} {glyphs.dot} v shows all", "$text-muted").behind(bar)


def whole_text(call: Call, output: str) -> str:
    """All there is to read of a call; ``output`` is its whole output."""
    execution = call.execution
    parts = [f"{execution.tool} {execution.target}".strip()]
    if execution.arguments:
        parts.append(json.dumps(dict(execution.arguments), ensure_ascii=False, indent=2, default=str))
    if execution.receipt is not None and execution.receipt.diff:
        parts.append(execution.receipt.diff)
    parts.append(output)
    parts.append("\n".join(lines_of(execution)))
    return "\n\n".join(part for part in parts if part.strip())


def _bar(glyphs: Glyphs) -> Content:
    return Content.styled(f"{glyphs.side_bar} ", "$text-muted")


def _muted(line: Line) -> Line:
    return Line(
        line.content.stylize("$text-muted"), line.gutter, line.joint, line.aside, line.lead, line.part
    )
