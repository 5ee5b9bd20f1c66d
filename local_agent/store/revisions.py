"""The migrations that this program ships, and what a database records of those it was built by."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from local_agent.domain.errors import StoreError

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


def pending(
    path: Path, backups: Path, revisions: Sequence[Revision], applied: Sequence[Applied], stamp: str | None
) -> list[Revision]:
    """The revisions still to apply; ``StoreError`` for a database that this program may not write.

    ``stamp`` is the revision that Alembic recorded.
    """
    ours = {revision.revision: revision for revision in revisions}
    for row in applied:
        revision = ours.get(row.revision)
        if revision is None:
            raise StoreError(
                f"{path} was written by a newer local-agent, {row.program_version} (it has {row.file_name}).",
                f"Install that version, or go back to a copy from {backups}.",
            )
        if revision.digest != row.digest or revision.file_name != row.file_name:
            raise StoreError(
                f"{path} was built by another {row.file_name} than this program ships.",
                f"Install local-agent {row.program_version} again, or go back to a copy from {backups}.",
            )
    newest = applied[-1].revision if applied else None
    if newest != stamp or [row.revision for row in applied] != [
        r.revision for r in revisions[: len(applied)]
    ]:
        raise StoreError(
            f"{path} disagrees with itself: it records revision {newest} and is marked {stamp}.",
            f"Go back to a copy from {backups}, or move the file away.",
        )
    return list(revisions[len(applied) :])
