"""Paths as arguments of commands."""

from __future__ import annotations

import os
from pathlib import Path

from local_agent.tui.prompt.path_words import path_words
from tests.support.ollama_server import OllamaServer
from tests.tui.chatting import chatting
from tests.tui.pilots import screen_text, until


def test_one_folder_is_offered_at_a_time(tmp_path: Path, monkeypatch) -> None:  # type: ignore[no-untyped-def]  # pytest's
    monkeypatch.setenv("HOME", str(tmp_path))
    for name in (
        "shots/one.png",
        "shots/two.PNG",
        "shots/notes.md",
        "shots/.hidden.png",
        "more shots/x.gif",
        "a.png",
    ):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).touch()
    (tmp_path / "shots" / "loop.png").symlink_to("loop.png")
    endings = (".png", ".gif")
    assert path_words("", tmp_path, endings) == ["more shots/", "shots/", "a.png"]
    assert path_words("shots/", tmp_path, endings) == ["shots/loop.png", "shots/one.png", "shots/two.PNG"]
    assert path_words("shots/.", tmp_path, endings) == ["shots/.hidden.png"]
    assert path_words("~/Sh", tmp_path / "shots", endings) == ["~/shots/"]
    assert path_words("../a", tmp_path / "shots", endings) == ["../a.png"]
    assert path_words(f"{tmp_path}/shots/no", tmp_path) == [f"{tmp_path}/shots/notes.md"]
    assert (
        path_words("gone/", tmp_path)
        == path_words("nul\0/", tmp_path)
        == path_words("a.png/", tmp_path)
        == []
    )
    os.mkfifo(tmp_path / "pipe.png")
    assert "pipe.png" in path_words("pi", tmp_path, endings)


async def test_pictures_are_completed_behind_the_command(home: Path, server: OllamaServer) -> None:
    folder = home.parent / "api-server"
    (folder / "screen shots").mkdir(parents=True)
    (folder / "screen shots" / "login.png").touch()
    async with chatting(home, server.url) as chat:
        await chat.ready()
        composer = chat.screen.composer
        await chat.type("/image ")
        await until(chat.pilot, lambda: "screen shots/" in screen_text(chat.pilot))
        await chat.type("sc")
        await chat.pilot.press("tab")
        await until(chat.pilot, lambda: "login.png" in screen_text(chat.pilot))
        await chat.pilot.press("tab")
        assert composer.text == '/image "screen shots/login.png"'
        await chat.pilot.press("ctrl+u")
        await chat.type("/image cl")
        await until(chat.pilot, lambda: "clear" in screen_text(chat.pilot))
        await chat.pilot.press("ctrl+u")
