"""Every refusal and every way to fail, from the words on the wire to the line that a person reads."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from dataclasses import dataclass, replace

import httpx
import pytest

from local_agent.domain.errors import ModelError, ModelErrorKind
from local_agent.domain.ports import ChatRequest, TextPart
from local_agent.domain.requests import Message
from local_agent.llm.error_words import unwrap
from local_agent.llm.failures import Explainer
from local_agent.llm.host import parse_host
from local_agent.llm.ollama import OllamaBackend
from tests.support.ollama_server import (
    ModelSpec,
    OllamaServer,
    Turn,
    end,
    error,
    http,
    raw,
    reply,
    say,
)

REQUEST = ChatRequest("llama3.2:3b", (Message("user", "Hello?"),), window=4096, max_output=2048)
MODELS = [
    ModelSpec("llama3.2:3b"),
    ModelSpec("plain", ("completion",)),
    ModelSpec("embed", ("embedding",)),
    ModelSpec("broken", load_error="llama-server reported out-of-memory during startup: cudaMalloc failed"),
]
Kind = ModelErrorKind


@pytest.fixture
async def server() -> AsyncIterator[OllamaServer]:
    async with OllamaServer(MODELS) as running:
        yield running


@pytest.fixture
async def backend(server: OllamaServer) -> AsyncIterator[OllamaBackend]:
    made = OllamaBackend(parse_host(server.url))
    yield made
    await made.close()


async def failure(backend: OllamaBackend, request: ChatRequest = REQUEST) -> ModelError:
    """The error that a request ends with; fails when it ends without one."""
    with pytest.raises(ModelError) as caught:
        async for _ in backend.stream(request):
            pass
    found = caught.value
    assert found.line.isprintable()
    assert found.hint.isprintable()
    assert len(found.line) <= 420
    assert "Traceback" not in found.raw
    return found


LLAMA_OVERFLOW = json.dumps(
    {
        "error": {
            "code": 400,
            "message": "request (5001 tokens) exceeds the available context size (4096 tokens), "
            "try increasing it",
            "type": "exceed_context_size_error",
            "n_prompt_tokens": 5001,
            "n_ctx": 4096,
        }
    }
)
RENDERED_OVERFLOW = (
    "the prompt is longer than the context length currently available to the model; shorten the prompt, "
    "adjust the context length in settings, or use a model with a longer context length"
)
RUNNER = (
    "model runner has unexpectedly stopped, this may be due to resource limitations or an internal error, "
    "check ollama server logs for details"
)


@dataclass(frozen=True)
class Case:
    """An error of ``/api/chat``; ``words`` stand in the line or the hint."""

    status: int
    error: object
    kind: Kind
    words: str


CASES = [
    Case(404, "model 'llama3.2:3b' not found", Kind.NO_MODEL, "ollama pull llama3.2:3b"),
    Case(404, "", Kind.NO_MODEL, "no model named llama3.2:3b"),
    Case(400, "registry.ollama.ai/library/llama3.2:3b does not support tools", Kind.NO_TOOLS, "tools"),
    Case(400, '"llama3.2:3b" does not support thinking', Kind.NO_THINKING, "think"),
    Case(400, '"llama3.2:3b" does not support chat', Kind.SERVER, "no model to chat with"),
    Case(400, 'invalid think value: "ultra" (must be "high", true, or false)', Kind.SERVER, "model.thinking"),
    Case(400, "think must be a boolean or string", Kind.SERVER, "model.thinking"),
    Case(400, LLAMA_OVERFLOW, Kind.CONTEXT_OVERFLOW, "(5,001 tokens of 4,096)"),
    Case(400, RENDERED_OVERFLOW, Kind.CONTEXT_OVERFLOW, "/new"),
    Case(400, "input length (99 tokens) exceeds the model's maximum context length (9 tokens)",
         Kind.CONTEXT_OVERFLOW, "(99 tokens of 9)"),
    Case(400, "the input length exceeds the context length", Kind.CONTEXT_OVERFLOW, "too long"),
    Case(400, "invalid model name", Kind.SERVER, "invalid model name"),
    Case(400, 'time: missing unit in duration "300"', Kind.SERVER, "missing unit"),
    Case(500, 'option "num_ctx" must be of type integer', Kind.SERVER, "model.options"),
    Case(500, "llama-server reported out-of-memory during startup: x", Kind.NO_MEMORY, "memory"),
    Case(500, "model requires more system memory (9 GiB) than is available", Kind.NO_MEMORY, "smaller model"),
    Case(500, "llama-server process has terminated: exit status 2", Kind.SERVER, "has died"),
    Case(500, RUNNER, Kind.SERVER, "has died"),
    Case(500, "failed to parse JSON: unexpected end of JSON input", Kind.MALFORMED, "tool call"),
    Case(500, "error parsing tool call: raw='{', err=unexpected end", Kind.MALFORMED, "tool call"),
    Case(500, 'llama-server returned invalid tool call arguments for "f": x', Kind.MALFORMED, "tool call"),
    Case(500, "tool 'x' not found", Kind.MALFORMED, "tool call"),
    Case(400, '{"error":{"code":500,"message":"Conversation roles must alternate","type":"server_error"}}',
         Kind.SERVER, "roles must alternate"),
    Case(500, "llama-server chat error: map[code:500 message:Failed to parse input at pos 5: <x>]",
         Kind.MALFORMED, "tool call"),
    Case(500, "timed out waiting for llama-server to start - progress 0.50", Kind.SERVER, "timed out"),
    Case(400, "illegal base64 data at input byte 4", Kind.SERVER, "base64"),
    Case(500, "llama-server binary not found (checked: /usr/lib)", Kind.SERVER, "binary not found"),
    Case(401, "unauthorized", Kind.UNAUTHORIZED, "unauthorized"),
    Case(403, "ollama cloud is disabled: remote model unavailable", Kind.UNAUTHORIZED, "cloud is disabled"),
    Case(429, "you have reached your hourly limit", Kind.BUSY, "hourly limit"),
    Case(502, "dial tcp: lookup ollama.com: no such host", Kind.UNREACHABLE, "no such host"),
    Case(418, "short and stout", Kind.SERVER, "short and stout"),
    Case(500, "\x1b[31mred\u202e\nlines", Kind.SERVER, "lines"),
    Case(500, "x" * 5000, Kind.SERVER, "xxx"),
]  # fmt: skip


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case.status}-{str(case.error)[:30]}")
async def test_before_the_first_value(server: OllamaServer, backend: OllamaBackend, case: Case) -> None:
    server.script(*[Turn(http(case.status, {"error": case.error}))] * 3)
    found = await failure(backend)
    assert found.kind is case.kind
    assert case.words in f"{found.line} {found.hint}"


IN_STREAM = [case for case in CASES if case.status in (400, 500)]


@pytest.mark.parametrize("case", IN_STREAM, ids=lambda case: str(case.error)[:30])
async def test_the_same_words_in_mid_stream(server: OllamaServer, backend: OllamaBackend, case: Case) -> None:
    server.script(Turn(say("Some text."), error(case.error)))
    arrived = []
    with pytest.raises(ModelError) as caught:
        async for part in backend.stream(REQUEST):
            arrived.append(part)
    assert "".join(part.text for part in arrived if isinstance(part, TextPart)) == "Some text."
    assert caught.value.kind is case.kind
    assert caught.value.line.isprintable()


@pytest.mark.parametrize(
    ("value", "kind", "words"),
    [
        ("404", Kind.SERVER, "404"),
        ("null", Kind.SERVER, "null"),
        ('"x"', Kind.SERVER, "x"),
        ("[1]", Kind.SERVER, "[1]"),
        ("", Kind.SERVER, "broke the reply off"),
        (None, Kind.SERVER, "broke the reply off"),
        ({}, Kind.SERVER, "broke the reply off"),
        (7, Kind.SERVER, "7"),
        ({"message": "in an object"}, Kind.SERVER, "in an object"),
        ({"error": {"message": "deeper"}}, Kind.SERVER, "deeper"),
        ('{"error":{"message":"in a string"}}', Kind.SERVER, "in a string"),
        ({"code": 5}, Kind.SERVER, "code"),
        ("{not json", Kind.SERVER, "{not json"),
    ],
)
async def test_any_shape_of_error_in_mid_stream(
    server: OllamaServer, backend: OllamaBackend, value: object, kind: Kind, words: str
) -> None:
    server.script(Turn(say("Some"), error(value)))
    found = await failure(backend)
    assert found.kind is kind
    assert words in found.line


async def test_an_error_without_a_line_end(server: OllamaServer, backend: OllamaBackend) -> None:
    """The second cloud path appends its error to the body as it stands."""
    server.script(Turn(say("Some"), raw(b'{"error":"upstream is gone"}'), end("clean")))
    assert "upstream is gone" in (await failure(backend)).line


PAGE = "<html><head><title>502 Bad Gateway</title></head><body>nginx</body></html>"


@pytest.mark.parametrize(
    ("status", "body", "content_type", "kind"),
    [
        (403, "", "", Kind.UNAUTHORIZED),
        (500, "", "", Kind.SERVER),
        (502, PAGE, "text/html", Kind.UNREACHABLE),
        (504, PAGE, "", Kind.UNREACHABLE),
        (500, PAGE, "text/html", Kind.SERVER),
        (404, PAGE, "text/html", Kind.SERVER),
        (404, "404 page not found", "text/plain", Kind.SERVER),
        (405, "405 method not allowed", "text/plain", Kind.SERVER),
        (500, '"just text"', "application/json", Kind.SERVER),
        (500, "[1, 2]", "application/json", Kind.SERVER),
        (500, "null", "application/json", Kind.SERVER),
        (500, "[" * 50_000, "application/json", Kind.SERVER),
        (500, "z" * 2_000_000, "text/plain", Kind.SERVER),
        (204, "", "", Kind.SERVER),
    ],
)
async def test_what_proxies_and_panics_send(
    server: OllamaServer, backend: OllamaBackend, status: int, body: str, content_type: str, kind: Kind
) -> None:
    server.fault(*[reply(status, body, content_type)] * 3)
    found = await failure(backend)
    assert found.kind is kind
    assert "<" not in found.line + found.raw


async def test_a_cloud_model_without_sign_in_shows_where_to_sign_in(
    server: OllamaServer, backend: OllamaBackend
) -> None:
    server.signed_in = False
    found = await failure(backend, replace(REQUEST, model="gpt-oss:120b-cloud"))
    assert found.kind is Kind.UNAUTHORIZED
    assert "https://ollama.com/connect?name=test&key=abc" in found.hint
    assert len(server.chats) == 1


async def test_an_unknown_model(server: OllamaServer, backend: OllamaBackend) -> None:
    found = await failure(backend, replace(REQUEST, model="nope:1b"))
    assert (found.kind, found.hint) == (Kind.NO_MODEL, "Get it with: ollama pull nope:1b")
    assert found.line == "The server has no model named nope:1b."


async def test_an_embedding_model_is_not_asked_twice(server: OllamaServer, backend: OllamaBackend) -> None:
    found = await failure(backend, replace(REQUEST, model="embed"))
    assert "no model to chat with" in found.line
    assert len(server.chats) == 1


async def test_a_load_that_fails(server: OllamaServer, backend: OllamaBackend) -> None:
    found = await failure(backend, replace(REQUEST, model="broken"))
    assert "memory" in found.line
    assert "cudaMalloc" in found.raw


@pytest.mark.parametrize("engine", ["native", "generic", "mlx"])
@pytest.mark.parametrize("version", ["0.33.0", "0.20.0"])
async def test_an_overflow_is_an_error_and_never_a_cut(engine: str, version: str) -> None:
    async with OllamaServer([ModelSpec("m", engine=engine)], version=version) as server:
        backend = OllamaBackend(parse_host(server.url))
        long = Message("user", "word " * 10_000)
        found = await failure(backend, replace(REQUEST, model="m", messages=(long, *REQUEST.messages)))
        await backend.close()
    assert found.kind is Kind.CONTEXT_OVERFLOW
    assert server.chats[0].dropped == 0


@pytest.mark.parametrize(
    ("host", "hint"),
    [
        ("localhost", "Start it with: ollama serve"),
        ("box.lan", "Start it there with: OLLAMA_HOST=0.0.0.0 ollama serve"),
    ],
)
def test_where_to_start_a_server(host: str, hint: str) -> None:
    refused = httpx.ConnectError("All connection attempts failed")
    assert Explainer(parse_host(host)).transport(refused, begun=False).hint == hint


def test_unwrapping_ends() -> None:
    nested: object = "core"
    for _ in range(50):
        nested = {"error": nested}
    assert len(unwrap(nested)) < 1000
