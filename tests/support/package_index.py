"""A package index on loopback that serves one wheel to pip or uv, and can hold it back half-way."""

from __future__ import annotations

import select
import socket
import threading
from collections.abc import Generator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import urlsplit

_WAIT_SECONDS = 60


class PackageIndex(ThreadingHTTPServer):
    """``/simple/`` with one project; ``hold()`` stops each download in its middle until ``release()``."""

    daemon_threads = True

    def __init__(self, wheel_name: str, wheel: bytes) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.wheel_name = wheel_name
        self.wheel = wheel
        self.downloads = 0
        self.half_way = threading.Event()
        self.hung_up = threading.Event()
        self.open = threading.Event()
        self.open.set()
        self.breaks = False
        """Whether each download ends in its middle."""

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}/simple/"

    @property
    def project(self) -> str:
        return self.wheel_name.split("-")[0].replace("_", "-")

    def hold(self) -> None:
        self.open.clear()

    def release(self) -> None:
        self.open.set()

    def environment(self) -> dict[str, str]:
        """What makes pip and uv ask this index and nobody else."""
        return only_index(self.url)


def only_index(url: str) -> dict[str, str]:
    """Environment in which pip and uv know one index, whatever the machine's configuration says."""
    return {
        "PIP_CONFIG_FILE": "/dev/null",
        "PIP_INDEX_URL": url,
        "PIP_EXTRA_INDEX_URL": "",
        "PIP_FIND_LINKS": "",
        "PIP_CONSTRAINT": "",
        "UV_NO_CONFIG": "1",
        "UV_DEFAULT_INDEX": url,
        "UV_INDEX": "",
        "UV_FIND_LINKS": "",
        "NO_PROXY": "127.0.0.1",
        "no_proxy": "127.0.0.1",
    }


@contextmanager
def serving(wheel_name: str, wheel: bytes) -> Generator[PackageIndex, None, None]:
    index = PackageIndex(wheel_name, wheel)
    thread = threading.Thread(target=index.serve_forever, kwargs={"poll_interval": 0.05})
    thread.start()
    try:
        yield index
    finally:
        index.release()
        index.shutdown()
        index.server_close()
        thread.join()


class _Handler(BaseHTTPRequestHandler):
    server: PackageIndex

    def do_GET(self) -> None:
        path = urlsplit(self.path).path
        if path == f"/simple/{self.server.project}/":
            page = f'<!doctype html><a href="/files/{self.server.wheel_name}">{self.server.wheel_name}</a>'
            self._answer(page.encode(), "text/html")
        elif path == f"/files/{self.server.wheel_name}":
            self.server.downloads += 1
            self._answer(self.server.wheel, "application/octet-stream")
        else:
            self.send_error(404)

    def _answer(self, body: bytes, kind: str) -> None:
        self.send_response(200)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        middle = len(body) // 2 if kind == "application/octet-stream" else 0
        try:
            self.wfile.write(body[:middle])
            if middle:
                self.server.half_way.set()
                self._wait()
                if self.server.breaks:
                    self.close_connection = True
                    return
            self.wfile.write(body[middle:])
        except OSError:
            self.server.hung_up.set()

    def _wait(self) -> None:
        for _ in range(_WAIT_SECONDS * 20):
            if self.server.open.wait(0.05):
                return
            readable, _, _ = select.select([self.connection], [], [], 0)
            if readable and not self.connection.recv(1, socket.MSG_PEEK):
                raise ConnectionResetError

    def log_message(self, format: str, *args: object) -> None:
        pass
