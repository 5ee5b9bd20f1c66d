"""A session in one file: the same in every home, refused as soon as anything in it is not as it was made."""

from __future__ import annotations

import hashlib
import io
import json
import os
import re
import stat
import struct
import zipfile
from collections.abc import Callable
from contextlib import aclosing
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from local_agent.domain import bundles
from local_agent.domain.bundles import MANIFEST, from_lines, read_manifest, rows_name, to_lines
from local_agent.domain.drafts import Draft, Prompt
from local_agent.domain.errors import LocalAgentError, UsageError
from local_agent.domain.modes import Mode
from local_agent.domain.moves import Scope
from local_agent.objects import archive
from local_agent.objects.archive import write_archive
from local_agent.runtime.bundling import checked_bundle
from local_agent.runtime.conversation import Conversation
from local_agent.runtime.runtime import Runtime
from tests.runtime.opened import opened
from tests.runtime.travelling import Worker
from tests.support.ollama_server import ModelSpec, OllamaServer
from tests.support.pictures import drawn

Parts = dict[str, bytes]
SCHEMA = "9999"


async def worked(runtime: Runtime, server: OllamaServer, home: Path) -> Conversation:
    """A session with calls that changed files, two branches, a checkpoint, a picture, and unsent work."""
    work = home.parent / "work"
    worker = Worker(runtime.new_conversation(), server, work)
    await worker.turn(("write", {"path": "a.txt", "content": "first\n"}))
    await worker.conversation.time.checkpoint("here")
    await worker.turn(("edit", {"path": "a.txt", "old": "first", "new": "second"}))
    await worker.undo(Scope.CONVERSATION)
    await worker.turn(text="another way")
    picture = await runtime.pictures.accept_bytes(drawn(), "cat.png")
    server.script("A cat.")
    async with aclosing(worker.conversation.ask(Prompt("What is it?", (picture,)))) as events:
        async for _ in events:
            pass
    other = await runtime.pictures.accept_bytes(drawn(seed=7), "dog.png")
    await runtime.save_draft(worker.conversation, Draft("unsent", (Prompt("queued"),), (other,)))
    return worker.conversation


@pytest.fixture
async def bundled(home: Path, server: OllamaServer, tmp_path: Path) -> Path:
    """The bundle of a session in which all was done."""
    server.models["llama3.2:3b"] = ModelSpec("llama3.2:3b", capabilities=("completion", "tools", "vision"))
    file = tmp_path / "session.bundle"
    async with opened(home, server.url) as runtime:
        conversation = await worked(runtime, server, home)
        made = await runtime.bundling.write(conversation.handle, file)
        assert (made.pictures, made.lost, made.left_out) == (2, 0, False)
        assert made.contents >= 2
        await conversation.close()
    return file


def content(file: Path, instead: bytes | None = None) -> bytes:
    """The bytes of a bundle, after other ones were put there; nobody else may read it."""
    if instead is not None:
        file.write_bytes(instead)
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    return file.read_bytes()


def left_half_written(folder: Path) -> list[Path]:
    return list(folder.glob(".*.partial"))


def parts_of(file: Path) -> Parts:
    with zipfile.ZipFile(file) as packed:
        return {name: packed.read(name) for name in packed.namelist()}


def repacked(file: Path, change: Callable[[Parts], object]) -> None:
    """The bundle with other parts, and a manifest that is right about them."""
    parts = parts_of(file)
    manifest = read_manifest(parts.pop(MANIFEST), SCHEMA)
    change(parts)
    write_archive(file, parts.items(), manifest.program_version, manifest.schema, replace=True)


def zipped(file: Path, parts: list[tuple[str, bytes]]) -> None:
    """Any zip file at all."""
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as packed:
        for name, data in parts:
            packed.writestr(zipfile.ZipInfo(name), data, zipfile.ZIP_DEFLATED)


def check(file: Path) -> Parts:
    """All that would be imported."""
    with checked_bundle(file) as checked:
        members = checked.archive.manifest.members
        return {name: checked.archive.read(name) for name in members}


def refusal(file: Path) -> str:
    with pytest.raises(LocalAgentError) as refused:
        check(file)
    assert "\n" not in str(refused.value)
    assert refused.value.hint
    return str(refused.value)


async def next_request(runtime: Runtime, server: OllamaServer, handle: str) -> str:
    """What goes out for one more question, without what the folder and the day say."""
    conversation = await runtime.resume(handle)
    server.script("Going on.")
    async with aclosing(conversation.ask(Prompt("And then?"))) as events:
        async for _ in events:
            pass
    await conversation.close()
    text = json.dumps(server.chats[-1].body).replace(runtime.workspace_root, "FOLDER")
    return re.sub(r"\d{4}-\d\d-\d\d( \d\d:\d\d)?", "DAY", text)


async def test_in_another_home_it_is_the_same_session(
    home: Path, server: OllamaServer, tmp_path: Path, bundled: Path
) -> None:
    far = tmp_path / "far" / "home"
    async with opened(home, server.url) as here, opened(far, server.url) as there:
        (before,) = await here.library.page()
        with checked_bundle(bundled) as checked:
            after = await there.bundling.take_in(checked)
            again = await there.bundling.take_in(checked)
        assert len({before.handle, after.handle, again.handle}) == 3
        assert (after.title, after.turn_count, after.branches) == (
            before.title,
            before.turn_count,
            before.branches,
        )
        assert after.workspace_root == there.workspace_root != before.workspace_root
        made = tmp_path / "again.bundle"
        for each in (after, again):
            await there.bundling.write(each.handle, made, replace=True)
            assert content(made) == content(bundled)

        one, other = await here.view(before.handle), await there.view(after.handle)
        trees = [await each.time.tree() for each in (one, other)]
        assert [node.text for node in trees[0]] == [node.text for node in trees[1]]
        tails = [await each.tail(100) for each in (one, other)]
        assert [entry.text for entry in tails[0].entries] == [entry.text for entry in tails[1].entries]
        pictures = [[p for entry in part.entries for p in entry.pictures] for part in tails]
        assert pictures[0] == pictures[1] != []
        assert [await there.pictures.read(p) for p in pictures[1]] == [drawn()]
        calls = [
            [(e.tool, e.state, e.receipt, e.changes) for e in part.executions.values()] for part in tails
        ]
        assert calls[0] == calls[1] != []
        for digest in (change.after for call in calls[1] for change in call[3]):
            assert there.workshop.outputs.get(digest) == here.workshop.outputs.get(digest)
        labels = [[each.label for each in await view.time.checkpoints()] for view in (one, other)]
        assert labels[0] == labels[1] == ["here"]
        draft = await there.take_draft(other)
        assert draft is not None and (draft.text, draft.queue[0].text) == ("unsent", "queued")
        assert await next_request(here, server, before.handle) == await next_request(
            there, server, after.handle
        )


async def test_a_bundle_is_private_and_replaces_nothing(
    home: Path, server: OllamaServer, tmp_path: Path, bundled: Path
) -> None:
    data = content(bundled)
    async with opened(home, server.url) as runtime:
        (session,) = await runtime.library.page()
        content(bundled, b"mine")
        with pytest.raises(UsageError, match="is there already"):
            await runtime.bundling.write(session.handle, bundled)
        assert content(bundled) == b"mine"
        await runtime.library.trash(session.handle)
        await runtime.bundling.write(session.handle, bundled, replace=True)
        assert content(bundled) == data
        for path in (tmp_path, runtime.paths.database):
            with pytest.raises(UsageError):
                await runtime.bundling.write(session.handle, path, replace=True)
        with pytest.raises(LocalAgentError, match="can't be written"):
            await runtime.bundling.write(session.handle, tmp_path / "no" / "where")
        assert not left_half_written(tmp_path)
        with checked_bundle(bundled) as checked:
            made = await runtime.bundling.take_in(checked)
        assert not made.trashed


async def test_what_may_run_without_a_question_is_not_taken_over(
    home: Path, server: OllamaServer, bundled: Path
) -> None:
    def in_auto(parts: Parts) -> None:
        name = rows_name("sessions")
        (row,) = from_lines(parts[name])
        parts[name] = to_lines([{**row, "mode": Mode.AUTO}])

    repacked(bundled, in_auto)
    async with opened(home, server.url) as runtime:
        with checked_bundle(bundled) as checked:
            assert (await runtime.bundling.take_in(checked)).mode == Mode.NORMAL


def test_a_file_that_lost_or_gained_a_part_is_refused(bundled: Path) -> None:
    whole = bundled.read_bytes()
    parts = parts_of(bundled)
    for name in parts:
        zipped(bundled, [(each, data) for each, data in parts.items() if each != name])
        assert refusal(bundled)
        zipped(bundled, [(each, data + b" " if each == name else data) for each, data in parts.items()])
        assert refusal(bundled)
        if name != MANIFEST:
            bundled.write_bytes(whole)
            repacked(bundled, lambda parts, name=name: parts.pop(name))  # type: ignore[misc]  # bound early
            if name.startswith("rows/"):
                assert "other tables" in refusal(bundled)
            else:
                assert check(bundled)
    for name in (
        "../../etc/passwd", "/etc/passwd", "a\\b", "rows/../x", "x" * 5000, "pictures/", "rows/new.jsonl",
        f"pictures/{'0' * 64}",
    ):  # fmt: skip
        zipped(bundled, [*parts.items(), (name, b"x")])
        assert refusal(bundled)
    with pytest.warns(UserWarning, match="Duplicate"):
        zipped(bundled, [*parts.items(), (MANIFEST, parts[MANIFEST])])
    assert "two parts" in refusal(bundled)


def test_a_part_that_nothing_names_is_refused(bundled: Path) -> None:
    whole = bundled.read_bytes()
    for folder in ("pictures", "contents"):
        bundled.write_bytes(whole)
        name = f"{folder}/{hashlib.sha256(b'loose').hexdigest()}"
        repacked(bundled, lambda parts, name=name: parts.update({name: b"loose"}))  # type: ignore[misc]  # bound early
        assert "nothing in it names" in refusal(bundled)
        bundled.write_bytes(whole)
        repacked(bundled, lambda parts, folder=folder: swap(parts, folder))  # type: ignore[misc]  # bound early
        assert "wrong name" in refusal(bundled) or "picture" in refusal(bundled)


def swap(parts: Parts, folder: str) -> None:
    """Other bytes under the name of an object."""
    name = next(name for name in parts if name.startswith(f"{folder}/"))
    parts[name] = b"other bytes"


@pytest.mark.parametrize(
    ("table", "name", "value"),
    [
        ("file_changes", "path", "../outside"),
        ("file_changes", "path", "a/../../outside"),
        ("file_changes", "path", "a//b"),
        ("file_changes", "path", ""),
        ("file_changes", "path", "a\0b"),
        ("file_changes", "before_digest", "../a"),
        ("file_changes", "execution_id", 2),
        ("file_changes", "event_number", 1),
        ("attachments", "name", "../a.png"),
        ("attachments", "name", "a\nb.png"),
        ("attachments", "mime", "text/html"),
        ("attachments", "width", 9),
        ("attachments", "sha256", "../../a"),
        ("attachments", "entry_id", 1000),
        ("drafts", "pictures", '[{"sha256":"../a"}]'),
    ],
)
def test_rows_about_files_that_are_not_ours_are_refused(
    bundled: Path, table: str, name: str, value: object
) -> None:
    def other(parts: Parts) -> None:
        first, *rest = from_lines(parts[rows_name(table)])
        parts[rows_name(table)] = to_lines([{**first, name: value}, *rest])

    repacked(bundled, other)
    assert "Nothing was written" in refusal(bundled)


def test_a_picture_that_is_none_is_refused(bundled: Path) -> None:
    fake = hashlib.sha256(b"no picture").hexdigest()

    def other(parts: Parts) -> None:
        name = rows_name("attachments")
        (row,) = from_lines(parts[name])
        del parts[f"pictures/{row['sha256']}"]
        parts[name] = to_lines([{**row, "sha256": fake}])
        parts[f"pictures/{fake}"] = b"no picture"

    repacked(bundled, other)
    assert "picture that" in refusal(bundled)


@pytest.mark.parametrize(
    ("change", "line"),
    [
        ({"format": "another"}, "no bundle"),
        ({"format_version": 2}, "Update local-agent"),
        ({"format_version": 0}, "another form"),
        ({"format_version": True}, "another form"),
        ({"schema": "9999"}, "Update local-agent"),
        ({"schema": "abcd"}, "another form"),
        ({"members": []}, "another form"),
        ({"members": {"../x": {"sha256": "0" * 64, "size": 1}}}, "name that no bundle"),
        ({"members": {"rows/a.jsonl": {"sha256": "0" * 64, "size": -1}}}, "another form"),
        ({"members": {"rows/a.jsonl": {"sha256": "0" * 64, "size": 1}}}, "other parts"),
        ({"more": 1}, "another form"),
    ],
)
def test_another_manifest_is_refused(bundled: Path, change: dict[str, Any], line: str) -> None:
    parts = parts_of(bundled)
    manifest = {**json.loads(parts[MANIFEST]), **change}
    parts[MANIFEST] = json.dumps(manifest, sort_keys=True, separators=(",", ":")).encode()
    zipped(bundled, list(parts.items()))
    assert line in refusal(bundled)
    parts[MANIFEST] = b"[" * 100_000
    zipped(bundled, list(parts.items()))
    assert "can't be read" in refusal(bundled)


def test_bombs_are_not_unpacked(bundled: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = bundled.read_bytes()
    parts = parts_of(bundled)
    zipped(bundled, [*parts.items(), (rows_name("bomb"), bytes(300 * 1024 * 1024))])
    assert "unpack to far more" in refusal(bundled)
    for name, bound in (("MOST_MEMBERS", 3), ("MANIFEST_BYTES", 10), ("TOTAL_BYTES", 1000)):
        bundled.write_bytes(whole)
        with monkeypatch.context() as patch:
            patch.setattr(archive, name, bound)
            assert refusal(bundled)
    # Directory entries that claim other sizes than are there.
    at = whole.rindex(b"PK\x01\x02")
    for offset in (20, 24):
        for size in (0, 1, 2**31, 2**32 - 1):
            data = bytearray(whole)
            data[at + offset : at + offset + 4] = struct.pack("<I", size)
            bundled.write_bytes(data)
            assert refusal(bundled)
    for flag in (0x1, 0x40):
        data = bytearray(whole)
        data[at + 8] |= flag
        bundled.write_bytes(data)
        assert "encrypted" in refusal(bundled)
    data = bytearray(whole)
    data[at + 10] = 12
    bundled.write_bytes(data)
    assert refusal(bundled)


def test_what_packs_too_well_is_stored_as_it_is(tmp_path: Path) -> None:
    file = tmp_path / "b"
    write_archive(file, [(rows_name("a"), bytes(4 * bundles.LOOSE_BYTES))], "1", "0005", replace=False)
    with archive.open_archive(file, "0005") as opened_archive:
        assert len(opened_archive.read(rows_name("a"))) == 4 * bundles.LOOSE_BYTES


def test_what_is_no_bundle_is_refused(bundled: Path, tmp_path: Path) -> None:
    whole = bundled.read_bytes()
    other = tmp_path / "other"
    half, headless = whole[: len(whole) // 2], whole[10:]
    for data in (b"", b"PK", drawn(), half, whole[:-1], headless, b"PK\x05\x06" + bytes(18)):
        other.write_bytes(data)
        assert "Nothing was written" in refusal(other)
    for path in (tmp_path / "nowhere", tmp_path, other / "below"):
        with pytest.raises(UsageError):
            check(path)
    os.mkfifo(tmp_path / "pipe")
    assert "is no file" in refusal(tmp_path / "pipe")
    plain = io.BytesIO()
    with zipfile.ZipFile(plain, "w") as packed:
        packed.writestr("readme.txt", "x")
    other.write_bytes(plain.getvalue())
    assert refusal(other)


@settings(max_examples=150, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(place=st.floats(0, 1, exclude_max=True), bit=st.integers(0, 7), tail=st.booleans())
def test_a_flipped_bit_changes_nothing_or_is_refused(
    once: tuple[Path, Parts], place: float, bit: int, tail: bool
) -> None:
    file, parts = once
    data = bytearray(file.read_bytes())
    # Half of them in the directory at the end, where a zip file says what it is.
    first = data.rindex(b"PK\x01\x02" + data[data.rindex(b"PK\x01\x02") + 4 :][:2]) if tail else 0
    at = first + int(place * (len(data) - first))
    data[at] ^= 1 << bit
    flipped = file.with_name("flipped")
    flipped.write_bytes(data)
    try:
        assert check(flipped) == parts
    except LocalAgentError as refused:
        assert refused.hint


@pytest.fixture
def once(bundled: Path) -> tuple[Path, Parts]:
    return bundled, check(bundled)
