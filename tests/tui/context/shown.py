"""A context that is half full, with everything in it that the screen can say."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from textual.pilot import Pilot

from local_agent.agent.measuring import PrefixBreak
from local_agent.domain.context import Broken, Why
from local_agent.domain.entries import Entry, Kind, Origin
from local_agent.domain.errors import UsageError
from local_agent.domain.marks import Mark
from local_agent.domain.sections import Section, TurnWeight
from local_agent.runtime.context import ContextFacts
from local_agent.tui.app import LocalAgentApp
from local_agent.tui.screens.context import ContextScreen
from tests.tui.pilots import screen_text, until

LONG_AGO = "2020-03-04T05:06:07.000Z"


def question(number: int, text: str) -> Entry:
    return Entry(number, 1, number, None, Kind.QUESTION, Origin.PERSON, text, created_at=LONG_AGO)


TURNS = (
    TurnWeight(question(3, "Where are the fixtures defined?"), 1_830, {}),
    TurnWeight(question(7, "Make the restore test wait for the copy, not for the clock"), 2_410, {}),
    TurnWeight(question(11, "What does the second fixture share with the first?"), 640, {}, Mark.PIN),
    TurnWeight(question(15, "Never mind"), 0, {}, Mark.DROP),
    TurnWeight(question(19, "And the release notes?"), 1_200, {}),
)
FACTS = ContextFacts(
    model="qwen3:4b",
    window=16_384,
    sections={
        Section.SYSTEM: 260,
        Section.INSTRUCTIONS: 410,
        Section.TOOLS: 1_730,
        Section.SUMMARY: 380,
        Section.PINNED: 640,
        Section.HISTORY: 2_840,
        Section.RESULTS: 2_600,
        Section.PICTURES: 0,
    },
    turns=TURNS,
    max_output=8_192,
    summary=replace(question(2, "A summary."), kind=Kind.SUMMARY),
    factor=1.12,
    counted=8_610,
    breaks=(
        PrefixBreak(3, LONG_AGO, Broken(1, Why.COMPACTION), 3_120),
        PrefixBreak(4, LONG_AGO, Broken(4, Why.MARKS), 2_050),
    ),
    leaving=frozenset({3, 7}),
)


class Fixed:
    """Facts that change by marks alone."""

    def __init__(self, facts: ContextFacts = FACTS) -> None:
        self.facts = facts
        self.refuses = False

    async def context(self) -> ContextFacts:
        return self.facts

    async def mark(self, mark: Mark, entry_id: int) -> None:
        if self.refuses:
            raise UsageError("A turn is running.", "Stop it with Esc first.")
        said = None if mark is Mark.FREE else mark
        turns = tuple(
            replace(turn, mark=said) if turn.entry.id == entry_id else turn for turn in self.facts.turns
        )
        self.facts = replace(self.facts, turns=turns)


async def context_screen(app: LocalAgentApp, pilot: Pilot[Any]) -> None:
    """The screen on a stage of its own facts."""
    app.push_screen(ContextScreen(Fixed(), glyphs=app.chat.glyphs))
    await until(pilot, lambda: "release notes" in screen_text(pilot))
