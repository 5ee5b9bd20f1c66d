"""What an export says of moves through time, from a real store."""

from __future__ import annotations

import json
import shlex
from collections import Counter
from pathlib import Path

import pytest

from local_agent.cli.export_document import json_lines, summary
from local_agent.domain.moves import Scope
from local_agent.domain.restoring import FileStep, RestoreIntent
from local_agent.domain.tools import FileState
from local_agent.store.store import Store
from tests.cli.test_printed_commands import parse
from tests.store.samples import VERSION, talk

INTENT = RestoreIntent("checkpoint 1 | here", (FileStep("a.txt", FileState("1" * 64), FileState()),))


@pytest.mark.parametrize("held_by_us", [True, False])
async def test_moves_checkpoints_and_a_restore_that_was_cut_off(tmp_path: Path, held_by_us: bool) -> None:
    store = Store.open(tmp_path / "home" / "local-agent.db", program_version=VERSION)
    held = await talk(store, "one?", "two?")
    made = await held.make_checkpoint("here")
    await held.travel(await store.undo_landing(held.info.id), Scope.CONVERSATION, None)
    await held.travel(await store.checkpoint_landing(held.info.id, made.id), Scope.BOTH, INTENT)
    if not held_by_us:
        await held.release()
    audit = await store.audit(held.info.handle, 3)
    await store.close()

    lines = [json.loads(line) for line in json_lines(audit, "2026-12-01T00:00:00.000Z", raw=False)]
    counts = Counter(line["kind"] for line in lines)
    assert (counts["checkpoint"], counts["head_move"], counts["execution_event"]) == (2, 3, 2)
    moves = [line["value"] for line in lines if line["kind"] == "head_move"]
    assert [move["cause"] for move in moves] == ["turn", "undo", "restore"]
    assert lines[0]["value"]["left_out"] == {"entry": 1, "head_move": 3}
    (first, second) = [line["value"] for line in lines if line["kind"] == "checkpoint"]
    assert (first["id"], first["kind"], second["kind"]) == (made.id, "manual", "before restore")
    issues = [line["value"] for line in lines if line["kind"] == "open_issue"]
    if held_by_us:
        assert issues == []
        return
    (issue,) = issues
    assert (issue["what"], issue["about"]) == ("files half put back", "restore checkpoint 1 | here")
    assert issue["command"].endswith(f" && local-agent --resume {held.info.handle}")
    parse(shlex.split(issue["command"].partition(" && ")[2]))
    assert "files half put back" in summary(audit, "2026-12-01T00:00:00.000Z", raw=False)
