"""One chat request and its reply, read from the connection as it comes."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncGenerator, AsyncIterator, Iterator
from contextlib import aclosing, suppress
from dataclasses import replace

import httpx

from local_agent.domain.errors import ModelError
from local_agent.domain.ports import DonePart, StreamPart, TextPart
from local_agent.llm.body import Body
from local_agent.llm.error_words import Words, read_error
from local_agent.llm.failures import Explainer, cut_off
from local_agent.llm.host import ServerAddress
from local_agent.llm.leaked_thinking import LeakedThinking
from local_agent.llm.wire import Chunk, Finish, LineSplitter, read_chunk

# A cold load is silent for as long as it takes, and a closed connection aborts it: no read timeout.
TIMEOUT = httpx.Timeout(connect=5.0, read=None, write=30.0, pool=5.0)
_HEADERS = {"Accept": "application/x-ndjson", "Accept-Encoding": "identity"}
_ERROR_LIMIT = 256 * 1024
_BURST_SECONDS = 0.01
"""How long what has already arrived may be read before everything else gets its turn."""
_AFTER_DONE_SECONDS = 0.5
"""How long the end of the body may come after ``done``, so that the connection can be used again."""


async def stream_reply(
    http: httpx.AsyncClient, address: ServerAddress, model: str, body: Body
) -> AsyncGenerator[StreamPart, None]:
    """Send one request and yield its reply; what arrived is yielded before a ``ModelError`` is raised."""
    explain = Explainer(address, model)
    reply = _Reply()
    failure: ModelError | None = None
    begun = False
    try:
        headers = {**_HEADERS, "Content-Length": str(len(body))}
        async with http.stream("POST", "/api/chat", content=body.pieces(), headers=headers) as response:
            begun = True
            if response.status_code != 200:
                raise explain.status(response.status_code, await error_words(response), response.headers)
            async with aclosing(_chunks(response)) as chunks:
                async for chunk in chunks:
                    if chunk.failure is not None:
                        raise explain.in_stream(chunk.failure.error)
                    for part in reply.take(chunk):
                        yield part
    except httpx.HTTPError as error:
        failure = explain.transport(error, begun=begun)
    except ModelError as error:
        failure = error
    for part in reply.held():
        yield part
    if failure is not None:
        raise failure
    yield reply.done()


class _Reply:
    """What one reply has come to."""

    def __init__(self) -> None:
        self._sent = time.monotonic()
        self._first: float | None = None
        self._leaked = LeakedThinking()
        self._finish: Finish | None = None

    def take(self, chunk: Chunk) -> Iterator[StreamPart]:
        """The parts of a chunk."""
        if chunk.parts and self._first is None:
            self._first = time.monotonic() - self._sent
        for part in chunk.parts:
            if isinstance(part, TextPart):
                yield from self._leaked.feed(part.text)
            else:
                yield part
        self._finish = chunk.finish

    def held(self) -> Iterator[StreamPart]:
        """What waited for more of a tag."""
        yield from self._leaked.end()

    def done(self) -> DonePart:
        """The last part; raises ``ModelError`` when the server never said that it was done."""
        if self._finish is None:
            raise cut_off("The stream ended without done.")
        usage = replace(self._finish.counts, first_token_seconds=self._first)
        return DonePart(self._finish.reason, usage)


async def _chunks(response: httpx.Response) -> AsyncGenerator[Chunk, None]:
    """The values of the body, up to the last one of the reply."""
    splitter = LineSplitter()
    data = response.aiter_bytes()
    rested = time.monotonic()
    async for piece in data:
        if time.monotonic() - rested > _BURST_SECONDS:
            await asyncio.sleep(0)
            rested = time.monotonic()
        for line in splitter.feed(piece):
            chunk = read_chunk(line)
            if chunk is not None:
                yield chunk
                if chunk.finish is not None:
                    await _drain(data)
                    return
    last = _last_chunk(splitter.rest())
    if last is not None:
        yield last


def _last_chunk(rest: bytes) -> Chunk | None:
    """What came without a line end: a whole value (a cloud error does), or half of one."""
    try:
        return read_chunk(rest)
    except ModelError as error:
        raise cut_off(error.raw) from None


async def _drain(data: AsyncIterator[bytes]) -> None:
    with suppress(TimeoutError, httpx.HTTPError):
        async with asyncio.timeout(_AFTER_DONE_SECONDS):
            async for _ in data:
                pass


async def error_words(response: httpx.Response) -> Words:
    """What a refused stream says in its body, as far as it is worth reading."""
    body = b""
    async for piece in response.aiter_bytes():
        body += piece
        if len(body) > _ERROR_LIMIT:
            break
    return read_error(body, response.headers.get("content-type", ""))
