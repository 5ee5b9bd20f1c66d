"""``session bundle`` and ``session import``: a session as one file, for another machine or folder."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import click

from local_agent.cli.handles import find_session
from local_agent.cli.startup import Startup
from local_agent.cli.stored import on_store
from local_agent.cli.streams import say
from local_agent.domain.bundles import Bundled


@click.command()
@click.argument("handle")
@click.argument("file", type=click.Path(path_type=Path))
@click.option("--force", is_flag=True, help="Replace FILE where there is one.")
def bundle(handle: str, file: Path, force: bool) -> None:
    """Write a session into one file that another local-agent can import.

    All branches, calls, checkpoints, pictures and kept contents of files, as they
    are stored: nothing is redacted. A turn that still runs is left out.
    """
    startup = Startup.here()
    found = find_session(startup, handle)
    made = on_store(
        startup,
        lambda runtime: runtime.bundling.write(found.handle, file, replace=force),
        only_reads=True,
    )
    for line in _told(found.handle, file, made):
        say(line)


@click.command("import")
@click.argument("file", type=click.Path(path_type=Path))
def import_session(file: Path) -> None:
    """Make a session of this folder from a file that session bundle wrote.

    Everything in the file is checked first; where anything is wrong, nothing is
    written. A session that was in AUTO comes back in NORMAL.
    """
    from local_agent.runtime.bundling import checked_bundle  # the store's libraries: 0.4 s

    startup = Startup.here()
    with checked_bundle(file) as checked:
        made = on_store(startup, lambda runtime: runtime.bundling.take_in(checked))
    say(f"Session {made.handle} was imported. Go on with: local-agent --resume {made.handle}")


def _told(handle: str, file: Path, made: Bundled) -> Iterator[str]:
    counts = ((made.entries, "message"), (made.pictures, "picture"), (made.contents, "content"))
    words = ", ".join(f"{count:,} {what}{'' if count == 1 else 's'}" for count, what in counts if count)
    yield f"Session {handle} is in {file}: {words}. Nothing in it is redacted: mind who gets it."
    if made.left_out:
        yield "What is not settled yet was left out, such as a turn that still runs."
    if made.lost:
        yield f"Pictures that it names and that are gone: {made.lost}."
