"""The calls of one reply: those that only read at the same time, all others alone and in order."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence

from local_agent.agent import results
from local_agent.agent.calling import Ended, RunningCall, Workplace
from local_agent.domain.entries import ToolCall
from local_agent.domain.ledger import Execution
from local_agent.domain.tools import Effect, ResultStatus

AT_ONCE = 4
"""Calls that only read, at most."""


async def run_calls(
    place: Workplace, calls: Sequence[ToolCall], executions: Sequence[Execution]
) -> Sequence[Ended]:
    """Carry out calls, each with its execution; what came of them, in call order.

    Nothing more is run once the outcome of one is not known. Raises ``StoreError`` when an end can't be
    recorded.
    """
    waiting = [RunningCall(place, call, execution) for call, execution in zip(calls, executions, strict=True)]
    ended: list[Ended] = []
    for group in _groups(executions[: results.CALLS_AT_MOST]):
        batch = waiting[len(ended) : len(ended) + group]
        if any(one.status is ResultStatus.UNCERTAIN for one in ended):
            ended += [await call.refuse(results.NOT_RUN) for call in batch]
        else:
            ended += await _at_once(batch)
    return [*ended, *[await call.refuse(results.TOO_MANY) for call in waiting[len(ended) :]]]


def _groups(executions: Sequence[Execution]) -> Iterator[int]:
    """How many calls go together, in order."""
    run = 0
    for execution in executions:
        if execution.effect is Effect.READ_ONLY:
            run += 1
            continue
        if run:
            yield run
        yield 1
        run = 0
    if run:
        yield run


async def _at_once(calls: Sequence[RunningCall]) -> list[Ended]:
    if len(calls) == 1:
        return [await calls[0].carry_out()]
    free = asyncio.Semaphore(AT_ONCE)

    async def in_turn(call: RunningCall) -> Ended:
        async with free:
            return await call.carry_out()

    tasks = [asyncio.create_task(in_turn(call)) for call in calls]
    try:
        return list(await asyncio.gather(*tasks))
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.wait(tasks)
