"""Calls a person back who is looking elsewhere: a bell, or a notification of the terminal."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from time import monotonic
from typing import TYPE_CHECKING, Any

from textual.message import Message

if TYPE_CHECKING:
    from textual.app import App

LEAST_SECONDS = 10.0
"""A shorter turn is waited for with the eyes."""
ANSWERED = "the answer is there"
FAILED = "the turn ended without an answer"
ASKED = "there is a question for you"
_BELL = "\a"
_FORMS = {
    "osc9": "\x1b]9;local-agent: {}\x07",
    "osc99": "\x1b]99;;local-agent: {}\x1b\\",
    "osc777": "\x1b]777;notify;local-agent;{}\x07",
}
_BY_PROGRAM = {"iTerm.app": "osc9", "WezTerm": "osc777", "ghostty": "osc777"}
_BY_TERM = {"xterm-kitty": "osc99", "foot": "osc777", "xterm-ghostty": "osc777", "rxvt-unicode": "osc777"}


class Asked(Message):
    """A question has come up that waits for an answer."""


class Attention:
    """Says that something happened, and never what: a notification may be read by anybody."""

    def __init__(self, app: App[Any], setting: Callable[[], str]) -> None:
        self._app = app
        self._setting = setting
        self._began: float | None = None

    def note(self, *, busy: bool, settled: bool) -> None:
        """Turns run, or have ended, with an answer or without one."""
        if busy:
            self._began = self._began if self._began is not None else monotonic()
            return
        began, self._began = self._began, None
        if began is not None and monotonic() - began >= LEAST_SECONDS:
            self._call(ANSWERED if settled else FAILED)

    def asked(self) -> None:
        """A question waits."""
        self._call(ASKED)

    def _call(self, words: str) -> None:
        """Unless the terminal has the focus."""
        driver = self._app._driver
        if not self._app.app_focus and driver is not None:
            driver.write(announcement(self._setting(), words))
            driver.flush()


def announcement(setting: str, words: str, environment: Mapping[str, str] = os.environ) -> str:
    """What to write to the terminal, empty for ``off``; ``auto`` rings where no notification is known."""
    form = _form(environment)
    if setting == "off":
        return ""
    if setting == "bell" or (setting == "auto" and form is None):
        return _BELL
    sequence = _FORMS[form or "osc9"].format(words)
    if environment.get("TMUX"):
        # It hands this on only where that is allowed; the bell it knows itself.
        return "\x1bPtmux;" + sequence.replace("\x1b", "\x1b\x1b") + "\x1b\\" + _BELL
    return sequence


def _form(environment: Mapping[str, str]) -> str | None:
    """The notification that this terminal is known to show."""
    if environment.get("KITTY_WINDOW_ID"):
        return "osc99"
    term = environment.get("TERM", "")
    by_term = next((form for name, form in _BY_TERM.items() if term.startswith(name)), None)
    return _BY_PROGRAM.get(environment.get("TERM_PROGRAM", ""), by_term)
