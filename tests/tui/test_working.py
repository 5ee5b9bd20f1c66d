"""Changed files, the plan's form and permissions, from real turns with tools."""

from __future__ import annotations

from pathlib import Path

from local_agent.domain.modes import Mode
from local_agent.tui.screens.changes import ChangesScreen
from local_agent.tui.screens.permissions import PermissionsScreen
from local_agent.tui.screens.plan import PlanForm
from local_agent.tui.screens.viewer import ViewerScreen
from local_agent.tui.tools.approval import ApprovalPanel
from tests.support.ollama_server import OllamaServer, Turn, call
from tests.tui.chatting import chatting
from tests.tui.pilots import screen_text, until


async def test_what_a_turn_changed_is_listed_and_its_permission_taken_back(
    home: Path, server: OllamaServer
) -> None:
    server.script(Turn(call("write", {"path": "note.txt", "content": "one\ntwo\n"})), "Written.")
    async with chatting(home, server.url, size=(100, 30)) as chat:
        await chat.ready()
        await chat.send("write it down")
        await until(chat.pilot, lambda: chat.screen.query(ApprovalPanel))
        panel = chat.screen.query_one(ApprovalPanel)
        await until(chat.pilot, lambda: panel.listening)
        await chat.pilot.press("s")
        await chat.pilot.press("enter")
        await chat.answered(1)
        chat.screen.action_command("/changes")
        await until(chat.pilot, lambda: "created" in screen_text(chat.pilot))
        assert isinstance(chat.app.screen, ChangesScreen)
        assert "note.txt" in screen_text(chat.pilot) and "+2 -0" in screen_text(chat.pilot)
        await chat.pilot.press("enter")
        await until(chat.pilot, lambda: isinstance(chat.app.screen, ViewerScreen))
        await until(chat.pilot, lambda: "+two" in screen_text(chat.pilot))
        await chat.pilot.press("escape", "escape")
        chat.screen.action_command("/permissions")
        await until(chat.pilot, lambda: isinstance(chat.app.screen, PermissionsScreen))
        await until(chat.pilot, lambda: "write on note.txt" in screen_text(chat.pilot))
        assert "this session" in screen_text(chat.pilot)
        await chat.pilot.press("f4")
        await until(chat.pilot, lambda: "never" in screen_text(chat.pilot))
        await chat.pilot.press("f8")
        await until(chat.pilot, lambda: "Nothing is remembered yet" in screen_text(chat.pilot))
        await chat.pilot.press("escape")


async def test_a_plan_is_asked_for_in_its_mode(home: Path, server: OllamaServer) -> None:
    server.script("1. Read it.")
    async with chatting(home, server.url, size=(100, 30)) as chat:
        await chat.ready()
        chat.screen.action_command("/plan")
        await until(chat.pilot, lambda: isinstance(chat.app.screen, PlanForm))
        await chat.pilot.press("enter")
        await until(chat.pilot, lambda: "Say what is wanted first." in screen_text(chat.pilot))
        await chat.pilot.press(*"mend add", "tab", *"calc.py", "tab", "enter")
        await chat.answered(1)
        assert chat.screen.conversation.mode is Mode.PLAN and "PLAN" in screen_text(chat.pilot)
        assert chat.screen.conversation.title == "mend add"
        sent = server.chats[0].body["messages"][-1]["content"]
        assert "Mode: PLAN" in sent and "mend add\n\nScope: calc.py\n\nMake a plan" in sent
