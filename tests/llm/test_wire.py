"""Lines out of bytes, whatever the pieces they come in."""

from __future__ import annotations

import base64
import itertools
import json
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from local_agent.domain.entries import ToolCall
from local_agent.domain.errors import ModelError, ModelErrorKind
from local_agent.domain.pictures import Picture
from local_agent.domain.ports import ChatRequest, TextPart, ThinkingPart
from local_agent.domain.requests import Message
from local_agent.llm.body import Body
from local_agent.llm.leaked_thinking import LeakedThinking
from local_agent.llm.wire import LineSplitter, chat_body, read_chunk


def cut(data: bytes, places: list[int]) -> list[bytes]:
    """Cut bytes at these places."""
    edges = sorted({0, len(data), *(place % (len(data) + 1) for place in places)})
    return [data[start:stop] for start, stop in itertools.pairwise(edges)]


@given(st.lists(st.binary(max_size=30)), st.lists(st.integers(0, 500)))
def test_pieces_do_not_matter(lines: list[bytes], places: list[int]) -> None:
    lines = [one.replace(b"\n", b"") for one in lines]
    splitter = LineSplitter()
    body = b"".join(one + b"\n" for one in lines) + b"rest"
    found = [one for piece in cut(body, places) for one in splitter.feed(piece)]
    assert found == lines
    assert splitter.rest() == b"rest"
    assert splitter.rest() == b""


@pytest.mark.parametrize("size", [1, 7, 64])
def test_a_long_line_is_refused_before_it_is_held(size: int) -> None:
    splitter = LineSplitter(limit=100)
    held = 0
    with pytest.raises(ModelError) as caught:
        while held < 1000:
            list(splitter.feed(b"x" * size))
            held += size
    assert held <= 100
    assert caught.value.kind is ModelErrorKind.MALFORMED


def test_many_short_lines_are_never_too_long() -> None:
    splitter = LineSplitter(limit=10)
    assert len(list(splitter.feed(b"12345678\n" * 1000))) == 1000


@given(st.binary(max_size=200))
def test_any_line_is_read_or_refused_in_words(data: bytes) -> None:
    try:
        read_chunk(data)
    except ModelError as error:
        assert error.line.isprintable()


OF_A_MESSAGE = ["message", "content", "thinking", "tool_calls", "function", "name", "arguments", "id"]
KEYS = st.sampled_from([*OF_A_MESSAGE, "done", "done_reason", "eval_count", "error"])
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=6),
    max_leaves=25,
)


@given(JSON)
def test_any_json_is_read_or_refused_in_words(value: object) -> None:
    try:
        chunk = read_chunk(json.dumps(value).encode())
    except ModelError as error:
        assert error.line.isprintable()
    else:
        assert chunk is not None


@given(
    st.text("<thinkg/> \nab", max_size=40) | st.just("<think>x</think>y"),
    st.lists(st.integers(0, 60), max_size=8),
)
def test_leaked_thinking_does_not_depend_on_pieces(text: str, places: list[int]) -> None:
    def split(pieces: list[str]) -> tuple[str, str]:
        reader = LeakedThinking()
        parts = [part for piece in pieces for part in reader.feed(piece)] + list(reader.end())
        thinking = "".join(part.text for part in parts if isinstance(part, ThinkingPart))
        answer = "".join(part.text for part in parts if isinstance(part, TextPart))
        return thinking, answer

    whole = split([text])
    assert split([piece.decode() for piece in cut(text.encode(), places)]) == whole
    if not text.lstrip().startswith("<think>"):
        assert whole == ("", text)


@pytest.mark.parametrize("size", [0, 1, 2, 3, 3 * (1 << 16), 3 * (1 << 16) + 1, 1_000_000])
async def test_pictures_are_written_in_pieces_that_join(size: int) -> None:
    data = random.Random(size).randbytes(size)
    picture, other = (Picture(letter * 64, "x.png", "image/png", 9, 2, 2) for letter in "ab")
    messages = (
        Message("system", "Be brief \u2028\x85 \U0001f600."),
        Message("user", "", pictures=(picture, other, picture)),
        Message("assistant", "", calls=(ToolCall("1", "read", {"path": "a", "lines": [1, None, 2.5]}),)),
        Message("user", "And?", pictures=(other,)),
    )
    request = ChatRequest("m", messages, 4096, 512, options={"seed": 7})
    value = chat_body(request, window=True, truncate_known=True, think="low")
    body = Body(value, messages, {picture.sha256: data, other.sha256: b"\x00\xff?"})

    pieces = [piece async for piece in body.pieces()]
    assert len(body) == sum(map(len, pieces)) and max(map(len, pieces)) <= 1 << 18
    assert pieces == [piece async for piece in body.pieces()], "it can be sent again"
    sent = json.loads(b"".join(pieces))
    whole = base64.b64encode(data).decode()
    assert [message.pop("images", None) for message in sent["messages"]] == [
        None, [whole, "AP8/", whole], None, ["AP8/"],
    ]  # fmt: skip
    assert sent == json.loads(json.dumps(value))
