"""What the backend says of servers and models, new, old, odd and gone."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import replace

import pytest

from local_agent.domain.errors import ModelError, ModelErrorKind
from local_agent.domain.models import Location, is_cloud_name
from local_agent.domain.ports import Backend, ChatRequest, TextPart
from local_agent.domain.requests import Message
from local_agent.llm import inventory
from local_agent.llm.host import ServerAddress, parse_host
from local_agent.llm.model_rows import row_to_model
from local_agent.llm.ollama import OllamaBackend
from tests.support.ollama_server import REMOVE, Fault, ModelSpec, OllamaServer, reply

LLAMA = ModelSpec("llama3.2:3b")
EMBED = ModelSpec("embed", ("embedding",), arch="bert", size=100_000_000)
ALIAS = ModelSpec(
    "mine", engine="cloud", size=400, remote_model="big:120b", remote_host="https://ollama.com:443"
)
HERS = replace(ALIAS, name="hers:latest", digest="", remote_host="https://box.example:11434")
NAMED = ModelSpec("gpt-oss:120b-cloud", engine="cloud", size=400)
ALL = [LLAMA, EMBED, ALIAS, HERS, NAMED]
LOOPBACK = parse_host("")
LAN = parse_host("box.lan")


@pytest.fixture
async def server() -> AsyncIterator[OllamaServer]:
    async with OllamaServer(ALL) as running:
        yield running


@pytest.fixture
async def backend(server: OllamaServer) -> AsyncIterator[OllamaBackend]:
    made = OllamaBackend(parse_host(server.url))
    yield made
    await made.close()


def test_it_is_a_backend() -> None:
    backend: Backend = OllamaBackend(LOOPBACK)
    assert (backend.kind, backend.address) == ("ollama", "http://127.0.0.1:11434")


async def test_state(server: OllamaServer, backend: OllamaBackend) -> None:
    state = await backend.state()
    assert (state.reachable, state.version, state.problem) == (True, "0.33.0", "")
    by_name = {model.name: model for model in state.models}
    llama = by_name["llama3.2:3b"]
    assert llama.digest == LLAMA.digest
    assert llama.size == LLAMA.size
    assert (llama.parameters, llama.quantization, llama.family) == ("3.2B", "Q4_K_M", "llama")
    assert llama.capabilities == frozenset({"completion", "tools"})
    assert llama.modified_at == "2026-05-04T08:11:12.123Z"
    assert not llama.loaded
    assert not by_name["embed:latest"].can_chat


async def test_where_models_run(backend: OllamaBackend) -> None:
    state = await backend.state()
    assert {model.name: (model.location, model.proxied) for model in state.models} == {
        "llama3.2:3b": (Location.LOCAL, False),
        "embed:latest": (Location.LOCAL, False),
        "mine:latest": (Location.CLOUD, True),
        "hers:latest": (Location.REMOTE, True),
        "gpt-oss:120b-cloud": (Location.CLOUD, True),
    }


@pytest.mark.parametrize(
    ("row", "address", "expected"),
    [
        ({"name": "m", "digest": "abc", "size": 5}, LOOPBACK, Location.LOCAL),
        ({"name": "m", "digest": "abc", "size": 5}, LAN, Location.REMOTE),
        ({"name": "m", "digest": "abc"}, LOOPBACK, Location.UNKNOWN),
        ({"name": "m", "size": 5}, LOOPBACK, Location.UNKNOWN),
        ({"name": "m"}, LOOPBACK, Location.UNKNOWN),
        ({"name": "m:cloud", "digest": "abc", "size": 5}, LOOPBACK, Location.CLOUD),
        ({"name": "m", "digest": "a", "size": 5, "remote_model": "x"}, LOOPBACK, Location.REMOTE),
        ({"name": "m", "digest": "a", "size": 5, "remote_host": "ollama.com"}, LOOPBACK, Location.CLOUD),
        (
            {"name": "m", "digest": "a", "size": 5, "remote_host": "https://eu.ollama.com:443"},
            LAN,
            Location.CLOUD,
        ),
        ({"name": "m", "digest": "a", "size": 5, "remote_host": "notollama.com"}, LOOPBACK, Location.REMOTE),
    ],
)
def test_a_location_needs_a_proof(row: dict[str, object], address: ServerAddress, expected: Location) -> None:
    model = row_to_model(row, address)
    assert model is not None
    assert model.location is expected


@pytest.mark.parametrize(
    ("name", "cloud"),
    [
        ("a:cloud", True),
        ("a:120b-cloud", True),
        ("A:Cloud", True),
        ("hf.co/x/a:cloud", True),
        ("cloud", False),
        ("a:cloudy", False),
        ("cloud:3b", False),
        ("host:80/cloud", False),
    ],
)
def test_cloud_names(name: str, cloud: bool) -> None:
    assert is_cloud_name(name) is cloud


@pytest.mark.parametrize("name", ["llama3.2:3b", "mine", "mine:latest"])
async def test_describe(backend: OllamaBackend, name: str) -> None:
    model = await backend.describe(name)
    assert model.trained_window == 131_072
    # 28 layers of 8 heads, 128 wide, keys and values, two bytes each.
    assert model.kv_bytes_per_token == 28 * 8 * (128 + 128) * 2
    assert model.name == (name if ":" in name else f"{name}:latest")


async def test_describe_tells_what_is_loaded(server: OllamaServer, backend: OllamaBackend) -> None:
    server.memory.load(replace(LLAMA, gpu_share=0.5), 8192, {})
    model = await backend.describe("llama3.2:3b")
    assert (model.loaded, model.loaded_window, model.size_vram) == (True, 8192, LLAMA.size // 2)
    assert model.expires_at is not None
    assert model.expires_at.startswith("2")
    assert await backend.loaded("llama3.2:3b") is True
    assert await backend.loaded("mine") is False


async def test_describe_what_is_not_there(backend: OllamaBackend) -> None:
    with pytest.raises(ModelError) as caught:
        await backend.describe("nope")
    assert caught.value.kind is ModelErrorKind.NO_MODEL
    assert caught.value.hint == "Get it with: ollama pull nope"


async def test_show_is_asked_once_for_a_digest(server: OllamaServer, backend: OllamaBackend) -> None:
    for _ in range(3):
        await backend.describe("llama3.2:3b")
    asked = [record.path for record in server.log]
    assert asked.count("/api/show") == 1
    assert asked.count("/api/tags") == 1
    server.models["llama3.2:3b"] = replace(LLAMA, digest="f" * 64)
    await backend.state()
    assert (await backend.describe("llama3.2:3b")).digest == "f" * 64
    assert [record.path for record in server.log].count("/api/show") == 2


async def test_a_new_server_is_not_asked_for_each_model(server: OllamaServer, backend: OllamaBackend) -> None:
    await backend.state()
    assert "/api/show" not in [record.path for record in server.log]


@pytest.mark.parametrize("version", ["0.5.0", "0.9.0", "0.20.0"])
async def test_an_old_server(version: str) -> None:
    async with OllamaServer([LLAMA, EMBED], version=version) as server:
        backend = OllamaBackend(parse_host(server.url))
        server.memory.load(LLAMA, 4096, {})
        state = await backend.state()
        await backend.close()
    by_name = {model.name: model for model in state.models}
    assert state.version == version
    assert by_name["llama3.2:3b"].loaded
    assert by_name["llama3.2:3b"].loaded_window == (4096 if version == "0.20.0" else None)
    knows = version != "0.5.0"
    assert by_name["embed:latest"].capabilities == (frozenset({"embedding"}) if knows else None)


@pytest.mark.parametrize(
    "show",
    [
        {"model_info": REMOVE},
        {"model_info": None, "details": None, "capabilities": None},
        {"model_info": [], "details": "x", "capabilities": "y", "modified_at": 7},
        {"model_info": {}},
        {"model_info": {"general.architecture": 5, "x.context_length": "no"}},
        {"model_info": {"general.architecture": "llama", "llama.context_length": True}},
    ],
)
async def test_a_description_with_holes(show: dict[str, object]) -> None:
    async with OllamaServer([replace(LLAMA, show=show)]) as server:
        backend = OllamaBackend(parse_host(server.url))
        model = await backend.describe("llama3.2:3b")
        await backend.close()
    assert model.trained_window is None
    assert model.kv_bytes_per_token is None
    assert model.location is Location.LOCAL


@pytest.mark.parametrize(
    ("facts", "expected"),
    [
        ({"a.attention.head_count_kv": [2, 0, 4], "a.attention.key_length": 64}, 6 * 128 * 2),
        ({"a.attention.head_count_kv": [], "a.attention.head_count": 4, "a.embedding_length": 256,
          "a.block_count": 3}, 4 * 3 * 128 * 2),
        ({"a.attention.head_count_kv": 2, "a.block_count": 3, "a.attention.key_length": 64,
          "a.attention.value_length": 32}, 6 * 96 * 2),
        ({"a.block_count": 3}, None),
    ],
)  # fmt: skip
async def test_the_cache_of_other_architectures(facts: dict[str, object], expected: int | None) -> None:
    show = {"model_info": {"general.architecture": "a", **facts}}
    async with OllamaServer([replace(LLAMA, show=show)]) as server:
        backend = OllamaBackend(parse_host(server.url))
        model = await backend.describe("llama3.2:3b")
        await backend.close()
    assert model.kv_bytes_per_token == expected


async def test_a_server_that_is_gone_is_a_state(server: OllamaServer, backend: OllamaBackend) -> None:
    await server.refuse()
    state = await backend.state()
    assert (state.reachable, state.models) == (False, ())
    assert state.problem == f"No Ollama server answers at {parse_host(server.url).display}."
    assert state.hint == "Start it with: ollama serve"
    assert await backend.loaded("llama3.2:3b") is None
    await server.accept()
    assert (await backend.state()).reachable


@pytest.mark.parametrize("path", ["/api/version", "/api/tags"])
@pytest.mark.parametrize("body", ["<html>", "[]", "null", "", '"x"', "[" * 50_000])
async def test_answers_that_make_no_sense(
    server: OllamaServer, backend: OllamaBackend, path: str, body: str
) -> None:
    server.fault(reply(200, body, path=path))
    state = await backend.state()
    assert not state.reachable
    assert state.problem.isprintable()


@pytest.mark.parametrize(
    "body", [{"models": None}, {}, {"models": [1, None, {}]}, {"models": {"a": 1}}, {"models": [{"name": 5}]}]
)
async def test_lists_with_holes(server: OllamaServer, backend: OllamaBackend, body: object) -> None:
    server.fault(reply(200, body, path="/api/tags"), reply(200, body, path="/api/ps"))
    state = await backend.state()
    assert (state.reachable, state.models) == (True, ())


async def test_a_list_that_fails_does_not_stop_a_chat(server: OllamaServer, backend: OllamaBackend) -> None:
    server.fault(reply(500, {"error": "model list cache unavailable"}, path="/api/tags"))
    server.fault(reply(404, "404 page not found", path="/api/version"))
    server.script("Yes.")
    request = ChatRequest("llama3.2:3b", (Message("user", "?"),), 4096, 100)
    parts = [part async for part in backend.stream(request)]
    assert "".join(part.text for part in parts if isinstance(part, TextPart)) == "Yes."
    assert server.chats[0].body["options"] == {"num_ctx": 4096, "num_predict": 100}


async def test_no_models_at_all() -> None:
    async with OllamaServer([]) as server:
        backend = OllamaBackend(parse_host(server.url))
        state = await backend.state()
        await backend.close()
    assert (state.reachable, state.models) == (True, ())


async def test_a_list_that_ps_cannot_complete(server: OllamaServer, backend: OllamaBackend) -> None:
    server.fault(Fault("close_before_headers", path="/api/ps"))
    state = await backend.state()
    assert state.reachable
    assert len(state.models) == len(ALL)


@pytest.mark.parametrize(("through_proxy", "sent"), [(True, None), (False, "Bearer secret")])
async def test_the_account_key_does_not_cross_a_network_in_the_clear(
    server: OllamaServer, monkeypatch: pytest.MonkeyPatch, through_proxy: bool, sent: str | None
) -> None:
    """The scripted server is the proxy here, so that a request to another host arrives at it."""
    monkeypatch.setenv("OLLAMA_API_KEY", "secret")
    monkeypatch.setenv("HTTP_PROXY", server.url)
    backend = OllamaBackend(parse_host("http://box.invalid:11434" if through_proxy else server.url))
    await backend.state()
    await backend.close()
    assert server.log[0].path.startswith("http://box.invalid" if through_proxy else "/api")
    assert server.log[0].headers.get("authorization") == sent


async def test_after_close_there_are_words_too(server: OllamaServer) -> None:
    backend = OllamaBackend(parse_host(server.url))
    await backend.state()
    await backend.close()
    assert not (await backend.state()).reachable
    assert await backend.loaded("llama3.2:3b") is None
    with pytest.raises(ModelError, match="is closed"):
        await backend.describe("llama3.2:3b")
    with pytest.raises(ModelError, match="is closed"):
        await anext(backend.stream(ChatRequest("llama3.2:3b", (Message("user", "?"),), 4096, 100)))
    assert server.chats == []


async def test_a_cloud_name_that_is_not_in_the_list(backend: OllamaBackend) -> None:
    model = await backend.describe("qwen3-coder:480b-cloud")
    assert (model.location, model.proxied) == (Location.CLOUD, True)


async def test_a_name_that_is_listed_twice_is_one_model(server: OllamaServer, backend: OllamaBackend) -> None:
    rows = [
        {"name": "a", "digest": "1", "size": 5},
        {"name": "a:latest", "digest": "2", "size": 6},
        {"name": "a:1b", "digest": "3", "size": 7},
    ]
    server.fault(reply(200, {"models": rows}, path="/api/tags"))
    assert [(m.name, m.digest) for m in (await backend.state()).models] == [("a", "1"), ("a:1b", "3")]


@pytest.mark.parametrize(("version", "asked"), [("0.33.0", 0), ("0.20.0", 100)])
async def test_ten_thousand_models_are_listed_without_asking_for_each(version: str, asked: int) -> None:
    rows: list[dict[str, object]] = [
        {
            "name": f"m{number}:1b",
            "digest": f"{number}",
            "size": 5,
            "modified_at": f"2026-01-01T00:00:00.{number}Z",
        }
        for number in range(10_000)
    ]
    if version == "0.33.0":
        rows = [{**row, "capabilities": ["completion"]} for row in rows]
    async with OllamaServer([LLAMA], version=version) as server:
        server.fault(reply(200, {"models": rows}, path="/api/tags"))
        backend = OllamaBackend(parse_host(server.url))
        state = await backend.state()
        await backend.close()
        assert len(state.models) == 10_000
        assert sum(record.path == "/api/show" for record in server.log) == asked


@pytest.mark.slow
async def test_a_list_that_takes_long_comes(server: OllamaServer, backend: OllamaBackend) -> None:
    server.fault(Fault("slow_headers", "/api/tags", seconds=20))
    state = await backend.state()
    assert state.reachable and len(state.models) == len(ALL)


async def test_a_question_does_not_wait_for_a_list_that_is_known(
    server: OllamaServer, backend: OllamaBackend, monkeypatch: pytest.MonkeyPatch
) -> None:
    await backend.state()
    monkeypatch.setattr(inventory, "FRESH_SECONDS", -1.0)
    server.fault(Fault("accept_and_hang", "/api/tags"))
    server.script("At once.")
    request = ChatRequest("llama3.2:3b", (Message("user", "Hi"),), window=4096, max_output=10)
    parts = [part async for part in backend.stream(request)]
    assert "".join(part.text for part in parts if isinstance(part, TextPart)) == "At once."
