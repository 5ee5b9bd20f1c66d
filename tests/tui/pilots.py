"""Waits for states of a running app; a test never sleeps for a time it hopes is enough."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from time import monotonic
from typing import Any

from textual.pilot import Pilot
from textual.screen import Screen

from local_agent.tui.screens.dialog import Dialog

POLL_SECONDS = 0.01


async def until(pilot: Pilot[Any], holds: Callable[[], object], seconds: float = 10.0) -> None:
    """Wait until ``holds()`` is true; what is on screen is shown when it never is."""
    end = monotonic() + seconds
    while not holds():
        if monotonic() > end:
            raise AssertionError(f"not reached within {seconds} s; on screen:\n{screen_text(pilot)}")
        await asyncio.sleep(POLL_SECONDS)


async def listening(pilot: Pilot[Any], kind: type[Screen[Any]] = Dialog) -> None:
    """Wait until a dialog has come up and takes keys."""

    def asked() -> bool:
        screen = pilot.app.screen
        return isinstance(screen, kind) and isinstance(screen, Dialog) and screen.listening

    await until(pilot, asked)


def screen_text(pilot: Pilot[Any]) -> str:
    """What is drawn, without styles."""
    lines = pilot.app.screen._compositor.render_strips()
    return "\n".join(line.text.rstrip() for line in lines)
