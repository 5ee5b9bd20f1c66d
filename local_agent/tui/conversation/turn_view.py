"""Turns events into widgets, and stored entries into the same ones."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from time import monotonic

from textual.widget import Widget

from local_agent.domain.entries import Entry, EntryStatus, Kind, Slice, Turn, TurnStatus, Usage
from local_agent.domain.events import (
    Event,
    Notice,
    Phase,
    PhaseChanged,
    SavedAgain,
    SavingFailed,
    Silence,
    TextDelta,
    ThinkingDelta,
    TurnEnded,
    TurnFailed,
    TurnStarted,
    UsageReported,
)
from local_agent.domain.pictures import Picture
from local_agent.domain.ports import Reply as PartialReply
from local_agent.domain.tree import forgets_pictures, words_of
from local_agent.tui.look.glyphs import Glyphs
from local_agent.tui.widgets.phase import PhaseLine
from local_agent.tui.widgets.question import Question
from local_agent.tui.widgets.remarks import Receipt, Remark, receipt_parts
from local_agent.tui.widgets.reply import Reply
from local_agent.tui.widgets.thinking import Thinking
from local_agent.tui.widgets.transcript import Transcript
from local_agent.tui.widgets.window import Item, widgets_of


class TurnView:
    """One turn, live: show it each event in order, and close it whatever happens."""

    def __init__(self, transcript: Transcript, phase: PhaseLine, glyphs: Glyphs) -> None:
        self.usage = Usage()
        self._model = ""
        self._transcript = transcript
        self._phase = phase
        self._glyphs = glyphs
        self._question: Question | None = None
        self._thinking: Thinking | None = None
        self._thought_from = 0.0
        self._reply: Reply | None = None

    async def ask(self, prompt: str, pictures: Sequence[Picture] = ()) -> None:
        """Show the question at once; it is stamped when it is stored."""
        self._question = Question(prompt, glyphs=self._glyphs, pictures=pictures)
        self._phase.begin(characters=len(prompt))
        await self._transcript.add(self._question, entry_id=0)
        self._transcript.follow()

    async def show(self, event: Event) -> None:
        """Draw one event."""
        match event:
            case TurnStarted(question=question, model=model):
                self._model = model
                await self._started(question)
            case PhaseChanged(phase, done, total):
                self._phase.show(phase, done, total)
            case ThinkingDelta(text):
                await self._think(text)
            case TextDelta(text):
                await self._write(text)
            case TurnEnded():
                await self._end(event)
            case SavedAgain(ids=ids):
                self._transcript.window.rename(ids)
            case SavingFailed():
                pass  # a matter of the whole screen
            case _:
                await self._remark(event)

    async def fail(self, line: str, hint: str = "") -> None:
        """Show a failure below what has arrived."""
        await self._settle()
        await self._transcript.add(Remark(line, "error", hint, self._glyphs))

    async def close(self) -> None:
        """Leave nothing live behind."""
        await self._settle()
        self._phase.end()

    async def _remark(self, event: Silence | UsageReported | Notice | TurnFailed) -> None:
        match event:
            case Silence(note=note):
                self._phase.note(note)
            case UsageReported(usage=usage):
                self.usage = usage
                self._phase.learn(usage)
            case Notice(text):
                await self._settle()
                await self._transcript.add(Remark(text, glyphs=self._glyphs))
            case TurnFailed(line=line, hint=hint):
                await self.fail(line, hint)

    async def _started(self, question: Entry) -> None:
        if self._question is None:
            # Asked again: what followed the same parent before is on another branch now.
            await self._transcript.drop_from((question.parent or 0) + 1)
            await self.ask(question.text)
        self._transcript.window.name_last(question.id)
        if self._question is not None:
            self._question.stamp(question)

    async def _think(self, text: str) -> None:
        self._phase.count()
        if self._reply is not None:
            await self._settle()
        if self._thinking is None:
            self._thought_from = monotonic()
            self._thinking = Thinking(glyphs=self._glyphs, live=True)
            await self._transcript.add(self._thinking)
        self._thinking.feed(text)

    async def _write(self, text: str) -> None:
        self._phase.count()
        self._end_thinking()
        if self._reply is None:
            self._phase.show(Phase.WRITING)
            self._reply = Reply(glyphs=self._glyphs)
            await self._transcript.add(self._reply)
        self._reply.feed(text)

    async def _end(self, event: TurnEnded) -> None:
        await self._settle()
        if event.status is TurnStatus.FAILED and event.reply is None and self._question is not None:
            self._question.failed = True
        before = next((receipt.model for receipt in reversed(self._receipts())), self._model)
        named = before != self._model
        ending = ending_of(
            event.status, event.stop_reason, self.usage, self._glyphs, model=self._model, named=named
        )
        if event.reply is not None:
            # The reply's own item: entries come and go with all that belongs to them.
            self._transcript.window.split_last(event.reply.id, after=self._question)
        if ending is not None:
            await self._transcript.add(ending)

    def _receipts(self) -> list[Receipt]:
        items = self._transcript.window.items
        return [widget for widget in widgets_of(items) if isinstance(widget, Receipt)]

    async def _settle(self) -> None:
        self._end_thinking()
        if self._reply is not None:
            reply, self._reply = self._reply, None
            await reply.finish()

    def _end_thinking(self) -> None:
        if self._thinking is not None:
            self._thinking.finish(monotonic() - self._thought_from)
            self._thinking = None


class OpenReply:
    """The reply that another process is writing: shown as it grows, gone when it is stored."""

    def __init__(self, transcript: Transcript, glyphs: Glyphs) -> None:
        self._transcript = transcript
        self._glyphs = glyphs
        self._widget: Reply | None = None
        self._shown = ""

    async def show(self, reply: PartialReply) -> None:
        """Draw what has been written since the last time."""
        if self._widget is not None and not reply.text.startswith(self._shown):
            await self.remove()
        if self._widget is None:
            if not reply.text:
                return
            self._widget = Reply(glyphs=self._glyphs)
            await self._transcript.mount(self._widget)
        self._widget.feed(reply.text[len(self._shown) :])
        self._shown = reply.text

    async def remove(self) -> None:
        """It is stored now, or was given up."""
        widget, self._widget, self._shown = self._widget, None, ""
        if widget is not None:
            await widget.remove()


def ending_of(
    status: TurnStatus,
    stop_reason: str | None,
    usage: Usage,
    glyphs: Glyphs,
    *,
    model: str = "",
    named: bool = False,
) -> Receipt | None:
    """What stands below a reply: how it was cut short, and what it cost; ``named`` tells the model, too."""
    cut_short = ""
    if status is TurnStatus.INTERRUPTED:
        cut_short = "interrupted"
    elif status is TurnStatus.SETTLED and stop_reason == "length":
        cut_short = "stopped at the output limit"
    if not cut_short and not receipt_parts(usage):
        return None
    return Receipt(usage, cut_short, glyphs, model=model, named=named)


async def stored_items(part: Slice, width: int, glyphs: Glyphs, *, written: bool = False) -> list[Item]:
    """The entries of a slice as the transcript holds them, drawn as they were when they were live.

    ``written`` says that a process lives that writes here: a running turn was not left behind.
    """
    last_of_turn = {entry.turn_id: entry.id for entry in part.entries if entry.turn_id is not None}
    items = []
    before = _model_before(part)
    for entry in part.entries:
        widgets = await _entry_widgets(entry, part, width, glyphs)
        turn = part.turns.get(entry.turn_id) if entry.turn_id is not None else None
        ended = turn is not None and not (written and turn.status is TurnStatus.RUNNING)
        if turn is not None and ended and last_of_turn[turn.id] == entry.id:
            named = before is None or before not in ("", turn.model)
            widgets.extend(_turn_end(entry, turn, part, glyphs, named=named))
            if isinstance(widgets[-1] if widgets else None, Receipt):
                before = turn.model
        items.append(Item(entry.id, widgets))
        # Forty of them take long enough for a key to wait.
        await asyncio.sleep(0)
    return items


def _model_before(part: Slice) -> str | None:
    """The model of the turn before those of a slice; empty before the first one, None when it is unknown."""
    first = next((entry.turn_id for entry in part.entries if entry.turn_id is not None), 0)
    earlier = [key for key in part.turns if key < first]
    if earlier:
        return part.turns[max(earlier)].model
    return None if part.more else ""


async def _entry_widgets(entry: Entry, part: Slice, width: int, glyphs: Glyphs) -> list[Widget]:
    if not entry.readable:
        return [Remark("This message could not be read from the database.", "warning", glyphs=glyphs)]
    match entry.kind:
        case Kind.QUESTION:
            question = Question(
                words_of(entry), entry.created_at, glyphs, context=entry.context, pictures=entry.pictures
            )
            question.set_reactive(Question.failed, _unanswered(entry, part))
            return [question]
        case Kind.ASSISTANT:
            widgets: list[Widget] = []
            if entry.thinking.strip():
                widgets.append(Thinking(entry.thinking, glyphs, about=_thinking_seconds(entry, part)))
            if entry.text.strip():
                widgets.append(await Reply.prepared(entry.text, width, glyphs))
            return widgets
        case Kind.MARKER if forgets_pictures(entry):
            return [Remark(words_of(entry), glyphs=glyphs)]
        case _:
            return []


def _thinking_seconds(entry: Entry, part: Slice) -> float | None:
    """How long the model thought: of the time that it wrote, as much as thinking is of what it wrote.

    Only the whole time is stored. None where it is not known, or was that of several replies.
    """
    turn = part.turns.get(entry.turn_id) if entry.turn_id is not None else None
    if turn is None or turn.usage.reply_seconds is None or entry.calls:
        return None
    return turn.usage.reply_seconds * len(entry.thinking) / (len(entry.thinking) + len(entry.text))


def _unanswered(question: Entry, part: Slice) -> bool:
    turn = part.turns.get(question.turn_id) if question.turn_id is not None else None
    if turn is None or turn.status is not TurnStatus.FAILED:
        return False
    return not any(entry.turn_id == turn.id and entry.kind is Kind.ASSISTANT for entry in part.entries)


def _turn_end(entry: Entry, turn: Turn, part: Slice, glyphs: Glyphs, *, named: bool) -> list[Widget]:
    widgets: list[Widget] = []
    error = part.errors.get(turn.id)
    if error is not None:
        widgets.append(Remark(error.line, "error", glyphs=glyphs))
    interrupted = turn.status is TurnStatus.RUNNING or entry.status is EntryStatus.INTERRUPTED
    status = TurnStatus.INTERRUPTED if interrupted else turn.status
    if entry.kind is Kind.ASSISTANT or status is TurnStatus.INTERRUPTED:
        ending = ending_of(status, turn.stop_reason, turn.usage, glyphs, model=turn.model, named=named)
        if ending is not None:
            widgets.append(ending)
    return widgets
