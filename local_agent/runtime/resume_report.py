"""What has changed since a conversation was last used; nothing where that is nothing."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

from local_agent.domain.changed import ChangedFile, changed_files
from local_agent.domain.entries import ErrorRecord
from local_agent.domain.errors import ModelErrorKind, StoreError
from local_agent.domain.text import one_line
from local_agent.domain.tools import UNKNOWN
from local_agent.runtime.probes import digest_now

if TYPE_CHECKING:
    from local_agent.runtime.conversation import Conversation
    from local_agent.store.store import Store

MOST_FILES = 200
"""How many of the files that a session changed are looked at, those changed last."""
NAMED = 3
_TAIL_BYTES = 64 * 1024
_MOVED = re.compile(rb"^[0-9a-f]{40,64} ([0-9a-f]{40,64}) .*> (\d+) [+-]\d{4}\t", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Since:
    """What was found. Empty and 0 for what is as it was."""

    differing: Sequence[str] = ()
    """Files that the session changed and that hold something else now."""
    moves: int = 0
    """How often Git's HEAD has moved since."""
    head: str = ""
    """Where it stands now, short."""
    missing_model: str = ""
    errors: int = 0
    uncertain: int = 0
    lost: int = 0
    """Results of calls that are in no entry."""
    used_tokens: int | None = None


async def look_back(conversation: Conversation) -> Since:
    """Look at what a resumed conversation left. Raises ``StoreError``."""
    info = conversation.info
    if info is None:
        return Since()
    root = Path(info.workspace_root)
    files = changed_files(await conversation.executions())[:MOST_FILES]
    differing = await asyncio.to_thread(differing_now, files, root)
    moves, head = await asyncio.to_thread(head_moves, root, info.last_activity)
    await conversation.prepare()
    problem = conversation.planner.router.problem
    gone = problem is not None and problem.kind is ModelErrorKind.NO_MODEL
    return Since(
        differing=differing,
        moves=moves,
        head=head,
        missing_model=info.model if gone else "",
        errors=info.error_count,
        uncertain=len(await conversation.pending()),
        lost=len(await conversation.hands.recovering.without_result(info)),
        used_tokens=conversation.used_tokens,
    )


async def note_failed_resume(store: Store, handle: str, error: StoreError) -> None:
    """Keep in a session's trail that it could not be taken up, where that can be written."""
    with suppress(StoreError):
        info = await store.find(handle)
        record = ErrorRecord("resume", error.line, error.raw, "", info.model, info.backend)
        await store.note_error(info.id, record)


def report(since: Since, handle: str) -> str:
    """One sentence for each thing that is not as it was; empty when all is."""
    parts = list(_parts(since, handle))
    if parts and since.used_tokens:
        parts.append(f"The conversation takes {since.used_tokens:,} tokens.")
    return " ".join(parts)


def _parts(since: Since, handle: str) -> Iterable[str]:
    if since.uncertain:
        what = "1 call has" if since.uncertain == 1 else f"{since.uncertain} calls have"
        yield f"{what} an outcome that nobody knows: /recover."
    if since.lost:
        what = "The result of 1 call is" if since.lost == 1 else f"The results of {since.lost} calls are"
        yield f"{what} lost; close this and run: local-agent session repair {handle}."
    if since.differing:
        names = ", ".join(one_line(name, 60) for name in since.differing[:NAMED])
        more = f" and {len(since.differing) - NAMED} more" if len(since.differing) > NAMED else ""
        yield f"Changed since by somebody else: {names}{more}."
    if since.moves:
        times = "" if since.moves == 1 else f" {since.moves} times"
        yield f"Git's HEAD has moved{times} since, to {since.head}."
    if since.missing_model:
        yield f"{one_line(since.missing_model, 60)} is not there any more: /model chooses another."
    if since.errors:
        yield f"{since.errors} {'error' if since.errors == 1 else 'errors'} so far: /errors."


def differing_now(files: Iterable[ChangedFile], root: Path) -> tuple[str, ...]:
    """Names of those that do not hold what the session left in them, as far as that is known."""
    known = (file for file in files if file.after != UNKNOWN)
    return tuple(file.path for file in known if digest_now(root / file.path) != file.after)


def head_moves(root: Path, since: str) -> tuple[int, str]:
    """How often HEAD moved after a moment, by Git's own notes, and where it is now; 0 without any."""
    try:
        moment = datetime.fromisoformat(since).timestamp()
        with (_git_folder(root) / "logs" / "HEAD").open("rb") as file:
            file.seek(0, 2)
            file.seek(max(file.tell() - _TAIL_BYTES, 0))
            notes = file.read()
    except (OSError, ValueError):
        return 0, ""
    # Git counts whole seconds: what it notes for the second of the last answer was the session's own.
    later = [commit for commit, when in _MOVED.findall(notes) if int(when) > moment]
    return len(later), later[-1][:7].decode() if later else ""


def _git_folder(root: Path) -> Path:
    """Also of a work tree, whose ``.git`` is a file that names it."""
    git = root / ".git"
    if git.is_file():
        return root / git.read_text("utf-8", "replace").partition("gitdir:")[2].strip()
    return git
