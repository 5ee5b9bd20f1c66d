"""``-p`` with ``@path``: the file goes along, as on the screen."""

from __future__ import annotations

import json
from pathlib import Path

from tests.cli.program import run, sent_messages
from tests.headless.conftest import project
from tests.support.ollama_server import OllamaServer

__all__ = ["project"]


def test_a_mentioned_file_is_read_and_stored_apart(project: Path, server: OllamaServer) -> None:
    server.script("ok")
    (project / "notes.md").write_text("remember\n")
    done = run("-p", "sum up @notes.md and @property, not @gone.md", cwd=project)
    assert done.out.strip() == "ok"
    said = [line for line in done.err.splitlines() if " read: " in line]
    assert said == [
        "local-agent: notes.md read: 1 line.",
        "local-agent: gone.md not read: there is no such file.",
    ]
    (_, asked) = sent_messages(server.chats[0])[-1]
    assert "notes.md (1 line):\n```\nremember\n```\n\n" in asked and "\n\nsum up @notes.md" in asked
    (session,) = json.loads(run("session", "list", "--json", cwd=project).out)
    shown = run("session", "show", session["handle"], cwd=project).out
    assert "sum up @notes.md" in shown and "remember" not in shown
