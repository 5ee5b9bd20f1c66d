"""What can't be written to the database, as a text that a person can read, in a file that only they can."""

from __future__ import annotations

import json
import logging
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path

from local_agent.config.private_files import private_folder, write_private
from local_agent.domain.entries import Entry, EntryStatus, Kind
from local_agent.domain.ledger import Execution
from local_agent.domain.pictures import caption
from local_agent.domain.text import one_line, sanitise
from local_agent.runtime.unsaved_turn import UnsavedTurn

_log = logging.getLogger(__name__)


class SetAside:
    """The file of one conversation; writing it again replaces it."""

    def __init__(self, folder: Path | None) -> None:
        self._folder = folder
        self._path: Path | None = None

    @property
    def path(self) -> Path | None:
        """Where the file lies, once it was written."""
        return self._path

    def write(self, name: str, reason: str, turns: Sequence[UnsavedTurn], draft: str = "") -> Path | None:
        """Write the turns and what was not sent yet; None when no folder takes the file.

        ``name`` is the session's handle, or empty while it has none.
        """
        document = "\n\n".join(_parts(name, reason, turns, draft)) + "\n"
        data = document.encode("utf-8", "replace")
        for folder in self._folders():
            try:
                private_folder(folder)
                path = self._path if self._path is not None and self._path.parent == folder else None
                path = path or folder / f"{name or 'new'}-{datetime.now(UTC):%Y%m%d-%H%M%S-%f}.md"
                write_private(path, data)
            except OSError as error:
                _log.warning("nothing can be set aside in %s: %s", folder, error)
            else:
                self._path = path
                return path
        return None

    def _folders(self) -> Iterator[Path]:
        if self._path is not None:
            yield self._path.parent
        if self._folder is not None:
            yield self._folder
        try:
            yield Path(tempfile.mkdtemp(prefix="local-agent-unsaved-"))
        except OSError as error:
            _log.warning("there is no temporary folder: %s", error)


def left_behind(folder: Path) -> tuple[str, ...]:
    """What a start says of files that an earlier run has set aside."""
    try:
        count = sum(1 for path in folder.iterdir() if path.suffix == ".md")
    except OSError:
        return ()
    if not count:
        return ()
    what = "A conversation that could not be saved lies" if count == 1 else f"{count} conversations lie"
    return (f"{what} in {folder}: read it, then delete the file.",)


def _parts(name: str, reason: str, turns: Sequence[UnsavedTurn], draft: str) -> Iterator[str]:
    session = f"session {name}" if name else "a new session"
    yield f"# Not saved: the end of {session}"
    yield one_line(reason)
    for turn in turns:
        answers = [entry for entry in turn.unwritten if entry is not turn.turn.question]
        for entry in (turn.turn.question, *answers) if answers or not turn.stored else ():
            yield from _said(_heading(entry, turn.executions.values()), entry)
    if draft.strip():
        yield "## Not sent yet"
        yield sanitise(draft)


def _heading(entry: Entry, calls: Iterable[Execution]) -> str:
    if entry.kind is Kind.RESULT:
        place = entry.parent, entry.call_number
        tools = [each.tool for each in calls if (each.entry_id, each.call_number) == place]
        return one_line(" ".join(["Result of", *(tools or ["a call"])]))
    if entry.kind is not Kind.ASSISTANT:
        return "Question" if entry.kind is Kind.QUESTION else "Command"
    return f"Answer{' (interrupted)' if entry.status is EntryStatus.INTERRUPTED else ''}"


def _said(what: str, entry: Entry) -> Iterator[str]:
    yield f"## {what}, {entry.created_at}"
    if entry.thinking.strip():
        yield "### Thinking"
        yield sanitise(entry.thinking)
        yield "### Said"
    for picture in entry.pictures:
        yield f"[picture] {caption(picture)}"
    yield sanitise(entry.text)
    for call in entry.calls:
        arguments = call.raw or json.dumps(call.arguments, ensure_ascii=False, default=str)
        yield sanitise(f"[call] {one_line(call.name)} {arguments}")
