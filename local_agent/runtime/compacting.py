"""Makes room in a conversation's window: earlier turns give way to a summary, and nothing is lost of them."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace

from local_agent.agent.arriving import Emit
from local_agent.agent.compaction import Cut, choose, most_summary
from local_agent.agent.fitting import most_tokens
from local_agent.agent.plan import TurnPlan
from local_agent.agent.shortening import trimmings
from local_agent.agent.stopping import Stop, Stopped
from local_agent.agent.summaries import READER, instruction, put_together, transcript, useless
from local_agent.agent.summarising import SPOILT, summarise
from local_agent.domain.budget import BYTES_PER_TOKEN, COMPACT_AT, estimate_tokens
from local_agent.domain.entries import Entry, ErrorRecord, Kind, Origin
from local_agent.domain.errors import LocalAgentError, ModelError, ModelErrorKind, StoreError
from local_agent.domain.events import Compacted, CompactionFailed, Event, Phase, PhaseChanged
from local_agent.domain.marks import Mark, marks_of
from local_agent.domain.ports import Shown
from local_agent.domain.requests import DROPPED, Message, build_messages, with_pictures_of
from local_agent.domain.sections import Section, weigh_path
from local_agent.domain.summaries import SummaryNote
from local_agent.domain.tree import model_facing
from local_agent.llm.windows import think_for
from local_agent.runtime.journal import ConversationJournal
from local_agent.runtime.planning import Planner
from local_agent.runtime.showing import Showing
from local_agent.store.store import Store

_MARGIN = 1.15
"""What is sent as it stands must fit by this much where no count has confirmed the estimate."""
_RAW_LIMIT = 2000
"""Characters of a reply of no use that the errors trail keeps."""


@dataclass(frozen=True, slots=True)
class Narrow:
    """A path that is to be cut, and where."""

    path: Sequence[Entry]
    cut: Cut
    before: int
    """Tokens of a request now that asks nothing new."""


@dataclass(frozen=True, slots=True)
class _Asking:
    """What asks for a summary."""

    plan: TurnPlan
    messages: tuple[Message, ...]


class Compacting:
    """Of one conversation, whose turns do not run meanwhile."""

    def __init__(
        self, store: Store, journal: ConversationJournal, planner: Planner, pictures: Showing
    ) -> None:
        self._store = store
        self._journal = journal
        self._planner = planner
        self._pictures = pictures

    async def due(self, plan: TurnPlan, path: Sequence[Entry], counted: int | None) -> Narrow | None:
        """What is to be done before the question of ``plan`` is asked behind ``path``; None: nothing.

        ``counted`` is what the server counted for the request that the last reply of the path answers.
        """
        unsure = plan.refusal is not None or not plan.window_known
        if unsure or not path or self._journal.trouble is not None or self._journal.unsaved.waiting:
            return None
        return await asyncio.to_thread(self._due, plan, path, counted)

    def _due(self, plan: TurnPlan, path: Sequence[Entry], counted: int | None) -> Narrow | None:
        question = _next(path, plan.text, plan)
        before = self._weigh(plan, (*path, question), asking=True)
        asked = self._tokens(plan, build_messages("", (question,)))
        needs = max(before, self._counted(plan, path, counted) + asked)
        if needs <= plan.window * COMPACT_AT:
            return None
        most = most_tokens(plan, plan.window, self._planner.measuring)
        return self._narrow(plan, path, asked=asked, needed=most is not None and needs > most)

    async def wanted(self, plan: TurnPlan, path: Sequence[Entry]) -> Narrow | None:
        """What is to be done because the person asks for it; None where nothing would be gained."""
        return await asyncio.to_thread(self._narrow, plan, path, asked_for=True)

    async def run(
        self, plan: TurnPlan, narrow: Narrow, stop: asyncio.Event, focus: str = ""
    ) -> AsyncGenerator[Event, None]:
        """Ask for the summary and put it into the place of what leaves.

        Ends with ``Compacted`` or ``CompactionFailed``; with neither when ``stop`` was set first. Without
        ``Compacted`` nothing is changed.
        """
        events: asyncio.Queue[Event | None] = asyncio.Queue()
        wish = Stop(stop)
        yield PhaseChanged(Phase.COMPACTING)
        work = asyncio.create_task(self._work(plan, narrow, focus, events, wish))
        try:
            while (event := await events.get()) is not None:
                yield event
            await work
        finally:
            if not work.done():
                wish.want()
                await asyncio.wait({work})

    async def _work(
        self,
        plan: TurnPlan,
        narrow: Narrow,
        focus: str,
        events: asyncio.Queue[Event | None],
        stop: Stop,
    ) -> None:
        try:
            held = await self._journal.saved()
            text, origin = await self._summary(plan, narrow, focus, events.put_nowait, stop)
            path, cut = narrow.path, narrow.cut
            after = await asyncio.to_thread(self._after, plan, narrow, text)
            note = SummaryNote(len(cut.left), narrow.before, after, cut.stay)
            stop.heed()
            parent = _leaf(path)
            summary, checkpoint = await held.compact(
                parent, text, cut.kept_from, context=note.text, origin=origin
            )
            mechanical = origin is Origin.PROGRAM
            events.put_nowait(
                Compacted(summary, checkpoint.id, cut.left, narrow.before, after, mechanical=mechanical)
            )
        except Stopped:
            pass
        except LocalAgentError as error:
            await self._note(plan, error.line, error.raw)
            line = f"Earlier turns were not summarised. {error.line}"
            events.put_nowait(CompactionFailed(line, _way_out(error.hint)))
        finally:
            events.put_nowait(None)

    async def _summary(
        self, plan: TurnPlan, narrow: Narrow, focus: str, emit: Emit, stop: Stop
    ) -> tuple[str, Origin]:
        """The model's, or the program's where that is of no use. Raises what says that no model answers."""
        cut = narrow.cut
        most = self._bytes(plan, cut.gain + cut.room)
        why, raw = "", ""
        for whole in (True, False):
            asking = await asyncio.to_thread(self._asking, plan, narrow, focus, whole=whole)
            if asking is None:
                continue
            try:
                shown = await self._shown(asking.messages, plan) if whole else Shown(asking.messages)
                reply = await summarise(
                    self._planner.backend, asking.plan, shown, most_summary(plan.window), emit, stop
                )
            except ModelError as error:
                if error.kind is ModelErrorKind.CONTEXT_OVERFLOW:
                    why, raw = "it did not fit", error.raw or error.line
                    continue
                if error.kind not in SPOILT:
                    raise
                why, raw = error.line, error.raw
            else:
                why = useless(reply.so_far, reply.done, most)
                if not why:
                    return reply.so_far.text.strip(), Origin.MODEL
                raw = reply.so_far.text[:_RAW_LIMIT]
            break
        await self._note(plan, f"The model's summary was of no use: {why.rstrip('.')}.", raw)
        return await asyncio.to_thread(self._by_program, plan, narrow), Origin.PROGRAM

    def _asking(self, plan: TurnPlan, narrow: Narrow, focus: str, *, whole: bool) -> _Asking | None:
        """The request. ``whole``: the last one goes on, so that the server has most of it read already; None
        where that does not fit.
        """
        path, cut = narrow.path, narrow.cut
        info = self._planner.info
        # A server that does not say what its models can do may refuse to be told not to think.
        think = think_for(info, False) if info is not None and info.can_think else None
        if whole:
            asking = replace(plan, think=think)
            messages = self._messages(plan, (*path, _next(path, instruction(cut.room, focus), None)))
            tokens = self._tokens(plan, messages, tools=True)
            margin = 1 if self._planner.measuring.knows(plan.measured_as) else _MARGIN
            fits = tokens * margin + most_summary(plan.window) <= plan.window
            return _Asking(asking, messages) if fits else None
        words = instruction(cut.room, focus, what="the conversation below")
        beside = (Message("system", READER), Message("user", words))
        room = (plan.window - most_summary(plan.window)) / _MARGIN - self._tokens(plan, beside)
        told = transcript(_without_dropped(path), cut.left, _earlier(path), max(0, self._bytes(plan, room)))
        text = f"{words}\n\nThe conversation:\n\n{told}"
        return _Asking(replace(plan, think=think, tools=()), (beside[0], Message("user", text)))

    async def _shown(self, messages: tuple[Message, ...], plan: TurnPlan) -> Shown:
        if not any(message.pictures for message in messages):
            return Shown(messages)
        try:
            return await self._pictures.shown(messages, plan.model, sees=plan.sees)
        except ModelError:
            raise
        except LocalAgentError:
            return Shown(with_pictures_of(messages, ()))

    def _by_program(self, plan: TurnPlan, narrow: Narrow) -> str:
        path, cut = narrow.path, narrow.cut
        return put_together(path, cut.left, _earlier(path), self._bytes(plan, cut.room))

    def _narrow(
        self,
        plan: TurnPlan,
        path: Sequence[Entry],
        *,
        asked: int = 0,
        asked_for: bool = False,
        needed: bool = False,
    ) -> Narrow | None:
        weights = weigh_path(path, trimmings(path, plan.most_result))
        turns = [replace(turn, tokens=self._counts(plan, turn.tokens)) for turn in weights.turns]
        system = (Message("system", plan.system_prompt),)
        cut = choose(
            path,
            turns,
            plan.window,
            self._tokens(plan, system, tools=True) + asked,
            summary=self._counts(plan, weights.rest.get(Section.SUMMARY, 0)),
            asked_for=asked_for,
            needed=needed,
        )
        return Narrow(path, cut, self._weigh(plan, path)) if cut is not None else None

    def _after(self, plan: TurnPlan, narrow: Narrow, text: str) -> int:
        """Tokens of a request with the summary."""
        note = SummaryNote(stay=narrow.cut.stay).text
        summary = replace(
            _next(narrow.path, text, None), kind=Kind.SUMMARY, context=note, kept_from=narrow.cut.kept_from
        )
        return self._weigh(plan, (*narrow.path, summary))

    def _counted(self, plan: TurnPlan, path: Sequence[Entry], counted: int | None) -> int:
        """What the server counted, with the reply that came since; 0 where that is not known."""
        last = next((entry for entry in reversed(path) if entry.kind is not Kind.RESULT), None)
        if counted is None or last is None or last.kind is not Kind.ASSISTANT:
            return 0
        return counted + self._tokens(plan, (Message("assistant", last.text),))

    def _weigh(self, plan: TurnPlan, path: Sequence[Entry], *, asking: bool = False) -> int:
        return self._tokens(plan, self._messages(plan, path, asking=asking), tools=True)

    def _messages(self, plan: TurnPlan, path: Sequence[Entry], *, asking: bool = True) -> tuple[Message, ...]:
        trimmed = trimmings(path, plan.most_result)
        return build_messages(
            plan.system_prompt, path, asking=asking, uncertain=plan.uncertain, trimmed=trimmed
        )

    def _tokens(self, plan: TurnPlan, messages: Sequence[Message], *, tools: bool = False) -> int:
        return self._counts(plan, estimate_tokens(messages, plan.tools if tools else ()))

    def _counts(self, plan: TurnPlan, estimate: int) -> int:
        return self._planner.measuring.tokens(plan.measured_as, estimate)

    def _bytes(self, plan: TurnPlan, tokens: float) -> int:
        """Of text that the server counts as so many tokens."""
        scale = self._counts(plan, 1000) / 1000
        return int(tokens / scale * BYTES_PER_TOKEN)

    async def _note(self, plan: TurnPlan, line: str, raw: str) -> None:
        info = self._journal.info
        if info is None:
            return
        record = ErrorRecord(
            "compaction", line, raw if raw != line else "", "", plan.model, self._planner.backend.kind
        )
        # The trail is beside the matter: what can't be written there must not end the turn.
        with suppress(StoreError):
            await self._store.note_error(info.id, record)


def _next(path: Sequence[Entry], text: str, plan: TurnPlan | None) -> Entry:
    """A question behind a path that is not stored; with what ``plan`` adds to it."""
    return Entry(
        id=max((entry.id for entry in path), default=0) + 1,
        session_id=0,
        turn_id=None,
        parent=_leaf(path) if path else None,
        kind=Kind.QUESTION,
        origin=Origin.PROGRAM,
        text=text,
        context=plan.context if plan is not None else "",
        pictures=plan.pictures if plan is not None else (),
    )


def _way_out(hint: str) -> str:
    """What helps where it is no turn that failed: of a summary nothing is kept."""
    return hint.removeprefix("What arrived is kept. ").replace("/retry", "/compact")


def _leaf(path: Sequence[Entry]) -> int:
    return next(entry.id for entry in reversed(path) if entry.kind is not Kind.RESULT)


def _earlier(path: Sequence[Entry]) -> str:
    """The text of the summary that the model sees now; empty without one."""
    first = next(iter(model_facing(path)), None)
    return first.text if first is not None and first.kind is Kind.SUMMARY else ""


def _without_dropped(path: Sequence[Entry]) -> list[Entry]:
    dropped = {key for key, mark in marks_of(path).items() if mark is Mark.DROP}
    return [replace(entry, text=DROPPED) if entry.id in dropped else entry for entry in path]
