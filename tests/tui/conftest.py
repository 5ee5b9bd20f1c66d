"""What every test of the screen rests on."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from functools import wraps
from typing import Any

import pytest
from textual.pilot import Pilot

HOPS = 4
"""From the app to the screen, to what has the focus, to what acts, and what that tells another widget."""


@pytest.fixture(autouse=True)
def keys_that_arrive(monkeypatch: pytest.MonkeyPatch) -> None:
    """A press or a click returns when all it leads to is done.

    A pilot waits until this process uses little of a processor, which on a busy machine it does anyway.
    """

    def arriving(send: Callable[..., Awaitable[Any]]) -> Callable[..., Awaitable[Any]]:
        @wraps(send)
        async def sent(pilot: Pilot[Any], *args: Any, **options: Any) -> Any:
            result = await send(pilot, *args, **options)
            for _ in range(HOPS):
                await pilot._wait_for_screen()
            return result

        return sent

    for name in ("press", "click"):
        monkeypatch.setattr(Pilot, name, arriving(getattr(Pilot, name)))
