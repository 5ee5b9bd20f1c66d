"""Lets ripgrep, where it is installed, tell which files can't hold a match, many times faster than we can.

What is shown is always found by our own matcher, so that it is the same without ripgrep. It gets open files,
never paths: a path could lead somewhere else by the time it is opened.
"""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Sequence
from pathlib import Path
from shutil import which

SECONDS = 5.0
"""For one batch of files."""

_SHARED = re.compile(
    r"""(?: [^\\()\[\]{}] | \\[bBdDsSwW] | \\[^\w\s] | \((?:\?:)? | \) | \{\d+(?:,\d*)?\}
        | \[\^?(?:[\w\ !"\#$%'()*+,./:;<=>?@{|}]-?|\\[dDsSwW.\-])+\] )*""",
    re.VERBOSE | re.ASCII,
)
"""Expressions that mean the same to Python and to ripgrep in plain ASCII text."""
_NOT_PLAIN = r"(?-u:[\x00-\x07\x0b\x0d-\x1a\x1c-\x1f\x80-\xff])"
"""In a text with any of these the two may differ, or it may be no text: it is never sifted out."""


class Sieve:
    """One expression. Blocks while it works."""

    def __init__(self, program: str, pattern: str, ignore_case: bool) -> None:
        expression = f"(?:{pattern})|{_NOT_PLAIN}"
        case = ["--ignore-case"] if ignore_case else []
        self._command = [
            *(program, "--no-config", "--files-with-matches", "--null", "--text", "--no-messages"),
            *(*case, "--regexp", expression, "--"),
        ]
        self._broken = False

    @classmethod
    def of(cls, pattern: str, ignore_case: bool, root: Path) -> Sieve | None:
        """None without ripgrep, or for an expression that it may understand otherwise.

        A ripgrep that lies in the workspace is not run: whoever may write there is not allowed to run things.
        """
        if not _SHARED.fullmatch(pattern) or not pattern.isascii():
            return None
        program = which("rg")
        if program is None or Path(os.path.realpath(program)).is_relative_to(root):
            return None
        return cls(os.path.realpath(program), pattern, ignore_case)

    def passed(self, descriptors: Sequence[int]) -> set[int]:
        """Those of the open files that may hold a match: all of them when ripgrep does not say."""
        if self._broken or not descriptors:
            return set(descriptors)
        try:
            done = subprocess.run(
                [*self._command, *(f"/dev/fd/{each}" for each in descriptors)],
                pass_fds=descriptors,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                timeout=SECONDS,
            )
        except (OSError, subprocess.TimeoutExpired):
            done = None
        if done is None or done.returncode not in (0, 1):
            self._broken = True
            return set(descriptors)
        return {int(name.rpartition(b"/")[2]) for name in done.stdout.split(b"\0") if name}
