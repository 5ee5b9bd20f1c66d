"""Output as lines for a model: bounded whatever it is, and nothing of it lost on the way."""

from __future__ import annotations

import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from local_agent.tools.shell.reading import LINE, back, clean, front, is_binary

WRITTEN = st.lists(
    st.sampled_from(
        [
            *(b"a", b"word ", b"\n", b"\r", b"\r\n", b"\x1b[31m", b"\x1b]0;t\x07", b"\x1b", b"\b"),
            *(b"\xff", b"\0", "ü€😀".encode(), b"x" * 700, b"\t"),
        ]
    ),
    max_size=60,
).map(b"".join)


@pytest.mark.parametrize(
    ("written", "read"),
    [
        (b"plain\nlines\n", "plain\nlines\n"),
        (b"dos\r\nlines\r\n", "dos\nlines\n"),
        (b"10%\r20%\r100%", "100%"),
        (b"10%\r\x1b[K20%\r\x1b[K", "20%"),
        (b"50%\r\r\n", "50%\n"),
        (b"\r\r\n", "\n"),
        (b"bold: o\bok", "bold: ok"),
        (b"spin |\b/\b-\b\\", "spin \\"),
        (b"\b\bnothing before", "nothing before"),
        (b"line\n\bnot across lines", "line\nnot across lines"),
        (b"\x1b[1;31mred\x1b[0m and \x1b[38;5;9mmore\x1b[m", "red and more"),
        (b"\x1b]8;;http://x\x1b\\link\x1b]8;;\x1b\\", "link"),
        (b"\x1b]0;title without an end", ""),
        (b"\x1bPdevice\x1b\\x", "x"),
        (b"\x1b(Bcharset \x1b=keypad", "charset keypad"),
        (b"one\x00two\x07", "one␀two␇"),
        (b"caf\xe9", "caf�"),
        ("a\u202eb\u2066c".encode(), "abc"),
        (b"tab\tstays", "tab\tstays"),
        (b"", ""),
    ],
)
def test_a_model_reads_what_a_terminal_would_leave_on_its_lines(written: bytes, read: str) -> None:
    assert clean(written) == read
    assert front(written, 10_000).text == read


@pytest.mark.parametrize(
    ("data", "binary"),
    [
        (b"text\n" * 100, False),
        (b"./src/main_module.py\0" * 50, False),
        (b"\x1b[31mred\x1b[0m\n", False),
        ("ünïcödé".encode(), False),
        (b"caf\xe9 is a long enough line", False),
        (bytes(range(256)), True),
        (b"\x7fELF\x02\x01\x01" + b"\0" * 50, True),
        (b"", False),
    ],
)
def test_what_is_no_text_is_told_from_what_has_a_strange_byte(data: bytes, binary: bool) -> None:
    assert is_binary(data) is binary


@given(WRITTEN, st.integers(200, 3_000))
@settings(max_examples=100)
def test_going_on_passes_over_every_byte_in_bounded_parts(data: bytes, limit: int) -> None:
    offset, texts = 0, []
    while offset < len(data):
        part = front(data[offset:], limit, offset)
        assert part.used > 0
        assert len(part.text.encode()) <= limit + 200, "a mark on a line that is cut may come on top"
        texts.append(part.text)
        offset += part.used
    assert offset == len(data)
    lines = [line for line in data.split(b"\n") if len(line) > min(LINE, limit)]
    if not lines:
        assert "".join(texts) == front(data, len(data) * 4 + 200).text


@given(WRITTEN, st.integers(200, 3_000))
@settings(max_examples=100)
def test_both_ends_are_what_is_read_from_there(data: bytes, limit: int) -> None:
    whole = front(data, 10_000_000).text
    first, last = front(data, limit), back(data, limit)

    assert "\x1b" not in whole and "\r" not in whole and "\b" not in whole
    if all(len(line) < min(LINE, limit) for line in data.split(b"\n")):
        assert whole.startswith(first.text)
        assert whole.endswith(last.text)
        assert whole == first.text + front(data[first.used :], 10_000_000).text


def test_the_rest_of_a_cut_line_begins_where_it_says() -> None:
    data = b"short\n" + "ü".encode() * 5_000 + b"\nafter\n"
    part = front(data, 50_000)
    offset = int(part.text.split("its rest begins at offset ")[1].split("]")[0])

    assert part.used == len(data)
    assert part.text.startswith("short\n" + "ü" * (LINE // 2) + " [a line of 10,001 bytes is cut here;")
    assert part.text.endswith("]\nafter\n")
    rest = front(data[offset:], 50_000, offset)
    assert rest.text.startswith("ü" * (LINE // 2))


def test_a_long_progress_bar_comes_down_to_its_last_state() -> None:
    bar = b"".join(b"\r%d%% %s" % (n % 101, b"#" * 60) for n in range(20_000)) + b"\rdone\n"

    assert front(b"start\n" + bar, 2_000).text == "start\ndone\n"


@pytest.mark.parametrize(
    "data",
    [
        b"a" * 60_000 + b"\b" * 60_000,
        b"\x1b]" * 60_000,
        b"\r" * 400_000,
        b"\x1b[" + b"0" * 400_000,
        b"\n" * 400_000,
    ],
    ids=["backspaces", "strings without an end", "returns", "a sequence without an end", "breaks"],
)
def test_no_output_takes_long(data: bytes) -> None:
    began = time.monotonic()
    clean(data[:64_000])
    front(data, 96_000)
    back(data, 96_000)

    assert time.monotonic() - began < 3
