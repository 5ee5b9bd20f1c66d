"""What a conversation's next request is made of, what leaves it next, and what was read again and why."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from local_agent.agent.compaction import choose
from local_agent.agent.measuring import PrefixBreak
from local_agent.agent.prompt import role_and_instructions
from local_agent.agent.shortening import trimmings
from local_agent.domain.budget import COMPACT_AT, estimate_tokens
from local_agent.domain.entries import Entry, Kind
from local_agent.domain.requests import Message
from local_agent.domain.sections import Section, TurnWeight, weigh_path

if TYPE_CHECKING:
    from local_agent.runtime.journal import ConversationJournal
    from local_agent.runtime.planning import Planner


@dataclass(frozen=True, slots=True)
class ContextFacts:
    """All sizes are tokens, as the server of the model would count them."""

    model: str
    """Empty while none is chosen."""
    window: int
    """0 while it is not known."""
    sections: Mapping[Section, int]
    turns: Sequence[TurnWeight]
    """Of what the model sees, oldest first."""
    max_output: int
    """What a reply may have by what is set, if there is room for it."""
    summary: Entry | None = None
    """What stands for the turns that left."""
    factor: float | None = None
    """What the server counts for a token of our own estimate; None before it has counted any."""
    counted: int | None = None
    """Of the last request of this process, by the server."""
    breaks: Sequence[PrefixBreak] = ()
    """Oldest first."""
    leaving: frozenset[int] = frozenset()
    """The questions and commands whose turns the next compaction summarises."""

    @property
    def used(self) -> int:
        """Of the window, by a request that asks nothing new."""
        return sum(self.sections.values())

    @property
    def room(self) -> int:
        """What is left for a question and its reply."""
        return max(0, self.window - self.used)

    @property
    def compacts_at(self) -> int:
        """Earlier turns are summarised before a question with which a request would pass this."""
        return int(self.window * COMPACT_AT)


async def gather(planner: Planner, journal: ConversationJournal, head: int | None) -> ContextFacts:
    """Look at the path to ``head``. Raises ``StoreError`` where it can't be read."""
    path = await journal.model_path(head) if head is not None else ()
    return await asyncio.to_thread(_facts, planner, path)


def _facts(planner: Planner, path: Sequence[Entry]) -> ContextFacts:
    plan = planner.build("", None, "")
    weights = weigh_path(path, trimmings(path, plan.most_result))
    role, instructions = role_and_instructions(plan.system_prompt)
    sections = Counter(weights.rest)
    sections[Section.SYSTEM] = estimate_tokens((Message("system", role),))
    sections[Section.INSTRUCTIONS] = (
        estimate_tokens((Message("system", instructions),)) if instructions else 0
    )
    sections[Section.TOOLS] = estimate_tokens((), plan.tools)
    for turn in weights.turns:
        sections.update(turn.sections)
    measuring, model = planner.measuring, plan.measured_as

    def counted(tokens: int) -> int:
        return measuring.tokens(model, tokens)

    turns = tuple(replace(turn, tokens=counted(turn.tokens)) for turn in weights.turns)
    beside = sum(sections[each] for each in (Section.SYSTEM, Section.INSTRUCTIONS, Section.TOOLS))
    cut = choose(path, turns, plan.window, counted(beside), summary=counted(sections[Section.SUMMARY]))
    summaries = [entry for entry in path if entry.kind is Kind.SUMMARY]
    return ContextFacts(
        model=planner.model,
        window=planner.window,
        sections={each: counted(sections[each]) for each in Section},
        turns=turns,
        max_output=plan.max_output,
        summary=summaries[-1] if summaries else None,
        factor=measuring.calibration.factors.get(model),
        counted=measuring.counted,
        breaks=measuring.breaks,
        leaving=cut.turns if cut is not None else frozenset(),
    )
