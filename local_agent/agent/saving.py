"""Saves a reply while it arrives, so that a crash costs less than half a second of it."""

from __future__ import annotations

import asyncio

from local_agent.agent.arriving import ArrivingReply
from local_agent.domain.ports import Journal, OpenTurn


async def keep_saving(journal: Journal, turn: OpenTurn, reply: ArrivingReply, seconds: float) -> None:
    """Save the reply every ``seconds`` while it grew, one save at a time, until cancelled.

    Raises ``LeaseLost`` when the session is no longer ours.
    """
    saved = 0
    while True:
        await asyncio.sleep(seconds)
        growth = reply.growth
        if growth != saved:
            await journal.keep(turn, reply.so_far)
            saved = growth
