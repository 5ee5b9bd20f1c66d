"""The real loop on a real database file, talking to the scripted server over a socket."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable
from contextlib import aclosing
from pathlib import Path
from typing import TypeVar

import pytest

from local_agent.agent.turn import Agent, TurnLimits, TurnPlan
from local_agent.domain.entries import Entry
from local_agent.domain.events import (
    Event,
    ReplyRecorded,
    TextDelta,
    ThinkingDelta,
    TurnEnded,
    TurnStarted,
)
from local_agent.domain.ports import Opening
from local_agent.domain.sessions import NewSession, SessionInfo
from local_agent.llm.host import parse_host
from local_agent.llm.ollama import OllamaBackend
from local_agent.runtime.journal import ConversationJournal
from local_agent.store.store import Store
from tests.agent.small_tools import SmallRules, SmallToolbox
from tests.support.ollama_server import ModelSpec, OllamaServer

E = TypeVar("E")

MODEL = "llama3.2:3b"
THINKER = "qwen3:4b"
WINDOW = 8192


class Bench:
    """One conversation with everything under it."""

    def __init__(self, server: OllamaServer, store: Store, backend: OllamaBackend, workspace: Path) -> None:
        self.server = server
        self.store = store
        self.backend = backend
        self._workspace = workspace
        self.journal = ConversationJournal(store, self._birth)
        self.agent = Agent(backend, self.journal)
        self.toolbox: SmallToolbox | None = None
        self.rules: SmallRules | None = None
        self.head: int | None = None

    @property
    def info(self) -> SessionInfo:
        """The session of the conversation; there is one after the first question."""
        assert self.journal.info is not None
        return self.journal.info

    def clocks(self, **limits: float) -> None:
        """Run the next turns by other clocks."""
        limited = TurnLimits(**limits)
        self.agent = Agent(
            self.backend, self.journal, toolbox=self.toolbox, authority=self.rules, limits=limited
        )

    def equip(self) -> SmallToolbox:
        """Give the next turns tools that work in a folder of their own."""
        folder = self._workspace / "work"
        folder.mkdir()
        self.toolbox, self.rules = SmallToolbox(folder), SmallRules()
        self.clocks()
        return self.toolbox

    def plan(self, text: str, **changes: object) -> TurnPlan:
        """The plan of a turn that goes on from the head."""
        values: dict[str, object] = {
            "text": text,
            "parent": self.head,
            "model": MODEL,
            "window": WINDOW,
            "max_output": 1024,
            "system_prompt": "Be brief.",
            "tools": self.toolbox.specs if self.toolbox is not None else (),
            **changes,
        }
        return TurnPlan(**values)  # type: ignore[arg-type]  # the tests change fields by name

    def ask(self, text: str, **changes: object) -> AsyncGenerator[Event, None]:
        """Start a turn; the caller reads its events."""
        return self.agent.run(self.plan(text, **changes))

    async def events(
        self, text: str, on_event: Callable[[Event], None] | None = None, **changes: object
    ) -> list[Event]:
        """Run a turn to its end; ``on_event`` sees each event as it comes."""
        seen: list[Event] = []
        async with asyncio.timeout(20), aclosing(self.ask(text, **changes)) as events:
            async for event in events:
                seen.append(event)
                self._follow(event)
                if on_event is not None:
                    on_event(event)
        return seen

    def sent(self, number: int) -> list[dict[str, object]]:
        """The messages of a chat request, counted from 0."""
        messages = self.server.chats[number].body["messages"]
        assert isinstance(messages, list)
        return messages

    async def stored(self) -> list[Entry]:
        """The entries on the way to the head, as another reader of the database sees them."""
        return list((await self.store.tail(self.info.id, 100)).entries)

    def _follow(self, event: Event) -> None:
        match event:
            case TurnStarted(question=question):
                self.head = question.id
            case ReplyRecorded(reply=Entry(id=reply)) | TurnEnded(reply=Entry(id=reply)):
                self.head = reply
            case _:
                pass

    def _birth(self, opening: Opening) -> NewSession:
        return NewSession(str(self._workspace), "A title", "ollama", self.backend.address, opening.model)


@pytest.fixture
def tools(bench: Bench) -> SmallToolbox:
    """The tools that the turns of ``bench`` have."""
    return bench.equip()


@pytest.fixture
async def bench(tmp_path: Path) -> AsyncIterator[Bench]:
    models = (ModelSpec(MODEL), ModelSpec(THINKER, capabilities=("completion", "thinking")))
    store = await asyncio.to_thread(Store.open, tmp_path / "home" / "local-agent.db", program_version="0.1.0")
    async with OllamaServer(models) as server:
        backend = OllamaBackend(parse_host(server.url))
        yield Bench(server, store, backend, tmp_path)
        await backend.close()
    await store.close()


def only(events: list[Event], kind: type[E]) -> list[E]:
    """The events of one kind."""
    return [event for event in events if isinstance(event, kind)]


def text_of(events: list[Event]) -> str:
    """The answer as it was streamed."""
    return "".join(event.text for event in only(events, TextDelta))


def thinking_of(events: list[Event]) -> str:
    """The thinking as it was streamed."""
    return "".join(event.text for event in only(events, ThinkingDelta))


def the_end(events: list[Event]) -> TurnEnded:
    """The one end of a turn, which is its last event."""
    ends = only(events, TurnEnded)
    assert len(ends) == 1
    assert events[-1] is ends[0]
    return ends[0]


def when(kind: type[Event], act: Callable[[], None]) -> Callable[[Event], None]:
    """Do something at each event of one kind."""

    def look(event: Event) -> None:
        if isinstance(event, kind):
            act()

    return look


async def until(holds: Callable[[], Awaitable[bool]], seconds: float = 5.0) -> None:
    """Wait for a state of the database; fails after ``seconds``."""
    async with asyncio.timeout(seconds):
        while not await holds():  # noqa: ASYNC110  # another connection writes it: nothing to be woken by
            await asyncio.sleep(0.01)
