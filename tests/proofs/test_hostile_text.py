"""Whatever a text holds, what is drawn of it acts on no terminal and imitates no line of ours."""

from __future__ import annotations

import json
import logging
import re
import subprocess
import sys
import threading
import time
import xml.etree.ElementTree as ElementTree
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from textual.pilot import Pilot

from local_agent.cli.screen import exit_message
from local_agent.cli.stored import StoredPath
from local_agent.cli.streams import say
from local_agent.cli.transcript import list_rows, transcript
from local_agent.config.logs import start_logging
from local_agent.config.paths import Paths
from local_agent.domain.entries import Entry, EntryStatus, ErrorRecord, Kind, Origin, Turn, TurnStatus, Usage
from local_agent.domain.events import Notice, TextDelta
from local_agent.domain.quoting import quoted
from local_agent.domain.sessions import SessionInfo
from local_agent.domain.text import normalise, one_line, sanitise
from local_agent.domain.titles import given_title, title_from
from local_agent.domain.tree import words_of
from local_agent.headless.jsonl import as_json
from local_agent.headless.printer import SET_IN, TextPrinter
from local_agent.headless.receipt import Receipt
from local_agent.tui.look.lines import Line
from local_agent.tui.markdown.growing import GrowingMarkdown
from local_agent.tui.markdown.typeset import Typesetter
from local_agent.tui.widgets.thinking import Thinking
from tests.proofs.hostile import FLOODS, HUGE, IMITATIONS, NASTY, all_at_once, nasty_text, unsafe
from tests.support.ollama_server import OllamaServer, error, think
from tests.support.ollama_server import Turn as Played
from tests.support.ollama_server import say as say_it
from tests.tui.chatting import chatting
from tests.tui.pilots import screen_text, until

HUGE_SECONDS = 3.0
"""Of one processor; the worst takes a sixth of it."""
AT = "2026-01-01T00:00:00.000Z"
every = pytest.mark.parametrize("name", NASTY)


def plain(lines: Sequence[Line]) -> str:
    return "\n".join(line.content.plain + (line.aside.plain if line.aside else "") for line in lines)


def assert_typeset(text: str, width: int) -> None:
    lines = Typesetter(width).typeset(sanitise(text, tabs=True))
    assert unsafe(plain(lines)) == []
    assert max((line.content.cell_length for line in lines), default=0) <= width


@pytest.mark.parametrize("width", [24, 76])
@every
def test_a_reply_of_each_kind_is_typeset(name: str, width: int) -> None:
    assert_typeset(NASTY[name], width)
    nested = f"- item\n\n  > {NASTY[name]}\n\n| {NASTY[name]} | b |\n|---|---|\n| c | {NASTY[name]} |"
    assert_typeset(nested, width)


@given(nasty_text(), st.integers(12, 90))
def test_any_reply_is_typeset(text: str, width: int) -> None:
    assert_typeset(text, width)


@given(nasty_text(3), st.data())
async def test_a_reply_cut_anywhere_ends_as_the_whole(text: str, data: st.DataObject) -> None:
    cuts = sorted(data.draw(st.lists(st.integers(0, len(text)), max_size=5)))
    growing = GrowingMarkdown(40)
    for begin, end in zip([0, *cuts], [*cuts, len(text)], strict=True):
        await growing.feed(text[begin:end])
        assert unsafe(plain(growing.lines)) == []
    await growing.finish()
    assert growing.source == sanitise(text, tabs=True)


@given(st.text("&#x;202eE00418d5bNewLinetabrlm[]()*_`<> \n", max_size=60))
def test_entities_become_no_controls(text: str) -> None:
    assert_typeset(text, 40)


def session(text: str) -> SessionInfo:
    """A session in which everything that came from outside is ``text``."""
    return SessionInfo(
        1, "abcdef0", text, "person", 1, text, 2, "normal", "ollama", text, text,
        model_pinned=False, headless=False, trashed=False, parent_session=None, fork_entry=None,
        created_at=AT, last_activity=text, last_entry=2, turn_count=1, error_count=0,
    )  # fmt: skip


def conversation(text: str) -> StoredPath:
    entries = (
        Entry(1, 1, 1, None, Kind.QUESTION, Origin.PERSON, text, created_at=AT),
        Entry(2, 1, 1, 1, Kind.ASSISTANT, Origin.MODEL, text, status=EntryStatus.INTERRUPTED, created_at=AT),
    )
    turn = Turn(1, 1, TurnStatus.FAILED, text, text, Usage(), AT, AT)
    error = ErrorRecord("generation", text, text, text, text, "", 1)
    return StoredPath(session(text), entries, {1: turn}, {1: error}, (error,), text)


@given(nasty_text())
def test_a_printed_conversation_has_no_line_that_is_not_its_own(text: str) -> None:
    assert_own_lines(text)


@every
def test_a_printed_conversation_of_each_kind(name: str) -> None:
    assert_own_lines(NASTY[name])


def assert_own_lines(text: str) -> None:
    path = conversation(text)
    lines = "\n".join(transcript(path)).split("\n")
    assert unsafe("\n".join(lines)) == []
    own = [line for line in lines if line and not line.startswith("  ")]
    said = [line for entry in path.entries for line in sanitise(words_of(entry)).split("\n") if line.strip()]
    # Title, facts, two speakers, one failure.
    assert len(own) == 5, own
    assert own[0].startswith("Session abcdef0 · ")
    assert own[2].startswith("You · ")
    assert own[4].startswith("(failed: ")
    assert sum(line.startswith("  ") for line in lines) <= len(said)


@every
def test_a_session_is_one_row(name: str) -> None:
    (row,) = list_rows([session(NASTY[name])], with_folder=True)
    assert unsafe(row, breaks="") == []
    assert row.startswith("abcdef0  ")


@every
def test_titles_are_one_line(name: str) -> None:
    for title in (title_from(NASTY[name]), given_title(f"x{NASTY[name]}")):
        assert unsafe(title, breaks="") == []
        assert len(title) < 1_000
    assert exit_message("abcdef0", NASTY[name]).count("\n") == 3


def printed(pieces: Sequence[str]) -> tuple[str, list[str]]:
    """What the pieces of an answer look like on a terminal, and what was said beside it."""
    out: list[str] = []
    said: list[str] = []

    def own(line: str) -> None:
        assert not out or out[-1].endswith("\n"), "our line does not begin one"
        said.append(line)

    printer = TextPrinter(out.append, own, to_terminal=True)
    for piece in pieces:
        printer.show(TextDelta(piece))
    printer.show(Notice("A notice."))
    printer.finish(Receipt(handle="abcdef0", title="\n".join(pieces)))
    return "".join(out), said


@given(nasty_text(), st.data())
def test_an_answer_on_a_terminal(text: str, data: st.DataObject) -> None:
    cuts = sorted(data.draw(st.lists(st.integers(0, len(text)), max_size=6)))
    assert_printed([text[a:b] for a, b in zip([0, *cuts], [*cuts, len(text)], strict=True)])


@pytest.mark.parametrize("name", [*IMITATIONS, *FLOODS])
def test_an_imitation_on_a_terminal(name: str) -> None:
    text = NASTY[name]
    assert_printed([text])
    assert_printed(list(text[:2000]))
    assert_printed([f"{text[:4000]}\u200b\n\u200blocal-\u00adagent: see\n"])


def assert_printed(pieces: Sequence[str]) -> None:
    shown, said = printed(pieces)
    assert unsafe(shown) == []
    assert not re.search(r"(?m)^[\u00ad\u200b-\u200d\u2060]*local-\u00ad?agent:", shown)
    whole = sanitise("".join(pieces))
    if whole:
        assert shown.replace(SET_IN, "").removesuffix("\n") == whole.replace(SET_IN, "").removesuffix("\n")
    assert "\n" not in said[-1]


@given(nasty_text())
def test_a_line_of_json_is_one_line_and_says_the_same(text: str) -> None:
    assert_json(text)


@every
def test_a_line_of_json_of_each_kind(name: str) -> None:
    assert_json(NASTY[name])


def assert_json(text: str) -> None:
    document = as_json({text: [text]})
    assert json.loads(document) == {normalise(text): [normalise(text)]}
    assert len(document.splitlines()) == 1
    assert unsafe(document, breaks="") == []


def test_a_printed_word_is_read_back_by_a_shell() -> None:
    plain_words = ("a  b", " edges ", "it's", "", "~", "-x", "\\", "\\'")
    words = [normalise(text[:4000].replace("\x00", "")) for text in (*NASTY.values(), *plain_words)]
    shown = [quoted(word) for word in words]
    assert [one_line(word) for word in shown] == shown
    script = "printf '%s\\0' " + " ".join(shown)
    done = subprocess.run(["bash"], input=script.encode(), capture_output=True, check=True)
    assert done.stdout.split(b"\0")[:-1] == [word.encode() for word in words]


@every
def test_a_line_on_standard_error_is_one(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    say(NASTY[name])
    (line,) = capsys.readouterr().err.split("\n")[:-1]
    assert unsafe(line, breaks="") == []
    assert line.startswith("local-agent:")


def test_a_log_line_is_one_line(tmp_path: Path) -> None:
    root = logging.getLogger()
    before = (list(root.handlers), root.level, threading.excepthook, sys.unraisablehook)
    paths = Paths(home=tmp_path / "home", cache=tmp_path)
    root.handlers.clear()  # the runner's own, which puts lone surrogates into its reports
    start_logging(paths, {})
    try:
        for text in NASTY.values():
            logging.getLogger("local_agent").warning("%s", text)
            logging.getLogger("another").warning(text.replace("%", ""))
    finally:
        for handler in root.handlers:
            handler.close()
        root.handlers[:], threading.excepthook, sys.unraisablehook = before[0], before[2], before[3]
        root.setLevel(before[1])
    written = b"".join(path.read_bytes() for path in paths.logs.iterdir()).decode()
    assert unsafe(written) == []
    assert all(
        re.match(r"20\d\d-\d\d-\d\dT\S+ \d+ WARNING (local_agent|another): ", line)
        for line in written.splitlines()
    )
    assert len(written.splitlines()) == 2 * len(NASTY)


async def test_what_is_drawn_of_a_whole_conversation(home: Path, server: OllamaServer) -> None:
    # The server's JSON can't carry a lone surrogate.
    all_of_it = normalise(all_at_once())
    server.script(
        Played(think(all_of_it, chunking="chars:301"), say_it(all_of_it, chunking="chars:211")),
        Played(error(all_of_it, 500)),
    )
    async with chatting(home, server.url, size=(100, 40)) as chat:
        await chat.ready()
        await chat.send("Go on")
        await chat.answered(1)
        assert_drawn(chat.pilot)
        (thinking,) = chat.screen.query(Thinking)
        thinking.opened = True
        await until(chat.pilot, lambda: len(thinking.lines_for(80)) > 1)
        assert unsafe(plain(thinking.lines_for(80))) == []
        await chat.send("Again")
        await until(chat.pilot, lambda: chat.remarks)
        assert_drawn(chat.pilot)
        assert chat.replies == [sanitise(all_of_it, tabs=True)]
        stored = [entry.text for entry in (await chat.screen.conversation.tail()).entries]
    assert stored[1] == normalise(all_of_it)


def assert_drawn(pilot: Pilot[Any]) -> None:
    """Nothing on screen acts on a terminal, every row has its width, and a picture of it is XML."""
    assert unsafe(screen_text(pilot)) == []
    width = pilot.app.size.width
    assert {strip.cell_length for strip in pilot.app.screen._compositor.render_strips()} == {width}
    ElementTree.fromstring(pilot.app.export_screenshot())


@pytest.mark.parametrize("name", HUGE)
def test_a_huge_text_costs_little(name: str) -> None:
    text = HUGE[name]
    begun = time.process_time()
    drawn = sanitise(text)
    lines = Typesetter(76).typeset(drawn)
    title_from(text)
    assert time.process_time() - begun < HUGE_SECONDS
    assert unsafe(plain(lines[:200])) == unsafe(one_line(drawn[:20_000])) == []
