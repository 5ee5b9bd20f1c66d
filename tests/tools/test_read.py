"""``read``: any file in bounded text, or one sentence why not."""

from __future__ import annotations

import asyncio
import hashlib
import os
import socket
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from local_agent.domain.tools import ResultStatus
from local_agent.tools.output import byte_length
from local_agent.tools.read import Gathered
from tests.tools.calling import Around, box, call, failure, prepared, run


@pytest.fixture
def root(tmp_path: Path) -> Path:
    root = tmp_path / "project"
    root.mkdir()
    return root


async def test_lines_come_with_their_numbers(root: Path) -> None:
    (root / "a.py").write_bytes(b"one\r\n\ttwo\nthree")
    (root / "empty").touch()
    (root / "one").write_text("1\n")
    tools = box(root)
    result = await call(tools, "read", path="a.py")
    assert (result.text, result.summary) == ("[a.py: 3 lines]\n1\tone\n2\t\ttwo\n3\tthree", "3 lines")
    assert (await call(tools, "read", path="one")).text == "[one: 1 line]\n1\t1"
    assert (await call(tools, "read", path="empty")).text == "empty is empty."
    digest = hashlib.sha256((root / "a.py").read_bytes()).hexdigest()
    assert tools.folder.known(tools.folder.locate("./x/../a.py")) == digest
    assert tools.folder.known(tools.folder.locate("b.py")) is None


async def test_a_part_says_what_it_is_a_part_of_and_how_to_go_on(root: Path) -> None:
    (root / "long.txt").write_text("".join(f"line {number}\n" for number in range(1, 3_413)))
    tools = box(root)
    part = await call(tools, "read", path="long.txt", offset=11, limit=2)
    assert part.text == "[long.txt: lines 11-12 of 3,412, go on with offset=13]\n11\tline 11\n12\tline 12"
    assert part.size == (root / "long.txt").stat().st_size
    first = await call(tools, "read", path="long.txt")
    assert byte_length(first.text) <= 8_192
    assert "of 3,412, go on with offset=" in first.text.split("\n")[0]
    # Read on as it says, everything is seen once.
    seen, offset = [], 1
    while offset:
        text = (await call(tools, "read", path="long.txt", offset=offset)).text
        head, *lines = text.split("\n")
        seen += [line.split("\t")[1] for line in lines]
        offset = int(head.rpartition("=")[2].rstrip("]")) if "go on" in head else 0
    assert seen == [f"line {number}" for number in range(1, 3_413)]
    assert await failure(tools, "read", path="long.txt", offset=3_413) == "long.txt has only 3,412 lines."


async def test_a_line_of_4_mb_is_cut_and_its_size_is_said(root: Path) -> None:
    (root / "min.js").write_text("a\n" + "x" * 4_000_000 + "\nb\n")
    text = (await call(box(root), "read", path="min.js")).text
    assert byte_length(text) < 8_192
    assert "x… [cut: this line has 4,000,000 characters]\n3\tb" in text


@pytest.mark.parametrize(
    ("data", "line", "note"),
    [
        (b"\xef\xbb\xbfh\xc3\xa9", "hé", "; UTF-8 with a byte order mark"),
        ("\ufeffhé".encode("utf-16-le"), "hé", "; UTF-16"),
        ("\ufeffhé".encode("utf-16-be"), "hé", "; UTF-16"),
        ("\ufeffhé".encode("utf-32-le"), "hé", "; UTF-32"),
        ("hello there".encode("utf-16-le"), "hello there", "; UTF-16 without a byte order mark (a guess)"),
        (b"caf\xe9 cr\xe8me", "café crème", "; not UTF-8, read as Latin (a guess)"),
        (b"caf\xe9 \x81", "café \x81", "; not UTF-8, read as Latin (a guess)"),
        (b"plain" + b" " * 70_000 + b"\n\xff!", "�!", "; some bytes are not in its encoding and shown as �"),
    ],
)
async def test_what_it_is_encoded_in_is_found_and_said(root: Path, data: bytes, line: str, note: str) -> None:
    (root / "t").write_bytes(data)
    head, *lines = (await call(box(root), "read", path="t")).text.split("\n")
    assert head.endswith(f"{note}]")
    assert lines[-1].split("\t")[1] == line


async def test_a_cut_character_at_the_end_of_what_a_file_is_judged_by_is_no_fault(root: Path) -> None:
    (root / "t").write_text("x" * 65_535 + "é" * 3)
    text = (await call(box(root), "read", path="t")).text
    assert text.startswith("[t: 1 line]")


async def test_what_is_no_text_file_is_refused_in_a_sentence(root: Path) -> None:
    (root / "logo.png").write_bytes(b"\x89PNG\r\n\x1a\n" + b"\0" * 12_000)
    (root / "a.bin").write_bytes(bytes(range(256)) * 4)
    (root / "noise").write_bytes(bytes(range(1, 32)) * 20)
    (root / "src").mkdir()
    os.mkfifo(root / "pipe")
    (root / "main.py").touch()
    (root / "zero").symlink_to("/dev/zero")
    listening = socket.socket(socket.AF_UNIX)
    listening.bind(str(root / "sock"))
    tools = box(root)
    said = {
        "logo.png": "logo.png is binary, read shows text only: a PNG picture, 12 kB. "
        "Ask the person to attach it with /image.",
        "a.bin": "a.bin is binary, read shows text only: it is not text, 1 kB.",
        "noise": "noise is binary, read shows text only: it is not text, 620 B.",
        "src": "src is a folder: list it with ls.",
        "pipe": "pipe is a pipe, not a file.",
        "sock": "sock is a socket or a device, not a file.",
        "mian.py": "There is no mian.py. Close to it: main.py.",
        "main.py/x": "There is no main.py/x.",
        "nothing/at/all": "There is no nothing/at/all.",
    }
    assert {path: await failure(tools, "read", path=path) for path in said} == said
    listening.close()
    # A device outside is asked about, and refused when that was allowed.
    device = await prepared(tools, "read", path="zero")
    assert device.outside == ("/dev/zero",)
    with pytest.raises(Exception, match=r"/dev/zero is a device, not a file\."):
        await run(tools, device)


async def test_an_unreadable_file_is_said_to_be(root: Path) -> None:
    (root / "locked").write_text("x")
    (root / "locked").chmod(0)
    if os.access(root / "locked", os.R_OK):
        pytest.skip("this account may read everything")
    assert await failure(box(root), "read", path="locked") == "locked can't be read: Permission denied."


async def test_many_reads_at_once_keep_apart(root: Path) -> None:
    for number in range(12):
        (root / f"{number}").write_text(f"{number}\n" * 2_000)
    tools = box(root)
    results = await asyncio.gather(*(call(tools, "read", path=str(number), limit=1) for number in range(12)))
    assert [result.text.split("\t")[1] for result in results] == [str(number) for number in range(12)]
    assert all(tools.folder.known(tools.folder.locate(str(number))) for number in range(12))


async def test_a_stop_is_heard(root: Path) -> None:
    (root / "huge").write_bytes(b"line\n" * 5_000_000)
    around = Around()
    tools = box(root)
    intent = await prepared(tools, "read", path="huge")
    around.stop.set()
    assert (await run(tools, intent, around)).status is ResultStatus.CANCELLED


@settings(max_examples=100, deadline=None)
@given(
    st.lists(st.text(alphabet="ab\té\r", max_size=30), max_size=40),
    st.integers(1, 45),
    st.integers(1, 10),
    st.lists(st.integers(1, 20), max_size=30),
)
def test_pieces_give_the_lines_of_the_whole(lines: list[str], first: int, most: int, cuts: list[int]) -> None:
    text = "\n".join(lines)
    gathered = Gathered(first, most, 100_000)
    place = 0
    for cut in cuts:
        gathered.feed(text[place : place + cut])
        place += cut
    gathered.feed(text[place:])
    gathered.finish()
    whole = text.removesuffix("\n").split("\n") if text else []
    assert gathered.total == len(whole)
    assert gathered.lines == [line.removesuffix("\r") for line in whole[first - 1 : first - 1 + most]]
