"""The full-screen program: what is checked before it opens, and what is said after it closes."""

from __future__ import annotations

import gc
import os
import sys
from dataclasses import replace

from local_agent.cli.startup import Startup
from local_agent.cli.streams import say, write
from local_agent.config.launch import LaunchOptions
from local_agent.domain.errors import UsageError
from local_agent.domain.text import one_line


def open_screen(startup: Startup, options: LaunchOptions, resume: str | None) -> int:
    """Check what can be checked without a screen, open it, and leave the way back."""
    if resume is not None:
        from local_agent.cli.handles import resolve_resume  # sqlite3: only a start that resumes looks up

        options = replace(options, resume=resolve_resume(startup, resume))
    settings = startup.load().settings
    _need_terminal()
    # What is loaded until the runtime is there stays for good: start.py collects from then on.
    gc.disable()

    from local_agent.tui.app import LocalAgentApp  # Textual: only where a screen opens

    app = LocalAgentApp(options, settings, startup.paths)
    report = app.run(mouse=settings.ui.mouse)
    code = app.return_code or 0
    if report is not None and report.handle and code == 0:
        write(exit_message(report.handle, report.title))
    if report is not None and report.aside is not None:
        say(f"What could not be saved is in {report.aside}")
    for model in report.pulls if report is not None else ():
        name = one_line(model)
        say(f"What has come of {name} is kept: /pull {name} goes on from there.")
    return code


def exit_message(handle: str, title: str) -> str:
    """What a person reads once the terminal is theirs again."""
    return (
        f"Session {handle} · {one_line(title)}\nResume this session with:\n  local-agent --resume {handle}\n"
    )


def _need_terminal() -> None:
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        raise UsageError(
            "The screen needs a terminal for input and output.", 'Without one, ask with: local-agent -p "..."'
        )
    if os.environ.get("TERM", "") in ("", "dumb", "unknown") and os.name != "nt":
        raise UsageError(
            "This terminal can't show a screen (TERM is empty or dumb).", 'Ask with: local-agent -p "..."'
        )
