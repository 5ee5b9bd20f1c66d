"""A settled reply under the hands of a person: selected, copied, its links followed."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from textual.app import App, ComposeResult
from textual.containers import VerticalScroll
from textual.geometry import Offset
from textual.selection import SELECT_ALL, Selection
from textual.widget import Widget

from local_agent.domain.entries import Entry, Kind, Origin, Slice, Turn, TurnStatus, Usage
from local_agent.tui.conversation.copying import copy
from local_agent.tui.conversation.stored import stored_items
from local_agent.tui.device.clipboard import COMMON_LIMIT, SENT_AT_MOST, desktop_tool
from local_agent.tui.look.glyphs import UNICODE
from local_agent.tui.screens.link import LinkDialog
from local_agent.tui.widgets.composer import Composer
from local_agent.tui.widgets.question import Question
from local_agent.tui.widgets.remarks import Receipt
from local_agent.tui.widgets.reply import Reply
from local_agent.tui.widgets.thinking import Thinking
from local_agent.tui.widgets.window import widgets_of
from tests.support.ollama_server import ModelSpec, OllamaServer, gate, say, think
from tests.support.ollama_server import Turn as ScriptedTurn
from tests.tui.chatting import Chat, chatting
from tests.tui.pilots import screen_text, until
from tests.tui.test_transcript import long_session, page_up

CODE = "def f():\n\treturn 1  \n\n\n\tpass"
FIRST, OTHER = "llama3.2:3b", "qwen3:0.6b"
URL = f"https://example.com/{'deep/' * 16}end"
ANSWER = f"""\
Some **words** that are many enough to be wrapped where the row of this width ends.

```python
{CODE}
```

- look [there]({URL})
- or `here`
"""


def place_of(chat: Chat, text: str, inside: int = 0) -> Offset:
    """Where a text stands on the screen, or so many cells further right."""
    for y, row in enumerate(screen_text(chat.pilot).splitlines()):
        if text in row:
            return Offset(row.index(text) + inside, y)
    raise AssertionError(f"{text!r} is not on screen")


def notes(chat: Chat) -> str:
    """What was said in passing."""
    return " ".join(note.message for note in chat.app._notifications)


async def drag(chat: Chat, start: Offset, end: Offset) -> None:
    """Select with the mouse."""
    await chat.pilot.mouse_down(offset=start)
    await chat.pilot.hover(offset=end)
    await chat.pilot.mouse_up(offset=end)


async def asked(chat: Chat, server: OllamaServer, answer: str | ScriptedTurn = ANSWER) -> None:
    """Ask one question and have it answered."""
    server.script(answer)
    await chat.ready()
    await chat.send("how?")
    await chat.answered(1)
    await until(chat.pilot, lambda: "how?" in screen_text(chat.pilot))


async def test_what_the_mouse_selects_is_copied_as_it_was_written(home: Path, server: OllamaServer) -> None:
    async with chatting(home, server.url, size=(60, 30)) as chat:
        await asked(chat, server, ScriptedTurn(think("Hm, so."), say(ANSWER)))
        await until(chat.pilot, lambda: "or here" in screen_text(chat.pilot))
        await drag(chat, place_of(chat, "def f"), place_of(chat, "pass", 3))
        await chat.pilot.press("ctrl+c")
        assert chat.app.clipboard == CODE, "tabs, trailing spaces, empty lines and no bar"
        assert not chat.screen.busy and chat.app.return_value is None

        await drag(chat, place_of(chat, "how?"), place_of(chat, "or here", 7))
        await chat.pilot.press("ctrl+c")
        question, answer = chat.app.clipboard.split("\n\n", 1)
        assert question == "how?", "what is folded is not copied, nor are bars and times"
        assert answer == (
            "Some words that are many enough to be wrapped where the row of this width ends.\n\n"
            f"{CODE}\n\n- look there ({URL})\n- or here"
        )

        thinking, reply = chat.screen.query_one(Thinking), chat.screen.query_one(Reply)
        thinking.focus()
        await chat.pilot.press("enter")
        await until(chat.pilot, lambda: "Hm, so." in screen_text(chat.pilot))
        await drag(chat, place_of(chat, "how?"), Offset(50, reply.region.bottom + 1))
        await chat.pilot.press("ctrl+c")
        assert chat.app.clipboard == f"how?\n\nHm, so.\n\n{ANSWER.strip()}", (
            "an answer as a whole is its Markdown"
        )


class Page(App[None]):
    """Some widgets below each other."""

    def __init__(self, *widgets: Widget) -> None:
        super().__init__()
        self.shown = widgets

    def compose(self) -> ComposeResult:
        with VerticalScroll():
            yield from self.shown


async def test_a_folded_question_is_copied_whole_and_with_its_tabs() -> None:
    asked = "".join(f"{number}:\tline\n" for number in range(60))
    question, thinking = Question(asked), Thinking("Hm.")
    app = Page(question, thinking, Reply("**Yes**."))
    async with app.run_test(size=(60, 20)):
        app.screen.selections = dict.fromkeys(app.shown, SELECT_ALL)
        assert app.screen.get_selected_text() == f"{asked}\n\n**Yes**."
        app.screen.selections = {question: Selection(Offset(2, 0), Offset(11, 1))}
        assert app.screen.get_selected_text() == "0:\tline\n1:\tline"


async def test_code_and_links_are_reached_by_key(
    home: Path, server: OllamaServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened = tmp_path / "opened"
    browser = tmp_path / "bin" / "xdg-open"
    browser.parent.mkdir()
    browser.write_text(f'#!/bin/sh\nprintf %s "$1" > {opened}.part && mv {opened}.part {opened}\n')
    browser.chmod(0o755)
    monkeypatch.setenv("PATH", f"{browser.parent}:/usr/bin:/bin")
    monkeypatch.setenv("DISPLAY", ":7")
    async with chatting(home, server.url, size=(60, 30)) as chat:
        await asked(chat, server)
        await chat.pilot.press("tab")
        assert isinstance(chat.screen.focused, Reply)
        await until(chat.pilot, lambda: "copy c" in screen_text(chat.pilot))
        await chat.pilot.press("c")
        assert chat.app.clipboard == CODE
        await chat.pilot.press("right", "c")
        assert chat.app.clipboard == URL
        assert "copy c" not in screen_text(chat.pilot)
        await chat.pilot.press("right", "c")
        assert chat.app.clipboard == ANSWER, "behind the last one is the whole answer"

        await chat.pilot.press("left", "enter")
        await until(chat.pilot, lambda: isinstance(chat.app.screen, LinkDialog) and chat.app.screen.listening)
        shown = "".join(line.strip(" ▔▁▏▕│") for line in screen_text(chat.pilot).splitlines())
        assert "Open this page of example.com?" in shown
        assert URL in shown and not opened.exists(), "all of it is seen before it is opened"
        await chat.pilot.press("enter")
        await until(chat.pilot, opened.exists)
        assert opened.read_text() == URL
        await until(chat.pilot, lambda: chat.app.screen is chat.screen)
        await chat.pilot.press("escape")
        assert isinstance(chat.screen.focused, Composer)


async def test_a_click_copies_and_asks_and_leaves_the_focus_where_one_types(
    home: Path, server: OllamaServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("DISPLAY", raising=False)
    monkeypatch.delenv("WAYLAND_DISPLAY", raising=False)
    async with chatting(home, server.url, size=(60, 30)) as chat:
        await asked(chat, server, f"{ANSWER}\n[a file](ssh://host/x)")
        await chat.pilot.click(offset=place_of(chat, " copy", 2))
        assert chat.app.clipboard == CODE
        await chat.pilot.click(offset=place_of(chat, "Some words"))
        await chat.pilot.hover(offset=place_of(chat, "there (exa", 1))
        assert str(chat.screen.query_one(Reply).tooltip) == URL
        await chat.pilot.click(offset=place_of(chat, "there (exa", 1))
        await until(chat.pilot, lambda: "No browser was found" in screen_text(chat.pilot))
        await until(chat.pilot, lambda: chat.app.screen.listening)
        await chat.pilot.press("c")
        await until(chat.pilot, lambda: chat.app.clipboard == URL)
        await until(chat.pilot, lambda: chat.app.screen is chat.screen)
        await chat.pilot.click(offset=place_of(chat, "a file (ssh", 1))
        await until(chat.pilot, lambda: "Only web pages and mail" in screen_text(chat.pilot))
        assert "open it in the browser" not in screen_text(chat.pilot)
        await until(chat.pilot, lambda: chat.app.screen.listening)
        await chat.pilot.press("escape")
        await until(chat.pilot, lambda: chat.app.screen is chat.screen)
        assert isinstance(chat.screen.focused, Composer)


async def test_who_an_address_leads_to_is_said_by_itself() -> None:
    app = Page()
    async with app.run_test(size=(30, 12)) as pilot:
        app.push_screen(LinkDialog(f"https://bank.com:secure{'-' * 90}@evil.com/login"))
        wanted = ("evil.com", "copy the address")
        await until(pilot, lambda: all(text in screen_text(pilot) for text in wanted))


async def test_answers_are_copied_by_number_and_code_by_its_place(home: Path, server: OllamaServer) -> None:
    server.script(
        "First.\n\n```\none\n```\n\n    two\n", "Second.", ScriptedTurn(say("Half of a"), gate("on"))
    )

    async with chatting(home, server.url) as chat:

        async def command(line: str, copied: str) -> None:
            chat.screen.action_command(line)
            await until(chat.pilot, lambda: chat.app.clipboard == copied)

        async def refused(line: str, says: str) -> None:
            chat.screen.action_command(line)
            await until(chat.pilot, lambda: any(says in remark for remark in chat.remarks))

        await chat.ready()
        await chat.pilot.press("alt+c")
        await until(chat.pilot, lambda: "no answer to copy" in notes(chat))
        await chat.send("a")
        await chat.answered(1)
        await command("/copy code", "two")
        await command("/copy code 1", "one")
        await refused("/copy code 3", "code blocks 1 to 2")
        await refused("/copy nothing", "a number from 1 on")
        await refused("/copy 0", "a number from 1 on")
        await refused("/copy 1 2", "Only code takes")
        await chat.send("b")
        await chat.answered(2)
        await command("/copy 2", "First.\n\n```\none\n```\n\n    two\n")
        await chat.pilot.press("alt+c")
        await until(chat.pilot, lambda: chat.app.clipboard == "Second.")
        await chat.send("c")
        await until(chat.pilot, lambda: chat.replies[-1:] == ["Half of a"])
        await chat.pilot.press("alt+c")
        await until(chat.pilot, lambda: chat.app.clipboard == "Half of a")
        server.release("on")
        await chat.answered(3)


async def test_answers_that_are_not_mounted_are_copied_as_well(home: Path, server: OllamaServer) -> None:
    handle = await long_session(home, 300)
    async with chatting(home, server.url, resume=handle) as chat:
        await until(chat.pilot, lambda: "question 299" in screen_text(chat.pilot))
        chat.screen.action_command("/copy 150")
        await until(chat.pilot, lambda: chat.app.clipboard.startswith("Answer **150**."))
        while chat.screen.transcript.end_mounted:
            await page_up(chat)
        await chat.pilot.press("alt+c")
        await until(chat.pilot, lambda: chat.app.clipboard.startswith("Answer **299**."))


async def test_the_size_that_a_clipboard_may_not_take_is_said(home: Path, server: OllamaServer) -> None:
    async with chatting(home, server.url) as chat:
        await chat.ready()
        copy(chat.app, "x" * (COMMON_LIMIT + 1), "It")
        await until(chat.pilot, lambda: "no more than 75 kB" in notes(chat))
        assert len(chat.app.clipboard) == COMMON_LIMIT + 1
        copy(chat.app, "y" * (SENT_AT_MOST + 1), "It")
        await until(chat.pilot, lambda: "too large" in notes(chat))
        assert chat.app.clipboard[0] == "x"


async def test_a_desktop_tool_gets_it_too_but_not_over_ssh(
    home: Path, server: OllamaServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    taken, tool = tmp_path / "taken", tmp_path / "wl-copy"
    tool.write_text(f"#!/bin/sh\ncat > {taken}.part && mv {taken}.part {taken}\n")
    tool.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    monkeypatch.setenv("WAYLAND_DISPLAY", "wayland-0")
    assert desktop_tool({"PATH": str(tmp_path), "WAYLAND_DISPLAY": "w", "SSH_TTY": "/dev/pts/1"}) is None
    async with chatting(home, server.url) as chat:
        await chat.ready()
        copy(chat.app, "tä\udc80\t", "It")
        await until(chat.pilot, taken.exists)
        assert taken.read_text("utf-8") == "tä\ufffd\t"
        assert not chat.screen.query(Question)


async def test_the_receipt_names_the_model_when_it_is_another_one(home: Path) -> None:
    def receipts() -> list[str]:
        rows = screen_text(chat.pilot).splitlines()
        return [row.strip().split(" · ")[0] for row in rows if " tok · " in row]

    async with OllamaServer(models=[ModelSpec(FIRST), ModelSpec(OTHER)]) as server:
        server.script("One.", "Two.", "Three.")
        async with chatting(home, server.url, size=(80, 30), model=FIRST) as chat:
            await chat.ready()
            await chat.send("a")
            await chat.answered(1)
            chat.screen.action_command(f"/model {OTHER}")
            await until(chat.pilot, lambda: chat.screen.conversation.model == OTHER)
            for number, question in ((2, "b"), (3, "c")):
                await chat.send(question)
                await chat.answered(number)
            await until(chat.pilot, lambda: len(receipts()) == 3)
            live, handle = receipts(), chat.screen.conversation.handle
            assert [each.split()[-1] for each in live] == ["tok", OTHER, "tok"]
        async with chatting(home, server.url, size=(80, 30), resume=handle) as chat:
            await until(chat.pilot, lambda: receipts() == live)


async def test_the_first_receipt_of_a_part_names_the_model_unless_it_is_known_to_be_the_same() -> None:
    turns = {
        number: Turn(number, 1, TurnStatus.SETTLED, "stop", model, Usage(reply_tokens=5), "", "")
        for number, model in enumerate(("a:1b", "b:1b", "b:1b"), 1)
    }
    entries = tuple(
        Entry(10 * number, 1, number, None, Kind.ASSISTANT, Origin.MODEL, "Yes.") for number in turns
    )

    async def named(part: Slice) -> list[bool]:
        widgets = widgets_of(await stored_items(part, 60, UNICODE))
        receipts = [widget.text for widget in widgets if isinstance(widget, Receipt)]
        return [text.partition(" · ")[0].endswith(":1b") for text in receipts]

    whole = Slice(entries, turns, {}, more=False)
    assert await named(whole) == [False, True, False]
    assert await named(replace(whole, more=True)) == [True, True, False], "what stood before is not known"
    assert await named(replace(whole, entries=entries[2:], more=True)) == [False]
    assert await named(replace(whole, entries=entries[1:], more=True)) == [True, False]


def test_a_receipt_in_little_room_says_what_fits() -> None:
    usage = Usage(reply_tokens=214, reply_seconds=5.0, first_token_seconds=0.6)
    receipt = Receipt(usage, model="a-model-with-a-name:4b", named=True)

    def aside(width: int) -> str:
        shown = receipt.lines_for(width)[0].aside
        return shown.plain if shown is not None else ""

    assert aside(80) == "a-model-with-a-name:4b · 214 tok · 43 tok/s · first 600 ms"
    assert aside(40) == "a-model-with-a-name:4b · 214 tok"
    assert aside(10) == ""


@pytest.mark.parametrize(
    ("took", "says"),
    [(0.3, "for a moment"), (4.2, "for about 4 s"), (125.0, "for about 2 min 5 s"), (None, "thought ▸")],
)
def test_how_long_a_stored_thought_took_is_told_as_well_as_it_is_known(took: float | None, says: str) -> None:
    thinking = Thinking("Hm.", about=took)
    assert says in thinking.lines_for(60)[0].content.plain
    thinking.finish(61)
    assert thinking.lines_for(60)[0].content.plain == "│ thought for 1 min 1 s ▸"
