"""The header reader on files of our own making, whole and broken."""

from __future__ import annotations

import struct
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from local_agent.domain.errors import ModelError
from local_agent.llm.gguf import describe, read_header


def text(value: str) -> bytes:
    data = value.encode()
    return struct.pack("<Q", len(data)) + data


def string(key: str, value: str) -> bytes:
    return text(key) + struct.pack("<I", 8) + text(value)


def number(key: str, value: int) -> bytes:
    return text(key) + struct.pack("<II", 4, value)


def strings(key: str, values: list[str]) -> bytes:
    return text(key) + struct.pack("<IIQ", 9, 8, len(values)) + b"".join(map(text, values))


def tensor(name: str, dimensions: list[int], offset: int) -> bytes:
    shape = struct.pack(f"<I{len(dimensions)}Q", len(dimensions), *dimensions)
    return text(name) + shape + struct.pack("<IQ", 0, offset)


def file_of(pairs: list[bytes], tensors: list[bytes], weights: int = 4096) -> bytes:
    head = b"GGUF" + struct.pack("<IQQ", 3, len(tensors), len(pairs))
    return head + b"".join(pairs) + b"".join(tensors) + bytes(weights)


WHOLE = file_of(
    [
        string("general.architecture", "qwen3"),
        number("general.file_type", 15),
        strings("tokenizer.ggml.tokens", ["a", "é", "中"]),
        number("qwen3.context_length", 40960),
        string("tokenizer.chat_template", "{% if tools %}…{% endif %}<think>"),
    ],
    [tensor("a", [1000, 4_000_000], 0), tensor("b", [300_000_000], 1024)],
)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "Some-4B.Q4_K_M.gguf"


def test_what_a_header_tells(path: Path) -> None:
    path.write_bytes(WHOLE)
    model = describe(path)
    assert (model.name, model.family, model.quantization) == ("Some-4B.Q4_K_M", "qwen3", "Q4_K_M")
    assert (model.parameters, model.trained_window, model.size) == ("4.3B", 40960, len(WHOLE))
    assert model.capabilities == frozenset({"completion", "tools", "thinking"})


def test_a_model_for_embeddings_does_not_chat(path: Path) -> None:
    pairs = [string("general.architecture", "bert"), number("bert.pooling_type", 1)]
    path.write_bytes(file_of(pairs, [tensor("a", [4], 0)]))
    assert not describe(path).can_chat


def test_the_digest_tells_files_apart(path: Path) -> None:
    digests = set()
    for content in (WHOLE, WHOLE + b"more", WHOLE.replace(b"qwen3", b"qwen2")):
        path.write_bytes(content)
        digests.add(read_header(path).digest)
    assert len(digests) == 3


@given(cut=st.integers(0, len(WHOLE) - 3073))
def test_a_file_that_is_cut_short(tmp_path_factory: pytest.TempPathFactory, cut: int) -> None:
    path = tmp_path_factory.mktemp("gguf") / "cut.gguf"
    path.write_bytes(WHOLE[:cut])
    with pytest.raises(ModelError, match="is not a GGUF file, or it is damaged"):
        read_header(path)


@given(place=st.integers(4, len(WHOLE) - 4096), junk=st.binary(min_size=1, max_size=16))
def test_junk_in_the_header_never_raises_anything_else(
    tmp_path_factory: pytest.TempPathFactory, place: int, junk: bytes
) -> None:
    path = tmp_path_factory.mktemp("gguf") / "junk.gguf"
    path.write_bytes(WHOLE[:place] + junk + WHOLE[place + len(junk) :])
    try:
        describe(path)
    except ModelError as error:
        assert "\n" not in error.line


def test_a_folder_is_no_model(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match="can't be read"):
        read_header(tmp_path)
