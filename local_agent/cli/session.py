"""``session``: the stored conversations, outside the screen."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click
from click.shell_completion import CompletionItem

from local_agent.cli.bundle import bundle, import_session
from local_agent.cli.export import export
from local_agent.cli.found import found_rows, search_remarks
from local_agent.cli.handles import complete_handles, find_here, find_session
from local_agent.cli.purge import purge
from local_agent.cli.startup import Startup
from local_agent.cli.stored import on_held, on_store, whole_path
from local_agent.cli.streams import say, write, write_json
from local_agent.cli.transcript import list_rows, session_document, transcript
from local_agent.domain.errors import LocalAgentError, UsageError
from local_agent.domain.searching import SearchPage
from local_agent.domain.sessions import SessionInfo
from local_agent.domain.text import one_line
from local_agent.domain.titles import cut
from local_agent.headless.jsonl import as_json

if TYPE_CHECKING:
    from local_agent.runtime.runtime import Runtime


def _complete(context: click.Context, parameter: click.Parameter, incomplete: str) -> list[CompletionItem]:
    return complete_handles(incomplete, with_latest=False)


_handle = click.argument("handle", shell_complete=_complete)
_json = click.option("--json", "as_document", is_flag=True, help="Print JSON.")


@click.group()
def session() -> None:
    """List, search, read, fork, rename, export, bundle, repair and put away conversations."""


session.add_command(bundle)
session.add_command(export)
session.add_command(import_session)
session.add_command(purge)


@session.command("list")
@_json
@click.option(
    "--limit", default=20, show_default=True, type=click.IntRange(1), help="How many, newest first."
)
@click.option("--all", "everywhere", is_flag=True, help="The sessions of every folder, not only of this one.")
@click.option("--trash", "in_trash", is_flag=True, help="What lies in the trash.")
def list_sessions(as_document: bool, limit: int, everywhere: bool, in_trash: bool) -> None:
    """List the sessions of this folder, newest first."""

    async def look(runtime: Runtime) -> list[SessionInfo]:
        if in_trash:
            return await runtime.library.trashed(all_workspaces=everywhere)
        return await runtime.library.page(all_workspaces=everywhere, limit=limit + 1)

    startup = Startup.here()
    found: list[SessionInfo] = []
    if startup.paths.database.exists():
        found = on_store(startup, look, only_reads=True)
    shown = found[:limit]
    if as_document:
        write_json(as_json(shown, indent=2) + "\n")
        return
    for row in list_rows(shown, with_folder=everywhere):
        write(row + "\n")
    if not shown:
        say(_nothing(everywhere, in_trash))
    elif len(found) > limit:
        say(
            f"There are more: local-agent session list --limit {limit * 5}"
            f"{' --all' if everywhere else ''}{' --trash' if in_trash else ''}"
        )


def _nothing(everywhere: bool, in_trash: bool) -> str:
    if everywhere:
        return "Nothing is in the trash." if in_trash else "No sessions yet."
    what = "Nothing of this folder is in the trash" if in_trash else "No sessions in this folder"
    return f"{what}. Others: local-agent session list --all{' --trash' if in_trash else ''}"


@session.command()
@_json
@click.option("--limit", default=20, show_default=True, type=click.IntRange(1), help="How many at most.")
@click.option("--all", "everywhere", is_flag=True, help="Look into every folder, not only into this one.")
@click.argument("words", nargs=-1, required=True)
def search(words: tuple[str, ...], as_document: bool, limit: int, everywhere: bool) -> None:
    """Find what was asked and answered, by words or parts of words.

    One exchange a hit: the session, when, and the words where they stand.
    """
    startup = Startup.here()
    typed = " ".join(words)
    found = SearchPage()
    if startup.paths.database.exists():
        found = on_store(
            startup,
            lambda runtime: runtime.library.search(typed, all_workspaces=everywhere, limit=limit),
            only_reads=True,
        )
    if as_document:
        write_json(as_json(found, indent=2) + "\n")
        return
    for row in found_rows(found, with_folder=everywhere):
        write(row + "\n")
    for remark in search_remarks(found, typed, everywhere=everywhere):
        say(remark)


@session.command()
@_json
@_handle
def show(handle: str, as_document: bool) -> None:
    """Print a conversation, from any folder.

    As JSON: the session, the messages as the next request would carry them, all
    entries, and the errors.
    """
    startup = Startup.here()
    found = find_session(startup, handle)
    path = on_store(startup, lambda runtime: whole_path(runtime, found.handle), only_reads=True)
    if as_document:
        write_json(as_json(session_document(path), indent=2) + "\n")
        return
    for line in transcript(path):
        write(line + "\n")


@session.command()
@_json
@_handle
@click.option("--title", help="What to call the fork; without it, as the session is called.")
def fork(handle: str, title: str | None, as_document: bool) -> None:
    """Open another session from where this one stands.

    It starts at the end of the last finished turn, also while another process
    holds the session. Both go on by themselves from there.
    """
    named = _title(title, 'local-agent session fork a1b2c3d --title "A title"') if title is not None else ""
    startup = Startup.here()
    words = ("session", "fork", handle.strip().lower(), *(("--title", named) if named else ()))
    found = find_here(startup, handle, *words, *(("--json",) if as_document else ()))
    made = on_store(startup, lambda runtime: runtime.library.fork(found.handle, named))
    if as_document:
        write_json(as_json(made, indent=2) + "\n")
    else:
        way = f"Go on with: local-agent --resume {made.handle}"
        say(f"Session {made.handle} is a fork of {found.handle}. {way}")


@session.command()
@_handle
@click.argument("title", nargs=-1, required=True)
def rename(handle: str, title: tuple[str, ...]) -> None:
    """Give a session another title."""
    wanted = _title(" ".join(title), 'local-agent session rename a1b2c3d "A title"')
    startup = Startup.here()
    found = find_here(startup, handle, "session", "rename", handle.strip().lower(), wanted)
    on_held(startup, found.handle, lambda runtime: runtime.library.rename(found.handle, wanted))
    say(f"Session {found.handle} is now called: {wanted}")


@session.command()
@_handle
def trash(handle: str) -> None:
    """Take a session out of every list; nothing of it is deleted."""
    startup = Startup.here()
    found = find_here(startup, handle, "session", "trash", handle.strip().lower())
    on_held(startup, found.handle, lambda runtime: runtime.library.trash(found.handle))
    say(f"Session {found.handle} is in the trash. Back with: local-agent session untrash {found.handle}")


@session.command()
@_handle
def untrash(handle: str) -> None:
    """Bring a session back from the trash."""
    startup = Startup.here()
    found = find_here(startup, handle, "session", "untrash", handle.strip().lower())
    on_held(startup, found.handle, lambda runtime: runtime.library.untrash(found.handle))
    say(f"Session {found.handle} is back. Go on with: local-agent --resume {found.handle}")


@session.command()
@_json
@_handle
def repair(handle: str, as_document: bool) -> None:
    """Write lost results of calls again, from what the ledger keeps of them.

    No tool is run, and what is uncertain has to be settled before.
    """
    startup = Startup.here()
    found = find_here(startup, handle, "session", "repair", handle.strip().lower())

    async def work(runtime: Runtime) -> int:
        conversation = await runtime.view(found.handle)
        assert conversation.info is not None  # a view is of a stored session
        recovering = conversation.hands.recovering
        if uncertain := await recovering.of_session(conversation.info):
            raise LocalAgentError(
                f"Uncertain calls of session {found.handle}: {len(uncertain)}.",
                f"Settle them first: local-agent execution recover {found.handle} --all",
            )
        return await recovering.repair(found.handle)

    count = on_store(startup, work)
    if as_document:
        write_json(as_json({"handle": found.handle, "results_written": count}, indent=2) + "\n")
    elif count:
        what = "One lost result" if count == 1 else f"{count} lost results"
        say(f"{what} of session {found.handle} {'is' if count == 1 else 'are'} in the conversation again.")
    else:
        say(f"Nothing to repair: every result of session {found.handle} is in the conversation.")


def _title(text: str, example: str) -> str:
    wanted = cut(one_line(text))
    if not wanted:
        raise UsageError("The title is empty.", f"Say one: {example}")
    return wanted
