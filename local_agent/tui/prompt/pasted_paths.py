"""Whether a pasted text names pictures: what a terminal pastes for files that are dropped on it."""

from __future__ import annotations

import re
import shlex
from contextlib import suppress
from pathlib import Path
from urllib.parse import unquote, urlsplit

PICTURE_ENDINGS = (".png", ".jpg", ".jpeg", ".jpe", ".jfif", ".gif", ".webp")
_LONGEST = 4_000
_MOST = 20
_ROOTED = re.compile(r"(?:~?/|\./|\.\./|file://)")


def picture_paths(text: str, folder: Path) -> list[list[Path]]:
    """How ``text`` may be read as nothing but paths of pictures, the likeliest first.

    Quoted, escaped, ``file://`` addresses, one or several; a single path may hold bare spaces. Which of
    them are there is for the caller to find out.
    """
    text = text.strip()
    if not text or len(text) > _LONGEST or not text.lower().rstrip("'\"").endswith(PICTURE_ENDINGS):
        return []
    readings = [lines := [line.strip() for line in text.splitlines() if line.strip()]]
    with suppress(ValueError):  # an apostrophe in a bare path is no open quote
        readings.append([word for line in lines for word in shlex.split(line)])
    found = [[_path(word, folder) for word in words] for words in readings if _all_named(words)]
    return [paths for place, paths in enumerate(found) if paths not in found[:place]]


def path_of(word: str, folder: Path) -> Path:
    """What a person means by one word: ``~``, ``file://`` and a path within ``folder`` are understood."""
    return _path(word, folder)


def _all_named(words: list[str]) -> bool:
    return 0 < len(words) <= _MOST and all(
        _ROOTED.match(word) and word.lower().endswith(PICTURE_ENDINGS) for word in words
    )


def _path(word: str, folder: Path) -> Path:
    if word.startswith("file://"):
        word = unquote(urlsplit(word).path)
    try:
        return folder / Path(word).expanduser()
    except RuntimeError:
        return folder / word
