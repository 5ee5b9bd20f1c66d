"""An update that can't be made is refused with the way out, and leaves the database as it was.

Full disks and read-only folders are real: mounts that a child makes in a namespace of its own.
"""

from __future__ import annotations

import json
import os
import shlex
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from contextlib import closing, suppress
from dataclasses import dataclass
from pathlib import Path

import pytest

from local_agent.domain.errors import StoreError
from local_agent.store.revisions import shipped
from tests.proofs.filled import IN_MID_REPLY, fill, read_rows
from tests.proofs.revisions import bring_up, one_more
from tests.proofs.test_migrations import schema, state
from tests.support.crash import ROOT, crash_at

Proven = Callable[[str], None]

STARTS = 3
_NAMESPACE = ("unshare", "--user", "--map-root-user", "--mount", "sh", "-c")


@dataclass(frozen=True)
class Refusal:
    """What the starts of a program said, and what stands in its folder of copies after them."""

    said: list[str]
    copies: list[str]
    unchanged: bool


@pytest.fixture(scope="module")
def ahead(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return one_more(tmp_path_factory.mktemp("ahead") / "migrations")


@pytest.fixture(scope="module")
def filled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("filled")
    crash_at(IN_MID_REPLY, fill, str(folder / "local-agent.db"))
    return folder


@pytest.fixture
def database(tmp_path: Path, filled: Path) -> Path:
    shutil.copytree(filled, tmp_path / "home")
    return tmp_path / "home" / "local-agent.db"


def refuse(path: Path, folder: Path) -> Refusal:
    """Start a few times, as a person would."""
    before = read_rows(path), schema(path), state(path)
    said = []
    for _ in range(STARTS):
        try:
            bring_up(str(path), str(folder))
        except StoreError as error:
            said.append(str(error))
    backups = path.parent / "backups"
    copies = sorted(each.name for each in backups.iterdir()) if backups.is_dir() else []
    return Refusal(said, copies, (read_rows(path), schema(path), state(path)) == before)


def main(home: str, source: str, folder: str, spare: str) -> None:
    """Child: fill a home that was just mounted, start on it, and tell. ``spare``: the disk's last bytes."""
    path = Path(home) / "local-agent.db"
    for part in Path(source).glob("local-agent.db*"):
        shutil.copy(part, home)
    if int(spare):
        with closing(sqlite3.connect(path)) as db:
            db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        leave(int(spare), Path(home) / "ballast")
    found = refuse(path, Path(folder))
    print(json.dumps([found.said, found.copies, found.unchanged]))  # noqa: T201 - the answer to the test


def leave(spare: int, ballast: Path) -> None:
    """Fill a disk but for ``spare`` bytes."""
    with ballast.open("wb", buffering=0) as file, suppress(OSError):
        while True:
            file.write(bytes(4096))
    os.truncate(ballast, ballast.stat().st_size - spare)


def refuse_on(mount: str, home: Path, source: Path, folder: Path, spare: int = 0) -> Refusal:
    """``refuse`` in a namespace in which ``mount`` was done; skips where there are none."""
    if shutil.which("unshare") is None or subprocess.run([*_NAMESPACE, mount], check=False).returncode:
        pytest.skip("nothing can be mounted here")
    call = f"from {__name__} import main; import sys; main(*sys.argv[1:])"
    command = shlex.join([sys.executable, "-c", call, str(home), str(source), str(folder), str(spare)])
    done = subprocess.run(
        [*_NAMESPACE, f"{mount} && exec {command}"], cwd=ROOT, capture_output=True, text=True, timeout=60
    )
    assert done.returncode == 0, done.stderr
    return Refusal(*json.loads(done.stdout))


def test_the_disk_is_full_when_the_copy_is_made(tmp_path: Path, filled: Path, ahead: Path) -> None:
    home, backups = tmp_path / "home", tmp_path / "home" / "backups"
    backups.mkdir(parents=True)
    found = refuse_on(f"mount -t tmpfs -o size=64k none {backups}", home, filled, ahead)

    line = f"The database needs an update. No copy of it can be put into {backups}: The disk is full."
    assert found.said == [f"{line} Make the folder writable or free some space, then try again."] * STARTS
    assert found == Refusal(found.said, [], unchanged=True)


def test_the_folder_of_copies_is_read_only(tmp_path: Path, filled: Path, ahead: Path) -> None:
    home, backups = tmp_path / "home", tmp_path / "home" / "backups"
    backups.mkdir(parents=True)
    found = refuse_on(f"mount -t tmpfs -o ro none {backups}", home, filled, ahead)

    line = f"The database needs an update. No copy of it can be put into {backups}: Read-only file system."
    assert found.said == [f"{line} Make the folder writable or free some space, then try again."] * STARTS
    assert found == Refusal(found.said, [], unchanged=True)


@pytest.mark.parametrize(
    "spare", [36, pytest.param(64, marks=pytest.mark.slow), pytest.param(92, marks=pytest.mark.slow)]
)
def test_the_disk_is_full_when_the_update_is_made(
    tmp_path: Path, filled: Path, ahead: Path, spare: int
) -> None:
    """Room for the index of the log (32 KB) and one page or a few of it; the copies are on another disk."""
    home, elsewhere = tmp_path / "home", tmp_path / "elsewhere"
    home.mkdir()
    elsewhere.mkdir()
    mount = f"mount -t tmpfs -o size=4m none {home} && ln -s {elsewhere} {home / 'backups'}"
    found = refuse_on(mount, home, filled, ahead, spare * 1024)

    assert found.said == ["The disk is full. Free some space, then try again."] * STARTS
    assert found == Refusal(found.said, [], unchanged=True)


def test_a_file_stands_where_the_copies_go(database: Path, ahead: Path) -> None:
    (database.parent / "backups").write_text("a file in the way")
    found = refuse(database, ahead)

    assert all("No copy of it can be put into" in said for said in found.said)
    assert found == Refusal(found.said, [], unchanged=True)


def test_a_revision_that_would_lose_what_rows_point_at_is_undone(
    database: Path, tmp_path: Path, proven: Proven
) -> None:
    wrong = one_more(tmp_path / "wrong")
    step = wrong / "versions" / shipped(wrong)[-1].file_name
    step.write_text(step.read_text() + '    op.execute("DELETE FROM workspaces")\n')
    found = refuse(database, wrong)

    line = "The database was not updated: rows would point at nothing."
    assert found.said == [f"{line} It is as it was; install the version that you had."] * STARTS
    assert found == Refusal(found.said, [], unchanged=True)
    proven(f"{STARTS} starts with a wrong revision: nothing changed, nothing left over")


def test_the_home_is_read_only(tmp_path: Path, filled: Path, ahead: Path) -> None:
    """The old database is refused by name, and can be read from a copy that is brought up to date."""
    home = tmp_path / "home"
    shutil.copytree(filled, home)
    mount = f"mount --bind {home} {home} && mount -o remount,bind,ro {home}"
    found = refuse_on(mount, home, tmp_path / "nothing", ahead)

    assert found.said == [f"{home} can't be written. Make it writable, then try again."] * STARTS
    assert found == Refusal(found.said, [], unchanged=True)
