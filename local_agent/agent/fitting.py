"""Makes a path into a request that fits the context window, or says why there is none."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from local_agent.agent import sentences
from local_agent.agent.arriving import Emit
from local_agent.agent.measuring import Measuring
from local_agent.agent.plan import TurnPlan
from local_agent.agent.shortening import Shortening, trimmings
from local_agent.domain.budget import estimate_tokens, least_reply
from local_agent.domain.context import Sent, origins_of, sent
from local_agent.domain.entries import Entry
from local_agent.domain.events import Notice
from local_agent.domain.requests import Message, build_messages

_HOPELESS = 1.5
"""Of the window: an estimate that no count has confirmed errs by tens of percent."""
_TIGHT = 8
"""A reply that has less room than this part of the window is warned of."""
_SURE, _UNSURE = 1.05, 1.25
"""How much more than estimated it may be, with an estimate that was calibrated and with one that was not."""
_MUCH_ROOM = 1024
"""Tokens that are room enough in any window."""


@dataclass(frozen=True, slots=True)
class Fitted:
    """A request that may be sent."""

    messages: tuple[Message, ...]
    request: Sent
    tokens: int
    """As the server would count it."""
    max_output: int
    """What the reply may have: a server that runs over its window forgets the beginning without a word."""


class Fitting:
    """The requests of one turn. What gave way once stays so."""

    def __init__(self, plan: TurnPlan, measuring: Measuring, emit: Emit) -> None:
        self._plan = plan
        self._measuring = measuring
        self._emit = emit
        self._shortening = Shortening()
        self._warned = False
        self.window = plan.window
        """That the requests are sent with."""

    def shrink(self) -> bool:
        """Go on in the smaller window, once and said; False where there is none, or this one has fitted."""
        smaller = self._plan.smaller_window
        fitted = self._measuring.answered(self._plan.measured_as, self.window)
        if smaller is None or smaller >= self.window or fitted:
            return False
        self._emit(Notice(sentences.smaller_window(self._plan.model, self.window, smaller)))
        self.window = smaller
        return True

    async def fit(self, path: Sequence[Entry]) -> Fitted:
        """Build a request; results of tools give way to it. Raises ``ModelError`` for what can't fit."""
        trimmed = await asyncio.to_thread(trimmings, path, self._plan.most_result)
        # Of a path of 100,000 entries this takes most of a second.
        built = await asyncio.to_thread(self._built, path, trimmed)
        told = bool(self._shortening.texts)
        while self._give_way(path, built):
            built = await asyncio.to_thread(self._built, path, trimmed)
        if self._shortening.texts and not told:
            self._emit(Notice(sentences.SHORTENED))
        self._tell_trimmed(frozenset(trimmed))
        self._refuse(built.tokens)
        return replace(built, max_output=self._room(built.tokens))

    def give_all(self) -> bool:
        """The server says that it is too much: leave out whatever can be. False when that is done already."""
        return self._shortening.give_all()

    def note(self, fitted: Fitted, messages: Sequence[Message], turn_id: int) -> None:
        """``messages`` of ``fitted`` go out now, with those pictures that can go along."""
        plan, request = self._plan, fitted.request
        if tuple(messages) != fitted.messages:
            request = sent(request.model, request.window, plan.options, messages, plan.tools, request.origins)
        self._measuring.note(request, turn_id)

    def learn(self, counted: int | None) -> None:
        """The server's count of what was noted last."""
        self._measuring.learn(counted, whole=not self._plan.may_cut)

    def _give_way(self, path: Sequence[Entry], built: Fitted) -> bool:
        """Make the next one smaller, True when something is left that can be."""
        scale = built.request.estimate / max(1, built.tokens)
        if self._shortening.fit(path, built.request.estimate, int(self.window * scale)):
            return True
        over = built.tokens > self.window - least_reply(self.window)
        return over and self._shortening.give_all() and self._give_way(path, built)

    def _built(self, path: Sequence[Entry], trimmed: Mapping[int, str]) -> Fitted:
        plan, texts = self._plan, self._shortening.texts
        messages = build_messages(
            plan.system_prompt, path, uncertain=plan.uncertain, shortened=texts, trimmed=trimmed
        )
        origins = origins_of(path, frozenset(texts) | frozenset(trimmed))
        request = sent(plan.measured_as, self.window, plan.options, messages, plan.tools, origins)
        tokens = self._measuring.tokens(request.model, request.estimate)
        return Fitted(messages, request, tokens, plan.max_output)

    def _tell_trimmed(self, trimmed: frozenset[int]) -> None:
        """Once for each of them, and not again in every turn."""
        last = self._measuring.last
        new = trimmed - (last.origins.shortened if last is not None else frozenset())
        if new:
            self._emit(Notice(sentences.trimmed(len(new))))

    def _refuse(self, tokens: int) -> None:
        """Raise for what the server would cut, or nobody's tokenizer could fit."""
        most = most_tokens(self._plan, self.window, self._measuring)
        if most is not None and tokens > most:
            raise sentences.too_long(tokens, self.window)

    def _room(self, tokens: int) -> int:
        plan = self._plan
        if not plan.window_known:
            return plan.max_output
        erring = _SURE if self._measuring.knows(plan.measured_as) else _UNSURE
        room = max(least_reply(self.window), self.window - int(tokens * erring))
        if room < min(_MUCH_ROOM, self.window // _TIGHT, plan.max_output) and not self._warned:
            self._warned = True
            self._emit(Notice(sentences.tight(room)))
        return min(plan.max_output, room)


def refuse_too_large(plan: TurnPlan, measuring: Measuring) -> None:
    """Raise ``ModelError`` where the question alone does not fit; it is not even stored then."""
    most = most_tokens(plan, plan.window, measuring)
    if most is None or plan.refusal is not None:
        return
    text = "\n\n".join(part for part in (plan.context, plan.text) if part.strip())
    system, asked = Message("system", plan.system_prompt), Message("user", text, pictures=plan.pictures)
    beside, whole = (
        measuring.tokens(plan.measured_as, estimate_tokens(messages, plan.tools))
        for messages in ((system,), (system, asked))
    )
    if beside > most:
        raise sentences.window_too_small(beside, most)
    if whole > most:
        raise sentences.question_too_long(whole - beside, most - beside)


def most_tokens(plan: TurnPlan, window: int, measuring: Measuring) -> int | None:
    """What a request may weigh at most; None where nobody knows the window."""
    if not plan.window_known:
        return None
    most = window - least_reply(window)
    if measuring.knows(plan.measured_as):
        return most
    # A server that refuses what is too long may be asked: the estimate is only one.
    return int(most / _UNSURE if plan.may_cut else window * _HOPELESS)
