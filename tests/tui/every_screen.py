"""Every screen and dialog that the program has, and how a person gets there from a real conversation.

A screen that is missing here fails ``tests/tui/test_sizes.py``: add a line that opens it.
"""

from __future__ import annotations

import asyncio
import importlib
import io
import pkgutil
import subprocess
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from PIL import Image
from textual.pilot import Pilot
from textual.screen import Screen
from textual.strip import Strip
from textual.widgets import Input, TextArea

import local_agent.tui
from local_agent.config.launch import LaunchOptions
from local_agent.domain.changed import ChangedFile
from local_agent.domain.drafts import Prompt
from local_agent.domain.errors import LocalAgentError, StoreError
from local_agent.domain.events import QuestionAsked
from local_agent.domain.ledger import Execution
from local_agent.domain.modes import Mode
from local_agent.domain.sessions import RecordedFolder
from local_agent.domain.tools import FileChange
from local_agent.policy.rules import CommandPrefix, Rule, ToolPath
from local_agent.tui.app import LocalAgentApp
from local_agent.tui.commands import COMMANDS
from local_agent.tui.look.glyphs import Glyphs
from local_agent.tui.screens.changes import ChangesScreen
from local_agent.tui.screens.cloud_consent import CloudConsentDialog
from local_agent.tui.screens.demo import DemoScreen, Progress
from local_agent.tui.screens.dialog import Dialog
from local_agent.tui.screens.draft_choice import DraftDialog
from local_agent.tui.screens.held import HeldDialog
from local_agent.tui.screens.host_consent import HostConsentDialog
from local_agent.tui.screens.link import LinkDialog
from local_agent.tui.screens.moved import MovedDialog
from local_agent.tui.screens.not_opened import NotOpenedDialog
from local_agent.tui.screens.paste import PasteScreen
from local_agent.tui.screens.permissions import PermissionsScreen
from local_agent.tui.screens.picture import PictureScreen
from local_agent.tui.screens.settings import SettingsScreen
from local_agent.tui.screens.stop_turn import StopTurnDialog
from local_agent.tui.screens.themes import ThemesScreen
from local_agent.tui.screens.too_small import TooSmallScreen
from local_agent.tui.screens.unsaved import UnsavedDialog
from local_agent.tui.tools.approval import ApprovalPanel
from local_agent.tui.tools.asked import QuestionPanel
from local_agent.tui.tools.waiting import WaitingPanel
from local_agent.tui.working import mode_line
from tests.runtime.opened import paths_in
from tests.screenshots.make import Stage, date, record
from tests.screenshots.story import MAIN, MODEL, OLDER
from tests.support.ollama_server import ModelSpec, OllamaServer
from tests.tui.calling import DIFF, asked, ended, request
from tests.tui.context.shown import context_screen
from tests.tui.notes import shown as notes_shown
from tests.tui.pilots import screen_text, until
from tests.tui.test_dialogs import HOLDER
from tests.tui.time import shown as time_shown
from tests.tui.tree.shown import tree_screen
from tests.tui.uncertain import uncertain_calls

Opener = Callable[[LocalAgentApp, Pilot[Any]], Awaitable[None]]

WINDOW = 16_384
"""Set, because by itself it follows the machine's memory."""
QUEUED = ("And then run it twenty times, please", "Write the release note for it")
QUESTION = QuestionAsked("q2", "e1", "Which database shall it be?", ("SQLite", "Postgres", "Neither of them"))
PASTED = "\n".join(f"line {number} of a log that was pasted into the prompt" for number in range(300))


def screens() -> set[type[Screen[Any]]]:
    """Every class of ours that is shown as a screen: those that no other builds on."""
    list(COMMANDS)  # entered in their own order, before their modules are imported by name
    for module in pkgutil.walk_packages(local_agent.tui.__path__, "local_agent.tui."):
        importlib.import_module(module.name)
    found = {kind for kind in _leaves(Screen) if kind.__module__.startswith("local_agent.")}
    return found - {TooSmallScreen}


def _leaves(kind: type[Screen[Any]]) -> Iterator[type[Screen[Any]]]:
    below = [
        each for each in kind.__subclasses__() if each.__module__.startswith(("local_agent.", "textual."))
    ]
    if not below:
        yield kind
    for each in below:
        yield from _leaves(each)


def press(*keys: str) -> Opener:
    """Get there by keys."""

    async def go(app: LocalAgentApp, pilot: Pilot[Any]) -> None:
        await pilot.press(*keys)

    return go


def command(line: str) -> Opener:
    """Get there by a slash command."""

    async def go(app: LocalAgentApp, pilot: Pilot[Any]) -> None:
        app.chat.action_command(line)

    return go


def shown(make: Callable[[Glyphs], Screen[Any]]) -> Opener:
    """What comes up by itself, when something happens."""

    async def go(app: LocalAgentApp, pilot: Pilot[Any]) -> None:
        app.push_screen(make(app.chat.glyphs))

    return go


async def nothing(app: LocalAgentApp, pilot: Pilot[Any]) -> None:
    """It is there from the start."""


async def model_details(app: LocalAgentApp, pilot: Pilot[Any]) -> None:
    await pilot.press("ctrl+o")
    await until(pilot, lambda: MODEL in screen_text(pilot) and app.screen is not app.chat)
    await pilot.press("f2")


async def a_queue(app: LocalAgentApp, pilot: Pilot[Any]) -> None:
    for text in QUEUED:
        app.chat.turns.queue.add(Prompt(text))
    app.chat.turns.queue.hold()
    app.chat.show_facts()
    app.chat.action_command("/queue")


async def a_picture(app: LocalAgentApp, pilot: Pilot[Any]) -> None:
    assert app.chat.runtime is not None
    data = io.BytesIO()
    Image.linear_gradient("L").resize((64, 48)).save(data, "PNG")
    pictures = app.chat.runtime.pictures
    picture = await pictures.accept_bytes(data.getvalue(), "chart.png")
    app.push_screen(PictureScreen((picture,), pictures.read, glyphs=app.chat.glyphs))


async def edited_setting(app: LocalAgentApp, pilot: Pilot[Any]) -> None:
    app.chat.action_command("/settings")
    await until(pilot, lambda: isinstance(app.screen, SettingsScreen) and app.screen.selected)
    await pilot.press(*"num_ctx", "enter", *"12", "enter")


async def fetch(progress: Callable[[Progress], None]) -> Path:
    """A third of it is here, and no more comes."""
    await asyncio.to_thread(progress, _Third())
    await asyncio.Event().wait()
    raise LocalAgentError("never")


class _Third:
    done, total, line = 31, 93, "31 of 93 MB"


def waiting(make: Callable[[Glyphs], WaitingPanel]) -> Opener:
    """A question in the middle of a turn, in the composer's place."""

    async def go(app: LocalAgentApp, pilot: Pilot[Any]) -> None:
        panel = make(app.chat.glyphs)
        await app.chat.mount(panel, before="PromptPane")
        app.chat.show_facts()
        await until(pilot, lambda: panel.listening)

    return go


async def changed_files(app: LocalAgentApp, pilot: Pilot[Any]) -> None:
    """Two files that the session changed, one of them twice."""
    made = ended(
        asked(1, "edit", {"path": "src/restore.py"}),
        diff=DIFF,
        changes=(FileChange("src/restore.py", "changed", "1", "2"),),
    )
    written = ended(
        asked(2, "write", {"path": "NOTES.md"}), changes=(FileChange("NOTES.md", "created", "", "3"),)
    )

    async def load() -> list[Execution]:
        return [made, made, written]

    async def compare(file: ChangedFile) -> str:
        return ""

    app.push_screen(ChangesScreen(load, compare, glyphs=app.chat.glyphs))


async def permissions(app: LocalAgentApp, pilot: Pilot[Any]) -> None:
    """One answer of this session, one that is kept, and one thing that is forbidden."""
    rules = [
        Rule(CommandPrefix(("pytest",)), allows=True, kept=False),
        Rule(ToolPath("edit", "src/restore.py"), allows=True, kept=True),
        Rule(ToolPath("write", "pyproject.toml"), allows=False, kept=True),
    ]
    line = mode_line(Mode.AUTO, confines=False)
    app.push_screen(PermissionsScreen(_Remembered(rules), line, glyphs=app.chat.glyphs))


class _Remembered:
    """Rules that stay as they are."""

    problem = ""

    def __init__(self, rules: list[Rule]) -> None:
        self._rules = rules

    def rules(self) -> list[Rule]:
        return self._rules

    def revoke(self, rule: Rule) -> None:
        self._rules.remove(rule)

    def deny(self, rule: Rule) -> Rule:
        return rule


OPENERS: dict[str, Opener] = {
    "ChatScreen": nothing,
    "ChatScreen approving": waiting(lambda g: ApprovalPanel(request(), g)),
    "ChatScreen asked": waiting(lambda g: QuestionPanel(QUESTION, g)),
    "ChatScreen completing": press("slash"),
    "ChatScreen finding": press("ctrl+f", *"folder", "enter"),
    "ChangesScreen": changed_files,
    "CheckpointsScreen": time_shown.checkpoints_screen,
    "CloudConsentDialog": shown(lambda g: CloudConsentDialog("big:cloud", "in Ollama's cloud", 2, glyphs=g)),
    "ContextScreen": context_screen,
    "DemoScreen": shown(lambda g: DemoScreen(fetch, glyphs=g)),
    "DraftDialog": shown(lambda g: DraftDialog("a1b2c3d", glyphs=g)),
    "ErrorsScreen": command("/errors"),
    "HeldDialog": shown(lambda g: HeldDialog("a1b2c3d", HOLDER, glyphs=g)),
    "HelpScreen": press("f1"),
    "HostConsentDialog": shown(lambda g: HostConsentDialog("gpu-box", "http://gpu-box:11434", glyphs=g)),
    "JourneyDialog": time_shown.journey_dialog,
    "LinkDialog": shown(lambda g: LinkDialog("https://example.org/a/rather/long/path?q=1", glyphs=g)),
    "ModelDetailsScreen": model_details,
    "ModelsScreen": press("ctrl+o"),
    "MovedDialog": shown(
        lambda g: MovedDialog(RecordedFolder("/home/me/old/api-server", 12, "2026-01-02"), glyphs=g)
    ),
    "NotesScreen": notes_shown.notes_screen,
    "NotesScreen editing": notes_shown.edited_note,
    "NotOpenedDialog": shown(
        lambda g: NotOpenedDialog(
            StoreError("The disk is full.", "Make room on it."), readable=True, damaged=True, glyphs=g
        )
    ),
    "Palette": press("ctrl+p"),
    "PasteScreen": shown(lambda g: PasteScreen(PASTED, may_edit=True, glyphs=g)),
    "PermissionsScreen": permissions,
    "PictureScreen": a_picture,
    "PlanForm": command("/plan"),
    "PullScreen": command("/pull"),
    "QueueScreen": a_queue,
    "RecallSearchScreen": press("ctrl+r"),
    "RecoverScreen": uncertain_calls,
    "RestoringScreen": time_shown.restoring_screen,
    "RuntimeScreen": press("f2"),
    "SessionsScreen": press("ctrl+s"),
    "SessionsScreen searching": press("ctrl+s", "slash", *"test"),
    "SettingsScreen": command("/settings"),
    "SettingsScreen refusing": edited_setting,
    "StopTurnDialog": shown(lambda g: StopTurnDialog(glyphs=g)),
    "ThemesScreen": shown(lambda g: ThemesScreen("ink", glyphs=g)),
    "UnfinishedDialog": time_shown.unfinished_dialog,
    "TreeScreen": tree_screen,
    "UnsavedDialog": shown(lambda g: UnsavedDialog("The disk is full.", "Make room on it.", glyphs=g)),
    "ViewerScreen": command("/view"),
}  # fmt: skip
"""By the name of the screen's class; words behind it name one of its states."""


@asynccontextmanager
async def conversation(
    home: Path, *, size: tuple[int, int], **ui: object
) -> AsyncIterator[tuple[LocalAgentApp, Pilot[Any]]]:
    """The program with a real conversation on screen and older ones in its database."""
    workspace = home.parent / "api-server"
    await asyncio.to_thread(
        subprocess.run, ["git", "init", "--quiet", "--initial-branch=main", str(workspace)], check=True
    )
    model = ModelSpec(
        MODEL, ("completion", "tools", "thinking"), "qwen3", arch="qwen3", parameter_size="4.0B"
    )
    async with OllamaServer([model, ModelSpec("llama3.2:3b")]) as server:
        stage = Stage(paths_in(home), workspace, server)
        await record(stage)
        for past, days in zip(OLDER[1:], (1, 2, 3), strict=True):
            # Whole days ago, so that it is as many days at any time of the day.
            date(stage.paths.database, past.handle, replace(past, hours=24.0 * days))
        settings = stage.settings("dark")
        settings = replace(
            settings,
            ollama=replace(settings.ollama, num_ctx=WINDOW),
            ui=replace(settings.ui, **ui),  # type: ignore[arg-type]  # by name
        )
        app = LocalAgentApp(LaunchOptions(workspace, resume=MAIN.handle), settings, stage.paths)
        async with app.run_test(size=size) as pilot:
            await until(pilot, lambda: "second fixture shares" in " ".join(screen_text(pilot).split()))
            await still(pilot)
            yield app, pilot
            await app.chat.leave()


@asynccontextmanager
async def on_screen(app: LocalAgentApp, pilot: Pilot[Any], name: str) -> AsyncIterator[Screen[Any]]:
    """Open a screen, and be back in the conversation afterwards."""
    theme, size = app.theme, app.size
    await OPENERS[name](app, pilot)
    await until(pilot, lambda: type(app.screen).__name__ == name.partition(" ")[0])
    screen = app.screen
    if isinstance(screen, Dialog):
        await until(pilot, lambda: screen.listening)
    await still(pilot)
    yield screen
    await pilot.resize_terminal(*size)
    while app.screen is not app.chat:
        app.pop_screen()
    app.theme = theme
    for panel in app.chat.query(WaitingPanel):
        panel.close()
        await panel.remove()
        app.chat.show_facts()
    app.chat.turns.queue.take_all()
    await pilot.press("escape", "escape")
    app.chat.pane.clear_draft()
    await still(pilot)


async def still(pilot: Pilot[Any]) -> None:
    """Wait until what is drawn stays as it is, its colours too."""
    before: list[Strip] = []
    same = 0

    def settled() -> bool:
        nonlocal before, same
        now = pilot.app.screen._compositor.render_strips()
        same = same + 1 if now == before else 0
        before = now
        return same == 3

    await pilot.pause()
    for screen in pilot.app.screen_stack:
        for typed in (*screen.query(Input), *screen.query(TextArea)):
            typed.cursor_blink = False
    await until(pilot, settled)
