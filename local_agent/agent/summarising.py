"""One request that asks for a summary, and what came back: nothing of it is shown."""

from __future__ import annotations

import asyncio
from contextlib import aclosing

from local_agent.agent.arriving import ArrivingReply, Emit
from local_agent.agent.plan import TurnLimits, TurnPlan
from local_agent.agent.silence import watch_silence
from local_agent.agent.stopping import Stop, Stopped
from local_agent.domain.errors import ModelError, ModelErrorKind
from local_agent.domain.events import Event, Notice, Silence
from local_agent.domain.ports import Backend, DonePart, Shown

SPOILT = (
    ModelErrorKind.REPEATING,
    ModelErrorKind.EMPTY,
    ModelErrorKind.ONLY_THINKING,
    ModelErrorKind.MALFORMED,
)
"""The model answered, and its answer is of no use: the server is well."""


async def summarise(
    backend: Backend, plan: TurnPlan, shown: Shown, room: int, emit: Emit, stop: Stop
) -> ArrivingReply:
    """Send ``shown`` and gather a reply of ``room`` tokens at most.

    Raises ``ModelError``, and ``Stopped`` when an end is wanted; the server stops then, too.
    """

    def tell(event: Event) -> None:
        if isinstance(event, Notice | Silence):
            emit(event)

    limits, reply = TurnLimits(), ArrivingReply(tell)
    answering = asyncio.create_task(_stream(backend, plan, shown, room, reply))
    watching = asyncio.create_task(
        watch_silence(
            backend, plan.model, reply, tell, every=limits.tell_silence_every, limit=plan.watchdog_seconds
        )
    )
    try:
        ended = await stop.first_of((answering, watching))
    finally:
        for task in (answering, watching):
            task.cancel()
        # A connection that does not close must not hold up a person who pressed stop.
        closed, _ = await asyncio.wait((answering, watching), timeout=limits.stop_within)
        for task in closed:
            if not task.cancelled():
                task.exception()  # the ones that decide are raised; asyncio would log the others
    if stop.wanted or not ended:
        raise Stopped
    for task in ended:
        task.result()
    return reply


async def _stream(backend: Backend, plan: TurnPlan, shown: Shown, room: int, reply: ArrivingReply) -> None:
    reply.sent()
    async with aclosing(backend.stream(plan.request(shown, plan.window, room))) as parts:
        async for part in parts:
            reply.take(part)
            if isinstance(part, DonePart):
                return
    raise ModelError(
        ModelErrorKind.CUT_OFF, "The summary was cut off before the model was done.", "Nothing was changed."
    )
