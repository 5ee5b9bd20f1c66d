"""A session as one file: what lies in it, how its parts are named, and how large they may be.

A bundle is a zip file of a manifest, of rows as JSON lines, and of pictures and contents of files. Rows
have no ids: a reference is the place of a row in its table, from 1 on, so that a session makes the same bytes
wherever it is stored.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from local_agent.domain.ledger import canonical

_PROGRAM = "local-agent"
FORMAT = f"{_PROGRAM} session"
FORMAT_VERSION = 1
MANIFEST = "manifest.json"
PICTURES = "pictures"
CONTENTS = "contents"
"""Of files before and after a change, and outputs of calls."""

MOST_MEMBERS = 50_000
MANIFEST_BYTES = 16 * 1024 * 1024
ROW_BYTES = 512 * 1024 * 1024
"""Of all rows together."""
TOTAL_BYTES = 4 * 1024 * 1024 * 1024
RATIO = 100
LOOSE_BYTES = 1024 * 1024
"""What is larger than this may have become ``RATIO`` times smaller by being packed, not more."""

Row = dict[str, Any]
Rows = Mapping[str, list[Row]]
"""By table."""

_NAME = re.compile(r"manifest\.json|rows/[a-z_]{1,40}\.jsonl|(?:pictures|contents)/[0-9a-f]{64}", re.ASCII)
_DIGEST = re.compile(r"(?<![0-9a-f])[0-9a-f]{64}(?![0-9a-f])", re.ASCII)
_SCHEMA = re.compile(r"\d{4}", re.ASCII)


class NoBundle(Exception):
    """Why a file is no bundle that can be imported; follows its name, as in ``is no zip file``."""


class NewerBundle(NoBundle):
    """It was made by a program that is newer than this one."""


@dataclass(frozen=True, slots=True)
class Member:
    """One part of a bundle. ``size`` is bytes."""

    sha256: str
    size: int


@dataclass(frozen=True, slots=True)
class Manifest:
    """What a bundle says of itself; ``members`` are all but the manifest."""

    program_version: str
    schema: str
    """The newest revision of the tables that its rows are of, four digits."""
    members: Mapping[str, Member]

    @property
    def data(self) -> bytes:
        """As it is stored; ``read_manifest`` reads it."""
        members = {name: {"sha256": each.sha256, "size": each.size} for name, each in self.members.items()}
        value = {
            "format": FORMAT,
            "format_version": FORMAT_VERSION,
            "program_version": self.program_version,
            "schema": self.schema,
            "members": members,
        }
        return canonical(value).encode()


@dataclass(frozen=True, slots=True)
class SettledRows:
    """What is stored of a session. ``left_out``: what is not over, such as a turn, is not among it."""

    rows: Rows
    schema: str
    left_out: bool


@dataclass(frozen=True, slots=True)
class Bundled:
    """What was put into a file. ``lost`` pictures are named in it, and were gone before."""

    entries: int
    pictures: int
    contents: int
    lost: int
    left_out: bool


def read_manifest(data: bytes, schema: str) -> Manifest:
    """The manifest of a bundle for a program whose newest revision is ``schema``. Raises ``NoBundle``."""
    try:
        found = json.loads(data)
    except (ValueError, RecursionError) as error:
        raise NoBundle("has a manifest that can't be read") from error
    if not isinstance(found, dict) or found.get("format") != FORMAT:
        raise NoBundle("is no bundle of a session")
    version = found.get("format_version")
    if type(version) is int and version > FORMAT_VERSION:
        raise NewerBundle(f"has format {version}, and this program reads {FORMAT_VERSION}")
    match found:
        case {"program_version": str(program), "schema": str(revision), "members": dict(listed)}:
            manifest = Manifest(program, revision, dict(_members(listed)))
        case _:
            raise NoBundle("has a manifest of another form")
    if manifest.data != data or not _SCHEMA.fullmatch(revision):
        raise NoBundle("has a manifest of another form")
    if revision > schema:
        raise NewerBundle(f"has tables of revision {revision}, and this program knows {schema}")
    return manifest


def require_name(name: str) -> None:
    """Raise ``NoBundle`` for a name that no part of a bundle has."""
    if not _NAME.fullmatch(name):
        raise NoBundle("has a part with a name that no bundle has")


def rows_name(table: str) -> str:
    """The part that holds the rows of a table."""
    return f"rows/{table}.jsonl"


def to_lines(rows: Iterable[Row]) -> bytes:
    """Rows as JSON lines; a lone surrogate keeps its own three bytes."""
    return "".join(f"{_line(row)}\n" for row in rows).encode("utf-8", "surrogatepass")


def from_lines(data: bytes) -> list[Row]:
    """The inverse. Raises ``NoBundle`` for lines that ``to_lines`` can't have written."""
    try:
        rows = [json.loads(line) for line in data.decode("utf-8", "surrogatepass").split("\n")[:-1]]
        written = all(isinstance(row, dict) for row in rows) and to_lines(rows) == data
    except (ValueError, RecursionError) as error:
        raise NoBundle("has rows that can't be read") from error
    if not written:
        raise NoBundle("has rows that this program can't have written")
    return rows


def pictures_of(rows: Rows) -> set[str]:
    """Digests of the pictures that rows name."""
    unsent = " ".join(f"{row['pictures']} {row['queue']}" for row in rows["drafts"])
    return {row["sha256"] for row in rows["attachments"]} | set(_DIGEST.findall(unsent))


def contents_of(rows: Rows) -> set[str]:
    """Digests that rows name of what may be kept of files and outputs."""
    named = {row[name] for row in rows["file_changes"] for name in ("before_digest", "after_digest")}
    said = {digest for row in rows["execution_events"] for digest in _DIGEST.findall(row["detail"])}
    return {name for name in named if _DIGEST.fullmatch(name)} | said


def _members(listed: Mapping[str, object]) -> Iterator[tuple[str, Member]]:
    for name, value in listed.items():
        require_name(name)
        match value:
            case {"sha256": str(digest), "size": int(size)} if _DIGEST.fullmatch(digest) and size >= 0:
                yield name, Member(digest, size)
            case _:
                raise NoBundle("has a manifest of another form")


def _line(row: Row) -> str:
    return json.dumps(row, ensure_ascii=False, allow_nan=False, sort_keys=True, separators=(",", ":"))
