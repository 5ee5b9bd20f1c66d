"""Branches by keys: the tree, a fork, an earlier question asked otherwise, what is kept and left out."""

from __future__ import annotations

import io
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from PIL import Image

from local_agent.domain.drafts import Prompt
from local_agent.domain.marks import Mark
from local_agent.domain.ports import Opening
from local_agent.store.store import Store
from local_agent.tui.screens.chat import ChatScreen
from local_agent.tui.screens.held import HeldDialog
from local_agent.tui.screens.tree import TreeScreen
from local_agent.tui.widgets.question import Question
from tests.runtime.opened import paths_in
from tests.store.samples import VERSION, settled, talk
from tests.support.ollama_server import ModelSpec, OllamaServer, Turn, gate, say
from tests.tui.chatting import Chat, chatting
from tests.tui.pilots import listening, screen_text, until


async def talked(chat: Chat, *questions: str) -> None:
    await chat.ready()
    for number, question in enumerate(questions, 1):
        await chat.send(question)
        await chat.answered(number)


async def in_tree(chat: Chat) -> TreeScreen:
    chat.screen.action_command("/tree")
    await until(chat.pilot, lambda: isinstance(chat.app.screen, TreeScreen) and chat.app.screen.selected)
    screen = chat.app.screen
    assert isinstance(screen, TreeScreen)
    return screen


async def at_home(chat: Chat) -> None:
    await until(chat.pilot, lambda: isinstance(chat.app.screen, ChatScreen) and not chat.screen.turns.paused)


def sent(server: OllamaServer, place: int = -1) -> list[str]:
    """What a request carried of the conversation."""
    messages = server.chats[place].body["messages"]
    return [str(message["content"]).split("\n")[-1] for message in messages if message["role"] != "system"]


async def test_an_earlier_question_is_asked_otherwise_and_both_branches_stay(
    home: Path, server: OllamaServer
) -> None:
    server.script("One.", "Two.", "Other one.", "Three.")
    async with chatting(home, server.url) as chat:
        await talked(chat, "first", "second")
        await chat.type("half a thought")
        # Up to the first question, by keys.
        chat.screen.query(Question).first().focus()
        await chat.pilot.press("e")
        await until(chat.pilot, lambda: chat.screen.composer.text == "first")
        assert "esc lets it be" in screen_text(chat.pilot)
        await chat.pilot.press("ctrl+end", *" again", "enter")
        await until(chat.pilot, lambda: chat.replies == ["Other one."] and not chat.screen.busy)
        assert chat.questions == ["first again"]
        await until(chat.pilot, lambda: chat.screen.composer.text == "half a thought")
        assert sent(server) == ["first again"]
        assert "esc lets it be" not in screen_text(chat.pilot)

        tree = await in_tree(chat)
        shown = [(row.node.text, row.depth, row.on_path) for row in tree.rows]
        assert shown == [("first", 1, False), ("second", 1, False), ("first again", 0, True)]
        await chat.pilot.press("enter")  # there already: nothing moves
        await at_home(chat)
        assert chat.questions == ["first again"]
        await in_tree(chat)
        await chat.pilot.press("up", "enter")
        await until(chat.pilot, lambda: chat.replies == ["One.", "Two."])
        await at_home(chat)
        chat.screen.pane.load(Prompt(""))
        await chat.send("third")
        await chat.answered(3)
        assert sent(server) == ["first", "One.", "second", "Two.", "third"]


async def test_esc_lets_the_question_be_and_what_was_typed_comes_back(
    home: Path, server: OllamaServer
) -> None:
    server.script("One.")
    async with chatting(home, server.url) as chat:
        await talked(chat, "first")
        await chat.type("a draft")
        chat.screen.action_command("/edit")
        await until(chat.pilot, lambda: chat.screen.composer.text == "first")
        await chat.type(" changed")
        # Nothing comes in between: neither a retry, nor a command, nor another session.
        chat.screen.action_command("/retry")
        await until(chat.pilot, lambda: any("being edited" in line for line in chat.remarks))
        chat.screen.load_prompt(Prompt("!ls"))
        await chat.pilot.press("enter")
        await until(chat.pilot, lambda: any("command can't stand" in line for line in chat.remarks))
        assert len(server.chats) == 1
        chat.screen.load_prompt(Prompt("first changed"))
        await chat.pilot.press("escape")
        await until(chat.pilot, lambda: chat.screen.composer.text == "a draft")
        assert chat.screen.turns.queue.editing is None
        chat.screen.pane.clear_draft()
        await chat.pilot.press("up", "up")
        await until(chat.pilot, lambda: chat.screen.composer.text == "first changed")


async def test_a_crash_while_a_question_is_edited_loses_neither_text(
    home: Path, server: OllamaServer
) -> None:
    server.script("One.")
    async with chatting(home, server.url) as chat:
        await talked(chat, "first")
        handle = chat.screen.conversation.handle
        await chat.type("a draft")
        chat.screen.action_command("/edit")
        await until(chat.pilot, lambda: chat.screen.composer.text == "first")
        await chat.type("!")
        await chat.screen.drafts.save()
        with closing(sqlite3.connect(paths_in(home).database)) as database:
            kept = database.execute("SELECT text, queue FROM drafts").fetchall()
        assert "first!" in str(kept) and "a draft" in str(kept)
    async with chatting(home, server.url, resume=handle) as chat:
        await chat.ready()
        await until(chat.pilot, lambda: chat.screen.composer.text == "first!")
        assert [prompt.text for prompt in chat.screen.turns.queue.held] == ["a draft"]


async def test_an_edited_question_that_could_not_be_asked_is_edited_further(
    home: Path, server: OllamaServer
) -> None:
    server.script("One.", "Other.")
    async with chatting(home, server.url) as chat:
        await talked(chat, "first")
        chat.screen.action_command("/edit")
        await until(chat.pilot, lambda: chat.screen.composer.text == "first")
        huge = "many words " * 40_000
        chat.screen.load_prompt(Prompt(huge))
        await chat.pilot.press("enter")
        await until(chat.pilot, lambda: chat.screen.composer.prompt == huge and not chat.screen.busy)
        assert chat.screen.turns.queue.editing is not None and not chat.screen.turns.queue.held
        assert chat.questions == ["first"]
        chat.screen.load_prompt(Prompt("shorter"))
        await chat.pilot.press("enter")
        await until(chat.pilot, lambda: chat.replies == ["Other."] and not chat.screen.busy)
        assert chat.questions == ["shorter"] and sent(server) == ["shorter"]


async def test_the_pictures_of_a_question_go_along(home: Path) -> None:
    seeing = ModelSpec("gemma3:4b", ("completion", "vision"), arch="gemma3")
    async with OllamaServer([seeing]) as server, chatting(home, server.url) as chat:
        server.script("One.")
        await chat.ready()
        data = io.BytesIO()
        Image.new("RGB", (8, 8)).save(data, "PNG")
        picture = await chat.screen.runtime.pictures.accept_bytes(data.getvalue(), "chart.png")
        chat.screen.load_prompt(Prompt("what is it?", (picture,)))
        await chat.pilot.press("enter")
        await chat.answered(1)
        chat.screen.action_command("/edit")
        await until(chat.pilot, lambda: chat.screen.pane.prompt == Prompt("what is it?", (picture,)))


async def test_a_fork_opens_and_what_was_left_stays(home: Path, server: OllamaServer) -> None:
    server.script("One.", "Two.", "In the fork.")
    async with chatting(home, server.url) as chat:
        await talked(chat, "first", "second")
        left = chat.screen.conversation.handle
        chat.screen.query("Reply").first().focus()
        await chat.pilot.press("f")
        await until(chat.pilot, lambda: chat.screen.conversation.handle != left)
        await until(chat.pilot, lambda: chat.questions == ["first"])
        await chat.send("third")
        await chat.answered(2)
        assert sent(server) == ["first", "One.", "third"]
        chat.screen.action_command('/fork "Another way"')
        await until(chat.pilot, lambda: chat.screen.conversation.title == "Another way")
        # A fork of a fork: the tree shows what it inherited.
        tree = await in_tree(chat)
        assert [row.node.inherited for row in tree.rows] == [True, True]
        await chat.pilot.press("escape")
        await at_home(chat)
        sessions = {info.handle: info for info in await chat.screen.runtime.library.page()}
        assert len(sessions) == 3 and sessions[left].turn_count == 2


def first_mark(chat: Chat) -> Mark | None:
    """Of the first question on screen, which there may be none of while it is drawn again."""
    return next((each.wanted for each in chat.screen.query(Question)), None)


async def test_an_exchange_is_left_out_kept_and_free_again(home: Path, server: OllamaServer) -> None:
    server.script("One.", "Two.", "Three.", "Four.")
    async with chatting(home, server.url) as chat:
        await talked(chat, "first", "second")
        question = chat.screen.query(Question).first()
        question.focus()
        await chat.pilot.press("minus")
        await until(chat.pilot, lambda: question.wanted is Mark.DROP)
        assert "left out of requests" in screen_text(chat.pilot)
        chat.screen.composer.focus()
        await chat.send("third")
        await chat.answered(3)
        assert sent(server) == ["second", "Two.", "third"]
        handle = chat.screen.conversation.handle
    async with chatting(home, server.url, resume=handle) as chat:
        await chat.ready()
        await until(chat.pilot, lambda: len(chat.replies) == 3)
        question = chat.screen.query(Question).first()
        assert question.wanted is Mark.DROP
        assert all(widget.has_class("-left-out") for widget in chat.screen.query("Reply").results()) is False
        assert chat.screen.query("Reply").first().has_class("-left-out")
        question.focus()
        await chat.pilot.press("minus")
        await until(chat.pilot, lambda: question.wanted is None)
        assert not chat.screen.query("Reply").first().has_class("-left-out")
        chat.screen.action_command("/undo")
        await until(
            chat.pilot, lambda: [each.wanted for each in chat.screen.query(Question)][:1] == [Mark.DROP]
        )
        await at_home(chat)
        chat.screen.action_command("/pin")
        await until(chat.pilot, lambda: chat.screen.query(Question).last().wanted is Mark.PIN)
        tree = await in_tree(chat)
        assert sum(row.node.status is not None for row in tree.rows) == 3


@pytest.mark.parametrize("line", ["/edit", "/fork", "/pin", "/drop"])
async def test_before_the_first_question_there_is_nothing(
    home: Path, server: OllamaServer, line: str
) -> None:
    async with chatting(home, server.url) as chat:
        await chat.ready()
        chat.screen.action_command(line)
        await until(
            chat.pilot, lambda: any("no question here" in t or "nothing to fork" in t for t in chat.remarks)
        )


async def test_the_tree_can_be_read_while_a_turn_runs_and_switching_asks_to_stop_it(
    home: Path, server: OllamaServer
) -> None:
    server.script("One.", Turn(say("Two"), gate("held"), say(".")))
    async with chatting(home, server.url) as chat:
        await talked(chat, "first")
        await chat.send("second")
        await until(chat.pilot, lambda: "Two" in chat.replies)
        tree = await in_tree(chat)
        assert [row.node.text for row in tree.rows] == ["first", "second"]
        await chat.pilot.press("home", "enter")
        await until(chat.pilot, lambda: type(chat.app.screen).__name__ == "StopTurnDialog")
        await until(chat.pilot, lambda: chat.app.screen.listening)
        await chat.pilot.press("escape")
        await at_home(chat)
        assert chat.screen.busy
        server.release("held")
        await until(chat.pilot, lambda: not chat.screen.busy)


async def test_the_picker_shows_branches_and_stands_forks_below_their_parent(
    home: Path, server: OllamaServer
) -> None:
    server.script("One.", "Other.", "Alone.")
    async with chatting(home, server.url, size=(120, 30)) as chat:
        await talked(chat, "parent")
        parent = chat.screen.conversation.handle
        chat.screen.action_command("/edit")
        await until(chat.pilot, lambda: chat.screen.turns.queue.editing is not None)
        await chat.pilot.press("enter")
        await until(chat.pilot, lambda: chat.replies == ["Other."] and not chat.screen.busy)
        chat.screen.action_command("/new")
        await until(chat.pilot, lambda: not chat.replies)
        await chat.send("alone")
        await chat.answered(1)
        await chat.screen.runtime.library.fork(parent, "child")
        await chat.pilot.press("ctrl+s")
        await until(chat.pilot, lambda: "2 branches: /tree shows them" in screen_text(chat.pilot))
        shown = [line for line in screen_text(chat.pilot).split("\n") if " turn" in line and "now" in line]
        titles = ["parent" in shown[0], "↳ child" in shown[1], "alone" in shown[2]]
        assert titles == [True] * 3 and "├2" in shown[0] and "├" not in shown[2]
        await chat.pilot.press("escape")


async def test_a_question_of_another_branch_is_asked_otherwise_behind_what_it_followed(
    home: Path, server: OllamaServer
) -> None:
    server.script("One.", "Two.", "Three.", "Beside.", "Third again.")
    async with chatting(home, server.url) as chat:
        await talked(chat, "first", "second", "third")
        chat.screen.query(Question)[0].focus()
        await chat.pilot.press("minus")
        await until(chat.pilot, lambda: chat.screen.query(Question)[0].wanted)
        chat.screen.query(Question)[1].focus()
        await chat.pilot.press("e")
        await until(chat.pilot, lambda: chat.screen.composer.text == "second")
        chat.screen.load_prompt(Prompt("beside"))
        await chat.pilot.press("enter")
        await until(chat.pilot, lambda: chat.replies == ["One.", "Beside."] and not chat.screen.busy)
        assert not chat.screen.query(Question)[0].wanted, "what was left out stays so on its branch alone"
        assert sent(server) == ["first", "One.", "beside"]
        tree = await in_tree(chat)
        place = [row.node.text for row in tree.rows].index("third")
        tree.row_list.highlighted = place
        await chat.pilot.press("e")
        await until(chat.pilot, lambda: chat.screen.composer.text == "third")
        await at_home(chat)
        assert chat.replies == ["One.", "Beside."], "the path stays on screen until it is asked"
        await chat.pilot.press("enter")
        await until(
            chat.pilot, lambda: chat.replies == ["One.", "Two.", "Third again."] and not chat.screen.busy
        )
        assert chat.questions == ["first", "second", "third"]
        assert sent(server) == ["first", "One.", "second", "Two.", "third"]
        assert not any(question.wanted for question in chat.screen.query(Question))


async def test_before_the_first_question_the_tree_leads_back(home: Path, server: OllamaServer) -> None:
    server.script("One.")
    async with chatting(home, server.url) as chat:
        await talked(chat, "first")
        chat.screen.action_command("/undo")
        await until(chat.pilot, lambda: not chat.replies and chat.screen.composer.text == "first")
        await at_home(chat)
        tree = await in_tree(chat)
        assert [(row.on_path, row.at_head, row.ends) for row in tree.rows] == [(False, False, True)]
        await chat.pilot.press("enter")
        await until(chat.pilot, lambda: chat.replies == ["One."])


async def test_a_session_that_is_only_read_shows_its_tree_and_can_be_forked(
    home: Path, server: OllamaServer
) -> None:
    other = Store.open(paths_in(home).database, program_version=VERSION)
    held = await talk(other, "asked elsewhere", root=str(home.parent / "api-server"))
    handle = held.info.handle
    async with chatting(home, server.url, resume=handle, model="llama3.2:3b") as chat:
        await listening(chat.pilot, HeldDialog)
        await chat.pilot.press("r")
        await until(chat.pilot, lambda: chat.questions == ["asked elsewhere"])
        turn = await held.begin(Opening("second one", held.info.head, "llama3.2:3b"))
        await held.settle(turn, settled("Done."))
        tree = await in_tree(chat)
        assert [(row.node.text, row.at_head) for row in tree.rows] == [
            ("asked elsewhere", False),
            ("second one", True),
        ]
        await chat.pilot.press("home", "enter")
        await until(chat.pilot, lambda: any("read-only" in line for line in chat.remarks))
        chat.screen.action_command("/edit")
        await until(chat.pilot, lambda: any("only read here" in line for line in chat.remarks))
        await in_tree(chat)
        await chat.pilot.press("home", "f")
        await until(chat.pilot, lambda: chat.screen.conversation.handle not in ("", handle))
        await until(chat.pilot, lambda: chat.questions == ["asked elsewhere"])
        assert not chat.screen.conversation.read_only
    await held.release()
    await other.close()


async def test_a_damaged_text_costs_the_tree_nothing_else(home: Path, server: OllamaServer) -> None:
    server.script("One.", "Two.")
    async with chatting(home, server.url) as chat:
        await talked(chat, "first", "second")
        with closing(sqlite3.connect(paths_in(home).database)) as database, database:
            for (name,) in database.execute(
                "SELECT name FROM sqlite_master WHERE type = 'trigger' AND tbl_name = 'entries'"
            ).fetchall():
                database.execute(f'DROP TRIGGER "{name}"')
            database.execute("UPDATE entries SET text = CAST(x'ff00ff' AS TEXT) WHERE text = 'first'")
        tree = await in_tree(chat)
        assert [row.node.status is not None for row in tree.rows] == [True, True]
        await until(chat.pilot, lambda: "second" in screen_text(chat.pilot))
        await chat.pilot.press("home", "e")
        await until(chat.pilot, lambda: any("no question that can be asked" in line for line in chat.remarks))
        assert chat.screen.turns.queue.editing is None
