"""What a question shows besides its words: pictures and what it mentions, now and after a resume."""

from __future__ import annotations

from pathlib import Path

from textual.content import Content

from local_agent.domain.attached import Attached
from local_agent.domain.pictures import Picture
from local_agent.tui.look.glyphs import ASCII, UNICODE
from local_agent.tui.widgets.question import Question, badge, mentions
from tests.support.ollama_server import OllamaServer
from tests.tui.chatting import chatting
from tests.tui.pilots import screen_text, until


async def test_what_a_question_mentions_is_sent_once_shown_kept_and_sent_again_as_it_was(
    home: Path, server: OllamaServer
) -> None:
    server.script("one", "two", "three")
    folder = home.parent / "api-server"
    folder.mkdir(parents=True)
    (folder / "notes.md").write_text("".join(f"note {number}\n" for number in range(1, 121)))
    (folder / ".env").write_text("KEY=1")
    shown = "notes.md 120 lines  ·  ⚠ .env not read: it looks like a secret"
    async with chatting(home, server.url, size=(100, 30)) as chat:
        await chat.ready()
        await chat.send("sum up @notes.md and @.env")
        await chat.answered(1)
        handle = chat.screen.conversation.handle
        assert shown in screen_text(chat.pilot)
        (folder / "notes.md").write_text("changed\n")
        await chat.send("/retry")
        await until(chat.pilot, lambda: chat.replies == ["two"] and not chat.screen.busy)
        assert shown in screen_text(chat.pilot)
    first, again = (request.body["messages"][-1]["content"] for request in server.chats)
    assert first == again and "note 120\n```" in first and "KEY" not in first
    assert first.endswith(".env was not read: it looks like a secret.\n\nsum up @notes.md and @.env")
    async with chatting(home, server.url, size=(100, 30), resume=handle) as chat:
        await chat.ready()
        await until(chat.pilot, lambda: shown in screen_text(chat.pilot))
        assert chat.questions == ["sum up @notes.md and @.env"]
        await chat.pilot.press("up")
        await until(chat.pilot, lambda: chat.screen.composer.text == "sum up @notes.md and @.env")
        await chat.pilot.press("ctrl+u")
        await chat.send("and now?")
        await chat.answered(2)
    assert server.chats[-1].body["messages"][:2] == server.chats[1].body["messages"][:2], "the prefix holds"


async def test_what_would_go_along_is_said_before_it_is_sent(home: Path, server: OllamaServer) -> None:
    folder = home.parent / "api-server"
    folder.mkdir(parents=True)
    (folder / "notes.md").write_text("word\n" * 400)
    (folder / "logo.png").write_bytes(b"\x89PNG\r\n\x1a\n\0")
    async with chatting(home, server.url, size=(100, 24)) as chat:
        await chat.ready()
        await chat.type("sum up @notes.md ")
        line = "adds about 555 tokens, 4% of the window: notes.md 400 lines"
        await until(chat.pilot, lambda: line in screen_text(chat.pilot))
        await chat.type("@logo.png ")
        refusal = "⚠ logo.png not read: it is a picture (attach it with /image)"
        await until(chat.pilot, lambda: refusal in screen_text(chat.pilot))
        await chat.pilot.press("ctrl+u")
        await until(chat.pilot, lambda: "adds" not in screen_text(chat.pilot))
        chat.screen.composer.load("a draft with @notes.md:3-4")
        await until(chat.pilot, lambda: "window: notes.md:3-4 lines 3-4 of 400" in screen_text(chat.pilot))


async def test_much_is_taken_in_lines_that_fit_the_window(home: Path, server: OllamaServer) -> None:
    server.script("ok")
    folder = home.parent / "api-server"
    folder.mkdir(parents=True)
    (folder / "big.log").write_text("".join(f"{number:05}\n" for number in range(100_000)))
    async with chatting(home, server.url, size=(100, 30)) as chat:
        await chat.ready()
        await chat.send("@big.log x")
        await chat.answered(1)
        window = chat.screen.conversation.window
        content = server.chats[0].body["messages"][-1]["content"]
        assert window * 0.8 < len(content) < window * 0.95, "a quarter of the window, at 3.6 bytes a token"
        assert " of 100,000" in screen_text(chat.pilot)


def test_badges_and_mentions_can_be_drawn_without_unicode_and_whatever_they_are_called() -> None:
    picture = Picture("ab" * 32, "a\u202e[/b]\x1b.png", "image/png", 120_000, 640, 480)
    assert badge(picture, UNICODE).plain == "▣ a[/b]␛.png  640x480  120 kB"
    about = [Attached("a[b].md", "2 lines", "x"), Attached("\x1b", "gone")]
    plain = mentions(about, ASCII).plain
    assert plain == "a[b].md 2 lines  -  ! ␛ not read: gone"
    assert badge(picture, ASCII).plain.startswith("[#] ")


def test_what_is_drawn_beside_the_words_is_not_copied() -> None:
    picture = Picture("ab" * 32, "a.png", "image/png", 120_000, 640, 480)
    question = Question("Look\nhere", pictures=[picture])
    rows = question.lines_for(40)
    assert "a.png" in rows[2].content.plain and rows[2].gutter == len(rows[2].content)
    assert isinstance(rows[2].content, Content)
