"""Saves a reply while it arrives, so that a crash costs less than half a second of it."""

from __future__ import annotations

import asyncio

from local_agent.agent import sentences
from local_agent.agent.arriving import ArrivingReply, Emit
from local_agent.domain.errors import LeaseLost, StoreError
from local_agent.domain.events import Notice
from local_agent.domain.ports import Journal, OpenTurn


async def keep_saving(
    journal: Journal, turn: OpenTurn, reply: ArrivingReply, seconds: float, emit: Emit
) -> None:
    """Save the reply every ``seconds`` while it grew, one save at a time, until cancelled.

    A save that fails is told once and tried again. Raises ``LeaseLost`` when the session is no
    longer ours.
    """
    saved = 0
    told = False
    while True:
        await asyncio.sleep(seconds)
        growth = reply.growth
        if growth == saved:
            continue
        try:
            await journal.keep(turn, reply.so_far)
        except LeaseLost:
            raise
        except StoreError as error:
            if not told:
                emit(Notice(sentences.not_kept(error)))
            told = True
        else:
            saved = growth
