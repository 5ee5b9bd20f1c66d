"""``session purge``: the only command that deletes what was said."""

from __future__ import annotations

import sys
from collections.abc import Iterator

import click

from local_agent.cli.handles import find_session
from local_agent.cli.startup import Startup
from local_agent.cli.stored import on_store
from local_agent.cli.streams import say, write
from local_agent.domain.errors import LocalAgentError, UsageError
from local_agent.domain.purging import Footprint, Swept
from local_agent.domain.text import one_line

_FINISH = "local-agent session purge --finish"


@click.command()
@click.argument("handle", required=False)
@click.option("--confirm", metavar="HANDLE", help="Say the handle again instead of being asked for it.")
@click.option("--finish", is_flag=True, help="Wipe what an earlier purge could not.")
def purge(handle: str | None, confirm: str | None, finish: bool) -> int:
    """Delete a session of the trash for good.

    What forks stand on stays, and becomes theirs. Copies of the database are named,
    never changed.
    """
    if (handle is None) is not finish:
        raise UsageError("Say one session, or --finish.", "As in: local-agent session purge a1b2c3d")
    startup = Startup.here()
    if handle is None:
        if not startup.paths.database.exists():
            raise UsageError(f"There is no database at {startup.paths.database}.")
        return _tell(on_store(startup, lambda runtime: runtime.purging.finish()))
    found = find_session(startup, handle)
    size = on_store(startup, lambda runtime: runtime.purging.footprint(found.handle))
    if confirm is None:
        for line in _rows(found.handle, found.title, size):
            write(line + "\n")
        confirm = _asked(found.handle)
    if confirm.strip().lower() != found.handle:
        raise LocalAgentError("That is not its handle: nothing was deleted.")
    _, swept = on_store(startup, lambda runtime: runtime.purging.purge(found.handle))
    say(f"Session {found.handle} is deleted.")
    return _tell(swept)


def _asked(handle: str) -> str:
    if not sys.stdin.isatty():
        raise UsageError(
            "This deletes a session for good.",
            f"Say so with: local-agent session purge {handle} --confirm {handle}",
        )
    answer: str = click.prompt(
        f"This can't be undone. Type {handle} to delete it", default="", show_default=False
    )
    return answer


def _rows(handle: str, title: str, size: Footprint) -> Iterator[str]:
    yield f"Session {handle} · {one_line(title)}"
    goes = (
        (size.entries - size.shared, "message"),
        (size.executions, "call"),
        (size.pictures, "picture"),
        (size.checkpoints, "checkpoint"),
        (size.drafts, "draft"),
    )
    words = [_counted(count, what) for count, what in goes if count]
    yield f"Goes   {', '.join(words) or 'its name'}"
    if size.shared:
        yield f"Stays  {_counted(size.shared, 'message')} that forks stand on, with what belongs to them"


def _tell(swept: Swept) -> int:
    """What became of the files; 1 when something of it is still on the disk."""
    for path in swept.copies:
        say(f"A copy of the database may still hold it; delete it yourself: {one_line(path)}")
    for path in swept.left:
        say(f"This was set aside for a session that is gone; delete it yourself: {one_line(path)}")
    if swept.wiped:
        say("What was deleted is wiped off the database's file.")
    else:
        say(f"Its words may still stand in free parts of the file. Close every local-agent, then: {_FINISH}")
    return 0 if swept.wiped and not swept.left else 1


def _counted(count: int, what: str) -> str:
    return f"{count:,} {what}{'' if count == 1 else 's'}"
