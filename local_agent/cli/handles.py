"""Handles on the command line: looked up before any screen, and bound to their folder."""

from __future__ import annotations

from pathlib import Path

from click.shell_completion import CompletionItem

from local_agent.cli.startup import Startup
from local_agent.cli.streams import say_waiting
from local_agent.config.paths import Paths
from local_agent.domain.errors import LocalAgentError, UnknownSession
from local_agent.domain.handles import offer, parse_handle
from local_agent.domain.quoting import quoted
from local_agent.domain.text import one_line
from local_agent.store import lookup
from local_agent.store.patience import Patience

LATEST = "latest"
_OFFERED = 1000
_COMPLETION_SECONDS = 0.5


def find_session(startup: Startup, text: str) -> lookup.Found:
    """Any session by its handle; ``UsageError`` for a malformed one, ``UnknownSession`` for one not there."""
    database = startup.paths.database
    patience = Patience(say_waiting)
    known = lookup.known_handles(database, _OFFERED, patience)
    handle = parse_handle(text, known)
    found = lookup.lookup(database, handle, patience)
    if found is None:
        raise UnknownSession(f"There is no session {handle}.", offer(handle, known))
    return found


def find_here(startup: Startup, text: str, *arguments: str) -> lookup.Found:
    """A session of this folder; for another's the error says where to run ``arguments``."""
    found = find_session(startup, text)
    if found.workspace_root == str(startup.workspace):
        return found
    folder = one_line(found.workspace_root)
    if not Path(found.workspace_root).is_dir():
        raise LocalAgentError(
            f"Session {found.handle} belongs to {folder}, which is gone.",
            "In the new folder of a Git project, local-agent offers to bring its sessions along. "
            f"Read it with: local-agent session show {found.handle}",
        )
    command = " ".join(map(quoted, ("local-agent", *arguments)))
    raise LocalAgentError(
        f"Session {found.handle} belongs to {folder}.",
        f"Run it there: cd {quoted(found.workspace_root)} && {command}",
    )


def resolve_resume(startup: Startup, text: str) -> str:
    """The handle that ``--resume`` means."""
    if text.strip().lower() != LATEST:
        found = find_session(startup, text)
        find_here(startup, text, "--resume", found.handle)
        if found.trashed:
            raise LocalAgentError(
                f"Session {found.handle} is in the trash.",
                f"Bring it back with: local-agent session untrash {found.handle}",
            )
        return found.handle
    latest = lookup.latest(startup.paths.database, str(startup.workspace), Patience(say_waiting))
    if latest is None:
        raise LocalAgentError("No session was saved in this folder yet.", "Start one with: local-agent")
    return latest.handle


def complete_handles(incomplete: str, *, with_latest: bool) -> list[CompletionItem]:
    """Handles that begin with what was typed; never an error, because the shell would draw it."""
    try:
        handles = lookup.known_handles(
            Paths.discover().database, _OFFERED, Patience(seconds=_COMPLETION_SECONDS)
        )
    except LocalAgentError:
        handles = []
    words = [LATEST, *handles] if with_latest else list(handles)
    return [CompletionItem(word) for word in words if word.startswith(incomplete.lower())]
