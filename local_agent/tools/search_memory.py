"""``search_memory``: what was said in this folder's earlier conversations; off until it is turned on."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

from local_agent.domain.searching import Exchange, Passage, SearchPage
from local_agent.domain.text import one_line
from local_agent.domain.times import local_time
from local_agent.domain.tools import ResultStatus, Surroundings, ToolFailed, ToolResult, ToolSpec
from local_agent.tools.output import cut_bytes
from local_agent.tools.talking import TalkingTool

SEARCH_MEMORY = ToolSpec(
    "search_memory",
    "Search earlier conversations in this folder.",
    {
        "type": "object",
        "properties": {
            "words": {"type": "string", "description": "words, or parts of words, that were said"},
            "entry": {"type": "integer", "description": "number of a hit, to read all of it"},
        },
    },
    example={"words": "database port"},
)
HITS = 5
HIT_CHARACTERS = 400
_PAST = "From earlier conversations in this folder; it may be out of date."


class Memory(Protocol):
    """What is searched. Raises ``StoreError``."""

    async def search(self, words: str, limit: int) -> SearchPage:
        """Exchanges that say the words and that the model does not have already."""

    async def exchange(self, entry_id: int) -> Exchange | None:
        """All of the exchange that an entry belongs to; None where there is none in this folder."""


def search_memory(memory: Memory) -> TalkingTool:
    """The tool over one conversation's past."""

    async def talk(arguments: Mapping[str, object], most_bytes: int, around: Surroundings) -> ToolResult:
        entry = arguments.get("entry")
        if isinstance(entry, int) and entry > 0:
            exchange = await memory.exchange(entry)
            if exchange is None:
                raise ToolFailed(
                    f"There is no entry {entry} in this folder's conversations: search for words."
                )
            text = f"{_PAST}\n\nAsked:\n{exchange.question}\n\nAnswered:\n{exchange.answer}"
            return ToolResult(ResultStatus.OK, cut_bytes(text, most_bytes), "1 exchange")
        page = await memory.search(str(arguments.get("words", "")), HITS)
        found = len(page.passages)
        count = f"{found} {'hit' if found == 1 else 'hits'}" if found else "no hit"
        return ToolResult(ResultStatus.OK, cut_bytes(_answer(page), most_bytes), count)

    return TalkingTool(SEARCH_MEMORY, _aim, talk)


def _aim(arguments: Mapping[str, object]) -> str:
    entry, words = arguments.get("entry"), str(arguments.get("words", "")).strip()
    if isinstance(entry, int) and entry > 0:
        return f"entry {entry}"
    if not words:
        raise ToolFailed(f"Say what to search for. Right: {dict(SEARCH_MEMORY.example or {})}")
    return words


def _answer(page: SearchPage) -> str:
    if page.passages:
        some = "\nNothing says all of the words; these say the most of them." if page.partly else ""
        return "\n".join([_PAST + some, *map(_hit, page.passages)])
    newest = [f"- {handle} {one_line(title, 80)}" for handle, title in page.newest]
    lines = ["Nothing says these words. Try other words, or another language."]
    return "\n".join([*lines, "The newest conversations:", *newest] if newest else lines)


def _hit(passage: Passage) -> str:
    day = local_time(passage.created_at)[:10]
    question, answer = passage.question, passage.answer
    if passage.is_answer and passage.snippet.text:
        answer = passage.snippet.text
    return (
        f"\nEntry {passage.entry_id}, {day}, session {passage.handle}\n"
        f"Asked: {one_line(question, HIT_CHARACTERS)}\n"
        f"Answered: {one_line(answer, HIT_CHARACTERS)}"
    )
