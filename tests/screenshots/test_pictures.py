"""The committed pictures are the ones that are made, and show nothing of the machine that made them."""

from __future__ import annotations

from pathlib import Path

from tests.screenshots.make import FOLDER, pictures


def test_every_picture_is_there_and_no_other() -> None:
    made = {name for name, _, _, _ in pictures([])}
    assert made == {path.stem for path in FOLDER.iterdir()}


def test_no_picture_shows_where_it_was_made() -> None:
    for path in FOLDER.iterdir():
        text = path.read_text(encoding="utf-8")
        assert "api-server" in text
        assert not [word for word in (str(Path.home()), "/tmp/", "/var/") if word in text]
