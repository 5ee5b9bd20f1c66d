"""Turns events into widgets."""

from __future__ import annotations

from collections.abc import Sequence
from time import monotonic

from textual.widget import Widget

from local_agent.domain.entries import Entry, Kind, TurnStatus, Usage
from local_agent.domain.events import (
    Answered,
    ApprovalAsked,
    Compacted,
    CompactionFailed,
    Event,
    Notice,
    Phase,
    PhaseChanged,
    QuestionAsked,
    ReplyRecorded,
    SavedAgain,
    SavingFailed,
    Silence,
    TextDelta,
    ThinkingDelta,
    ToolFinished,
    ToolProgress,
    ToolRequested,
    ToolStarted,
    TurnEnded,
    TurnFailed,
    TurnStarted,
    UsageReported,
)
from local_agent.domain.ledger import EventKind
from local_agent.domain.pictures import Picture
from local_agent.domain.ports import Reply as PartialReply
from local_agent.tui.conversation.summarised import live_summary
from local_agent.tui.look.glyphs import Glyphs
from local_agent.tui.tools.asking import Asking
from local_agent.tui.tools.placing import LiveCalls, ToolEvent
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
        self._calls = LiveCalls(transcript, glyphs)
        self._asking = Asking(transcript, glyphs)
        self._answered: Widget | None = None
        """The last widget of what is stored: what comes behind it belongs to the reply that arrives."""
        self._recorded = False
        self._waiting = False
        """True while the question waits for a summary: it is not stored."""
        self._command = False
        """Whether it is a command of the person's own."""

    async def ask(self, prompt: str, pictures: Sequence[Picture] = ()) -> None:
        """Show the question at once; it is stamped when it is stored."""
        self._question = self._answered = Question(prompt, glyphs=self._glyphs, pictures=pictures)
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
                self._waiting = phase is Phase.COMPACTING
                self._phase.show(phase, done, total)
            case ThinkingDelta(text):
                await self._think(text)
            case TextDelta(text):
                await self._write(text)
            case TurnEnded():
                await self._end(event)
            case ReplyRecorded(reply=reply):
                await self._record(reply)
            case SavedAgain(ids=ids):
                self._transcript.window.rename(ids)
            case SavingFailed():
                pass  # a matter of the whole screen
            case _:
                await self._act(event)

    async def fail(self, line: str, hint: str = "") -> None:
        """Show a failure below what has arrived."""
        await self._settle()
        await self._transcript.add(Remark(line, "error", hint, self._glyphs))

    async def close(self) -> None:
        """Leave nothing live behind."""
        await self._asking.end()
        await self._settle()
        self._phase.end()

    async def _act(self, event: Event) -> None:
        match event:
            case ToolRequested() | ToolStarted() | ToolProgress() | ToolFinished():
                await self._call(event)
            case ApprovalAsked() | QuestionAsked():
                self._calls.mark(await self._asking.show(event), EventKind.APPROVAL_REQUESTED)
                self._phase.say("waiting for your answer")
            case Answered(line=line):
                await self._over(line)
            case _:
                await self._remark(event)

    async def _remark(self, event: Event) -> None:
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
            case Compacted(summary=summary, left=left):
                await self._put_before(summary.id, live_summary(summary, left, self._glyphs))
            case CompactionFailed(line=line, hint=hint):
                await self._transcript.add(Remark(line, "warning", hint, self._glyphs))

    async def _put_before(self, entry_id: int, widget: Widget) -> None:
        """Something is stored before the question, which waits for that."""
        if self._question is None:
            await self._transcript.add(widget, entry_id=entry_id)
        else:
            self._transcript.window.items.insert(-1, Item(entry_id, [widget]))
            await self._transcript.mount(widget, before=self._question)

    async def _record(self, reply: Entry) -> None:
        """A reply is stored whole; its calls follow."""
        await self._settle()
        self._recorded = True
        self._transcript.window.split_last(reply.id, after=self._answered)
        if any(call.recovered for call in reply.calls):
            # The calls have cards; what is stored is the text without them.
            widgets = self._transcript.window.items[-1].widgets
            for number, shown in enumerate(each for each in widgets if isinstance(each, Reply)):
                await shown.become("" if number else reply.text)
        self._stand_behind()

    async def _call(self, event: ToolEvent) -> None:
        await self._calls.show(event, opened=self._command)
        self._stand_behind()
        if isinstance(event, ToolStarted):
            self._phase.say("running")
        elif isinstance(event, ToolFinished) and not self._calls.waiting and not self._command:
            self._phase.say("asking")

    async def _over(self, line: str) -> None:
        """A question is answered, or void."""
        await self._asking.end()
        self._phase.say("going on")
        if line:
            await self._transcript.add(Remark(line, glyphs=self._glyphs))
            self._stand_behind()

    def _stand_behind(self) -> None:
        """What has been drawn up to here belongs to what is stored."""
        widgets = self._transcript.window.items[-1].widgets
        if widgets:
            self._answered = widgets[-1]

    async def _started(self, question: Entry) -> None:
        if self._question is None:
            await self._branch_off(question)
            await self.ask(question.text)
        self._command = question.kind is Kind.COMMAND
        self._transcript.window.name_last(question.id)
        if self._question is not None:
            self._question.stamp(question)

    async def _branch_off(self, question: Entry) -> None:
        """Asked again: what followed the same parent before is on another branch now, if not all of it is.

        So are marks of what stays, which follow it: then that is read again, too.
        """
        transcript, parent = self._transcript, question.parent
        items = transcript.window.items
        mounted = any(item.entry_id == parent for item in items)
        marked = any(isinstance(each, Question) and each.wanted for each in widgets_of(items))
        if (mounted and not marked) or parent is None or transcript.pager is None:
            await transcript.drop_from((parent or 0) + 1)
        else:
            await transcript.pager.up_to(question.id)

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
        if self._waiting and self._question is not None:
            # It was never asked, and stands where what was not sent does.
            self._transcript.window.items[-1].widgets.remove(self._question)
            await self._question.remove()
            return
        unanswered = event.reply is None and not self._recorded and not self._command
        if event.status is TurnStatus.FAILED and unanswered and self._question is not None:
            self._question.failed = True
        before = next((receipt.model for receipt in reversed(self._receipts())), self._model)
        named = before != self._model
        ending = ending_of(
            event.status, event.stop_reason, self.usage, self._glyphs, model=self._model, named=named
        )
        if event.reply is not None:
            # The reply's own item: entries come and go with all that belongs to them.
            self._transcript.window.split_last(event.reply.id, after=self._answered)
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
