"""``db``: look at the database, copy it, go back to a copy."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import click

from local_agent.cli.startup import Startup
from local_agent.cli.streams import say, write, write_json
from local_agent.domain.errors import LocalAgentError, UsageError
from local_agent.domain.quoting import quoted
from local_agent.domain.text import one_line
from local_agent.domain.times import local_time

if TYPE_CHECKING:
    from local_agent.store.check import Finding, Holdings

LARGE_BYTES = 200 * 10**6
_file = click.Path(path_type=Path)


@click.group()
def db() -> None:
    """Check the database, copy it, go back to a copy."""


@db.command()
@click.option("--json", "as_document", is_flag=True, help="Print JSON.")
def check(as_document: bool) -> int:
    """Check the database: pages, references, tables, and every message.

    Changes nothing. Exit code 1 when something is wrong.
    """
    from local_agent.headless.jsonl import as_json
    from local_agent.store.check import check as look  # SQLAlchemy and Alembic: 0.7 s

    paths = Startup.here().paths
    if paths.database.exists() and paths.database.stat().st_size > LARGE_BYTES:
        say("This takes a while; Ctrl+C ends it.")
    found = look(paths.database, paths.backups)
    if as_document:
        write_json(as_json(found, indent=2) + "\n")
    else:
        for line in lines(found):
            write(line + "\n")
    return 1 if found.problems else 0


@db.command()
@click.argument("file", type=_file, required=False)
def backup(file: Path | None) -> None:
    """Copy the database to FILE, or into the folder of copies.

    The copy is of one moment, also while other processes write.
    """
    from local_agent.store.copies import back_up

    paths = Startup.here().paths
    made = back_up(paths.database, Path.cwd() / file if file is not None else None, paths.backups)
    say(f"Copied to {made}. Go back to it with: local-agent db restore {quoted(str(made))}")


@db.command()
@click.argument("file", type=_file)
@click.option("--yes", is_flag=True, help="Don't ask.")
def restore(file: Path, yes: bool) -> None:
    """Replace the database by the copy FILE.

    What is there now is copied first.
    """
    from local_agent.store.restore import candidate
    from local_agent.store.restore import restore as put_back

    paths = Startup.here().paths
    with candidate(Path.cwd() / file, paths.database, paths.backups) as chosen:
        if not yes:
            _ask(paths.database, paths.backups, chosen.holdings)
        kept = put_back(chosen, paths.database, paths.backups)
    say(f"Restored: {_holdings_words(chosen.holdings)}.")
    if chosen.pending:
        say("The next start brings it up to date, and copies it before.")
    if kept is not None:
        say(f"What was there before is in {kept}.")


def _ask(database: Path, backups: Path, copy: Holdings) -> None:
    from local_agent.store.check import look_at_holdings

    if not sys.stdin.isatty():
        raise UsageError("This replaces the database.", "Say so with --yes.")
    write(f"There now    {_holdings_words(look_at_holdings(database))}\n")
    write(f"In the copy  {_holdings_words(copy)}\n")
    if not click.confirm("Replace what is there now, after copying it?"):
        raise LocalAgentError("Nothing was changed.")


def lines(found: Finding) -> Iterator[str]:
    """One screen for a person."""
    yield f"Database    {one_line(found.path)}  ({', '.join(_facts(found)) or 'not there yet'})"
    if found.holdings is not None:
        yield f"Holds       {_holdings_words(found.holdings)}"
    yield f"Last copy   {one_line(found.last_backup or 'none')}"
    for name in found.pending:
        yield f"Note        The next start brings it up to date with {name}."
    for problem in found.problems:
        yield f"Problem     {one_line(problem)}"
    if found.way_out:
        yield f"Way out     {one_line(found.way_out)}"
    if not found.problems:
        yield "All is well."


def _facts(found: Finding) -> Iterator[str]:
    if found.size is not None:
        yield f"{found.size / 10**6:.1f} MB"
    if found.journal is not None:
        yield f"journal {one_line(found.journal)}"
    if found.revision is not None:
        yield f"revision {one_line(found.revision)}"


def _holdings_words(found: Holdings | None) -> str:
    if found is None:
        return "nothing that can be read"
    counts = ((found.sessions, "session"), (found.entries, "message"), (found.turns, "turn"))
    words = [f"{count:,} {what}{'' if count == 1 else 's'}" for count, what in counts]
    if found.newest is not None:
        words.append(f"last used {local_time(found.newest)}")
    return ", ".join(words)
