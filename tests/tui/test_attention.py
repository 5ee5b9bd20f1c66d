"""What each terminal is sent to call a person back."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from local_agent.tui.device.attention import ASKED, announcement

IN_TMUX = {"TMUX": "/tmp/tmux-1/default,1,0", "TERM": "tmux-256color"}


@pytest.mark.parametrize(
    ("setting", "environment", "sent"),
    [
        ("off", {"TERM_PROGRAM": "iTerm.app"}, ""),
        ("bell", {"TERM_PROGRAM": "iTerm.app"}, "\a"),
        ("auto", {"TERM": "xterm-256color"}, "\a"),
        ("auto", {}, "\a"),
        ("auto", {"TERM_PROGRAM": "iTerm.app"}, f"\x1b]9;local-agent: {ASKED}\x07"),
        ("auto", {"TERM_PROGRAM": "WezTerm"}, f"\x1b]777;notify;local-agent;{ASKED}\x07"),
        ("auto", {"TERM": "foot-extra"}, f"\x1b]777;notify;local-agent;{ASKED}\x07"),
        ("auto", {"TERM": "xterm-kitty"}, f"\x1b]99;;local-agent: {ASKED}\x1b\\"),
        ("auto", IN_TMUX, "\a"),
        ("desktop", {"TERM": "xterm"}, f"\x1b]9;local-agent: {ASKED}\x07"),
        ("desktop", IN_TMUX, f"\x1bPtmux;\x1b\x1b]9;local-agent: {ASKED}\x07\x1b\\\a"),
        (
            "auto",
            {**IN_TMUX, "KITTY_WINDOW_ID": "1"},
            f"\x1bPtmux;\x1b\x1b]99;;local-agent: {ASKED}\x1b\x1b\\\x1b\\\a",
        ),
    ],
)
def test_each_terminal_is_called_in_its_own_way(
    setting: str, environment: Mapping[str, str], sent: str
) -> None:
    assert announcement(setting, ASKED, environment) == sent
