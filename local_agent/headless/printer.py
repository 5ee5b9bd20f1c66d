"""The answer on standard output as it streams; everything else on standard error."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from local_agent.domain.attached import Attached, read_back
from local_agent.domain.events import (
    ApprovalAsked,
    Compacted,
    CompactionFailed,
    Event,
    Notice,
    Phase,
    PhaseChanged,
    ReplyRecorded,
    SavedAgain,
    SavingFailed,
    Silence,
    TextDelta,
    ToolFinished,
    TurnFailed,
    TurnStarted,
)
from local_agent.domain.ledger import Execution
from local_agent.domain.summaries import heading, read_note
from local_agent.domain.text import GrowingText, normalise, one_line, without_invisible
from local_agent.headless.receipt import Receipt

OWN_START = "local-agent:"
"""How every line begins that the program itself says."""
SET_IN = "  "


class TextPrinter:
    """Prints for a person or a pipe. To a terminal text is made safe to draw; a pipe gets it unchanged."""

    def __init__(
        self, write: Callable[[str], None], say: Callable[[str], None], *, to_terminal: bool
    ) -> None:
        self._write = write
        self._say = say
        self._shown = _ShownText() if to_terminal else None
        self._last = ""
        self._unsaved = ""
        self._asked: set[str] = set()
        """The executions whose question, and so the reason of a refusal, was told."""

    def show(self, event: Event) -> None:
        """Print what a reader of the answer needs."""
        match event:
            case TurnStarted(question=question):
                for each in read_back(question.context):
                    self._remark(_attached_line(each))
            case TextDelta(text):
                self._print(self._shown.feed(text) if self._shown is not None else normalise(text))
            case ReplyRecorded():
                self._end_line()
            case ApprovalAsked(request):
                self._asked.add(request.execution_id)
            case ToolFinished(execution=execution, result=result):
                self._remark(_call_line(execution, "" if execution.id in self._asked else result.text))
            case SavingFailed(line=line, hint=hint) if line != self._unsaved:
                self._unsaved = line
                self._remark(f"Not saved: {line} {hint}")
            case SavedAgain():
                self._unsaved = ""
                self._remark("Saved after all.")
            case _:
                for line in _said_of(event):
                    self._remark(line)

    def finish(self, receipt: Receipt) -> None:
        """End the last line, and say under which handle the conversation is kept."""
        self._end_line()
        if receipt.handle:
            self._say(
                f"Session {receipt.handle} · {one_line(receipt.title)} (go on with: "
                f"local-agent --resume {receipt.handle})"
            )

    def _remark(self, line: str) -> None:
        """On a terminal, where both streams meet, what the program says begins a line."""
        if self._shown is not None:
            self._end_line()
        self._say(line)

    def _end_line(self) -> None:
        if self._shown is not None:
            self._print(self._shown.finish())
        if self._last and not self._last.endswith("\n"):
            self._print("\n")

    def _print(self, text: str) -> None:
        if text:
            self._last = text
            self._write(text)


def _attached_line(attached: Attached) -> str:
    done = "read" if attached.text is not None else "not read"
    return f"{one_line(attached.label)} {done}: {one_line(attached.note)}."


def _said_of(event: Event) -> Sequence[str]:
    """What is said of an event beside the answer."""
    match event:
        case Notice(text):
            return (text,)
        case Silence(note=note) if note:
            return (note,)
        case TurnFailed(line=line, hint=hint) | CompactionFailed(line=line, hint=hint):
            return (f"{line} {hint}".rstrip(),)
        case PhaseChanged(phase=Phase.COMPACTING):
            return ("Summarising earlier turns, to make room in the context window.",)
        case Compacted(summary=summary, mechanical=mechanical):
            return (f"{heading(read_note(summary.context), by_program=mechanical)}.",)
        case _:
            return ()


def _call_line(execution: Execution, told: str) -> str:
    """Such as ``bash pytest -q: failed, exit 1, 2.4 s``; ``told`` is what the model reads of it."""
    receipt = execution.receipt
    outcome = told.partition("\n")[0].rstrip(".")
    facts = [] if receipt is None else [receipt.status, receipt.summary or outcome]
    if receipt is not None and receipt.seconds is not None:
        facts.append(f"{receipt.seconds:.1f} s")
    what = one_line(f"{execution.tool} {execution.target}", 200).rstrip()
    return f"{what}: {one_line(', '.join(fact for fact in facts if fact), 200)}"


class _ShownText:
    """An answer for a terminal: what reads like a line of the program's own is set in."""

    def __init__(self) -> None:
        self._growing = GrowingText()
        self._line = ""
        """The beginning of a line, until enough of it has come to be judged."""
        self._judged = False

    def feed(self, text: str) -> str:
        """What can be printed of an answer by now."""
        *whole, last = self._growing.feed(text).split("\n")
        done = "".join(self._more(line, ends=True) for line in whole)
        return done + self._more(last, ends=False)

    def finish(self) -> str:
        """The rest."""
        rest = self._more(self._growing.finish().removesuffix("\n"), ends=True).removesuffix("\n")
        self._growing = GrowingText()
        return rest

    def _more(self, piece: str, *, ends: bool) -> str:
        self._line += piece
        if not self._judged:
            start = without_invisible(self._line)[: len(OWN_START)]
            if len(start) < len(OWN_START) and not ends:
                return ""
            if start == OWN_START:
                self._line = SET_IN + self._line
        text, self._line, self._judged = self._line, "", not ends
        return f"{text}\n" if ends else text
