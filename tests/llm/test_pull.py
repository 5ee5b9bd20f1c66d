"""Pulling a model: its steps, its end, its interruption, and everything that a server may say instead."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import aclosing

import pytest
from hypothesis import given
from hypothesis import strategies as st

from local_agent.domain.errors import LocalAgentError, ModelError, ModelErrorKind, UsageError
from local_agent.domain.models import PullProgress
from local_agent.llm.host import parse_host
from local_agent.llm.ollama import OllamaBackend
from local_agent.llm.pull import checked_name, read_progress
from tests.support.ollama_server import Fault, ModelSpec, OllamaServer, reply

QWEN = ModelSpec("qwen3:4b", size=1_000)


@pytest.fixture
async def server() -> AsyncIterator[OllamaServer]:
    async with OllamaServer() as running:
        yield running


@pytest.fixture
async def backend(server: OllamaServer) -> AsyncIterator[OllamaBackend]:
    made = OllamaBackend(parse_host(server.url))
    yield made
    await made.close()


async def pulled(backend: OllamaBackend, name: str) -> list[PullProgress]:
    async with aclosing(backend.pull(name)) as steps:
        return [step async for step in steps]


async def refused(backend: OllamaBackend, name: str = "qwen3:4b") -> LocalAgentError:
    with pytest.raises(LocalAgentError) as caught:
        await pulled(backend, name)
    assert "\n" not in str(caught.value)
    return caught.value


async def test_a_pull_tells_its_way_and_the_model_is_there(
    server: OllamaServer, backend: OllamaBackend
) -> None:
    server.offer(QWEN)
    assert await backend.describe("llama3.2:3b")  # the list is cached from here on
    steps = await pulled(backend, " qwen3:4b ")
    assert steps[0] == PullProgress("pulling manifest")
    layer = [step for step in steps if step.layer == f"sha256:{QWEN.digest}"]
    assert [step.done for step in layer] == list(range(0, 1_001, 100))
    assert {step.total for step in layer} == {1_000}
    assert [step.status for step in steps[-3:]] == ["verifying sha256 digest", "writing manifest", "success"]
    assert (await backend.describe("qwen3:4b")).size == 1_000


async def test_closing_ends_the_download_and_the_next_pull_goes_on(
    server: OllamaServer, backend: OllamaBackend
) -> None:
    server.offer(QWEN, gate="never")
    async with aclosing(backend.pull("qwen3:4b")) as steps:
        async for step in steps:
            if step.done == 500:
                break
    await server.wait_until(lambda: server.log[-1].disconnected)
    assert "qwen3:4b" not in {model.name for model in (await backend.state()).models}
    server.release("never")
    again = await pulled(backend, "qwen3:4b")
    assert again[1].done == 500
    assert again[-1].status == "success"


async def test_a_cancelled_task_closes_the_connection(server: OllamaServer, backend: OllamaBackend) -> None:
    server.offer(QWEN, gate="never")
    task = asyncio.create_task(pulled(backend, "qwen3:4b"))
    await server.wait_until(lambda: server.log and server.log[-1].first_byte)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    await server.wait_until(lambda: server.log[-1].disconnected)


FAILURES = [
    ("pull model manifest: file does not exist", ModelErrorKind.NO_MODEL, "no model named qwen3:4b"),
    ("pull model manifest: 412: The model requires a newer version", ModelErrorKind.SERVER, "newer Ollama"),
    ("write /root/.ollama/x: no space left on device", ModelErrorKind.SERVER, "no room left"),
    ("digest mismatch, file must be downloaded again: want a, got b", ModelErrorKind.SERVER, "damaged"),
    ("dial tcp: lookup registry.ollama.ai: no such host", ModelErrorKind.SERVER, "model library"),
    ("something\nelse \x1b[31m", ModelErrorKind.SERVER, "could not be pulled: something"),
    ("", ModelErrorKind.SERVER, "could not be pulled."),
    ({"deep": [1]}, ModelErrorKind.SERVER, "could not be pulled"),
]


@pytest.mark.parametrize(("said", "kind", "words"), FAILURES)
async def test_a_failure_in_mid_pull_is_one_line_with_the_way_out(
    server: OllamaServer, backend: OllamaBackend, said: object, kind: ModelErrorKind, words: str
) -> None:
    server.library.answer_raw(
        b'{"status":"pulling manifest"}\n' + json.dumps({"error": said}).encode() + b"\n"
    )
    error = await refused(backend)
    assert isinstance(error, ModelError) and error.kind is kind
    assert words in error.line and error.hint
    assert "\x1b" not in error.line


@pytest.mark.parametrize("how", [{"error": "unexpected EOF"}, {"broken_at": 0.99}])
async def test_what_fails_at_99_percent_goes_on_from_there(
    server: OllamaServer, backend: OllamaBackend, how: dict[str, object]
) -> None:
    server.offer(QWEN, **how)
    error = await refused(backend)
    assert "goes on" in error.hint
    again = await pulled(backend, "qwen3:4b")
    assert (again[1].done, again[-1].status) == (990, "success")


ODD = [
    (b'{"status":"pulling manifest"}\n', ModelErrorKind.CUT_OFF),
    (b"", ModelErrorKind.CUT_OFF),
    (b'{"status":"pull', ModelErrorKind.MALFORMED),
    (b"<html>\n", ModelErrorKind.MALFORMED),
    (b"[1]\n", ModelErrorKind.MALFORMED),
    (b"x" * 1_000 + b"\n", ModelErrorKind.MALFORMED),
]


@pytest.mark.parametrize(("body", "kind"), ODD)
async def test_a_stream_that_is_none_or_ends_early(
    server: OllamaServer, backend: OllamaBackend, body: bytes, kind: ModelErrorKind
) -> None:
    server.library.answer_raw(body or b"\n")
    error = await refused(backend)
    assert isinstance(error, ModelError) and error.kind is kind


async def test_blank_lines_and_a_last_line_without_its_end_do_no_harm(
    server: OllamaServer, backend: OllamaBackend
) -> None:
    server.library.answer_raw(b'\n\r\n{"status":"a","total":"9","completed":-4}\n{"status":"success"}')
    assert await pulled(backend, "qwen3:4b") == [PullProgress("a"), PullProgress("success")]


FAULTS = [
    (reply(500, {"error": "invalid model name"}, path="/api/pull"), "no model named"),
    (reply(404, "404 page not found", "text/plain", path="/api/pull"), "no Ollama server"),
    (reply(502, "<html>", path="/api/pull"), "can't reach its Ollama server"),
    (Fault("close_before_headers", "/api/pull"), "closed the connection"),
    (Fault("rst_before_headers", "/api/pull"), ""),
]


@pytest.mark.parametrize(("fault", "words"), FAULTS)
async def test_a_connection_that_fails_before_the_first_step(
    server: OllamaServer, backend: OllamaBackend, fault: Fault, words: str
) -> None:
    server.fault(fault)
    assert words in (await refused(backend)).line


async def test_no_server(server: OllamaServer, backend: OllamaBackend) -> None:
    await server.refuse()
    assert "No Ollama server answers" in (await refused(backend)).line


@pytest.mark.parametrize(
    "name",
    [
        "",
        "  ",
        "a b",
        "-x",
        "a:b:c",
        "/etc/passwd",
        "../x",
        "a\x1b[31m",
        "x" * 300,
        "ümlaut",
        "a/b/c/d",
        "\n",
    ],
)
async def test_what_is_no_name_is_not_even_asked_for(
    server: OllamaServer, backend: OllamaBackend, name: str
) -> None:
    error = await refused(backend, name)
    assert isinstance(error, UsageError) and error.hint
    assert server.log == []


@pytest.mark.parametrize("name", ["gpt-oss:120b-cloud", "x:cloud"])
async def test_a_cloud_model_has_nothing_to_pull(
    server: OllamaServer, backend: OllamaBackend, name: str
) -> None:
    error = await refused(backend, name)
    assert "nothing to pull" in error.line
    assert server.log == []


@pytest.mark.parametrize(
    "name",
    ["qwen3", "qwen3:4b", "me/mine:latest", "hf.co/owner/Model-GGUF:Q4_K_M", "box.lan:5000/a/b:c", "1"],
)
def test_names_of_the_library(name: str) -> None:
    assert checked_name(f" {name} ") == name


@given(st.dictionaries(st.sampled_from(["status", "digest", "total", "completed"]), st.from_type(object)))
def test_any_value_is_read(value: dict[str, object]) -> None:
    step = read_progress(value)
    assert step.done is None or step.total is None or 0 <= step.done <= step.total


async def test_unloading_frees_the_memory(server: OllamaServer, backend: OllamaBackend) -> None:
    server.memory.load(server.models["llama3.2:3b"], 4096, {})
    assert await backend.loaded("llama3.2:3b")
    await backend.unload("llama3.2:3b")
    assert await backend.loaded("llama3.2:3b") is False
    await backend.unload("llama3.2:3b")
    with pytest.raises(ModelError, match="no model named gone"):
        await backend.unload("gone")
