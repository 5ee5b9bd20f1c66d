"""Pictures that go along with a question: what is known of them, never their bytes."""

from __future__ import annotations

from dataclasses import dataclass

from local_agent.domain.sizes import size_words
from local_agent.domain.text import one_line

NAME_LENGTH = 200
"""Characters of a picture's name."""
PROMPT_PICTURES = 4
CONVERSATION_PICTURES = 12
CONVERSATION_BYTES = 40 * 1024 * 1024
"""Of all pictures that a request carries."""


@dataclass(frozen=True, slots=True)
class Picture:
    """One stored picture."""

    sha256: str
    """Lower-case hexadecimal digest of the stored bytes; their name in the object store."""
    name: str
    """What a person calls it: one clean line, never a path."""
    mime: str
    """Of the stored bytes: ``image/png``, ``image/jpeg`` or ``image/webp``."""
    size: int
    """Bytes."""
    width: int
    """Pixels, as it is seen."""
    height: int


def named(name: str) -> str:
    """A picture's name as it is kept and shown: the last part of a path, on one clean line."""
    last = name.replace("\\", "/").rstrip("/").rpartition("/")[2]
    return one_line(last, NAME_LENGTH) or "picture"


def caption(picture: Picture) -> str:
    """A picture in words, such as ``cat.png 640x480 120 kB``."""
    return f"{picture.name} {picture.width}x{picture.height} {size_words(picture.size)}"
