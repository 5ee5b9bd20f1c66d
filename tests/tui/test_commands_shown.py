"""What a command did to files, on its card and among the changed files."""

from __future__ import annotations

from pathlib import Path

import pytest

from local_agent.domain.tools import FOLDER, UNKNOWN, FileChange, Sizes
from local_agent.tools.shell import snapshot
from local_agent.tui.look.glyphs import UNICODE
from local_agent.tui.screens.changes import ChangesScreen
from local_agent.tui.screens.viewer import ViewerScreen
from local_agent.tui.tools.calls import Call, call_line, details, whole_text
from local_agent.tui.tools.cards import ToolCard
from tests.proofs.hostile import NASTY, unsafe
from tests.support.ollama_server import OllamaServer
from tests.tui.calling import asked, ended
from tests.tui.chatting import chatting
from tests.tui.pilots import screen_text, until

ONE, TWO = "1" * 64, "2" * 64


def scanned(*changes: tuple[FileChange, Sizes], unscanned: str = "") -> Call:
    files, sizes = tuple(change for change, _ in changes), tuple(size for _, size in changes)
    execution = asked(2, "bash", {"command": "make"})
    return Call(ended(execution, "done", changes=files, sizes=sizes, summary="exit 0", unscanned=unscanned))


def test_kind_size_and_content_of_each_path() -> None:
    call = scanned(
        (FileChange("a.py", "changed", ONE, TWO, 0o100644, 0o100644), Sizes(4, 1200, True)),
        (FileChange("b.py", "changed", UNKNOWN, TWO, 0o100644, 0o100644), Sizes(4, 4, False)),
        (FileChange("run", "changed", ONE, ONE, 0o100644, 0o100755), Sizes(9, 9, True)),
        (FileChange("new", FOLDER, "", "", None, 0o40755), Sizes(None, None, True)),
        (FileChange("new/c", "created", "", TWO, None, 0o100644), Sizes(None, 7, True)),
        (FileChange("gone", "removed", ONE, "", 0o100644), Sizes(8, None, True)),
        (FileChange("z", "changed", ONE, TWO, 0o100644, 0o100644), Sizes(1200, 1204, True)),
        unscanned="3 more changes are not listed",
    )
    text = "\n".join(line.content.plain for line in details(call, 100, UNICODE))

    assert text.split("done\n", 1)[1].splitlines() == [
        "│ changed  a.py  4 B -> 1 kB  11111111 -> 22222222",
        "│ changed  b.py  4 B  content not read -> 22222222  content before not kept",
        "│ changed  run  9 B  11111111  mode 644 -> 755",
        "│ created  new/",
        "│ created  new/c  7 B  22222222",
        "│ removed  gone  8 B  11111111",
        "│ changed  z  1,200 B -> 1,204 B  11111111 -> 22222222",
        "│ files: 3 more changes are not listed",
    ]
    assert "7 paths changed" in call_line(call, 100, UNICODE, opened=False).content.plain
    assert "removed  gone" in whole_text(call, "done")


def test_hostile_names_are_drawn_safely() -> None:
    changes = [
        (FileChange(name, "created", "", ONE, None, 0o100644), Sizes(None, 1, True))
        for name in NASTY.values()
    ]
    for width in (8, 30, 80):
        for line in details(scanned(*changes, unscanned="".join(NASTY.values())), width, UNICODE):
            assert not unsafe(line.content.plain)


def test_what_was_not_scanned_is_said() -> None:
    call = scanned(unscanned="not scanned: there are more than 50,000 files and folders")
    assert "not scanned" in call_line(call, 100, UNICODE, opened=False).content.plain
    shown = "\n".join(line.content.plain for line in details(call, 100, UNICODE))
    assert "files: not scanned: there are more than 50,000" in shown


async def test_a_persons_own_command_is_listed_and_compared(
    home: Path, server: OllamaServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    work = home.parent / "api-server"
    async with chatting(home, server.url, size=(100, 30)) as chat:
        await chat.ready()
        (work / "note.txt").write_text("one\n")
        await chat.send("!echo two >> note.txt; touch empty")

        def ended_cards() -> list[bool]:
            return [card.call.execution.ended for card in chat.screen.query(ToolCard)]

        await until(chat.pilot, lambda: ended_cards() == [True])
        assert "2 paths changed" in screen_text(chat.pilot)
        await until(chat.pilot, lambda: not chat.screen.busy)
        chat.screen.action_command("/changes")
        await until(chat.pilot, lambda: isinstance(chat.app.screen, ChangesScreen))
        await until(chat.pilot, lambda: "note.txt" in screen_text(chat.pilot))
        assert "+4 B" in screen_text(chat.pilot) and "+0 B" in screen_text(chat.pilot)
        await chat.pilot.press("enter")
        await until(chat.pilot, lambda: isinstance(chat.app.screen, ViewerScreen))
        await until(chat.pilot, lambda: "+two" in screen_text(chat.pilot))
        assert "changed  4 B -> 8 B" in screen_text(chat.pilot)
        await chat.pilot.press("escape")
        assert "not scanned" not in screen_text(chat.pilot)
        await chat.pilot.press("escape")
        monkeypatch.setattr(snapshot, "MOST_PATHS", 1)
        await chat.send("!rm empty")
        await until(chat.pilot, lambda: ended_cards() == [True, True])
        await until(chat.pilot, lambda: not chat.screen.busy)
        chat.screen.action_command("/changes")
        await until(chat.pilot, lambda: "2 files · 1 command not scanned" in screen_text(chat.pilot))
