"""Waits until keys that are on their way have arrived."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import Any

from textual.message_pump import MessagePump
from textual.screen import Screen
from textual.widget import Widget

CATCH_UP_SECONDS = 0.2
"""What a busy screen may take for it; then what it has is what counts."""


async def catch_up_typing(line: Widget, screen: Screen[Any]) -> None:
    """Return once what was typed into a line is in it, and its screen has heard of that.

    For keys that act on what a line narrows: they have priority, so they overtake the letters before them.
    """
    await catch_up(line, line, screen)


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
