"""Standard streams that neither a closed pipe nor a narrow encoding can turn into a traceback."""

from __future__ import annotations

import io
import os
import sys
from contextlib import suppress

from local_agent.domain.errors import LocalAgentError
from local_agent.domain.text import sanitise

PROGRAM = "local-agent"


def prepare_streams() -> None:
    """Replace closed standard streams, and print what an encoding can't as ``?``."""
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        stream = getattr(sys, name)
        if stream is None:
            setattr(sys, name, open(os.devnull, mode))  # noqa: SIM115 - it lives as long as the process
        elif mode == "w" and isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")


def say(line: str) -> None:
    """One line on standard error, safe to draw."""
    with suppress(OSError):
        sys.stderr.write(f"{PROGRAM}: {sanitise(line).strip().replace(chr(10), ' ')}\n")
        sys.stderr.flush()


def say_waiting(waiting: bool) -> None:
    """What is said while another process keeps the database from us."""
    if waiting:
        say("The database is in use: waiting for it.")


def write(text: str) -> None:
    """Text on standard output, at once. ``BrokenPipeError`` means that nobody reads it any more."""
    try:
        sys.stdout.write(text)
        sys.stdout.flush()
    except BrokenPipeError:
        raise
    except OSError as error:
        drop_output()
        raise LocalAgentError(f"Can't write to standard output: {error.strerror}.") from error


def write_json(text: str) -> None:
    """A JSON document, as UTF-8 whatever the terminal's encoding."""
    buffer = getattr(sys.stdout, "buffer", None)
    if buffer is None:
        return write(text)
    sys.stdout.flush()
    try:
        buffer.write(text.encode("utf-8"))
        buffer.flush()
    except BrokenPipeError:
        raise
    except OSError as error:
        drop_output()
        raise LocalAgentError(f"Can't write to standard output: {error.strerror}.") from error


def drop_output() -> None:
    """Point standard output nowhere, so that the interpreter's last flush can't fail."""
    with suppress(OSError, ValueError):
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, sys.stdout.fileno())
        os.close(nowhere)
