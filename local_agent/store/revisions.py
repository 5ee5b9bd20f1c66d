"""The migrations that this program ships, and what a database records of those it was built by."""

from __future__ import annotations

import hashlib
import sqlite3
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from local_agent.domain.errors import Damaged, StoreError
from local_agent.store.copies import way_back
from local_agent.store.examine import CHECK_IT

_APPLIED = """
    SELECT revision, file_name, digest, program_version, version_num
    FROM (SELECT max(version_num) AS version_num FROM alembic_version) LEFT JOIN schema_migrations
    ORDER BY revision
"""

_PACKAGE = Path(__file__).resolve().parent.parent


@dataclass(frozen=True, slots=True)
class Revision:
    """One file of ``versions/``; ``digest`` is the SHA-256 of its exact bytes."""

    revision: str
    file_name: str
    digest: str


@dataclass(frozen=True, slots=True)
class Applied:
    """A row of ``schema_migrations``."""

    revision: str
    file_name: str
    digest: str
    program_version: str


def migrations_folder() -> Path:
    """Inside the package when it was installed from a wheel, beside it in a source tree."""
    for folder in (_PACKAGE / "_migrations", _PACKAGE.parent / "migrations"):
        if (folder / "versions").is_dir():
            return folder
    raise StoreError("The installation has no migrations.", "Install local-agent again.")


def shipped(folder: Path) -> list[Revision]:
    """All revisions, oldest first."""
    files = sorted((folder / "versions").glob("[0-9]*.py"))
    return [
        Revision(file.name.partition("_")[0], file.name, hashlib.sha256(file.read_bytes()).hexdigest())
        for file in files
    ]


def schema_number(revisions: Sequence[Revision]) -> int:
    """What ``user_version`` is once all of them are applied."""
    return int(revisions[-1].revision)


def newest_schema(folder: Path | None = None) -> int:
    """What ``user_version`` is in a database of this program."""
    return schema_number(shipped(folder or migrations_folder()))


def pending(
    database: sqlite3.Connection, path: Path, backups: Path, revisions: Sequence[Revision]
) -> list[Revision]:
    """The revisions still to apply; ``StoreError`` for a database that this program may not write."""
    try:
        rows = database.execute(_APPLIED).fetchall()
    except sqlite3.OperationalError as error:
        if error.sqlite_errorcode != sqlite3.SQLITE_ERROR:
            raise
        raise StoreError(f"{path} has lost tables.", way_back(backups), str(error)) from error
    applied = [Applied(*row[:4]) for row in rows if row[0] is not None]
    stamp = rows[0][4]
    ours = {revision.revision: revision for revision in revisions}
    for row in applied:
        revision = ours.get(row.revision)
        if revision is None:
            newer = f"{row.program_version} (it has {row.file_name})"
            line = f"{path} was written by a newer local-agent, {newer}."
            raise _refusal(line, "Install that version.", backups, revisions)
        if revision.digest != row.digest or revision.file_name != row.file_name:
            line = f"{path} was built by another {row.file_name} than this program ships."
            raise _refusal(line, f"Install local-agent {row.program_version} again.", backups, revisions)
    newest = applied[-1].revision if applied else None
    expected = [revision.revision for revision in revisions[: len(applied)]]
    if newest != stamp or [row.revision for row in applied] != expected:
        line = f"{path} disagrees with itself: it records revision {newest} and is marked {stamp}."
        raise Damaged(line, CHECK_IT)
    return list(revisions[len(applied) :])


def _refusal(line: str, first: str, backups: Path, revisions: Sequence[Revision]) -> StoreError:
    return StoreError(line, f"{first} {way_back(backups, schema_number(revisions))}".strip())
