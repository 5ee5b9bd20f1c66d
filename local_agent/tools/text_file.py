"""Reads text out of files that may be anything: what they are encoded in, or what else they are."""

from __future__ import annotations

import codecs
from typing import NamedTuple

HEAD = 64 * 1024
"""Bytes that a file is judged by."""

_MARKS = (
    (codecs.BOM_UTF8, "utf-8", "UTF-8 with a byte order mark"),
    (codecs.BOM_UTF32_LE, "utf-32-le", "UTF-32"),
    (codecs.BOM_UTF32_BE, "utf-32-be", "UTF-32"),
    (codecs.BOM_UTF16_LE, "utf-16-le", "UTF-16"),
    (codecs.BOM_UTF16_BE, "utf-16-be", "UTF-16"),
)
_KINDS = (
    (b"\x89PNG\r\n", "a PNG picture"),
    (b"\xff\xd8\xff", "a JPEG picture"),
    (b"GIF8", "a GIF picture"),
    (b"%PDF-", "a PDF document"),
    (b"PK\x03\x04", "a zip archive"),
    (b"\x1f\x8b", "gzip data"),
    (b"BZh", "bzip2 data"),
    (b"\xfd7zXZ\0", "xz data"),
    (b"(\xb5/\xfd", "zstd data"),
    (b"7z\xbc\xaf\x27\x1c", "a 7z archive"),
    (b"\x7fELF", "a program or library"),
    (b"MZ", "a Windows program"),
    (b"\xcf\xfa\xed\xfe", "a program or library"),
    (b"\xca\xfe\xba\xbe", "compiled code"),
    (b"\0asm", "WebAssembly"),
    (b"SQLite format 3\0", "an SQLite database"),
    (b"GGUF", "model weights"),
)
_CONTROLS = bytes(set(range(32)) - set(b"\t\n\r\f\b\x1b"))


class Encoding(NamedTuple):
    """How the bytes of a text are to be read."""

    codec: str
    mark: int = 0
    """Bytes of the byte order mark."""
    note: str = ""
    """What is to be said of it; empty for plain UTF-8."""


def encoding_of(head: bytes) -> Encoding | None:
    """The encoding that the first bytes of a file speak for; None when it is no text."""
    for mark, codec, note in _MARKS:
        if head.startswith(mark):
            return Encoding(codec, len(mark), note)
    if b"\0" in head:
        return _wide(head)
    try:
        codecs.getincrementaldecoder("utf-8")().decode(head)
        return None if _mostly_controls(head) else Encoding("utf-8")
    except UnicodeDecodeError:
        pass
    if kind_of(head) or _mostly_controls(head):
        return None
    return Encoding(_western(head), note="not UTF-8, read as Latin (a guess)")


def kind_of(head: bytes) -> str:
    """What a file without text is; empty when that is not known."""
    return next((kind for magic, kind in _KINDS if head.startswith(magic)), "")


class Decoder:
    """Text out of pieces of a file; bytes that don't belong to its encoding become U+FFFD."""

    def __init__(self, encoding: Encoding) -> None:
        self._skip = encoding.mark
        self._make = codecs.getincrementaldecoder(encoding.codec)
        self._decoder = self._make("strict")
        self.broken = False
        """Some bytes did not belong to the encoding."""

    def feed(self, data: bytes, final: bool = False) -> str:
        """The next piece."""
        data, self._skip = data[self._skip :], max(self._skip - len(data), 0)
        state = self._decoder.getstate()
        try:
            return self._decoder.decode(data, final)
        except UnicodeDecodeError:
            self.broken = True
            self._decoder = self._make("replace")
            self._decoder.setstate(state)
            return self._decoder.decode(data, final)


def _wide(head: bytes) -> Encoding | None:
    """UTF-16 without a mark: of text in western letters every second byte is zero."""
    pairs = len(head) // 2
    for codec, zeros, letters in (
        ("utf-16-le", head[1::2], head[0::2]),
        ("utf-16-be", head[0::2], head[1::2]),
    ):
        if pairs and zeros.count(0) > pairs * 0.9 and not letters.count(0) and not _mostly_controls(letters):
            return Encoding(codec, note="UTF-16 without a byte order mark (a guess)")
    return None


def _western(head: bytes) -> str:
    try:
        head.decode("cp1252")
        return "cp1252"
    except UnicodeDecodeError:
        return "latin-1"


def _mostly_controls(data: bytes) -> bool:
    return len(data) - len(data.translate(None, _CONTROLS)) > len(data) // 20
