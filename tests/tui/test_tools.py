"""Calls of tools in the transcript: live and resumed, folded and opened, hostile and many."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from local_agent.domain.entries import Kind, Origin, ToolCall
from local_agent.domain.events import (
    Event,
    Notice,
    ReplyRecorded,
    TextDelta,
    ToolProgress,
    ToolRequested,
    ToolStarted,
    TurnStarted,
)
from local_agent.domain.ledger import EventKind, Evidence, Execution, Observation, Source
from local_agent.tui.conversation.stored import stored_items
from local_agent.tui.conversation.turn_view import TurnView
from local_agent.tui.look.glyphs import UNICODE
from local_agent.tui.screens.viewer import ViewerScreen
from local_agent.tui.tools.calls import Call, call_line, details, read_words
from local_agent.tui.tools.cards import Card, ReadsRun, ToolCard, grouped
from local_agent.tui.tools.diffs import BESIDE_FROM, count_words, hunks_of, pairs, typeset
from local_agent.tui.tools.todo import TodoItem, items_of, newest_list
from tests.proofs.hostile import NASTY, unsafe
from tests.tui.calling import DIFF, asked, ended, entry, reply_of, stored, told
from tests.tui.chatting import Chat, chatting
from tests.tui.pilots import screen_text, until
from tests.tui.stage import NOBODY_THERE

READ = ended(asked(0, "read", {"path": "tests/test_restore.py"}), summary="120 lines")
GREP = ended(asked(1, "grep", {"pattern": "TemporaryDirectory"}), summary="7 hits in 3 files")
BASH = ended(
    asked(2, "bash", {"command": "pytest -x"}), status="failed", exit_code=1, seconds=2.4, summary="exit 1"
)
TEXTS = ["1 import tempfile", "tests/a.py:1: TemporaryDirectory", "FAILED tests/test_restore.py"]


def drawn(call: Call, width: int = 76, **how: bool) -> str:
    """The line of a call, its right end included."""
    line = call_line(call, width, UNICODE, **{"opened": False, **how})
    assert line.aside is not None and line.content.cell_length + line.aside.cell_length <= width
    return f"{line.content.plain} |{line.aside.plain}"


def test_a_call_of_which_nothing_came_says_why() -> None:
    edit = asked(0, "edit", {"path": "a.py"})
    failed = ended(edit, state=EventKind.FAILED, status="failed", seconds=None)
    why = "a.py has changed since it was read: read it again.\nmore"
    assert drawn(Call(failed, why), 90) == f"✗ edit  a.py  failed  {why[:-5]} |  ▸"
    assert drawn(Call(failed, why), 52) == "✗ edit  a.py  failed  a.py has changed since it… |  ▸"
    assert drawn(Call(failed, why), 36) == "✗ edit  a.py  failed |  ▸"
    denied = ended(edit, state=EventKind.DENIED, status="refused", seconds=None)
    assert drawn(Call(denied, "PLAN changes nothing.")) == "✗ edit  a.py  refused  PLAN changes nothing. |  ▸"
    by_person = replace(denied, facts={"target": "a.py", "reason": "It changes files."})
    assert drawn(Call(by_person, "Not run: the person said no.")) == "✗ edit  a.py  refused |  ▸"


def test_a_summary_that_is_the_target_is_said_once_and_what_runs_silently_says_nothing() -> None:
    todo = replace(ended(asked(0, "todo", {}), summary="1 of 2 done"), facts={"target": "1 of 2 done"})
    assert drawn(Call(todo)) == "✓ todo  1 of 2 done | 12 ms ▸"
    assert not details(Call(replace(asked(0, "bash", {}), state=EventKind.STARTED)), 60, UNICODE)


@pytest.mark.parametrize(
    ("execution", "shown"),
    [
        (READ, "✓ read  tests/test_restore.py  120 lines | 12 ms ▸"),
        (BASH, "✗ bash  pytest -x  exit 1 | 2.4 s ▸"),
        (asked(0, "write", {"path": "a.py"}), "◇ write a.py |  ▸"),
        (
            ended(
                asked(0, "bash", {"command": "make"}), state=EventKind.DENIED, status="refused", seconds=None
            ),
            "✗ bash  make  refused |  ▸",
        ),
        (
            ended(asked(0, "bash", {"command": "make"}), state=EventKind.CANCELLED, status="cancelled"),
            "◼ bash  make  cancelled | 12 ms ▸",
        ),
        (
            replace(asked(0, "bash", {"command": "make"}), state=EventKind.OUTCOME_UNKNOWN),
            "⚠ bash  make  outcome not known: /recover |  ▸",
        ),
        (
            replace(
                asked(0, "bash", {"command": "make"}),
                state=EventKind.OUTCOME_UNKNOWN,
                evidence=Evidence(Observation.EFFECT_APPLIED, Source.WORKSPACE_ARTIFACT, "", "", ""),
            ),
            "⚠ bash  make  effect applied |  ▸",
        ),
        (
            ended(asked(0, "read", {"path": "a"}, recovered=True), summary="2 lines"),
            "✓ read  a  2 lines  found in the text | 12 ms ▸",
        ),
    ],
)
def test_every_state_has_its_sign_and_says_so_in_words(execution: Execution, shown: str) -> None:
    assert drawn(Call(execution)) == shown


@pytest.mark.parametrize("width", [20, 24, 40, 76, 116])
def test_a_line_fits_whatever_it_says(width: int) -> None:
    long = ended(
        asked(0, "bash", {"command": "run " * 100}), summary="said " * 60, exit_code=3, seconds=200.0
    )
    drawn(Call(long), width)
    assert "run" in drawn(Call(long), 40), "the target is cut last"


def test_reads_that_went_well_are_one_line() -> None:
    failed = ended(asked(3, "read", {"path": "gone"}), status="failed", state=EventKind.FAILED)
    again = replace(READ, id="e4", call_number=4)
    kinds = [
        type(card) for card in grouped([Call(each) for each in (READ, GREP, BASH, failed, again)], UNICODE)
    ]
    assert kinds == [ReadsRun, ToolCard, ToolCard, ReadsRun]
    assert read_words([Call(each) for each in (GREP, READ, again)]) == "read 2 files, grep 1"


def test_a_diff_is_read_as_it_was_written() -> None:
    first, second = hunks_of(DIFF)
    assert (first.number, first.path, first.about) == (0, "src/restore.py", "def restore():")
    assert [(line.sign, line.old, line.new) for line in first.lines] == [
        (" ", 10, 10), (" ", 11, 11), ("-", 12, None), ("+", None, 12), (" ", 13, 13)
    ]  # fmt: skip
    assert count_words([first, second]) == "+2 -1"
    assert list(pairs(first.lines))[2] == (first.lines[2], first.lines[3])


def test_lines_that_look_like_headers_are_lines() -> None:
    diff = "--- a/x\n+++ b/x\n@@ -1,2 +1,2 @@\n--- old\n+++ new\n @@ -1 +1 @@\n\\ No newline at end of file\n"
    (hunk,) = hunks_of(diff)
    assert [(line.sign, line.text) for line in hunk.lines] == [
        ("-", "-- old"), ("+", "++ new"), (" ", "@@ -1 +1 @@"), ("\\", " No newline at end of file")
    ]  # fmt: skip
    removed = "--- a/x\n+++ /dev/null\n@@ -1 +0,0 @@\n-gone\n"
    assert hunks_of(removed)[0].path == "x"
    assert hunks_of("no diff at all") == ()


@pytest.mark.parametrize("width", [20, 60, BESIDE_FROM])
def test_a_diff_fits_and_hides_nothing(width: int) -> None:
    rows = typeset(hunks_of(DIFF), width, UNICODE)
    text = "".join(row.content.plain for row in rows)
    assert all(row.content.cell_length <= width for row in rows)
    assert "mkdtemp" in text.replace(" ", "") or width == 20
    assert (" │ " in text) is (width == BESIDE_FROM)


def test_hostile_text_is_tamed_wherever_it_stands() -> None:
    for nasty in NASTY.values():
        execution = ended(
            asked(0, f"bash{nasty}", {"command": nasty, f"key{nasty}": [nasty]}),
            summary=nasty,
            diff=f"--- a/{nasty}\n+++ b/{nasty}\n@@ -1 +1 @@ {nasty}\n-{nasty}\n+{nasty}\n",
        )
        call = Call(execution, nasty, nasty)
        plain = Call(replace(execution, receipt=None), nasty)
        rows = [call_line(call, 60, UNICODE, opened=True)]
        rows += [*details(call, 60, UNICODE), *details(plain, 60, UNICODE)]
        for row in rows:
            assert not unsafe(row.content.plain, breaks=""), nasty


@asynccontextmanager
async def turn(home: Path, size: tuple[int, int] = (80, 30)) -> AsyncIterator[tuple[Chat, TurnView]]:
    """A turn on the main screen, up to its question."""
    async with chatting(home, NOBODY_THERE, size=size) as chat:
        await until(chat.pilot, lambda: chat.screen.conversation is not None)
        chat.screen.greeting.end()
        view = TurnView(chat.screen.transcript, chat.screen.phase, chat.screen.glyphs)
        await view.ask("do it")
        await view.show(TurnStarted("a1b2c3d", 1, entry(1, Kind.QUESTION, "do it"), "qwen3:4b"))
        yield chat, view
        await view.close()


async def play(view: TurnView, events: Sequence[Event]) -> None:
    for event in events:
        await view.show(event)


def cards(chat: Chat) -> list[Card]:
    return list(chat.screen.transcript.query(Card))


async def to_card(chat: Chat) -> None:
    """Go from the composer to the only card, by key: it is the nearest once it has its place."""
    (card,) = cards(chat)
    await until(chat.pilot, lambda: card.region and chat.screen.focus_chain[-2:][0] is card)
    await chat.pilot.press("tab")
    await until(chat.pilot, lambda: chat.screen.focused is card)


def rows(widgets: Sequence[Card], width: int) -> list[list[str]]:
    return [[line.content.plain for line in card.lines_for(width)] for card in widgets]


@pytest.mark.parametrize("rest", ["", "I look."])
async def test_a_call_found_in_the_text_is_drawn_once(home: Path, rest: str) -> None:
    found = replace(reply_of([READ], rest), calls=(ToolCall("c", "read", {"path": "a"}, recovered=True),))
    async with turn(home) as (chat, view):
        await view.show(TextDelta(f'{rest}<tool_call>{{"name": "read"}}</tool_call>'))
        await until(chat.pilot, lambda: "<tool_call>" in screen_text(chat.pilot))
        await play(view, [Notice("read as such"), ReplyRecorded(found), *told([READ], TEXTS[:1], rest)[1:]])
        await until(chat.pilot, lambda: "<tool_call>" not in screen_text(chat.pilot))
        assert chat.replies == [rest] and rest in screen_text(chat.pilot)


async def test_calls_look_the_same_live_and_resumed(home: Path) -> None:
    executions = [READ, GREP, BASH]
    async with turn(home) as (chat, view):
        await view.show(TextDelta("Let me look."))
        await play(view, told(executions, TEXTS, "Let me look."))
        await chat.pilot.pause()
        live = cards(chat)
        assert [type(card) for card in live] == [ReadsRun, ToolCard]
        items = await stored_items(stored(executions, TEXTS, "Let me look."), 70, UNICODE)
        again = [widget for item in items for widget in item.widgets if isinstance(widget, Card)]
        for opened in (False, True):
            for card in (*live, *again):
                card.opened = opened
            assert rows(live, 70) == rows(again, 70)
        assert [item.entry_id for item in chat.screen.transcript.window.items] == [1, 2]
        assert [item.entry_id for item in items] == [1, 2], "a result is no item of its own"
        shown = ("read 1 file, grep 1", "FAILED tests/test_restore.py")
        await until(chat.pilot, lambda: all(words in screen_text(chat.pilot) for words in shown))


async def test_a_card_opens_by_key_and_click_and_is_read_whole(home: Path) -> None:
    async with turn(home) as (chat, view):
        await play(view, told([BASH], [TEXTS[2]]))
        await to_card(chat)
        await chat.pilot.press("enter")
        await until(chat.pilot, lambda: "FAILED tests" in screen_text(chat.pilot))
        await chat.pilot.click(Card)
        await until(chat.pilot, lambda: "FAILED tests" not in screen_text(chat.pilot))
        await chat.pilot.press("v")
        await until(chat.pilot, lambda: isinstance(chat.app.screen, ViewerScreen))
        await until(chat.pilot, lambda: "FAILED tests" in screen_text(chat.pilot))
        await chat.pilot.press("q")


async def test_a_whole_output_that_was_dropped_is_said_to_be_gone(home: Path) -> None:
    assert BASH.receipt is not None
    dropped = replace(BASH, receipt=replace(BASH.receipt, output="ab" * 32))
    async with turn(home) as (chat, view):
        await play(view, told([dropped], [TEXTS[2]]))
        await to_card(chat)
        await chat.pilot.press("v")
        await until(chat.pilot, lambda: isinstance(chat.app.screen, ViewerScreen))
        said = "The whole output is not there. This is what the model read of it:"
        await until(chat.pilot, lambda: said in screen_text(chat.pilot))
        assert "FAILED tests" in screen_text(chat.pilot)


async def test_a_row_of_a_run_opens_alone(home: Path) -> None:
    async with turn(home) as (chat, view):
        await play(view, told([READ, GREP], TEXTS[:2]))
        await chat.pilot.pause()
        (run,) = cards(chat)
        await chat.pilot.click(ReadsRun)
        await until(chat.pilot, lambda: "TemporaryDirectory  7 hits" in screen_text(chat.pilot))
        await chat.pilot.click(ReadsRun, offset=(4, 1))
        await until(chat.pilot, lambda: "1 import tempfile" in screen_text(chat.pilot))
        assert "a.py:1" not in screen_text(chat.pilot) and run.opened


async def test_a_running_command_shows_its_last_rows(home: Path) -> None:
    running = asked(0, "bash", {"command": "make"})
    async with turn(home) as (chat, view):
        await play(view, told([running], [""])[:2])
        await view.show(ToolStarted(running.id, "make"))
        for number in range(40):
            await view.show(ToolProgress(running.id, f"step {number}\n"))
        await until(chat.pilot, lambda: "step 39" in screen_text(chat.pilot))
        text = screen_text(chat.pilot)
        assert "step 35" in text and "step 34" not in text and "running" in text


async def test_reads_of_several_replies_are_one_line_until_something_is_said(home: Path) -> None:
    async with turn(home) as (chat, view):
        for number in range(3):
            done = replace(READ, id=f"r{number}", entry_id=20 + number)
            _, *events = told([done], ["1 import tempfile"])
            await play(view, [ReplyRecorded(replace(reply_of([done]), id=20 + number)), *events])
        await until(chat.pilot, lambda: "✓ read 3 files" in screen_text(chat.pilot))
        assert [item.entry_id for item in chat.screen.transcript.window.items] == [1, 20, 21, 22]
        first, *others = cards(chat)
        assert first.can_focus and not any(other.can_focus or other.size.height for other in others)
        first.opened = True
        await until(chat.pilot, lambda: screen_text(chat.pilot).count("tests/test_restore.py") == 3)
        first.opened = False
        await chat.screen.transcript.drop_from(22)
        await until(chat.pilot, lambda: "✓ read 2 files" in screen_text(chat.pilot))
        # What is far above is dropped: the rest stands for itself.
        await first.remove()
        await until(chat.pilot, lambda: "✓ read  tests/test_restore.py" in screen_text(chat.pilot))
        await view.show(TextDelta("Between."))
        await play(view, told([GREP], ["a.py:1"], "Between.")[1:])
        await until(chat.pilot, lambda: "✓ grep  TemporaryDirectory" in screen_text(chat.pilot))


async def test_forty_calls_of_a_reply_take_one_row(home: Path) -> None:
    executions = [
        ended(asked(number, "read", {"path": f"src/{number}.py"}), summary="9 lines") for number in range(40)
    ]
    async with turn(home, (30, 12)) as (chat, view):
        await play(view, told(executions, ["text"] * 40))
        await chat.pilot.pause()
        assert [type(card) for card in cards(chat)] == [ReadsRun]
        assert "read 40 files" in screen_text(chat.pilot)
        assert len(chat.screen.transcript.window.items[-1].widgets) == 1


async def test_a_command_of_the_persons_own_is_drawn_with_its_output(home: Path) -> None:
    running = replace(asked(0, "bash", {"command": "git status"}), origin=Origin.PERSON)
    done = ended(running, "On branch main", exit_code=0)
    async with turn(home) as (chat, view):
        await view.show(TurnStarted("a1b2c3d", 1, entry(1, Kind.COMMAND, "git status"), "qwen3:4b"))
        await play(view, told([done], ["On branch main"])[1:])
        await chat.pilot.pause()
        text = screen_text(chat.pilot)
        assert "On branch main" in text and "command:" not in text, "what was typed stands above it"
    part = stored([done], ["On branch main"])
    command = replace(part.entries[1], kind=Kind.COMMAND, id=2, text="git status", origin=Origin.PERSON)
    items = await stored_items(replace(part, entries=(command, *part.entries[2:])), 70, UNICODE)
    question, card = items[0].widgets
    assert question.source == "!git status" and isinstance(card, Card)
    assert any("On branch main" in line.content.plain for line in card.lines_for(70))


async def test_a_requested_call_waits_and_a_second_reply_is_an_item_of_its_own(home: Path) -> None:
    async with turn(home) as (chat, view):
        await play(view, told([BASH], [TEXTS[2]], "First."))
        await view.show(TextDelta("Second."))
        await until(chat.pilot, lambda: "Second." in chat.replies)
        second = replace(asked(0, "bash", {"command": "true"}), id="eb", entry_id=20)
        await play(view, [replace(told([second], [""])[0], reply=entry(20, Kind.ASSISTANT, "Second."))])
        await view.show(ToolRequested(second))
        items = chat.screen.transcript.window.items
        assert [item.entry_id for item in items] == [1, 2, 20]
        assert [type(widget).__name__ for widget in items[2].widgets] == ["Reply", "ToolCard"]


def test_the_list_of_what_is_to_be_done_is_that_of_the_newest_call_that_went_well() -> None:
    first = ended(asked(0, "todo", {"items": ["[x] read", "[>] fix", {"text": "test", "status": "done"}]}))
    refused = ended(asked(1, "todo", {"items": ["[ ] other"]}), state=EventKind.FAILED, status="failed")
    assert newest_list([first, refused, BASH]) == (
        TodoItem("read", "done"), TodoItem("fix", "doing"), TodoItem("test", "done")
    )  # fmt: skip
    assert newest_list([BASH]) is None
    assert items_of({"items": "no list"}) == items_of({}) == ()
