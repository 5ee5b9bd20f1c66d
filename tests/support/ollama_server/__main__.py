"""Runs the scripted server as a process and prints its address on one line."""

from __future__ import annotations

import argparse
import asyncio
import json
import signal
import sys
from pathlib import Path

from tests.support.ollama_server.control import apply
from tests.support.ollama_server.registry import ModelSpec
from tests.support.ollama_server.script import Turn
from tests.support.ollama_server.server import DEFAULT_MODEL, OllamaServer


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.support.ollama_server", description=__doc__)
    parser.add_argument("--port", type=int, default=0, help="0 takes a free one")
    parser.add_argument("--script", type=Path, help="a script document (JSON)")
    parser.add_argument(
        "--models", nargs="*", help="names of the models it has; none: a server without models"
    )
    parser.add_argument("--version", default="0.33.0", help="the server version it plays")
    parser.add_argument("--default", help="answer to every request that no turn is scripted for")
    return parser.parse_args()


async def _run(arguments: argparse.Namespace) -> None:
    models = [DEFAULT_MODEL] if arguments.models is None else [ModelSpec(name) for name in arguments.models]
    default = Turn(arguments.default) if arguments.default else None
    server = OllamaServer(
        models, version=arguments.version, default=default, port=arguments.port, strict=False
    )
    if arguments.script:
        apply(server, json.loads(arguments.script.read_text(encoding="utf-8")))
    stopped = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, stopped.set)
    async with server:
        sys.stdout.write(server.url + "\n")
        sys.stdout.flush()
        await stopped.wait()


asyncio.run(_run(_arguments()))
