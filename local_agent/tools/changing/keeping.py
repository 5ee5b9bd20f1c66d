"""Puts what a path holds into the object store before it is changed, so that it can be put back.

A content lies there under the digest that ``disk.state_of`` gives: of a file its bytes, of a link where it
leads. A folder, and a path where nothing is, need none. What looks like a secret is never kept.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable

from local_agent.domain.errors import LocalAgentError
from local_agent.domain.sizes import size_words
from local_agent.domain.text import one_line
from local_agent.domain.tools import FOLDER
from local_agent.objects.store import LIMIT, ObjectMissing, Objects
from local_agent.tools.changing.disk import link_content, read_all
from local_agent.tools.folder import Folder, Located

NOT_WANTED = "no contents are kept"
"""By the person's own setting."""


class _NotKept(Exception):
    """``str()`` says why, in a few words."""


def kept(outputs: Objects, digest: str) -> bool:
    """Whether a content can be written again, as far as its name says; what is in it is not read."""
    if digest in ("", FOLDER):
        return True
    try:
        return outputs.has(digest)
    except ObjectMissing:
        return False


def unkept(folder: Folder, located: Located, state: str, *, durable: bool = True) -> str:
    """Keep what a path holds; why it can't be kept, in a few words, as when it holds something else than
    ``state``; empty when it is kept.

    Blocks on the disk. What is not ``durable`` has to be settled before the path is changed.
    """
    if state in ("", FOLDER):
        return ""
    try:
        _require_leave(folder, located)
        if _put(folder, _content(folder, located), durable) != state:
            return "it changed meanwhile"
    except _NotKept as reason:
        return str(reason)
    return ""


def unkept_data(folder: Folder, located: Located, data: bytes, *, durable: bool = True) -> str:
    """The same for a content of that path which is at hand."""
    try:
        _require_leave(folder, located)
        _put(folder, data, durable)
    except _NotKept as reason:
        return str(reason)
    return ""


def settled(folder: Folder, digests: Iterable[str]) -> str:
    """Have kept contents survive a power cut; why that can't be, in a few words."""
    try:
        folder.outputs.settle(digests)
    except LocalAgentError as error:
        return _words(error)
    return ""


def with_loss(summary: str, reasons: Iterable[str]) -> str:
    """A card's summary that says what can't be undone; what the person has chosen is not repeated there."""
    said = list(dict.fromkeys(reason for reason in reasons if reason not in ("", NOT_WANTED)))
    if not said:
        return summary
    others = f" (and for {len(said) - 1} other reasons)" if len(said) > 1 else ""
    return f"{summary}; can't be undone: {said[0]}{others}"


def _require_leave(folder: Folder, located: Located) -> None:
    if not folder.keeps_contents:
        raise _NotKept(NOT_WANTED)
    if reason := folder.kept_back(located):
        raise _NotKept(reason)


def _put(folder: Folder, data: bytes, durable: bool) -> str:
    if len(data) > LIMIT:
        raise _too_large()
    try:
        return folder.outputs.put(data, durable=durable)
    except LocalAgentError as error:
        raise _NotKept(_words(error)) from error


def _content(folder: Folder, located: Located) -> bytes:
    """At most one byte more than can be kept, of a file that grows meanwhile."""
    try:
        with folder.parent_of(located) as (parent, name):
            if stat.S_ISLNK(os.stat(name, dir_fd=parent, follow_symlinks=False).st_mode):
                return link_content(parent, name)
        descriptor = folder.open_beneath(located)
        try:
            seen = os.fstat(descriptor)
            if not stat.S_ISREG(seen.st_mode):
                raise _NotKept("it is no file")
            if seen.st_size > LIMIT:
                raise _too_large()
            return read_all(descriptor, LIMIT + 1)
        finally:
            os.close(descriptor)
    except OSError as error:
        raise _NotKept(f"it can't be read ({error.strerror or type(error).__name__})") from error


def _too_large() -> _NotKept:
    return _NotKept(f"it is larger than {size_words(LIMIT)}")


def _words(error: LocalAgentError) -> str:
    """Short, for a card; where the objects lie is of no help there."""
    cause = error.__cause__
    if isinstance(cause, OSError) and cause.strerror:
        return f"it can't be kept ({cause.strerror})"
    return one_line(error.line.rstrip("."), 160)
