"""What can be pulled, and how far each pull has come: parts stay, so that a later pull goes on from there."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

from tests.support.ollama_server import gojson
from tests.support.ollama_server.connection import Response
from tests.support.ollama_server.registry import ModelSpec, full_name

_TEMPLATE_BYTES = 1_482


@dataclass
class Offer:
    """A model of the library. It comes in ``chunks`` lines, ``pause`` seconds apart."""

    model: ModelSpec
    chunks: int = 10
    pause: float = 0.0
    gate: str = ""
    """Waits for ``server.release(gate)`` once half of it has come."""
    error: str = ""
    """Said in mid-stream, once, when ``error_at`` of it has come."""
    error_at: float = 0.99
    broken_at: float | None = None
    """The connection closes without an error there, once."""
    arrived: int = field(default=0, init=False)
    """Bytes that are here; a pull goes on from them."""


class Library:
    """Plays ``/api/pull`` as the real server does; ``raw`` answers take the place of the next pulls."""

    def __init__(
        self, added: Callable[[ModelSpec], None], wait_gate: Callable[[str], Awaitable[None]]
    ) -> None:
        self._offers: dict[str, Offer] = {}
        self._raw: list[bytes] = []
        self._added = added
        self._wait_gate = wait_gate

    def offer(self, offer: Offer) -> Offer:
        """Have a model that can be pulled."""
        self._offers[offer.model.name] = offer
        return offer

    def answer_raw(self, *bodies: bytes) -> None:
        """Answer the next pulls with these bytes, and nothing else."""
        self._raw.extend(bodies)

    async def play(self, name: str, response: Response) -> None:
        """Answer one pull to its end."""
        if self._raw:
            await response.stream(self._raw.pop(0))
            await response.finish_stream()
            return
        await _line(response, status="pulling manifest")
        offer = self._offers.get(full_name(name))
        if offer is None:
            await _line(response, error="pull model manifest: file does not exist")
        else:
            await self._fetch(offer, response)
        if response.keep_alive:
            await response.finish_stream()

    async def _fetch(self, offer: Offer, response: Response) -> None:
        size = offer.model.size
        while offer.arrived < size:
            await _layer(response, offer.model.digest, offer.arrived, size)
            await asyncio.sleep(offer.pause)
            if offer.gate and offer.arrived * 2 >= size:
                await self._wait_gate(offer.gate)
            offer.arrived = min(size, offer.arrived + -(-size // offer.chunks))
            if offer.broken_at is not None and offer.arrived >= size * offer.broken_at:
                offer.broken_at, offer.arrived = None, int(size * offer.broken_at)
                await response.abort()
                return
            if offer.error and offer.arrived >= size * offer.error_at:
                error, offer.error, offer.arrived = offer.error, "", int(size * offer.error_at)
                await _line(response, error=error)
                return
        await _layer(response, offer.model.digest, size, size)
        template = hashlib.sha256(offer.model.digest.encode()).hexdigest()
        await _layer(response, template, _TEMPLATE_BYTES, _TEMPLATE_BYTES)
        for status in ("verifying sha256 digest", "writing manifest", "success"):
            if status == "success":
                self._added(offer.model)
            await _line(response, status=status)


async def _layer(response: Response, digest: str, done: int, total: int) -> None:
    value: dict[str, object] = {
        "status": f"pulling {digest[:12]}",
        "digest": f"sha256:{digest}",
        "total": total,
    }
    # As Go does it: a zero is left out.
    await _line(response, **value, **({"completed": done} if done else {}))


async def _line(response: Response, **value: object) -> None:
    await response.stream(gojson.encode_line(value))
