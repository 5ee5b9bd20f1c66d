"""One request and its reply: streamed beside its saver and its clocks until one of them ends it."""

from __future__ import annotations

import asyncio
from contextlib import aclosing
from dataclasses import dataclass

from local_agent.agent import sentences
from local_agent.agent.arriving import ArrivingReply, Emit
from local_agent.agent.fitting import Fitting
from local_agent.agent.plan import TurnLimits, TurnPlan
from local_agent.agent.saving import keep_saving
from local_agent.agent.silence import watch_silence
from local_agent.agent.stopping import Stop, Stopped
from local_agent.domain.errors import ModelError, ModelErrorKind
from local_agent.domain.events import Notice
from local_agent.domain.ports import Backend, DonePart, Journal, OpenTurn, PictureReader, Shown
from local_agent.domain.requests import Message, with_pictures_of

_STUMBLES = (ModelErrorKind.EMPTY, ModelErrorKind.MALFORMED)
"""After which a model that works with tools gets one more try: most often it was a call."""


@dataclass(frozen=True, slots=True)
class Surrounding:
    """What the requests of one turn share."""

    backend: Backend
    journal: Journal
    pictures: PictureReader | None
    plan: TurnPlan
    limits: TurnLimits
    emit: Emit
    stop: Stop
    offers_tools: bool


class Exchange:
    """Sends the path to one entry, and gathers what comes back in ``reply``."""

    def __init__(self, around: Surrounding, turn: OpenTurn, leaf: int, fitting: Fitting) -> None:
        self.reply = ArrivingReply(around.emit)
        self.max_output = around.plan.max_output
        """What the reply was given room for."""
        self._around = around
        self._turn = turn
        self._leaf = leaf
        self._fitting = fitting

    async def run(self) -> None:
        """Until the reply is whole. Raises ``ModelError`` and ``Stopped``; what arrived is kept.

        Asked again: once after a stumble, with fewer words of old results when they are too many, and
        with a smaller window when the model does not fit into memory with the one that was chosen.
        """
        stumbled = False
        while True:
            try:
                await self._attempt()
                self._refuse_nothing()
                return
            except ModelError as error:
                if self._around.stop.wanted:
                    raise Stopped from error
                again = self._around.offers_tools
                if again and error.kind in _STUMBLES and not stumbled:
                    stumbled = True
                    self._around.emit(Notice(sentences.asked_again(error)))
                elif error.kind is ModelErrorKind.NO_MEMORY and self._shrink():
                    pass
                elif not (again and error.kind is ModelErrorKind.CONTEXT_OVERFLOW and self._give_way()):
                    raise
                self.reply.begin_again()

    def _refuse_nothing(self) -> None:
        """Raise for a whole reply with nothing in it, so that it is asked again."""
        reply, so_far = self.reply, self.reply.so_far
        said = so_far.text.strip() or so_far.thinking.strip() or so_far.calls
        if reply.done is not None and not said:
            raise sentences.empty(reply.done.reason == "length", self._around.plan.max_output)

    def _give_way(self) -> bool:
        """Make the request smaller; False when nothing is left to leave out."""
        return not self.reply.started and self._fitting.give_all()

    def _shrink(self) -> bool:
        """Ask for less memory; False when that was tried already."""
        return not self.reply.started and self._fitting.shrink()

    async def _attempt(self) -> None:
        around, plan, reply = self._around, self._around.plan, self.reply
        every, limit = around.limits.tell_silence_every, plan.watchdog_seconds
        asking = asyncio.create_task(self._ask_whether_loaded())
        answering = asyncio.create_task(self._stream())
        deciding = {
            answering,
            asyncio.create_task(keep_saving(around.journal, self._turn, reply, around.limits.save_every)),
            asyncio.create_task(
                watch_silence(around.backend, plan.model, reply, around.emit, every=every, limit=limit)
            ),
        }
        try:
            ended = await around.stop.first_of(deciding)
        finally:
            await self._end({asking, *deciding})
        if reply.done is not None:
            return
        for task in ended:
            task.result()
        if answering not in ended:
            raise Stopped

    async def _stream(self) -> None:
        around = self._around
        fitted = await self._fitting.fit(await around.journal.model_path(self._leaf))
        shown = await self._shown(fitted.messages)
        self.max_output = fitted.max_output
        self._fitting.note(fitted, shown.messages, self._turn.id)
        self.reply.sent()
        request = around.plan.request(shown, self._fitting.window, fitted.max_output)
        async with aclosing(around.backend.stream(request)) as parts:
            async for part in parts:
                if isinstance(part, DonePart):
                    self._fitting.learn(part.usage.prompt_tokens)
                self.reply.take(part)
                if self.reply.done is not None:
                    return

    async def _shown(self, messages: tuple[Message, ...]) -> Shown:
        """The messages with the bytes of their pictures, and without those that can't go along."""
        around = self._around
        if not any(message.pictures for message in messages):
            return Shown(messages)
        if around.pictures is None:
            return Shown(with_pictures_of(messages, ()))
        shown = await around.pictures.shown(messages, around.plan.model, sees=around.plan.sees)
        for notice in shown.notices:
            around.emit(Notice(notice))
        return shown

    async def _ask_whether_loaded(self) -> None:
        try:
            self.reply.found_loaded(await self._around.backend.loaded(self._around.plan.model))
        except ModelError:
            self.reply.found_loaded(None)

    async def _end(self, tasks: set[asyncio.Task[None]]) -> None:
        """Cancel tasks and wait for them, but no longer than a person does who pressed stop."""
        for task in tasks:
            task.cancel()
        ended, _ = await asyncio.wait(tasks, timeout=self._around.limits.stop_within)
        for task in ended:
            if not task.cancelled():
                task.exception()  # the ones that decide are raised; asyncio would log the others
