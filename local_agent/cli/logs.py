"""``logs``: the end of the log file, and what is added to it."""

from __future__ import annotations

import os
import time
from collections import deque
from collections.abc import Iterator
from pathlib import Path
from typing import TextIO

import click

from local_agent.cli.startup import Startup
from local_agent.cli.streams import say, write
from local_agent.domain.errors import LocalAgentError
from local_agent.domain.text import sanitise

POLL_SECONDS = 0.25


@click.command()
@click.option("-f", "--follow", is_flag=True, help="Go on with new lines as they come; Ctrl+C ends it.")
@click.option("-n", "--lines", default=100, type=click.IntRange(0), show_default=True, help="How many lines.")
def logs(follow: bool, lines: int) -> None:
    """Show the end of the log file.

    It holds no text of conversations. LOCAL_AGENT_LOG=debug logs more.
    """
    path = Startup.here().paths.log_file
    try:
        _show(path, lines, follow)
    except OSError as error:
        if isinstance(error, BrokenPipeError):
            raise
        raise LocalAgentError(f"Can't read {path}: {error.strerror}.") from error


def _show(path: Path, lines: int, follow: bool) -> None:
    if not path.exists():
        say(f"Nothing was logged yet: {path}")
        if not follow:
            return
    else:
        with path.open(encoding="utf-8", errors="replace") as file:
            for line in deque(file, maxlen=lines):
                write(sanitise(line))
            if follow:
                _write_new(file, path)
    while follow:
        while not path.exists():
            time.sleep(POLL_SECONDS)
        with path.open(encoding="utf-8", errors="replace") as file:
            _write_new(file, path)


def _write_new(file: TextIO, path: Path) -> None:
    """Write what is added to ``file`` until another file stands in its place."""
    for line in _added(file, path):
        write(sanitise(line))


def _added(file: TextIO, path: Path) -> Iterator[str]:
    while True:
        replaced = not _same_file(file, path)
        yield from file
        if replaced:
            return
        time.sleep(POLL_SECONDS)


def _same_file(file: TextIO, path: Path) -> bool:
    try:
        return os.path.samestat(os.fstat(file.fileno()), path.stat())
    except FileNotFoundError:
        return False
