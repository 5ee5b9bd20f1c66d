"""The notes' file: written by hand, damaged, a link, by twenty processes at once, killed in the middle."""

from __future__ import annotations

import json
import os
import random
import signal
import stat
import subprocess
import sys
import time
from pathlib import Path

import pytest

from local_agent.config.paths import Paths
from local_agent.domain.errors import ConfigError, UsageError
from local_agent.domain.notes import Notes
from local_agent.memory.notes_file import MAX_BYTES, NotesFile

WRITERS, EACH = 20, 5
SAVER = """
import sys
from pathlib import Path
from local_agent.config.paths import Paths
from local_agent.memory.notes_file import NotesFile
home, name, count = Path(sys.argv[1]), sys.argv[2], int(sys.argv[3])
file = NotesFile(Paths(home, home / "cache"), "/work")
number = 0
while number < count or not count:
    file.change(lambda notes: notes.added(f"{name} says {number} " + "x" * 200, "now"))
    print(number, flush=True)
    number += 1
"""


@pytest.fixture
def file(tmp_path: Path) -> NotesFile:
    return NotesFile(Paths(tmp_path / "home", tmp_path / "cache"), "/work")


def written(file: NotesFile, text: str | bytes) -> None:
    file.path.parent.mkdir(parents=True, exist_ok=True)
    file.path.write_bytes(text if isinstance(text, bytes) else text.encode())


def test_notes_come_back_as_they_were_and_are_the_persons_alone(file: NotesFile) -> None:
    assert file.read() == Notes()
    _, first = file.change(lambda notes: notes.added("ein Straßenname 東京", "t1", session="a1b2c3d"))
    _, notes = file.change(lambda notes: notes.added("two", "t2", proposed=True))
    assert file.read() == notes and notes.notes[0] == first.notes[0]
    assert stat.S_IMODE(file.path.stat().st_mode) == 0o600
    assert stat.S_IMODE(file.path.parent.stat().st_mode) == 0o700
    assert "ein Straßenname 東京" in file.path.read_text("utf-8"), "people may read it"
    other = NotesFile(Paths(file.path.parents[1], file.path.parents[1]), "/other")
    assert other.path != file.path and other.read() == Notes()


def test_what_changes_nothing_writes_nothing(file: NotesFile) -> None:
    file.change(lambda notes: notes.added("one", "t"))
    before = file.path.stat()
    file.change(lambda notes: notes.added("one", "t"))
    with pytest.raises(UsageError):
        file.change(lambda notes: notes.without(9))
    assert file.path.stat() == before


def test_a_person_may_write_it_by_hand(file: NotesFile) -> None:
    written(
        file,
        '\ufeff{"notes": [{"text": "by hand,\\n two lines"}, {"id": 7, "text": "seven"}, {"text": "last"}]}',
    )
    assert [(note.id, note.text) for note in file.read().notes] == [
        (8, "by hand, two lines"),
        (7, "seven"),
        (9, "last"),
    ]
    _, notes = file.change(lambda notes: notes.added("new", "t"))
    assert notes.notes[-1].id == 10 and file.read() == notes
    assert json.loads(file.path.read_text())["next_id"] == 11


@pytest.mark.parametrize(
    ("content", "why"),
    [
        ("", "Expecting value"),
        ('{"notes": [{"id": 1, "te', "line 1"),
        (b"\xff\xfe\x00", "utf-8"),
        ("[]", 'not {"notes"'),
        ('{"notes": 5}', 'not {"notes"'),
        ('{"notes": ["x"]}', "a note is no object"),
        ('{"notes": [{"id": "1", "text": "x"}]}', "an id is no number"),
        ('{"notes": [{"id": true, "text": "x"}]}', "an id is no number"),
        ('{"notes": [{"id": 0, "text": "x"}]}', "an id is no number"),
        ('{"notes": [{"id": 1, "text": "x"}, {"id": 1, "text": "y"}]}', "the same id"),
        ('{"notes": [{"id": 1, "text": " "}]}', "note 1 has no text"),
        ('{"notes": [{"id": 1, "text": 5}]}', "something else than text"),
        ('{"notes": [{"id": 1, "text": "x", "state": "odd"}]}', "unknown state 'odd'"),
        ('{"notes": [{"id": 1, "text": "x", "Text": "y"}]}', "unknown key 'Text'"),
        ('{"note": []}', "unknown key 'note'"),
        ('{"next_id": 1.5}', "next_id is no number"),
        ('{"workspace": "/elsewhere", "notes": []}', "those of /elsewhere"),
        ("[" * 100_000, "recursion"),
        (b" " * (MAX_BYTES + 1), "over 4 MiB"),
    ],
)  # fmt: skip
def test_what_cannot_be_read_is_never_written_over(file: NotesFile, content: str | bytes, why: str) -> None:
    written(file, content)
    before = file.path.read_bytes()
    with pytest.raises(ConfigError, match=why.replace("[", r"\[")) as said:
        file.read()
    assert "Mend the file" in said.value.hint and "\n" not in str(said.value)
    with pytest.raises(ConfigError):
        file.change(lambda notes: notes.added("new", "t"))
    assert file.path.read_bytes() == before


def test_a_link_a_folder_and_a_pipe_are_left_alone(file: NotesFile, tmp_path: Path) -> None:
    target = tmp_path / "elsewhere.json"
    target.write_text('{"notes": []}')
    makers = (lambda: file.path.symlink_to(target), file.path.mkdir, lambda: os.mkfifo(file.path))
    file.path.parent.mkdir(parents=True)
    for make in makers:
        make()
        with pytest.raises(ConfigError):
            file.change(lambda notes: notes.added("new", "t"))
        assert target.read_text() == '{"notes": []}'
        file.path.rmdir() if file.path.is_dir() else file.path.unlink()


def saver(home: Path, name: str, count: int) -> subprocess.Popen[str]:
    command = [sys.executable, "-c", SAVER, str(home), name, str(count)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True)


def test_twenty_processes_lose_nothing_and_give_each_note_its_own_id(file: NotesFile) -> None:
    home = file.path.parents[1]
    writers = [saver(home, f"process {number}", EACH) for number in range(WRITERS)]
    assert [writer.wait(120) for writer in writers] == [0] * WRITERS
    notes = file.read().notes
    assert sorted(note.id for note in notes) == list(range(1, WRITERS * EACH + 1))
    assert {note.text.rpartition(" ")[0] for note in notes} == {
        f"process {number} says {each}" for number in range(WRITERS) for each in range(EACH)
    }


def test_a_kill_leaves_the_old_file_or_the_new_one(file: NotesFile) -> None:
    chance = random.Random(7)
    told = 0
    for life in range(12):
        writer = saver(file.path.parents[1], f"life {life}", 0)
        assert writer.stdout is not None
        writer.stdout.readline()
        time.sleep(chance.uniform(0.0, 0.05))
        writer.send_signal(signal.SIGKILL)
        told += 1 + len(writer.stdout.read().splitlines())
        writer.wait()
        notes = file.read().notes
        assert told <= len(notes) <= told + life + 1, "what was told is there, and one more at most a life"
        assert len({note.id for note in notes}) == len(notes)
    assert told > 12
