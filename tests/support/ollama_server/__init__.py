"""A scripted Ollama server on a real socket: the backbone of every test that talks to a model.

It speaks HTTP/1.1 on raw TCP, so that a test decides over every byte, over when it is written and over
how a connection ends. It plays what it is told and never improvises: a chat request without a Turn gets
500 ``script exhausted``, and the test fails when the server is left. It does what the real server
does around the script: models, capabilities, refusals, loading, context windows, truncation, one
request at a time per model, Go's JSON.

In an async test::

    async with OllamaServer() as server:
        server.script("Hello there.", Turn(think("Hm. "), say("Yes.", chunking="chars:1"), done("length")))
        ...                                   # talk to server.url
        assert server.chats[0].body["options"]["num_ctx"] == 4096

``OllamaServer(models=[ModelSpec("qwen3:4b", capabilities=("completion", "tools", "thinking"))],
version="0.9.0")`` plays other models and older servers. ``server.script(..., model="qwen3:4b")`` is a
queue of that model's own; a turn with ``when=When(contains="title")`` waits for the request it fits.

Without a loop, on a thread: ``with HostedServer() as server: ...`` (the same object; ``wait_until``).
As a process, for runs in a real terminal: ``python -m tests.support.ollama_server --port 0
[--script FILE.json] [--models NAME ...] [--version V] [--default TEXT]`` prints its address on one line.
``with server_process() as remote:`` starts and steers one, through ``/_ctl/script``, ``/_ctl/log``,
``/_ctl/reset`` and ``/_ctl/release``. A script document is
``{"models": [...], "version": "...", "turns": [turn, ...], "faults": [...]}`` with turns such as
``"Hello"`` or ``{"steps": [{"think": "Hm."}, {"say": "Yes.", "chunking": "token", "pause": 0.05}]}``.

``server.offer(ModelSpec("qwen3:4b"), pause=0.1)`` is a model that ``/api/pull`` fetches, ten steps
long, with a ``gate`` half-way, an ``error`` or a broken connection on demand; what has come stays.

Steps: ``say``, ``think`` (with ``chunking`` and ``pause``), ``call``, ``sleep``, ``gate`` (waits for
``server.release(name)``), ``raw`` (bytes), ``line`` (any JSON value), ``error``, ``http``, ``done``,
``end`` (``clean``, ``no_done``, ``abort``, ``midline_clean``, ``midline_abort``, ``rst``, ``eof``,
``hang``). ``streamed(text, per_second=20)`` is a Turn at a steady rate. A Turn may go on after ``done``.

Faults of the connection, each used up by one request: ``server.fault(Fault("close_before_headers"))``,
``rst_before_headers``, ``accept_and_hang``, ``slow_headers``, ``reply(502, "<html>")``;
``await server.refuse()`` closes the listener, ``await server.accept()`` opens it on the same port.

The log holds each request (``RequestRecord``): headers, raw and parsed body, when it was accepted, when
the first and last byte went out, when the client hung up, and for each piece of answer text the moment
it was handed to the socket.
"""

from tests.support.ollama_server.faults import Fault, reply
from tests.support.ollama_server.hosted import HostedServer, RemoteServer, server_process, wait_until
from tests.support.ollama_server.library import Offer
from tests.support.ollama_server.log import RequestRecord
from tests.support.ollama_server.registry import REMOVE, ModelSpec
from tests.support.ollama_server.script import (
    Turn,
    When,
    call,
    done,
    end,
    error,
    gate,
    http,
    line,
    raw,
    say,
    sleep,
    streamed,
    think,
)
from tests.support.ollama_server.server import DEFAULT_MODEL, OllamaServer, free_port

__all__ = [
    "DEFAULT_MODEL",
    "REMOVE",
    "Fault",
    "HostedServer",
    "ModelSpec",
    "Offer",
    "OllamaServer",
    "RemoteServer",
    "RequestRecord",
    "Turn",
    "When",
    "call",
    "done",
    "end",
    "error",
    "free_port",
    "gate",
    "http",
    "line",
    "raw",
    "reply",
    "say",
    "server_process",
    "sleep",
    "streamed",
    "think",
    "wait_until",
]
