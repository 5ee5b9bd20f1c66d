"""Waits until keys that are on their way have arrived."""

from __future__ import annotations

import asyncio
from contextlib import suppress

from textual.message_pump import MessagePump

CATCH_UP_SECONDS = 0.2
"""What a busy screen may take for it; then what it has is what counts."""


async def catch_up(*path: MessagePump) -> None:
    """Return once each pump on the path of a message has handled what it was sent before.

    A key that acts at once, such as the one that leaves, overtakes the letters typed before it.
    """
    with suppress(TimeoutError):
        async with asyncio.timeout(CATCH_UP_SECONDS):
            for pump in path:
                handled = asyncio.Event()
                pump.call_later(handled.set)
                await handled.wait()
