"""Reads what a prompt mentions, within bounds, and says of everything else in a few words why not."""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Sequence
from pathlib import Path, PurePath
from typing import NamedTuple

from local_agent.config.secrets import is_secret
from local_agent.domain.attached import Attached
from local_agent.domain.sizes import size_words
from local_agent.domain.text import REPLACEMENT, decode, normalise
from local_agent.workspace.ignore import VERSION_CONTROL, hidden_from_models
from local_agent.workspace.mentions import Mention, find_mentions
from local_agent.workspace.walk import walk

MOST_EXAMINED = 200
"""Mentions beyond these are plain text: a pasted file may hold thousands of at signs."""
MOST_READ = 20
MOST_BYTES = 1024 * 1024
SCANNED_BYTES = 8 * 1024 * 1024
"""How far into a file lines are counted."""
LISTED = 400
LISTING_BYTES = 4_096
LISTING_SECONDS = 1.0
_HEAD = 8_192
_PICTURE = re.compile(rb"\x89PNG\r\n|\xff\xd8\xff|GIF8|RIFF....WEBP", re.DOTALL)


class _Source(NamedTuple):
    """What is to be read."""

    mention: Mention
    real: Path
    """Without links."""
    folder: bool
    size: int


class _Unread(Exception):
    """Why something is not read; nothing at all when what was written is no mention."""


def read_mentions(root: Path, text: str, most_bytes: int) -> list[Attached]:
    """What ``text`` mentions in the folder ``root``, in the order of the text.

    All of it together has at most ``most_bytes``; what is small is read whole before what is large gets
    an equal share of the rest. Nothing outside the folder is read. Blocks on the disk, never on a pipe.
    """
    sources: dict[int, _Source] = {}
    attached: dict[int, Attached] = {}
    for number, mention in enumerate(find_mentions(normalise(text))[:MOST_EXAMINED]):
        try:
            source = _source(root, mention)
            if len(sources) == MOST_READ:
                raise _Unread(f"more than {MOST_READ} files are mentioned")
            sources[number] = source
        except _Unread as reason:
            if str(reason):
                attached[number] = Attached(mention.label, str(reason))
    left = min(most_bytes, MOST_BYTES)
    smallest_first = sorted(sources, key=lambda number: sources[number].size)
    for place, number in enumerate(smallest_first):
        part = _read(root, sources[number], left // (len(smallest_first) - place))
        attached[number] = part
        left -= len((part.text or "").encode())
    return [attached[number] for number in sorted(attached)]


def _source(root: Path, mention: Mention) -> _Source:
    home = root.resolve()
    try:
        real = (home / os.path.expanduser(mention.path)).resolve(strict=True)
        status = real.stat()
    except (FileNotFoundError, NotADirectoryError):
        raise _Unread("there is no such file" if _looks_meant(root, mention) else "") from None
    except (OSError, RuntimeError, ValueError):  # a loop of links, a name that is too long, a NUL
        raise _Unread("it can't be opened" if mention.quoted else "") from None
    if not real.is_relative_to(home):
        raise _Unread("it lies outside the folder")
    inside = real.relative_to(home)
    folder = stat.S_ISDIR(status.st_mode)
    if reason := _kept_back(home, inside, mention.path, folder):
        raise _Unread(reason)
    if not folder and not stat.S_ISREG(status.st_mode):
        raise _Unread("it is no regular file")
    return _Source(mention, real, folder, LISTING_BYTES if folder else status.st_size)


def _kept_back(root: Path, inside: Path, written: str, folder: bool) -> str:
    names = (*inside.parts, Path(written).name)
    if not VERSION_CONTROL.isdisjoint(names):
        return "it belongs to version control"
    # The name that was written counts as well: a secret may be a link to a harmless name.
    if is_secret(root / inside) or is_secret(PurePath(written)):
        return "it looks like a secret"
    path = inside.as_posix()
    if path != "." and hidden_from_models(root, path, folder):
        return "an .agentignore keeps it from models"
    return ""


def _looks_meant(root: Path, mention: Mention) -> bool:
    """Whether a path that leads nowhere was meant as one, and isn't a decorator, a package or a person.

    It was when it is quoted, when it begins with a folder of this one, or when its ending is one that
    files beside it have.
    """
    if mention.quoted:
        return True
    first, slash, _ = mention.path.removeprefix("./").partition("/")
    try:
        if slash:
            return (root / first).is_dir()
        ending = Path(first).suffix
        return len(ending) > 1 and any(Path(name).suffix == ending for name in os.listdir(root))
    except (OSError, ValueError):
        return False


def _read(root: Path, source: _Source, most: int) -> Attached:
    label = source.mention.label
    try:
        if source.folder:
            return _listing(root, source, most)
        data = _data(source.real)
        return _part(source.mention, data, source.size, most)
    except _Unread as reason:
        return Attached(label, str(reason))
    except OSError as error:
        return Attached(label, f"it can't be read ({error.strerror or 'an error of the disk'})")


def _data(path: Path) -> bytes:
    # What is a pipe by now is opened without waiting for its other end, and found out.
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC)
    with open(descriptor, "rb") as file:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise _Unread("it is no regular file")
        data = file.read(SCANNED_BYTES + 1)
    head = data[:_HEAD]
    if _PICTURE.match(head):
        raise _Unread("it is a picture (attach it with /image)")
    if b"\0" in head or decode(head).count(REPLACEMENT) > len(head) // 8 + 1:
        raise _Unread("it is no text")
    if b"PRIVATE KEY-----" in head:
        raise _Unread("it looks like a secret")
    return data.removeprefix(b"\xef\xbb\xbf")


def _part(mention: Mention, data: bytes, size: int, most: int) -> Attached:
    """The lines that are meant, as many as fit."""
    whole = len(data) <= SCANNED_BYTES
    total = data.count(b"\n") + (not data.endswith(b"\n"))
    if not data:
        return Attached(mention.label, "empty", "")
    first, last = max(mention.first, 1), mention.last or total
    if first > total:
        raise _Unread(f"it has only {_lines(total)}" if whole else "those lines lie too far into it")
    if last < first:
        raise _Unread("its last line comes before its first")
    rest = data[_line_start(data, first) :]
    # No more lines than bytes can fit.
    wanted = rest.split(b"\n", most + 1)[: min(last, total) - first + 1]
    fitting = _fitting(wanted, most)
    of = f"{total:,}" if whole else size_words(size)
    if not fitting:
        where = f"line {first:,}, " if mention.first else ""
        all_of_it = len(wanted[0]) if mention.first else size
        text = _text(wanted[0][:most]).rstrip(REPLACEMENT)
        return Attached(mention.label, f"{where}first {size_words(most)} of {size_words(all_of_it)}", text)
    if fitting == total and whole:
        note = _lines(total)
    elif fitting == 1:
        note = f"line {first:,} of {of}"
    else:
        note = f"lines {first:,}-{first + fitting - 1:,} of {of}"
    return Attached(mention.label, note, _text(b"\n".join(wanted[:fitting])))


def _line_start(data: bytes, number: int) -> int:
    """Where a line begins; lines count from 1."""
    place = 0
    for _ in range(number - 1):
        place = data.index(b"\n", place) + 1
    return place


def _fitting(lines: Sequence[bytes], most: int) -> int:
    """How many lines have at most so many bytes together."""
    for number, line in enumerate(lines):
        most -= len(line) + 1
        if most < -1:
            return number
    return len(lines)


def _lines(count: int) -> str:
    return "1 line" if count == 1 else f"{count:,} lines"


def _text(data: bytes) -> str:
    return decode(data).replace("\r\n", "\n").removesuffix("\r").replace("\0", REPLACEMENT)


def _listing(root: Path, source: _Source, most: int) -> Attached:
    inside = source.real.relative_to(root.resolve()).as_posix()
    below = "" if inside == "." else f"{inside}/"
    found = walk(root.resolve(), most=LISTED, seconds=LISTING_SECONDS, below=below)
    names = sorted(_shown(path.removeprefix(below)) for path in found.paths)
    fitting = _fitting([name.encode() for name in names], min(most, LISTING_BYTES))
    if not names:
        return Attached(source.mention.label, "an empty folder", "")
    whole = found.whole and fitting == len(names)
    note = f"{'' if whole else 'first '}{fitting:,} name{'s' * (fitting != 1)}"
    return Attached(source.mention.label, f"folder, {note}", "\n".join(names[:fitting]))


def _shown(path: str) -> str:
    return normalise(path.replace("\n", REPLACEMENT))
