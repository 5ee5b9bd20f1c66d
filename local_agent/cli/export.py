"""``session export``: a session as files that can be kept, and shared after a look."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import click

from local_agent.cli.handles import find_session
from local_agent.cli.startup import Startup
from local_agent.cli.stored import on_store
from local_agent.cli.streams import say
from local_agent.config.private_files import sync_folder, write_private
from local_agent.domain.audit import Audit
from local_agent.domain.errors import LocalAgentError

if TYPE_CHECKING:
    from local_agent.runtime.runtime import Runtime

FORMATS = ("jsonl", "md", "both")


@click.command()
@click.argument("handle")
@click.option(
    "--format", "form", default="both", show_default=True, type=click.Choice(FORMATS), help="What to write."
)
@click.option(
    "--out",
    metavar="DIR",
    type=click.Path(path_type=Path),
    help="Where to; without it ./local-agent-audit-HANDLE.",
)
@click.option("--raw", is_flag=True, help="Leave in what looks like a secret in arguments of calls.")
def export(handle: str, form: str, out: Path | None, raw: bool) -> None:
    """Write everything that is stored of a session, from any folder, into files.

    One JSON document a line, and a summary in Markdown with its open issues. A
    picture is named, not written. Look through them before you share them.
    """
    from local_agent.cli.export_document import MOST, REVIEW

    startup = Startup.here()
    found = find_session(startup, handle)
    folder = out or startup.workspace / f"local-agent-audit-{found.handle}"

    async def read(runtime: Runtime) -> Audit:
        conversation = await runtime.view(found.handle)
        return await conversation.hands.recovering.audit(found.handle, MOST)

    audit = on_store(startup, read, only_reads=True)
    _make(folder)
    for name, data in _files(audit, form, raw=raw):
        _write(folder / name, data)
        say(f"Written: {folder / name}")
    say(REVIEW)


def _files(audit: Audit, form: str, *, raw: bool) -> Iterator[tuple[str, str]]:
    from local_agent.cli.export_document import json_lines, summary
    from local_agent.store.clock import utc_now

    made_at = utc_now()
    if form != "md":
        yield f"session-{audit.session.id}.jsonl", "".join(json_lines(audit, made_at, raw=raw))
    if form != "jsonl":
        yield f"session-{audit.session.id}-summary.md", summary(audit, made_at, raw=raw)


def _make(folder: Path) -> None:
    if folder.is_symlink():
        raise LocalAgentError(f"{folder} is a symbolic link.", "Name the folder that it leads to with --out.")
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    except (FileExistsError, NotADirectoryError) as error:
        raise LocalAgentError(
            f"{folder} is no folder.", "Name another one with --out.", str(error)
        ) from error
    except OSError as error:
        line = f"{folder} can't be made: {error.strerror}."
        raise LocalAgentError(line, "Name another folder with --out.", str(error)) from error


def _write(path: Path, text: str) -> None:
    """Put a file in its place in one step; what was there before stays when that fails."""
    if path.is_symlink() or (os.path.lexists(path) and not path.is_file()):
        raise LocalAgentError(f"{path} is no plain file.", "Remove it, or name another folder with --out.")
    try:
        write_private(path, text.encode("utf-8"))
        sync_folder(path.parent)
    except OSError as error:
        line = f"{path} can't be written: {error.strerror}."
        raise LocalAgentError(line, "Name another folder with --out.", str(error)) from error
