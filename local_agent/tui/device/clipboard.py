"""The way to the clipboard: through the terminal, wherever that is, and through a tool of this desktop."""

from __future__ import annotations

import base64
import logging
import os
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence

COMMON_LIMIT = 74_994
"""Bytes that every terminal which takes a clipboard at all takes: many stop at 100,000 of base64."""
SENT_AT_MOST = 4_000_000
"""Bytes; more would hold up the terminal for longer than anyone takes it for alive."""
TOOL_SECONDS = 2.0
SCREEN_PIECE = 512
"""Bytes that GNU screen hands on at a time."""

_log = logging.getLogger(__name__)


def wrapped_osc52(text: str, environment: Mapping[str, str] = os.environ) -> str:
    """OSC 52 wrapped so that a multiplexer hands it on to the terminal it runs in; empty without one."""
    payload = base64.b64encode(text.encode("utf-8", "replace")).decode("ascii")
    if environment.get("TMUX"):
        return f"\x1bPtmux;\x1b\x1b]52;c;{payload}\x07\x1b\\"
    if environment.get("STY"):
        sequence = f"\x1b]52;c;{payload}\x07"
        pieces = (sequence[at : at + SCREEN_PIECE] for at in range(0, len(sequence), SCREEN_PIECE))
        return "".join(f"\x1bP{piece}\x1b\\" for piece in pieces)
    return ""


def clipboard_tools(size: int, environment: Mapping[str, str] = os.environ) -> list[Sequence[str]]:
    """The commands that are to be given a text of ``size`` bytes beside the terminal."""
    tools: list[Sequence[str]] = []
    if (
        environment.get("TMUX")
        and size <= SENT_AT_MOST
        and shutil.which("tmux", path=environment.get("PATH"))
    ):
        # As tmux comes it takes no clipboard from programs and hands nothing on, but does this.
        tools.append(("tmux", "load-buffer", "-w", "-"))
    desktop = desktop_tool(environment)
    return tools if desktop is None else [*tools, desktop]


def desktop_tool(environment: Mapping[str, str] = os.environ) -> Sequence[str] | None:
    """The command that sets the clipboard of the desktop that the person sits at; None over SSH."""
    if any(environment.get(name) for name in ("SSH_CONNECTION", "SSH_TTY", "SSH_CLIENT")):
        return None
    tools: list[tuple[str, ...]] = []
    if sys.platform == "darwin":
        tools.append(("pbcopy",))
    if environment.get("WAYLAND_DISPLAY"):
        tools.append(("wl-copy",))
    if environment.get("DISPLAY"):
        tools += (("xclip", "-selection", "clipboard"), ("xsel", "--input", "--clipboard"))
    path = environment.get("PATH")
    return next((tool for tool in tools if shutil.which(tool[0], path=path)), None)


def give_to_tool(tool: Sequence[str], text: str) -> None:
    """Wait until a tool has taken the text; its failure is only logged: the terminal has it, too."""
    quiet = subprocess.DEVNULL
    try:
        # Those for X and Wayland stay in the background to serve the text: nothing of ours may wait for them.
        subprocess.run(
            tool, input=text.encode("utf-8", "replace"), stdout=quiet, stderr=quiet, timeout=TOOL_SECONDS
        )
    except (OSError, subprocess.SubprocessError) as error:
        _log.warning("%s did not take the clipboard: %s", tool[0], error)
