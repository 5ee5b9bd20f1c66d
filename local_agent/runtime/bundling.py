"""A session out of the database into one file, with what it names of pictures and contents, and in again."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

from local_agent import __version__
from local_agent.config.paths import Paths
from local_agent.domain.bundles import (
    CONTENTS,
    PICTURES,
    ROW_BYTES,
    Bundled,
    NewerBundle,
    NoBundle,
    Rows,
    SettledRows,
    contents_of,
    from_lines,
    pictures_of,
    rows_name,
    to_lines,
)
from local_agent.domain.errors import LocalAgentError, UsageError
from local_agent.domain.sessions import SessionInfo
from local_agent.objects.archive import Archive, open_archive, write_archive
from local_agent.objects.reading import Refused
from local_agent.objects.store import LIMIT, ObjectFolder, ObjectMissing
from local_agent.runtime.workspace import git_root_commit
from local_agent.store.bundle_check import require_sound
from local_agent.store.bundle_tables import TABLES
from local_agent.store.revisions import migrations_folder, shipped
from local_agent.store.store import Store


@dataclass(frozen=True, slots=True)
class CheckedBundle:
    """An open bundle in which nothing is wrong."""

    path: Path
    archive: Archive
    rows: Rows


class Bundling:
    """Bundling needs no lease. What is imported belongs to this folder."""

    def __init__(self, store: Store, paths: Paths, workspace_root: str) -> None:
        self._store = store
        self._paths = paths
        self._root = workspace_root

    async def write(self, handle: str, path: Path, *, replace: bool = False) -> Bundled:
        """Write all that is settled of a session. Raises ``UsageError`` where something is in the way, and
        ``LocalAgentError`` for what can't be read or written.
        """
        await asyncio.to_thread(self._require_free, path, replace)
        settled = await self._store.settled_rows(handle)
        return await asyncio.to_thread(self._write, settled, path, replace)

    async def take_in(self, bundle: CheckedBundle) -> SessionInfo:
        """Import it as a new session. What a crash leaves is objects that nothing names."""
        await asyncio.to_thread(self._put, bundle)
        commit = await asyncio.to_thread(git_root_commit, Path(self._root))
        return await self._store.take_in(bundle.rows, self._root, commit)

    def _require_free(self, path: Path, replace: bool) -> None:
        if path.is_dir():
            raise UsageError(f"{path} is a folder.", "Name a file in it.")
        if os.path.lexists(path) and not replace:
            raise _is_there(path)
        if path.exists() and self._paths.database.exists() and path.samefile(self._paths.database):
            raise UsageError(f"{path} is the database itself.", "Name another file.")

    def _write(self, settled: SettledRows, path: Path, replace: bool) -> Bundled:
        counts = {PICTURES: 0, CONTENTS: 0}
        lines = sorted((rows_name(table), to_lines(settled.rows[table])) for table in TABLES)

        def parts() -> Iterator[tuple[str, bytes]]:
            for place, folder, named in self._objects(settled.rows):
                for digest in sorted(named):
                    try:
                        data = folder.get(digest)
                    except ObjectMissing:
                        continue
                    counts[place] += 1
                    yield f"{place}/{digest}", data
            yield from lines

        try:
            if sum(len(data) for _, data in lines) > ROW_BYTES:
                raise NoBundle("would be larger than a bundle may be")
            write_archive(path, parts(), __version__, settled.schema, replace=replace)
        except FileExistsError:
            raise _is_there(path) from None
        except OSError as error:
            line = f"{path} can't be written: {error.strerror or error}."
            raise LocalAgentError(line, "Name a file in a folder that can be written.", str(error)) from error
        except NoBundle as refused:
            raise LocalAgentError(f"{path} {refused}.") from refused
        lost = len(pictures_of(settled.rows)) - counts[PICTURES]
        entries = len(settled.rows["entries"])
        return Bundled(entries, counts[PICTURES], counts[CONTENTS], lost, settled.left_out)

    def _put(self, bundle: CheckedBundle) -> None:
        with _explained(bundle.path):
            for place, folder, named in self._objects(bundle.rows):
                parts = {digest: f"{place}/{digest}" for digest in sorted(named)}
                there = [each for each, part in parts.items() if part in bundle.archive.manifest.members]
                for digest in there:
                    folder.put(bundle.archive.read(parts[digest]), durable=False)
                folder.settle(there)

    def _objects(self, rows: Rows) -> Iterator[tuple[str, ObjectFolder, set[str]]]:
        yield CONTENTS, ObjectFolder(self._paths.outputs), contents_of(rows)
        yield PICTURES, ObjectFolder(self._paths.picture_objects), pictures_of(rows)


@contextmanager
def checked_bundle(path: Path) -> Iterator[CheckedBundle]:
    """Check all of a file before anything is written, and keep it open.

    Raises ``UsageError`` where there is none, ``LocalAgentError`` for anything that is wrong with it.
    """
    schema = shipped(migrations_folder())[-1].revision
    with ExitStack() as stack:
        with _explained(path):
            archive = stack.enter_context(open_archive(path, schema))
            rows = _rows(archive)
        yield CheckedBundle(path, archive, rows)


def _rows(archive: Archive) -> Rows:
    members = archive.manifest.members
    names = {table: rows_name(table) for table in TABLES}
    if {name for name in members if name.startswith("rows/")} != set(names.values()):
        raise NoBundle("has other tables than a session has")
    if sum(members[name].size for name in names.values()) > ROW_BYTES:
        raise NoBundle("holds more than one session can say")
    rows = {table: from_lines(archive.read(name)) for table, name in names.items()}
    require_sound(rows)
    objects = {name for name in members if not name.startswith("rows/")}
    wanted = {f"{PICTURES}/{each}" for each in pictures_of(rows)}
    wanted |= {f"{CONTENTS}/{each}" for each in contents_of(rows)}
    if objects - wanted:
        raise NoBundle("holds a picture or a content that nothing in it names")
    for name in objects:
        if name.rpartition("/")[2] != members[name].sha256 or members[name].size > LIMIT:
            raise NoBundle("holds a picture or a content under a wrong name")
    _require_pictures(archive, rows)
    return rows


def _require_pictures(archive: Archive, rows: Rows) -> None:
    """Pictures are what the rows say of them: they are sent as they are."""
    from local_agent.objects.decode import decode  # what few starts need

    seen: dict[str, tuple[object, ...]] = {}
    for digest in pictures_of(rows):
        name = f"{PICTURES}/{digest}"
        if name in archive.manifest.members:
            try:
                decoded = decode(archive.read(name))
            except Refused as refused:
                raise NoBundle(f"holds a picture that {refused}") from refused
            seen[digest] = decoded.mime, len(decoded.data), decoded.width, decoded.height
    for row in rows["attachments"]:
        said = row["mime"], row["size"], row["width"], row["height"]
        if seen.get(row["sha256"], said) != said:
            raise NoBundle("holds a picture that is another one than it says")


@contextmanager
def _explained(path: Path) -> Iterator[None]:
    try:
        yield
    except (FileNotFoundError, NotADirectoryError):
        raise UsageError(f"There is no file {path}.", "Name a bundle of a session.") from None
    except IsADirectoryError:
        raise UsageError(f"{path} is a folder.", "Name a bundle of a session.") from None
    except NewerBundle as refused:
        raise LocalAgentError(f"{path} {refused}.", "Nothing was written. Update local-agent.") from refused
    except NoBundle as refused:
        hint = "Nothing was written. Make it anew with: local-agent session bundle HANDLE FILE"
        raise LocalAgentError(f"{path} {refused}.", hint) from refused
    except OSError as error:
        line = f"{path} can't be read: {error.strerror or error}."
        raise LocalAgentError(line, "Name a file that can be read.", str(error)) from error


def _is_there(path: Path) -> UsageError:
    return UsageError(f"{path} is there already.", "Name another file, or replace it with --force.")
