"""The way to the browser of the desktop that the person sits at."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from urllib.parse import urlsplit

_SCHEMES = ("http://", "https://", "mailto:")


class BrowserFailed(Exception):
    """The browser could not be started; its words are one line for the person."""


def may_be_opened(url: str) -> bool:
    """True for pages and mail; anything else would be run by whatever feels responsible for it."""
    return url.lower().startswith(_SCHEMES)


def host_of(url: str) -> str:
    """The host that an address leads to, whatever stands before it; empty where there is none."""
    try:
        return urlsplit(url).hostname or ""
    except ValueError:
        return ""


def browser_command(url: str, environment: Mapping[str, str] = os.environ) -> Sequence[str] | None:
    """The command that opens an address; None where a browser would have to draw into our terminal."""
    if sys.platform == "darwin":
        return ("open", url)
    desktop = environment.get("DISPLAY") or environment.get("WAYLAND_DISPLAY") or sys.platform == "win32"
    names = ("explorer.exe",) if sys.platform == "win32" else ("xdg-open",)
    path = environment.get("PATH")
    name = next((name for name in names if shutil.which(name, path=path)), None) if desktop else None
    return None if name is None else (name, url)


def open_address(url: str) -> None:
    """Start the browser and wait for nothing. Raises ``BrowserFailed``."""
    command = browser_command(url) if may_be_opened(url) else None
    if command is None:
        raise BrowserFailed("There is no browser here to open that address.")
    quiet = subprocess.DEVNULL
    try:
        subprocess.Popen(command, stdin=quiet, stdout=quiet, stderr=quiet, start_new_session=True)
    except OSError as error:
        raise BrowserFailed(f"{command[0]} can't be started: {error.strerror}.") from error
