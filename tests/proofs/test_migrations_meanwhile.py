"""A newer program updates the database while this one is in mid-turn: it writes no more, loses nothing."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path

import pytest

from local_agent.domain.entries import EntryStatus
from local_agent.domain.errors import Outdated
from local_agent.store.store import Store
from tests.proofs.filled import read_rows
from tests.proofs.revisions import NEXT_VERSION, bring_up, one_more
from tests.store.samples import opening, reply_half, settled, talk
from tests.support.machine import Machine
from tests.support.ollama_server import OllamaServer, Turn, gate
from tests.support.terminal import Key, until
from tests.terminal.steps import ask

SAID = f"The database was updated by local-agent {NEXT_VERSION}; this one writes no more."


async def test_every_kind_of_write_is_refused_once_the_database_is_newer(
    tmp_path: Path, proven: Callable[[str], None]
) -> None:
    path = tmp_path / "home" / "local-agent.db"
    ahead = one_more(tmp_path / "migrations")
    store = Store.open(path, program_version="0.1.0")
    held = await talk(store, "settled before")
    turn = await held.begin(opening("in mid-turn", held.info.head))
    await reply_half(held, turn, "half a re")

    await asyncio.to_thread(bring_up, str(path), str(ahead))
    before = read_rows(path)
    writes = (
        lambda: reply_half(held, turn, "half a reply"),
        lambda: held.settle(turn, settled("half a reply and the rest")),
        lambda: held.begin(opening("one more", held.info.head)),
        lambda: held.rename("Another title"),
        lambda: held.set_model("other:1b", True),
        lambda: talk(store, "a new session"),
        lambda: store.trash(held.info.handle),
    )
    for write in writes:
        with pytest.raises(Outdated) as refusal:
            await write()
        assert refusal.value.line == SAID
    await store.close()
    assert read_rows(path) == before

    newer = Store.open(path, program_version=NEXT_VERSION, migrations=ahead)
    resumed = await newer.hold(held.info.handle)
    last = (await newer.tail(held.info.handle, 9)).entries[-1]
    assert resumed.interrupted is not None
    assert (last.text, last.status) == ("half a re", EntryStatus.INTERRUPTED)
    await newer.close()
    proven(f"{len(writes)} kinds of write after an update by a newer program: all refused, nothing written")


@pytest.mark.terminal
def test_a_turn_on_screen_stays_there_and_in_a_private_file(tmp_path: Path, server: OllamaServer) -> None:
    machine = Machine.make(tmp_path, server.url)
    server.script(Turn("Once upon ", gate("updated"), "a time, to the end."))
    with machine.terminal(size=(120, 30)) as terminal:
        ask(terminal, "Tell me a tale")
        terminal.wait_for("Once upon")
        until(lambda: "Once upon" in machine.open_replies(), what="the beginning on disk")
        bring_up(str(machine.database), str(one_more(tmp_path / "migrations")))
        before = read_rows(machine.database)
        server.release("updated")

        (session,) = before["sessions"]
        shown = terminal.wait_for(
            lambda shown: "to the end." in shown.text and f"--resume {session['handle']}" in shown.text
        )
        words = " ".join(shown.split())
        assert SAID in words
        assert f"Quit, then: local-agent --resume {session['handle']}" in words
        (aside,) = (machine.home / "unsaved").glob("*.md")
        assert "Once upon a time, to the end." in aside.read_text()
        assert aside.stat().st_mode & 0o777 == 0o600
        terminal.send(Key.CTRL_Q)
        terminal.wait_exit()
    assert read_rows(machine.database) == before
