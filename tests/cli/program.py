"""Runs the program as a shell does, and makes sessions for it to find."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import AsyncGenerator, Mapping
from contextlib import aclosing, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from local_agent.config.launch import LaunchOptions
from local_agent.config.paths import Paths
from local_agent.config.settings import OllamaSettings, Settings
from local_agent.domain.drafts import Prompt
from local_agent.runtime.conversation import Conversation
from local_agent.runtime.runtime import Runtime
from tests.support.ollama_server import RequestRecord

ROOT = Path(__file__).parents[2]
SECONDS = 180
COMMAND = (sys.executable, "-m", "local_agent")


@dataclass(frozen=True)
class Ran:
    """How a run ended."""

    code: int
    out: str
    err: str

    @property
    def line(self) -> str:
        """The one line of standard error that a refusal is."""
        (line,) = self.err.splitlines()
        assert "Traceback" not in line
        return line.removeprefix("local-agent: ")


def environment(**changes: str) -> dict[str, str]:
    """This process's environment, in which the program is found from any folder."""
    return {**os.environ, "PYTHONPATH": str(ROOT), **changes}


def run(
    *arguments: str,
    cwd: Path | None = None,
    stdin: str | None = None,
    env: Mapping[str, str] | None = None,
) -> Ran:
    """Run ``local-agent`` to its end; without ``stdin`` standard input is empty."""
    ended = subprocess.run(
        [*COMMAND, *arguments],
        cwd=cwd or ROOT,
        input=(stdin or "").encode(),
        env=environment(**(env or {})),
        capture_output=True,
        timeout=SECONDS,
        check=False,
    )
    return Ran(ended.returncode, ended.stdout.decode(), ended.stderr.decode())


def sent_messages(record: RequestRecord) -> list[tuple[str, str]]:
    """Role and content of every message of a chat request."""
    messages = record.body["messages"]
    assert isinstance(messages, list)
    return [(message["role"], message["content"]) for message in messages]


def shim(folder: Path) -> str:
    """A PATH on which ``local-agent`` is this program."""
    folder.mkdir(exist_ok=True)
    script = folder / "local-agent"
    script.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m local_agent "$@"\n')
    script.chmod(0o755)
    return f"{folder}{os.pathsep}{os.environ['PATH']}"


@asynccontextmanager
async def opened(url: str, folder: Path) -> AsyncGenerator[Runtime, None]:
    """The runtime of a screen that was started in ``folder``."""
    settings = Settings(ollama=OllamaSettings(host=url))
    runtime = await Runtime.open(LaunchOptions(folder), settings, Paths.discover())
    try:
        yield runtime
    finally:
        await runtime.close()


async def converse(runtime: Runtime, *questions: str) -> Conversation:
    """A new conversation in which all questions were asked."""
    conversation = runtime.new_conversation()
    for question in questions:
        async with aclosing(conversation.ask(Prompt(question))) as events:
            async for _ in events:
                pass
    return conversation


async def stored_session(url: str, folder: Path, *questions: str) -> str:
    """The handle of a session that is closed again."""
    async with opened(url, folder) as runtime:
        conversation = await converse(runtime, *questions)
        handle = conversation.handle
        await conversation.close()
    return handle
