"""``-p``: one prompt from the command line and standard input, answered without a screen."""

from __future__ import annotations

import asyncio
import os
import select
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from local_agent.cli.startup import Startup
from local_agent.cli.streams import say, write, write_json
from local_agent.config.launch import LaunchOptions
from local_agent.domain.errors import UsageError
from local_agent.domain.text import decode, normalise

if TYPE_CHECKING:
    from local_agent.headless.run import Output

OUTPUTS = ("text", "json", "jsonl")
MAX_INPUT_BYTES = 8 << 20
PATIENCE_SECONDS = 2.0


def ask_once(
    startup: Startup,
    options: LaunchOptions,
    text: str,
    images: Sequence[Path],
    output: str,
    *,
    approve_stdin: bool = False,
) -> int:
    """Ask, print the answer, and return the exit code; with ``approve_stdin`` the input holds answers."""
    prompt = normalise(text) if approve_stdin else _joined(normalise(text), _piped_input())
    if not (prompt.strip() or images):
        raise UsageError("The prompt is empty.", 'Say what to ask: local-agent -p "..."')
    settings = startup.load().settings

    from local_agent.headless.run import answer  # the store's and the server's libraries: 0.5 s

    try:
        answers = sys.stdin.fileno() if approve_stdin else None
        asked = answer(prompt, images, options, settings, startup.paths, _form(output), say, answers)
        return asyncio.run(asked)
    except asyncio.CancelledError:
        return 130


def _form(output: str) -> Output:
    from local_agent.headless.jsonl import JsonLines, JsonReceipt
    from local_agent.headless.printer import TextPrinter

    match output:
        case "json":
            return JsonReceipt(write_json)
        case "jsonl":
            return JsonLines(write_json)
        case _:
            return TextPrinter(write, say, to_terminal=sys.stdout.isatty())


def _joined(text: str, piped: str) -> str:
    return "\n\n".join(part for part in (text, piped) if part.strip())


def _piped_input() -> str:
    if sys.stdin.isatty():
        return ""
    try:
        descriptor = sys.stdin.fileno()
        _tell_wait(descriptor)
        data = _read_bounded(descriptor)
    except (OSError, ValueError):
        return ""
    if len(data) > MAX_INPUT_BYTES:
        raise UsageError(
            f"Standard input is over {MAX_INPUT_BYTES >> 20} MB.", "Pipe in only what the model should read."
        )
    return decode(data).rstrip("\n")


def _read_bounded(descriptor: int) -> bytes:
    data = bytearray()
    while len(data) <= MAX_INPUT_BYTES and (chunk := os.read(descriptor, 1 << 16)):
        data += chunk
    return bytes(data)


def _tell_wait(descriptor: int) -> None:
    """A pipe that nobody closes would look like a hang."""
    if os.name != "nt" and not select.select([descriptor], [], [], PATIENCE_SECONDS)[0]:
        say("Reading standard input to its end (close it with Ctrl+D, or start with </dev/null).")
