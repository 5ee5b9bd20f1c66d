"""Words of a command that a person is to copy: read back by a shell, and shown as they are."""

from __future__ import annotations

import os
import shlex

from local_agent.domain.text import one_line


def quoted(word: str) -> str:
    """A word for a shell to read and a terminal to show: what can't be shown is escaped (``$'...'``)."""
    if word.isprintable() and one_line(word) == word:
        return shlex.quote(word)
    shown = (
        chr(byte) if 0x20 < byte < 0x7F and byte not in b"\\'" else f"\\x{byte:02x}"
        for byte in os.fsencode(word)
    )
    return f"$'{''.join(shown)}'"
