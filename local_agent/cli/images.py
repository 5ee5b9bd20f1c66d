"""``images``: the pictures that were attached to questions, as files."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import click

from local_agent.cli.startup import Startup
from local_agent.cli.stored import on_store
from local_agent.cli.streams import say, write, write_json
from local_agent.domain.errors import UsageError
from local_agent.domain.sizes import size_words
from local_agent.domain.times import local_time

if TYPE_CHECKING:
    from local_agent.objects.store import StoredObject
    from local_agent.runtime.runtime import Runtime


@click.group()
def images() -> None:
    """Tidy up the pictures that were attached to questions."""


@images.command()
@click.option("--apply", "remove", is_flag=True, help="Remove them.")
@click.option("--json", "as_document", is_flag=True, help="Print JSON.")
def gc(remove: bool, as_document: bool) -> None:
    """List pictures that no session, draft or queue refers to.

    What was attached within a day is spared: somebody may be about to send it.
    """
    from local_agent.headless.jsonl import as_json

    startup = Startup.here()
    if not startup.paths.database.exists():
        raise UsageError(f"There is no database at {startup.paths.database}: nothing tells what is needed.")

    async def look(runtime: Runtime) -> list[StoredObject]:
        return await (runtime.pictures.remove_unused() if remove else runtime.pictures.unused())

    found = on_store(startup, look, only_reads=not remove)
    if as_document:
        rows = [each._asdict() for each in found]
        write_json(as_json({"removed" if remove else "unused": rows}, indent=2) + "\n")
        return
    for each in found:
        put_at = datetime.fromtimestamp(each.put_at, UTC).isoformat(timespec="milliseconds")
        write(f"{each.digest.lstrip('.')[:16]}  {local_time(put_at)}  {size_words(each.size):>8}\n")
    say(_summary(found, remove))


def _summary(found: Sequence[StoredObject], removed: bool) -> str:
    if not found:
        return "Every picture is needed, or was attached within a day."
    count = f"{len(found)} picture{'' if len(found) == 1 else 's'}, {size_words(sum(e.size for e in found))}"
    if removed:
        return f"Removed: {count}."
    return f"Nothing refers to these: {count}. Remove them with: local-agent images gc --apply"
