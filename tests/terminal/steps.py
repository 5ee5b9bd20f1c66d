"""What a person does over and over in these tests, and what they then see."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from tests.support.emulator import Emulator
from tests.support.ollama_server import RequestRecord
from tests.support.terminal import Key, Terminal

LEAVING_LIMIT = 2.0
"""Seconds within which the program is gone, whatever ends it."""
_FAREWELL = re.compile(
    r"Session (?P<handle>[0-9a-f]{7}) · (?P<title>[^\n]+)\n"
    r"Resume this session with:\n"
    r"  (?P<command>local-agent --resume [0-9a-f]{7})"
)


def drawn(shown: Emulator) -> bool:
    """The full-screen application has painted."""
    return shown.alternate and bool(shown.text.strip())


def ask(terminal: Terminal, question: str) -> None:
    """Type a question and send it."""
    terminal.wait_for(drawn)
    submit(terminal, question)


def submit(terminal: Terminal, text: str) -> None:
    """Type a text, see it, and send it."""
    terminal.send(text)
    terminal.wait_for(f"❯ {text}"[:20])
    terminal.send(Key.ENTER)


def leave(terminal: Terminal) -> None:
    """Type /exit; the program ends as it should."""
    submit(terminal, "/exit")
    assert terminal.wait_exit() == 0
    terminal.assert_restored()


def farewell(terminal: Terminal) -> Mapping[str, str]:
    """The three lines that stand on the terminal after a clean exit, and nothing but them."""
    said = _FAREWELL.fullmatch(terminal.text)
    assert said, f"not the three lines: {terminal.text!r}"
    return said.groupdict()


def conversation(request: RequestRecord) -> list[tuple[str, str]]:
    """Roles and texts of a chat request, without the system message."""
    messages = request.body["messages"]
    assert isinstance(messages, Sequence)
    said = [(message["role"], message["content"]) for message in messages]
    return [(role, text) for role, text in said if role != "system"]


def assert_valid(said: Sequence[tuple[str, str]]) -> None:
    """The person has the first and the last word, results stand behind their calls, nothing else is empty."""
    roles = "".join(role[0] for role, _ in said)
    assert re.fullmatch("(u(at+)*a)*u", roles), roles
    asks = [following == "t" for following in roles[1:]] + [False]
    assert all(text.strip() for (_, text), calls in zip(said, asks, strict=True) if not calls)
