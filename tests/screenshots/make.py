"""Makes all of ``screenshots/`` from scripted sessions: ``python -m tests.screenshots.make [NAME ...]``.

The real program talks to the scripted Ollama server and keeps real sessions in a home that is thrown
away. What differs from run to run (handles, ports, paths, clock times) is given fixed values, in the
database where that is possible and in the picture where it is not, so that a picture changes only when the
program does. NAME picks pictures by the beginning of their name, such as ``runtime``.
"""

from __future__ import annotations

import asyncio
import html
import os
import re
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable, Iterator
from contextlib import closing
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

from PIL import Image
from textual import events
from textual.pilot import Pilot

from local_agent.config.launch import LaunchOptions
from local_agent.config.paths import Paths
from local_agent.config.settings import OllamaSettings, Settings, UISettings
from local_agent.domain.drafts import Prompt
from local_agent.runtime.runtime import Runtime
from local_agent.tui.app import ExitReport, LocalAgentApp
from local_agent.tui.screens.journey import JourneyDialog
from local_agent.tui.tools.approval import ApprovalPanel
from local_agent.tui.widgets.composer import Composer
from tests.screenshots import work
from tests.screenshots.story import DRAFT, MAIN, MODEL, OLDER, Past
from tests.support.ollama_server import ModelSpec, OllamaServer
from tests.tui.notes.shown import notes_screen
from tests.tui.pilots import listening
from tests.tui.uncertain import uncertain_calls

FOLDER = Path(__file__).parents[2] / "screenshots"
LIMIT = 20.0
THEMES = ("dark", "light")
LARGE, USUAL, SMALL = (120, 36), (80, 24), (30, 12)

# By something of the same width: Rich's ids, clock times, the time to the first token (0.6 s and a little).
FIXED = (
    (r"terminal-\d+-", "terminal-"),
    (r"\b\d\d:\d\d\b", "14:02"),
    (r"\b\d(&#160;min&#160;left)", r"5\g<1>"),
    (r"\b0\.[67](&#160;)s\b", r"0.6\g<1>s"),
    (r"\b[67]\d\d(&#160;)ms\b", r"600\g<1>ms"),
    (r"\b\d\d(&#160;)ms\b", r"12\g<1>ms"),
    (r"\b\d(&#160;)ms\b", r"4\g<1>ms"),
    (r"(answer&#160;·&#160;)\d(&#160;s)\b", r"\g<1>3\g<2>"),
)
KERNEL = re.compile(r"(?<=Linux&#160;)[\w.-]+")

Driver = Pilot[ExitReport | None]
MEMORY = 16 * 1024**3
"""Bytes that the machine on the pictures has: what fits is another thing on each."""
MODELS = (
    ModelSpec(MODEL, ("completion", "tools", "thinking"), "qwen3", arch="qwen3", parameter_size="4.0B"),
    ModelSpec("llama3.2:3b"),
    ModelSpec("gemma3:12b", ("completion", "vision"), arch="gemma3", size=8_149_190_253, blocks=48),
    ModelSpec("qwen2.5vl:7b", ("completion", "vision"), arch="qwen25vl", size=5_969_245_856),
    ModelSpec("gpt-oss:20b", ("completion", "tools", "thinking"), arch="gptoss", size=13_793_441_244),
    ModelSpec("qwen3-coder:30b", ("completion", "tools"), arch="qwen3moe", size=18_556_700_761),
    ModelSpec("nomic-embed-text", ("embedding",), arch="nomic-bert", size=274_302_450, train_ctx=2048),
)


@dataclass(frozen=True)
class Scene:
    """One thing to show: how to get there, and in which sizes."""

    name: str
    resumed: bool
    play: Callable[[Driver], Awaitable[None]]
    sizes: tuple[tuple[int, int], ...] = (LARGE, USUAL)
    works: bool = False
    """The model works on the folder, on a copy of what is kept: the next picture knows nothing of it."""


@dataclass(frozen=True)
class Stage:
    """Where the pictures are taken: a home with sessions, a folder and a server."""

    paths: Paths
    workspace: Path
    server: OllamaServer

    def settings(self, theme: str) -> Settings:
        return Settings(
            ollama=replace(OllamaSettings(), host=self.server.url, model=MODEL),
            ui=replace(UISettings(), theme=theme, motion="reduced"),
        )


def shown(pilot: Driver) -> str:
    """The text on screen, rows run together."""
    text = re.sub(r"<style>.*?</style>|<[^>]+>", " ", pilot.app.export_screenshot(), flags=re.DOTALL)
    return " ".join(html.unescape(text).split())


async def wait_for(pilot: Driver, *wanted: str) -> None:
    """Wait until all of ``wanted`` is on screen and nothing changes any more."""
    deadline = time.monotonic() + LIMIT
    before = ""
    while True:
        await pilot.pause(0.1)
        now = shown(pilot)
        if now == before and all(text in now for text in wanted):
            return
        before = now
        if time.monotonic() > deadline:
            raise SystemExit(f"{wanted} did not come; on screen: {now}")


async def welcome(pilot: Driver) -> None:
    await wait_for(pilot, MODEL, MAIN.handle)


async def conversation(pilot: Driver) -> None:
    await wait_for(pilot, "second fixture shares")
    await pilot.press(*DRAFT)
    await wait_for(pilot, DRAFT)


async def small_conversation(pilot: Driver) -> None:
    await wait_for(pilot, "the race is gone")


async def picker(pilot: Driver) -> None:
    await wait_for(pilot, MODEL)
    await pilot.press("ctrl+s")
    await wait_for(pilot, *(past.handle for past in OLDER))


async def search_inside(pilot: Driver) -> None:
    await wait_for(pilot, MODEL)
    await pilot.press("ctrl+s", "slash", *"test")
    await wait_for(pilot, "Search inside", "▌")


async def noted(pilot: Driver) -> None:
    await wait_for(pilot, "second fixture shares")
    assert isinstance(pilot.app, LocalAgentApp)
    await notes_screen(pilot.app, pilot)


async def runtime_view(pilot: Driver) -> None:
    await wait_for(pilot, "second fixture shares")
    await pilot.press("f2")
    await wait_for(pilot, MAIN.handle, "Q4_K_M")


async def settings_view(pilot: Driver) -> None:
    await wait_for(pilot, "second fixture shares")
    await pilot.press(*"/settings", "enter")
    await wait_for(pilot, "num_ctx", "counts after a restart")


async def theme_chooser(pilot: Driver) -> None:
    await wait_for(pilot, "second fixture shares")
    await pilot.press(*"/theme", "space", "enter")
    await wait_for(pilot, "amber on burnt brown")
    await pilot.press("down")
    await wait_for(pilot, "amber on burnt brown")


async def model_picker(pilot: Driver) -> None:
    await wait_for(pilot, "second fixture shares")
    await pilot.press("ctrl+o")
    await wait_for(pilot, "gemma3:12b", "nomic-embed-text")


async def finding(pilot: Driver) -> None:
    await wait_for(pilot, "second fixture shares")
    await pilot.press("ctrl+f", *"one", "enter")
    await wait_for(pilot, "1 of 5")


async def writing(pilot: Driver) -> None:
    await wait_for(pilot, "second fixture shares")
    await pilot.press(*"/image dashboard.png", "enter")
    await wait_for(pilot, "[1] dashboard.png")
    composer = pilot.app.screen.query_one(Composer)
    composer.post_message(
        events.Paste("\n".join(f"FAILED tests/test_restore.py::test_{n}" for n in range(48)))
    )
    await wait_for(pilot, "48 lines")
    await pilot.press(*" What fails in @test")
    await wait_for(pilot, "tests/test_restore.py")


async def asked_before(pilot: Driver) -> None:
    await wait_for(pilot, "second fixture shares")
    await pilot.press("ctrl+r", *"with")
    await wait_for(pilot, "session fixtures", "file lock")


async def asked_to_work(pilot: Driver) -> None:
    await wait_for(pilot, "second fixture shares")
    await pilot.press(*work.QUESTION, "enter")
    await wait_for(pilot, "waiting for your answer", "shutil.rmtree")


async def _answer(pilot: Driver, *keys: str) -> None:
    panel = pilot.app.screen.query_one(ApprovalPanel)
    while not panel.listening:
        await pilot.pause(0.05)
    await pilot.press(*keys)


async def asked_to_run(pilot: Driver) -> None:
    await asked_to_work(pilot)
    await _answer(pilot, "s", "enter")
    await wait_for(pilot, "waiting for your answer", work.CHECK)


async def worked(pilot: Driver) -> None:
    await asked_to_run(pilot)
    await _answer(pilot, "y")
    await wait_for(pilot, "is no error", "tok/s")


async def checkpointed(pilot: Driver) -> None:
    """Two checkpoints, and the run between them."""
    await wait_for(pilot, "second fixture shares")
    await pilot.press(*"/checkpoint before the cleanup", "enter")
    await wait_for(pilot, "Checkpoint 1")
    await worked(pilot)
    await pilot.press(*"/checkpoint cleanup mended", "enter")
    await wait_for(pilot, "Checkpoint 2")


async def checkpoints_view(pilot: Driver) -> None:
    await checkpointed(pilot)
    await pilot.press(*"/checkpoints", "enter")
    await wait_for(pilot, "cleanup mended", "1 file")
    await pilot.press("down")
    await wait_for(pilot, "before the cleanup")


async def restore_asked(pilot: Driver) -> None:
    await checkpointed(pilot)
    pilot.app.clear_notifications()
    await pilot.press(*"/restore 1", "enter")
    await listening(pilot, JourneyDialog)
    await wait_for(pilot, "src/restore.py", "conversation", "files")


async def tree_view(pilot: Driver) -> None:
    """A branch left behind, and another way on."""
    await checkpointed(pilot)
    await pilot.press(*"/restore 1 --both", "enter")
    await wait_for(pilot, "restored")
    assert isinstance(pilot.app, LocalAgentApp)
    await pilot.press(*"Can the folder be one of its own for each test?", "enter")
    await wait_for(pilot, "hands a folder", "tok/s")
    await pilot.press(*"/tree", "enter")
    await wait_for(pilot, "cleanup mended")


async def context_view(pilot: Driver) -> None:
    await worked(pilot)
    await pilot.press(*"/context", "enter")
    await wait_for(pilot, "tools", "tokens are free")


async def recovering(pilot: Driver) -> None:
    await wait_for(pilot, "second fixture shares")
    assert isinstance(pilot.app, LocalAgentApp)
    await uncertain_calls(pilot.app, pilot)
    await wait_for(pilot, "make deploy")


SCENES = (
    Scene("welcome", False, welcome),
    Scene("conversation", True, conversation),
    Scene("conversation", True, small_conversation, (SMALL,)),
    Scene("sessions", False, picker),
    Scene("search", False, search_inside),
    Scene("notes", True, noted, works=True),
    Scene("runtime", True, runtime_view),
    Scene("models", True, model_picker),
    Scene("writing", True, writing),
    Scene("finding", True, finding, (LARGE,)),
    Scene("questions", True, asked_before, (LARGE,)),
    Scene("settings", True, settings_view),
    Scene("themes", True, theme_chooser, (LARGE,)),
    Scene("run-1-asked", True, asked_to_work, works=True),
    Scene("run-2-tested", True, asked_to_run, (LARGE,), works=True),
    Scene("run-3-done", True, worked, works=True),
    Scene("recovery", True, recovering, works=True),
    Scene("checkpoints", True, checkpoints_view, works=True),
    Scene("restore", True, restore_asked, works=True),
    Scene("tree", True, tree_view, works=True),
    Scene("context", True, context_view, works=True),
)


async def record(stage: Stage) -> None:
    """Hold every conversation of the story, oldest first, and give each its handle and age."""
    runtime = await Runtime.open(LaunchOptions(stage.workspace), stage.settings("dark"), stage.paths)
    for past in (*reversed(OLDER), MAIN):
        talk = runtime.new_conversation()
        for question, reply in past.said:
            stage.server.script(reply)
            async for _ in talk.ask(Prompt(question)):
                pass
        await talk.close()
        date(stage.paths.database, talk.handle, past)
    await runtime.close()


def date(database: Path, handle: str, past: Past) -> None:
    """Let a session of just now be one of the past."""
    then = datetime.now(UTC) - timedelta(hours=past.hours)
    moment = then.isoformat(timespec="milliseconds").replace("+00:00", "Z")
    with closing(sqlite3.connect(database)) as connection, connection:
        connection.execute(
            "UPDATE sessions SET handle = ?, created_at = ?, last_activity = ? WHERE handle = ?",
            (past.handle, moment, moment, handle),
        )


def settled(picture: str, stage: Stage) -> str:
    """Replace what differs from run to run by something of the same width."""
    picture = picture.replace(stage.server.url, "http://127.0.0.1:11434")
    for pattern, fixed in FIXED:
        picture = re.sub(pattern, fixed, picture)
    picture = KERNEL.sub(lambda found: "6.12".ljust(len(found[0])).replace(" ", "&#160;"), picture)
    return "\n".join(line.rstrip() for line in picture.splitlines()) + "\n"


def pictures(chosen: list[str]) -> Iterator[tuple[str, Scene, str, tuple[int, int]]]:
    """Every picture to take: its name, what it shows, theme and size."""
    for scene in SCENES:
        for columns, rows in scene.sizes:
            for theme in THEMES:
                name = f"{scene.name}-{columns}x{rows}-{theme}"
                if not chosen or name.startswith(tuple(chosen)):
                    yield name, scene, theme, (columns, rows)


async def take(stage: Stage, scene: Scene, theme: str, size: tuple[int, int]) -> str:
    """Start the program, go where the scene is, and take the picture."""
    options = LaunchOptions(stage.workspace, resume=MAIN.handle if scene.resumed else None)
    paths = stage.paths
    if scene.works:
        paths = Paths(home=paths.home.with_name("copy"), cache=paths.cache)
        shutil.rmtree(paths.home, ignore_errors=True)
        shutil.copytree(stage.paths.home, paths.home)
        work.write_files(stage.workspace)
        stage.server.reset()
        stage.server.script(*work.TURNS)
    app = LocalAgentApp(options, stage.settings(theme), paths)
    async with app.run_test(size=size, notifications=True) as pilot:
        await scene.play(pilot)
        picture = app.export_screenshot(title=f"local-agent · {stage.workspace.name}")
        # Clears the draft, which would be there again in the next picture.
        await pilot.press("escape", "ctrl+c", "ctrl+q")
    return settled(picture, stage)


async def make(folder: Path, workspace: Path, chosen: list[str]) -> None:
    """Set the stage under ``folder``, and take the pictures."""
    paths = Paths(home=folder / ".config" / "local-agent", cache=folder / ".cache" / "local-agent")
    for name in ("src/restore.py", "tests/conftest.py", "tests/test_restore.py", "tests/test_routes.py"):
        (workspace / name).parent.mkdir(exist_ok=True)
        (workspace / name).write_text("def a_line_of_code(): ...\n" * 60)
    Image.new("RGB", (1280, 720), "#93a9f5").save(workspace / "dashboard.png")
    async with OllamaServer(MODELS) as server:
        stage = Stage(paths, workspace, server)
        await record(stage)
        for name, scene, theme, size in pictures(chosen):
            (FOLDER / f"{name}.svg").write_text(await take(stage, scene, theme, size), encoding="utf-8")
            sys.stdout.write(f"{name}\n")


def sysconf(name: str | int, real: Callable[[str | int], int] = os.sysconf) -> int:
    """The kernel's answer, but for the memory."""
    return MEMORY // real("SC_PAGE_SIZE") if name == "SC_PHYS_PAGES" else real(name)


def main() -> None:
    os.environ["TEXTUAL_ANIMATIONS"] = "none"
    os.sysconf = sysconf  # type: ignore[assignment]  # what is patched is the machine
    FOLDER.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary).resolve()
        os.environ["HOME"] = str(folder)
        workspace = folder / "api-server"
        subprocess.run(["git", "init", "--quiet", "--initial-branch=main", str(workspace)], check=True)
        asyncio.run(make(folder, workspace, sys.argv[1:]))


if __name__ == "__main__":
    main()
