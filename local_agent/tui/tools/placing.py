"""Puts calls into the transcript: live as their events come, stored as they were left."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from local_agent.domain.entries import Entry, Kind, Slice
from local_agent.domain.events import ToolFinished, ToolProgress, ToolRequested, ToolStarted
from local_agent.domain.ledger import EventKind, Execution
from local_agent.tui.look.glyphs import Glyphs
from local_agent.tui.tools.calls import Call
from local_agent.tui.tools.cards import Card, ReadsRun, ToolCard, grouped
from local_agent.tui.widgets.transcript import Transcript

ToolEvent = ToolRequested | ToolStarted | ToolProgress | ToolFinished


class LiveCalls:
    """The calls of a turn; those of one reply are folded once all of them have ended."""

    def __init__(self, transcript: Transcript, glyphs: Glyphs) -> None:
        self.waiting = 0
        """How many of them have not ended yet."""
        self._transcript = transcript
        self._glyphs = glyphs
        self._cards: dict[str, ToolCard] = {}
        """Of the newest reply, by execution."""

    async def show(self, event: ToolEvent, *, opened: bool = False) -> None:
        """Draw one event; ``opened`` shows a new card with its output."""
        match event:
            case ToolRequested(execution=execution):
                await self._add(execution, opened=opened)
            case ToolStarted(execution_id=key, target=target, confined=confined) if key in self._cards:
                begun = self._cards[key].call.execution
                facts = {**begun.facts, "target": target or begun.target, "confined": confined}
                self._cards[key].show(replace(begun, state=EventKind.STARTED, facts=facts))
            case ToolProgress(execution_id=key, text=text) if key in self._cards:
                self._cards[key].write(text)
            case ToolFinished(execution=execution, result=result):
                await self._finish(execution, result)

    def mark(self, execution_id: str, state: EventKind) -> None:
        """A question about a call has come up, or is over."""
        if (card := self._cards.get(execution_id)) is not None and not card.call.execution.ended:
            card.show(replace(card.call.execution, state=state))

    async def _add(self, execution: Execution, *, opened: bool) -> None:
        if not self.waiting:
            self._cards = {}
        self.waiting += 1
        card = self._cards[execution.id] = ToolCard(Call(execution), self._glyphs, opened=opened)
        await self._transcript.add(card)

    async def _finish(self, execution: Execution, result: Entry) -> None:
        card = self._cards.get(execution.id)
        if card is None:
            return
        self.waiting -= 1
        card.show(execution, result.text)
        if not self.waiting:
            await self._fold()

    async def _fold(self) -> None:
        """Put one line in the place of reads that follow each other."""
        cards = {card.call.execution.id: card for card in self._cards.values()}
        runs = grouped([card.call for card in cards.values()], self._glyphs)
        with self._transcript.app.batch_update():
            for run in runs:
                if isinstance(run, ReadsRun):
                    await self._put(run, [cards[call.execution.id] for call in run.calls])

    async def _put(self, run: ReadsRun, cards: Sequence[ToolCard]) -> None:
        item = next((each for each in self._transcript.window.items if cards[0] in each.widgets), None)
        if item is None or any(card.has_focus or card.opened for card in cards):
            return  # dropped by now, or being read
        place = item.widgets.index(cards[0])
        item.widgets[:] = [each for each in item.widgets if each not in cards]
        item.widgets.insert(place, run)
        await self._transcript.mount(run, before=cards[0])
        await self._transcript.remove_children(cards)
        for widget in item.widgets:
            if isinstance(widget, Card):
                widget.space()


def stored_cards(entry: Entry, part: Slice, glyphs: Glyphs, *, opened: bool = False) -> list[Card]:
    """The calls of a stored reply or command as they were drawn at its end."""
    return grouped(_stored_calls(entry, part), glyphs, opened=opened)


def _stored_calls(entry: Entry, part: Slice) -> list[Call]:
    texts = {
        each.call_number: each.text
        for each in part.entries
        if each.kind is Kind.RESULT and each.parent == entry.id
    }
    calls = []
    for number in range(len(entry.calls)):
        if (execution := part.executions.get((entry.id, number))) is not None:
            calls.append(Call(execution, texts.get(number, "")))
    return calls
