"""The header of a GGUF file: what a model says of itself, read without loading it."""

from __future__ import annotations

import hashlib
import mmap
import struct
from collections.abc import Mapping
from dataclasses import dataclass
from math import prod
from pathlib import Path

from local_agent.domain.errors import ModelError, ModelErrorKind
from local_agent.domain.models import Location, ModelInfo

_SCALARS = {
    0: struct.Struct("<B"),
    1: struct.Struct("<b"),
    2: struct.Struct("<H"),
    3: struct.Struct("<h"),
    4: struct.Struct("<I"),
    5: struct.Struct("<i"),
    6: struct.Struct("<f"),
    7: struct.Struct("<?"),
    10: struct.Struct("<Q"),
    11: struct.Struct("<q"),
    12: struct.Struct("<d"),
}
_STRING, _ARRAY = 8, 9
_U32, _U64 = _SCALARS[4], _SCALARS[10]
_MAX_DIMENSIONS = 4
# Some ten times the largest vocabulary: a damaged count must not keep us reading for minutes.
_MAX_COUNT = 1 << 23

# Values of `general.file_type`, as llama.cpp numbers them; what is missing here is no longer made.
_FILE_TYPES = {
    0: "F32", 1: "F16", 2: "Q4_0", 3: "Q4_1", 7: "Q8_0", 8: "Q5_0", 9: "Q5_1", 10: "Q2_K", 11: "Q3_K_S",
    12: "Q3_K_M", 13: "Q3_K_L", 14: "Q4_K_S", 15: "Q4_K_M", 16: "Q5_K_S", 17: "Q5_K_M", 18: "Q6_K",
    19: "IQ2_XXS", 20: "IQ2_XS", 21: "Q2_K_S", 22: "IQ3_XS", 23: "IQ3_XXS", 24: "IQ1_S", 25: "IQ4_NL",
    26: "IQ3_S", 27: "IQ3_M", 28: "IQ2_S", 29: "IQ2_M", 30: "IQ4_XS", 31: "IQ1_M", 32: "BF16",
    36: "TQ1_0", 37: "TQ2_0", 38: "MXFP4",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Header:
    """Metadata of one file; of an array only its length is kept."""

    metadata: Mapping[str, object]
    parameters: int
    """Number of weights."""
    size: int
    """Bytes of the whole file."""
    digest: str
    """SHA-256 of the header and the size. Hashing gigabytes of weights would cost minutes."""

    def text(self, key: str) -> str:
        """A metadata string, or nothing."""
        value = self.metadata.get(key)
        return value if isinstance(value, str) else ""

    def number(self, key: str) -> int | None:
        """A metadata integer, or None."""
        value = self.metadata.get(key)
        return value if isinstance(value, int) else None


class _Malformed(ValueError):
    """The bytes do not follow the format."""


def read_header(path: Path) -> Header:
    """Read the header; raises ``ModelError`` for a file that is missing, unreadable, cut short or no GGUF."""
    try:
        with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
            return _Reader(data).header()
    except FileNotFoundError as error:
        raise ModelError(
            ModelErrorKind.NO_MODEL, f"There is no model file {path}.", "Give the path of a GGUF file."
        ) from error
    except OSError as error:
        reason = error.strerror or str(error)
        raise ModelError(
            ModelErrorKind.NO_MODEL, f"The model file {path} can't be read: {reason}.", raw=str(error)
        ) from error
    except (ValueError, struct.error) as error:
        raise ModelError(
            ModelErrorKind.NO_MODEL,
            f"{path} is not a GGUF file, or it is damaged ({error}).",
            "Download it again, or give another file.",
            raw=str(error),
        ) from error


def describe(path: Path) -> ModelInfo:
    """What the header tells of the model; the name is that of the file, since it tells variants apart."""
    header = read_header(path)
    architecture = header.text("general.architecture")
    return ModelInfo(
        name=path.stem,
        digest=header.digest,
        size=header.size,
        parameters=_short_count(header.parameters),
        quantization=_FILE_TYPES.get(header.number("general.file_type") or 0, ""),
        family=architecture,
        trained_window=header.number(f"{architecture}.context_length"),
        capabilities=_capabilities(header, architecture),
        location=Location.LOCAL,
    )


def _capabilities(header: Header, architecture: str) -> frozenset[str]:
    if f"{architecture}.pooling_type" in header.metadata:
        return frozenset({"embedding"})
    template = header.text("tokenizer.chat_template")
    found = {"completion"}
    if "tools" in template:
        found.add("tools")
    if "think" in template or "reasoning" in template:
        found.add("thinking")
    return frozenset(found)


def _short_count(count: int) -> str:
    if count >= 10**9:
        return f"{count / 10**9:.1f}B"
    return f"{round(count / 10**6)}M"


class _Reader:
    """Walks the header once; every length is checked against the file before it is used."""

    def __init__(self, data: mmap.mmap) -> None:
        self._data = data
        self._at = 0

    def header(self) -> Header:
        if self._data[:4] != b"GGUF":
            raise _Malformed("it doesn't begin with GGUF")
        self._at = 4
        version = self._number(_U32)
        if version not in (2, 3):
            raise _Malformed(f"format version {version} is unknown")
        tensors, pairs = self._count(), self._count()
        metadata: dict[str, object] = {}
        for _ in range(pairs):
            key = self._string()
            metadata[key] = self._value(self._number(_U32))
        parameters, last_offset = self._weights(tensors)
        if self._at + last_offset >= len(self._data):
            raise _Malformed("it ends before its weights do")
        digest = hashlib.sha256(self._data[: self._at])
        digest.update(str(len(self._data)).encode())
        return Header(metadata, parameters, len(self._data), digest.hexdigest())

    def _weights(self, tensors: int) -> tuple[int, int]:
        """The number of weights, and where the last tensor begins in the data behind the header."""
        parameters = last_offset = 0
        for _ in range(tensors):
            self._skip(self._number(_U64))
            dimensions = self._number(_U32)
            if dimensions > _MAX_DIMENSIONS:
                raise _Malformed(f"a tensor has {dimensions} dimensions")
            parameters += prod(self._number(_U64) for _ in range(dimensions))
            self._skip(_U32.size)
            last_offset = max(last_offset, self._number(_U64))
        return parameters, last_offset

    def _value(self, kind: int) -> object:
        if kind == _STRING:
            return self._string()
        if kind == _ARRAY:
            return self._array()
        scalar = _SCALARS.get(kind)
        if scalar is None:
            raise _Malformed(f"value type {kind} is unknown")
        (value,) = scalar.unpack_from(self._data, self._at)
        self._at += scalar.size
        return value

    def _array(self) -> int:
        """Skip an array and give its length: vocabularies hold hundreds of thousands of strings."""
        kind, count = self._number(_U32), self._count()
        if kind in _SCALARS:
            self._skip(_SCALARS[kind].size * count)
        elif kind == _STRING:
            for _ in range(count):
                self._skip(self._number(_U64))
        else:
            raise _Malformed(f"an array holds values of type {kind}")
        return count

    def _string(self) -> str:
        start = self._at + _U64.size
        self._skip(self._number(_U64))
        return self._data[start : self._at].decode("utf-8", "replace")

    def _count(self) -> int:
        count = self._number(_U64)
        if count > _MAX_COUNT:
            raise _Malformed(f"it claims {count} items")
        return count

    def _number(self, form: struct.Struct) -> int:
        (value,) = form.unpack_from(self._data, self._at)
        self._at += form.size
        return int(value)

    def _skip(self, size: int) -> None:
        self._at += size
        if self._at > len(self._data):
            raise _Malformed("it ends in the middle of its header")
