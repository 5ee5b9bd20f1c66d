"""What a mention reads: bounded, within the folder, and never what is secret or no text."""

from __future__ import annotations

import os
import tempfile
import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from local_agent.domain.attached import Attached
from local_agent.workspace.reading import SCANNED_BYTES, read_mentions


@pytest.fixture
def root(tmp_path: Path) -> Path:
    root = tmp_path / "project"
    root.mkdir()
    return root


def read(root: Path, text: str, most: int = 10_000) -> list[tuple[str, str, str | None]]:
    return [(each.label, each.note, each.text) for each in read_mentions(root, text, most)]


def notes(root: Path, text: str, most: int = 10_000) -> list[str]:
    attached = read_mentions(root, text, most)
    return [f"{each.label}: {each.note}{'' if each.text is None else ' (read)'}" for each in attached]


def test_files_are_read_in_the_order_of_the_text(root: Path) -> None:
    (root / "b.md").write_bytes(b"\xef\xbb\xbfone\r\ntwo\r\n")
    (root / "a name.txt").write_text("ä")
    (root / "empty").touch()
    assert read(root, 'compare @b.md with @"a name.txt", and @empty @b.md') == [
        ("b.md", "2 lines", "one\ntwo"),
        ('"a name.txt"', "1 line", "ä"),
        ("empty", "empty", ""),
    ]
    assert read(root, f"@{root}/b.md @./b.md")[0][1:] == ("2 lines", "one\ntwo")


def test_lines_are_read_where_lines_are_meant(root: Path) -> None:
    (root / "a.py").write_text("".join(f"line {number}\n" for number in range(1, 101)))
    assert read(root, "@a.py:3-4 @a.py:100 @a.py:99- @a.py:101 @a.py:4-3") == [
        ("a.py:3-4", "lines 3-4 of 100", "line 3\nline 4"),
        ("a.py:100", "line 100 of 100", "line 100"),
        ("a.py:99-", "lines 99-100 of 100", "line 99\nline 100"),
        ("a.py:101", "it has only 100 lines", None),
        ("a.py:4-3", "its last line comes before its first", None),
    ]


def test_all_of_it_together_keeps_the_bound_and_small_files_stay_whole(root: Path) -> None:
    for name in ("one", "two"):
        (root / f"{name}.log").write_text("".join(f"{name} {number:05}\n" for number in range(3_412)))
    (root / "small.md").write_text("small\n")
    (root / "wide.txt").write_text("x" * 4_000 + "\nend\n")
    attached = read_mentions(root, "@one.log @small.md @two.log @wide.txt", 4_000)
    assert sum(len((each.text or "").encode()) for each in attached) <= 4_000
    assert [each.note for each in attached] == [
        "lines 1-133 of 3,412", "1 line", "lines 1-133 of 3,412", "first 1 kB of 4 kB",
    ]  # fmt: skip
    assert attached[0].text is not None and attached[0].text.endswith("one 00132")
    assert [each.note for each in read_mentions(root, "@small.md", 0)] == ["first 0 B of 6 B"]


def test_what_is_no_utf8_is_read_only_while_most_of_it_is(root: Path) -> None:
    (root / "latin.txt").write_bytes(b"caf\xe9 and more words\nend")
    (root / "noise.txt").write_bytes(bytes(range(128, 256)) * 40)
    (root / "blank.txt").write_bytes(b"\n\n")
    assert read(root, "@latin.txt @noise.txt @blank.txt") == [
        ("latin.txt", "2 lines", "caf\ufffd and more words\nend"),
        ("noise.txt", "it is no text", None),
        ("blank.txt", "2 lines", "\n"),
    ]


def test_a_letter_is_not_cut_in_two(root: Path) -> None:
    (root / "a").write_text("ä" * 100)
    assert read(root, "@a", 51)[0][2] == "ä" * 25


def test_a_huge_file_costs_little(root: Path) -> None:
    with open(root / "huge.log", "wb") as file:
        file.write(b"line\n" * 3_000)
        file.truncate(50 * 1024**3)
    begin = time.process_time()
    assert notes(root, "@huge.log", 50) == ["huge.log: lines 1-10 of 54 GB (read)"]
    assert notes(root, "@huge.log:999999999") == ["huge.log:999999999: those lines lie too far into it"]
    assert time.process_time() - begin < 2
    assert SCANNED_BYTES < 16 * 1024**2


def test_what_is_no_text_of_the_folders_is_not_read_and_said(root: Path) -> None:
    (root.parent / "outside.txt").write_text("private")
    (root / "link.txt").symlink_to(root.parent / "outside.txt")
    (root / "loop").symlink_to("loop")
    (root / "ok.txt").write_text("fine")
    (root / "inner").symlink_to("ok.txt")
    (root / "logo.png").write_bytes(b"\x89PNG\r\n\x1a\n\0\0")
    (root / "tool.bin").write_bytes(b"\x7fELF\0\0")
    os.mkfifo(root / "pipe")
    (root / "secrets").mkdir()
    (root / "secrets" / "plan.md").write_text("x")
    (root / "hidden.md").write_text("x")
    (root / ".agentignore").write_text("secrets/\nhidden.md\n")
    (root / "alias").symlink_to("hidden.md")
    (root / ".env").write_text("KEY=1")
    (root / ".env.example").write_text("KEY=")
    (root / "env").symlink_to(".env")
    (root / "server.pem").write_text("x")
    (root / "key.txt").write_text("-----BEGIN OPENSSH PRIVATE KEY-----\n")
    (root / ".git").mkdir()
    (root / ".git" / "config").write_text("x")
    assert notes(root, "@../outside.txt @link.txt @/etc/passwd @ok.txt @inner") == [
        "../outside.txt: it lies outside the folder",
        "link.txt: it lies outside the folder",
        "/etc/passwd: it lies outside the folder",
        "ok.txt: 1 line (read)",
        "inner: 1 line (read)",
    ]
    assert notes(root, "@logo.png @tool.bin @pipe @key.txt @server.pem @.env @env @.env.example") == [
        "logo.png: it is a picture (attach it with /image)",
        "tool.bin: it is no text",
        "pipe: it is no regular file",
        "key.txt: it looks like a secret",
        "server.pem: it looks like a secret",
        ".env: it looks like a secret",
        "env: it looks like a secret",
        ".env.example: 1 line (read)",
    ]
    assert notes(root, "@secrets/plan.md @secrets @hidden.md @alias @.git/config") == [
        "secrets/plan.md: an .agentignore keeps it from models",
        "secrets: an .agentignore keeps it from models",
        "hidden.md: an .agentignore keeps it from models",
        "alias: an .agentignore keeps it from models",
        ".git/config: it belongs to version control",
    ]
    assert notes(root, '@"loop" @"nul\\x00" ' + f'@"{"n" * 300}"') == [
        "loop: it can't be opened",
        '"nul\\x00": it can\'t be opened',
        f"{'n' * 300}: it can't be opened",
    ]


def test_a_name_that_leads_nowhere_is_said_only_where_a_file_was_meant(root: Path) -> None:
    (root / "src").mkdir()
    (root / "README.md").write_text("x")
    text = "@property @functools.wraps @types/node @app.route('/x') @anna @media(x) @dataclass(frozen=True)"
    assert notes(root, text) == []
    assert notes(root, '@READNE.md @src/gone.py @"no such"') == [
        "READNE.md: there is no such file",
        "src/gone.py: there is no such file",
        '"no such": there is no such file',
    ]


def test_a_folder_gives_its_names(root: Path) -> None:
    for name in ("src/b.py", "src/a/c.py", "src/build/x", "src/new\nline", "src/private/x", "empty"):
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).touch()
    (root / "none").mkdir()
    (root / "src" / ".gitignore").write_text("build/\n.gitignore\n")
    (root / ".agentignore").write_text("private/\n")
    assert read(root, "@src/ @none") == [
        ("src/", "folder, 4 names", "a/\na/c.py\nb.py\nnew\ufffdline"),
        ("none", "an empty folder", ""),
    ]
    assert read(root, "@src", 10) == [("src", "folder, first 2 names", "a/\na/c.py"[:9])]
    assert "src/a/c.py" in (read(root, "@.")[0][2] or "")


def test_names_that_are_no_utf8_are_read_by_their_bytes(root: Path) -> None:
    with open(os.fsencode(root) + b"/caf\xe9\n.txt", "w") as file:
        file.write("x")
    assert read(root, '@"caf\\xe9\\x0a.txt"') == [('"caf\\xe9\\x0a.txt"', "1 line", "x")]


def test_thousands_of_at_signs_are_no_flood(root: Path) -> None:
    for number in range(30):
        (root / f"f{number}").write_text("x")
    attached = read_mentions(root, " ".join(f"@f{number}" for number in range(30)), 10_000)
    assert sum(each.text is not None for each in attached) == 20
    assert attached[-1] == Attached("f29", "more than 20 files are mentioned")
    begin = time.process_time()
    read_mentions(
        root, "@decorator\ndef f(): ...\n" * 50_000 + " ".join(f"@x{n}" for n in range(50_000)), 10_000
    )
    assert time.process_time() - begin < 3


@given(
    st.lists(st.text("ab é", max_size=6), min_size=1, max_size=30),
    st.booleans(),
    st.integers(1, 32),
    st.integers(1, 32),
    st.integers(0, 120),
)
def test_the_lines_that_are_meant_are_given_as_far_as_they_fit(
    lines: list[str], closed: bool, first: int, last: int, most: int
) -> None:
    with tempfile.TemporaryDirectory() as name:
        text = "\n".join(lines) + "\n" * closed
        (Path(name) / "f").write_text(text)
        ((_, note, given_text),) = read(Path(name), f"@f:{first}-{last}", most)
    there = text.removesuffix("\n").split("\n") if text else []
    meant = there[first - 1 : last]
    if given_text is None:
        assert not meant or last < first
    elif text:
        assert len(given_text.encode()) <= most or not most
        begun = "\n".join(meant).encode()[: len(given_text.encode())]
        assert begun == given_text.encode()
        if f"lines {first}-" in note:
            assert given_text.split("\n") == meant[: len(given_text.split("\n"))]
