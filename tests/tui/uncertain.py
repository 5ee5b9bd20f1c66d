"""Calls of unknown outcome for the looks of the screen that settles them."""

from __future__ import annotations

from typing import Any

from textual.pilot import Pilot

from local_agent.domain.ledger import EventKind, Execution, Pending
from local_agent.domain.tools import Effect
from local_agent.tui.app import LocalAgentApp
from local_agent.tui.screens.recover import RecoverScreen
from tests.tui.pilots import until

_ROOT = "/srv/api-server"
_NOTES = f"{_ROOT}/docs/notes.md"
_WRITTEN = {"path": "docs/notes.md", "content": "# Notes\n\nThe second fixture shares its folder."}


def _pending(key: str, tool: str, arguments: dict[str, object], **facts: object) -> Pending:
    execution = Execution(
        key, 1, 1, 2, 0, tool, arguments, Effect.EFFECTFUL, EventKind.OUTCOME_UNKNOWN,
        facts=facts, started_at="2020-05-04T12:00:00.000Z",
    )  # fmt: skip
    return Pending(execution, "a1b2c3d", _ROOT)


PENDING = (
    _pending(
        "1" * 12,
        "write",
        _WRITTEN,
        target="docs/notes.md",
        expected={_NOTES: ""},
        intended={_NOTES: "1" * 64},
    ),
    _pending("2" * 12, "bash", {"command": "make deploy"}, target="make deploy"),
)


async def uncertain_calls(app: LocalAgentApp, pilot: Pilot[Any]) -> None:
    """The screen, with a file that was not written and a command that nothing is known of."""
    conversation = app.chat.conversation
    assert conversation is not None

    async def pending() -> tuple[Pending, ...]:
        return PENDING

    screen = RecoverScreen(pending, conversation.hands.recovering, here="a1b2c3d", glyphs=app.chat.glyphs)
    app.push_screen(screen)
    await until(pilot, lambda: screen.listening)
