"""HTTP/1.1 on a raw socket, with control over every byte and over how it ends."""

from __future__ import annotations

import asyncio
import json
import socket
import struct
import time
from collections.abc import Mapping
from dataclasses import dataclass, field

from tests.support.ollama_server import gojson
from tests.support.ollama_server.log import RequestRecord

REASONS = {
    200: "OK",
    307: "Temporary Redirect",
    400: "Bad Request",
    401: "Unauthorized",
    403: "Forbidden",
    404: "Not Found",
    405: "Method Not Allowed",
    500: "Internal Server Error",
    502: "Bad Gateway",
    503: "Service Unavailable",
}
JSON = "application/json; charset=utf-8"


@dataclass(frozen=True)
class Request:
    """A request as it came off the wire."""

    method: str
    path: str
    headers: Mapping[str, str] = field(default_factory=dict)
    body: bytes = b""

    def parsed(self) -> object:
        """The JSON value of the body, or None when it is none."""
        try:
            return json.loads(self.body)
        except ValueError:
            return None


class Disconnected(Exception):
    """The client went away."""


class Connection:
    """One accepted socket; reads requests, and notices a client that leaves while it is served."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer
        self._ahead = b""
        self._socket().setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    def _socket(self) -> socket.socket:
        # asyncio hands out a wrapper that lacks some of the socket's methods, but not this one.
        found: socket.socket = self._writer.get_extra_info("socket")
        return found

    async def read_request(self) -> Request | None:
        """The next request, or None when the client has closed."""
        try:
            head = self._ahead + await self._reader.readuntil(b"\r\n\r\n")
        except (asyncio.IncompleteReadError, ConnectionError):
            return None
        self._ahead = b""
        first, *lines = head.decode("latin-1").split("\r\n")
        method, path, _ = first.split(" ", 2)
        pairs = (line.split(":", 1) for line in lines if ":" in line)
        headers = {name.strip().lower(): value.strip() for name, value in pairs}
        return Request(method, path.partition("?")[0], headers, await self._read_body(headers))

    async def _read_body(self, headers: Mapping[str, str]) -> bytes:
        if headers.get("transfer-encoding", "").lower() != "chunked":
            return await self._reader.readexactly(int(headers.get("content-length", "0")))
        body = b""
        while size := int((await self._reader.readline()).split(b";")[0], 16):
            body += await self._reader.readexactly(size)
            await self._reader.readline()
        await self._reader.readline()
        return body

    async def wait_for_disconnect(self) -> None:
        """Return when the client closes. A request sent ahead is kept for ``read_request``."""
        try:
            while data := await self._reader.read(1):
                self._ahead += data
        except ConnectionError:
            return

    async def write(self, data: bytes) -> None:
        """Hand bytes to the socket; raises ``Disconnected`` when the client is gone."""
        try:
            self._writer.write(data)
            await self._writer.drain()
        except ConnectionError as error:
            raise Disconnected from error

    async def close(self) -> None:
        """Close in the ordinary way."""
        try:
            self._writer.close()
            await self._writer.wait_closed()
        except ConnectionError:
            return

    def reset(self) -> None:
        """Close with a TCP reset."""
        self._socket().setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self._writer.transport.abort()


class Response:
    """The reply to one request: whole, or as a stream of values. Nothing is written before the first one."""

    def __init__(self, connection: Connection, record: RequestRecord, method: str) -> None:
        self._connection = connection
        self._record = record
        self._head_only = method == "HEAD"
        self._chunked = True
        self.started = False
        self.keep_alive = True
        self.severed = False
        """True when we, not the client, ended the connection."""

    async def whole(
        self, status: int, body: bytes, content_type: str = JSON, headers: Mapping[str, str] | None = None
    ) -> None:
        """Send a complete reply."""
        lines = dict(headers or {})
        if content_type:
            lines["Content-Type"] = content_type
        lines["Content-Length"] = str(len(body))
        await self._write(self._head(status, lines) + (b"" if self._head_only else body))

    async def json(self, status: int, value: object) -> None:
        """Send a complete JSON reply."""
        await self.whole(status, gojson.encode(value))

    async def stream(self, data: bytes, write_size: int = 0) -> None:
        """Send part of a stream's body as one chunk, ``write_size`` bytes at a time when given."""
        if self._chunked:
            data = b"%x\r\n%s\r\n" % (len(data), data)
        if not self.started:
            data = self._head(200, self._stream_headers()) + data
        step = write_size or len(data)
        for start in range(0, len(data), step):
            await self._write(data[start : start + step])
            if write_size:
                await asyncio.sleep(0)

    def until_close(self) -> None:
        """Give the stream no length: it ends where the connection does."""
        self._chunked = self.keep_alive = False

    async def finish_stream(self) -> None:
        """End the stream cleanly."""
        if not self.started:
            await self._write(self._head(200, self._stream_headers()))
        if self._chunked:
            await self._write(b"0\r\n\r\n")

    async def abort(self) -> None:
        """Close the connection inside the body."""
        self.severed, self.keep_alive = True, False
        await self._connection.close()

    def reset(self) -> None:
        """Reset the connection inside the body."""
        self.severed, self.keep_alive = True, False
        self._connection.reset()

    def _stream_headers(self) -> dict[str, str]:
        length = {"Transfer-Encoding": "chunked"} if self._chunked else {"Connection": "close"}
        return {"Content-Type": "application/x-ndjson", **length}

    def _head(self, status: int, headers: Mapping[str, str]) -> bytes:
        self._record.status = status
        lines = [f"HTTP/1.1 {status} {REASONS.get(status, 'Status')}"]
        lines += [f"{name}: {value}" for name, value in headers.items()]
        return "\r\n".join([*lines, "", ""]).encode("latin-1")

    async def _write(self, data: bytes) -> None:
        self.started = True
        now = time.monotonic()
        self._record.first_byte = self._record.first_byte or now
        self._record.last_byte = now
        await self._connection.write(data)
