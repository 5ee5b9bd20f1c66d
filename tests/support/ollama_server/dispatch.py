"""Serves connections: one request after the other, each logged, watched and answered."""

from __future__ import annotations

import asyncio
import contextlib
import time
from typing import TYPE_CHECKING

from tests.support.ollama_server.connection import Connection, Disconnected, Request, Response
from tests.support.ollama_server.control import ControlRoutes
from tests.support.ollama_server.faults import Fault
from tests.support.ollama_server.log import RequestRecord
from tests.support.ollama_server.routes import ApiRoutes

if TYPE_CHECKING:
    from tests.support.ollama_server.server import OllamaServer


class Dispatcher:
    """Takes accepted connections and gives each request to a fault, the control routes or the API."""

    def __init__(self, server: OllamaServer) -> None:
        self._server = server
        self._api = ApiRoutes(server)
        self._control = ControlRoutes(server)
        self._tasks: set[asyncio.Task[None]] = set()
        self._connections = 0

    async def drop(self) -> None:
        """Close every connection."""
        await _cancelled(*self._tasks)

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Serve one accepted connection to its end."""
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        self._connections += 1
        connection = Connection(reader, writer)
        try:
            await self._serve_requests(connection, self._connections)
        except (Disconnected, asyncio.CancelledError, asyncio.IncompleteReadError):
            pass
        finally:
            self._tasks.discard(task)
            with contextlib.suppress(asyncio.CancelledError):
                await connection.close()

    async def _serve_requests(self, connection: Connection, number: int) -> None:
        while request := await connection.read_request():
            if not await self._answer(connection, request, number):
                return

    async def _answer(self, connection: Connection, request: Request, number: int) -> bool:
        """Answer one request while watching the connection; True when it can carry another one."""
        record = RequestRecord(
            number=len(self._server.log) + 1,
            connection=number,
            method=request.method,
            path=request.path,
            headers=dict(request.headers),
            raw=request.body.decode("utf-8", "replace"),
            json=request.parsed(),
            accepted=time.monotonic(),
        )
        response = Response(connection, record, request.method)
        if request.path.startswith("/_ctl/"):
            await self._control.answer(request, response)
            return True
        self._server.log.append(record)
        work = asyncio.ensure_future(self._work(request, response, record))
        watch = asyncio.ensure_future(connection.wait_for_disconnect())
        try:
            await asyncio.wait({work, watch}, return_when=asyncio.FIRST_COMPLETED)
            if not work.done() and not response.severed:
                record.disconnected = time.monotonic()
                return False
            await work
            return response.keep_alive
        except Disconnected:
            record.disconnected = time.monotonic()
            return False
        finally:
            await _cancelled(work, watch)

    async def _work(self, request: Request, response: Response, record: RequestRecord) -> None:
        fault = next((fault for fault in self._server.faults if fault.hits(request.path)), None)
        if fault is not None:
            self._server.faults.remove(fault)
            record.fault = fault.kind
            if await _play_fault(fault, response):
                return
        await self._api.answer(request, response, record)


async def _play_fault(fault: Fault, response: Response) -> bool:
    """Play a fault; False when the request is answered normally afterwards."""
    match fault.kind:
        case "slow_headers":
            await asyncio.sleep(fault.seconds)
            return False
        case "close_before_headers":
            await response.abort()
        case "rst_before_headers":
            response.reset()
        case "accept_and_hang":
            await asyncio.Event().wait()
        case _:
            if isinstance(fault.body, str):
                await response.whole(fault.status, fault.body.encode(), fault.content_type, fault.headers)
            else:
                await response.json(fault.status, fault.body)
    return True


async def _cancelled(*tasks: asyncio.Future[None]) -> None:
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
