"""The scripted server keeps its word: what it plays is what a real server would have written."""

from __future__ import annotations

import asyncio
import json
import signal
import subprocess
import sys
import time
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import httpx
import ollama
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.ollama_server import (
    Fault,
    HostedServer,
    ModelSpec,
    OllamaServer,
    RemoteServer,
    Turn,
    When,
    call,
    done,
    end,
    error,
    gate,
    http,
    line,
    raw,
    reply,
    say,
    server_process,
    sleep,
    streamed,
    think,
    wait_until,
)
from tests.support.ollama_server.gojson import encode
from tests.support.ollama_server.hosted import ROOT
from tests.support.ollama_server.registry import ENGINES
from tests.support.ollama_server.script import pieces, turn_from_json, turn_to_json

LLAMA = ModelSpec("llama3.2:3b")
ASKED = [{"role": "user", "content": "Hello?"}]
BODY = {"model": "llama3.2:3b", "messages": ASKED}


@pytest.fixture
async def server() -> AsyncIterator[OllamaServer]:
    async with OllamaServer(strict=False) as running:
        yield running


@pytest.fixture
async def client(server: OllamaServer) -> AsyncIterator[httpx.AsyncClient]:
    async with httpx.AsyncClient(base_url=server.url, trust_env=False) as made:
        yield made


async def chat(client: httpx.AsyncClient, **fields: object) -> httpx.Response:
    return await client.post("/api/chat", json={**BODY, **fields})


def values(response: httpx.Response) -> list[dict[str, object]]:
    return [json.loads(one) for one in response.content.split(b"\n") if one]


def content(response: httpx.Response) -> str:
    texts = []
    for value in values(response):
        message = value["message"]
        assert isinstance(message, dict)
        texts.append(message["content"])
    return "".join(texts)


@given(st.text(max_size=80), st.sampled_from(["whole", "token", "chars:1", "chars:7", "bytes:3", "lines:2"]))
def test_pieces_join_to_the_text(text: str, chunking: str) -> None:
    assert "".join(pieces(text, chunking)) == text


def test_json_as_go_writes_it() -> None:
    assert (
        encode({"a": "<b>&\u2028\x85é\n\x01"})
        == '{"a":"\\u003cb\\u003e\\u0026\\u2028\x85é\\n\\u0001"}'.encode()
    )


def test_turns_survive_json() -> None:
    turn = Turn(
        "text",
        think("t", chunking="chars:2", pause=0.1),
        call("f", {"a": 1}, id="", index=3),
        sleep(0.1),
        gate("g"),
        raw(b"\xff\x00\n"),
        line({"x": [1]}),
        error({"message": "m"}, status=400),
        http(503, {"error": "busy"}),
        done("length", counts={"eval_count": None}),
        end("rst"),
        when=When(contains="x", tools=False),
    )
    assert turn_from_json(json.loads(json.dumps(turn_to_json(turn)))) == turn


async def test_a_stream_looks_like_a_real_one(server: OllamaServer, client: httpx.AsyncClient) -> None:
    server.script(Turn(think("Hm. "), say("Hello <you>.")))
    response = await chat(client)
    assert response.status_code == 200
    assert response.headers["content-type"] == "application/x-ndjson"
    assert response.headers["transfer-encoding"] == "chunked"
    first, *_, last = values(response)
    assert list(first) == ["model", "created_at", "message", "done"]
    assert first["message"] == {"role": "assistant", "content": "", "thinking": "Hm."}
    assert (last["done"], last["done_reason"], last["eval_count"]) == (True, "stop", 4)
    assert "load_duration" not in last
    assert b"\\u003cyou\\u003e" in response.content


async def test_without_stream_there_is_one_value(server: OllamaServer, client: httpx.AsyncClient) -> None:
    server.script(
        Turn(think("Hm."), say("Hello there."), call("f", {"a": 1})), Turn(say("No end"), end("no_done"))
    )
    response = await chat(client, stream=False)
    assert response.headers["content-type"] == "application/json; charset=utf-8"
    (value,) = values(response)
    message = value["message"]
    assert isinstance(message, dict)
    assert (message["content"], message["thinking"], len(message["tool_calls"])) == ("Hello there.", "Hm.", 1)
    (unfinished,) = values(await chat(client, stream=False))
    assert unfinished["done"] is False


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("version", ["0.33.0", "0.9.0"])
async def test_every_line_passes_the_official_client(engine: str, version: str) -> None:
    model = ModelSpec("m", ("completion", "tools", "thinking"), engine)
    async with OllamaServer([model], version=version) as server:
        server.script(*[Turn(think("Hm."), say("Let me see."), call("read", {"path": "a"}))] * 2)
        async with httpx.AsyncClient(base_url=server.url, trust_env=False) as client:
            response = await chat(client, model="m")
            for one in values(response):
                ollama.ChatResponse.model_validate(one)
            ollama.ListResponse.model_validate((await client.get("/api/tags")).json())
            ollama.ProcessResponse.model_validate((await client.get("/api/ps")).json())
            ollama.ShowResponse.model_validate((await client.post("/api/show", json={"model": "m"})).json())
        official = ollama.AsyncClient(server.url, trust_env=False)
        parts = [part async for part in await official.chat("m", ASKED, stream=True)]
        assert "".join(part.message.content or "" for part in parts) == "Let me see."
        assert [made.function.name for part in parts for made in part.message.tool_calls or ()] == ["read"]
        await official._client.aclose()


@pytest.mark.parametrize(
    ("engine", "in_done", "indexes", "id_length"),
    [("native", True, [0, 1], 32), ("qwen3", False, [0, 1], 13), ("generic", False, [0, 1], 13)],
)
async def test_calls_go_out_as_the_engine_does(
    engine: str, in_done: bool, indexes: list[int], id_length: int
) -> None:
    async with OllamaServer([ModelSpec("m", engine=engine)]) as server:
        server.script(Turn(call("a"), say("x"), call("b")))
        async with httpx.AsyncClient(base_url=server.url, trust_env=False) as client:
            found = values(await chat(client, model="m"))
    calls = []
    for value in found:
        message = value["message"]
        assert isinstance(message, dict)
        for made in message.get("tool_calls", []):
            assert value["done"] is in_done
            calls.append(made)
    assert [made["function"]["index"] for made in calls] == indexes
    assert [len(made["id"]) for made in calls] == [id_length] * 2


async def test_harmony_makes_one_call_and_fails_at_two() -> None:
    async with OllamaServer([ModelSpec("m", engine="harmony")]) as server:
        server.script(Turn(call("a")), Turn(call("a")), Turn(call("a"), call("b")))
        async with httpx.AsyncClient(base_url=server.url, trust_env=False) as client:
            for _ in range(2):
                (only,) = values(await chat(client, model="m"))
                assert isinstance(only["message"], dict)
                assert only["message"]["tool_calls"][0]["function"]["index"] == 0
            assert "error parsing tool call" in (await chat(client, model="m")).json()["error"]


async def test_old_versions_know_less() -> None:
    async with OllamaServer([replace(LLAMA, engine="qwen3")], version="0.5.0") as server:
        server.script(Turn(call("a")))
        async with httpx.AsyncClient(base_url=server.url, trust_env=False) as client:
            found = values(await chat(client))
            shown = (await client.post("/api/show", json={"model": "llama3.2:3b"})).json()
            tags = (await client.get("/api/tags")).json()
            running = (await client.get("/api/ps")).json()
    assert "id" not in json.dumps(found[0])
    assert "capabilities" not in shown
    assert "capabilities" not in tags["models"][0]
    assert "context_length" not in running["models"][0]


REFUSALS = [
    ({"messages": [{"role": "user", "content": ["x"]}]}, 400, "json: cannot unmarshal"),
    ({"messages": "x"}, 400, "json: cannot unmarshal"),
    ({"messages": [{"role": "assistant", "tool_calls": [{"function": {"name": "f", "arguments": ""}}]}]}, 400,
     "arguments"),
    ({"messages": [{"role": "user", "content": "", "images": ["data:image/png;base64,"]}]}, 400,
     "illegal base64 data at input byte 4"),
    ({"think": "ultra"}, 400, "invalid think value"),
    ({"think": 3}, 400, "think must be a boolean or string"),
    ({"think": True}, 400, "does not support thinking"),
    ({"keep_alive": "300"}, 400, "missing unit in duration"),
    ({"top_logprobs": 21}, 400, "between 0 and 20"),
    ({"options": {"num_ctx": "big"}}, 500, "must be of type integer"),
    ({"options": {"temperature": "hot"}}, 500, "must be of type float32"),
    ({"options": {"stop": "x"}}, 500, "must be of type array"),
    ({"model": ""}, 400, "model is required"),
    ({"model": "nope"}, 404, "model 'nope' not found"),
    ({"model": "embed"}, 400, '"embed" does not support chat'),
    ({"model": "plain", "tools": [{"type": "function"}]}, 400, "plain:latest does not support tools"),
]  # fmt: skip


@pytest.mark.parametrize(("fields", "status", "words"), REFUSALS)
async def test_refusals(fields: dict[str, object], status: int, words: str) -> None:
    models = [LLAMA, ModelSpec("embed", ("embedding",)), ModelSpec("plain", ("completion",))]
    async with (
        OllamaServer(models) as server,
        httpx.AsyncClient(base_url=server.url, trust_env=False) as client,
    ):
        response = await chat(client, **fields)
    assert (response.status_code, words in response.json()["error"]) == (status, True)


async def test_bodies_and_routes_that_are_wrong(client: httpx.AsyncClient) -> None:
    assert (await client.post("/api/chat")).json() == {"error": "missing request body"}
    assert (await client.get("/api/nothing")).text == "404 page not found"
    assert (await client.get("/api/chat")).status_code == 405
    assert (await client.get("/")).text == "Ollama is running"
    assert (await client.head("/")).content == b""


async def test_it_never_improvises() -> None:
    server = OllamaServer()
    with pytest.raises(AssertionError, match="script exhausted"):
        async with server, httpx.AsyncClient(base_url=server.url, trust_env=False) as client:
            response = await chat(client)
            assert (response.status_code, response.json()) == (500, {"error": "script exhausted"})


async def test_the_default_answers_only_when_asked_for() -> None:
    async with OllamaServer(default=Turn("Always.")) as server:
        server.script("Once.")
        async with httpx.AsyncClient(base_url=server.url, trust_env=False) as client:
            assert [content(await chat(client)) for _ in range(3)] == ["Once.", "Always.", "Always."]


async def test_queues_and_conditions(server: OllamaServer, client: httpx.AsyncClient) -> None:
    server.models["other:latest"] = ModelSpec("other")
    server.script(Turn("a title", when=When(contains="title")), "first", "second")
    server.script("own", model="other")
    asked = [{"role": "user", "content": "make a title"}]
    found = [content(await chat(client)), content(await chat(client, model="other")),
             content(await chat(client, messages=asked)), content(await chat(client))]  # fmt: skip
    assert found == ["first", "own", "a title", "second"]


async def test_times_and_pieces_are_logged(server: OllamaServer, client: httpx.AsyncClient) -> None:
    server.script(streamed("one two three", per_second=20))
    before = time.monotonic()
    await chat(client)
    record = server.chats[0]
    assert record.text_sent == "one two three"
    moments = [moment for moment, _ in record.sent]
    assert len(moments) == 3
    assert moments[2] - moments[0] >= 0.09
    assert record.first_byte is not None
    assert record.last_byte is not None
    assert (
        before <= record.accepted <= record.first_byte <= moments[2] <= record.last_byte <= time.monotonic()
    )
    assert record.disconnected is None


async def test_no_byte_before_the_first_value(server: OllamaServer, client: httpx.AsyncClient) -> None:
    server.script(Turn(gate("go"), "now"))
    waiting = asyncio.create_task(chat(client))
    await server.wait_until(lambda: server.chats)
    assert server.chats[0].first_byte is None
    server.release("go")
    assert content(await waiting) == "now"


@pytest.mark.parametrize(
    ("kind", "failure"),
    [
        ("abort", httpx.RemoteProtocolError),
        ("midline_abort", httpx.RemoteProtocolError),
        ("rst", httpx.ReadError),
    ],
)
async def test_broken_ends(
    server: OllamaServer, client: httpx.AsyncClient, kind: str, failure: type[Exception]
) -> None:
    server.script(Turn("x", end(kind)), "next")
    with pytest.raises(failure):
        await chat(client)
    assert server.chats[0].disconnected is None
    assert content(await chat(client)) == "next"


async def test_clean_ends(server: OllamaServer, client: httpx.AsyncClient) -> None:
    for kind in ("clean", "no_done", "eof"):
        server.script(Turn("x", end(kind)))
        (value,) = values(await chat(client))
        assert value["done"] is False
    server.script(Turn("x", end("midline_clean")))
    assert not (await chat(client)).content.endswith(b"\n")


async def test_faults_are_used_up(server: OllamaServer, client: httpx.AsyncClient) -> None:
    server.fault(Fault("close_before_headers"), Fault("rst_before_headers"), reply(502, "<html>"))
    server.fault(Fault("slow_headers", seconds=0.05, path=None))
    server.script("fine")
    with pytest.raises(httpx.RemoteProtocolError):
        await chat(client)
    with pytest.raises(httpx.ReadError):
        await chat(client)
    assert (await chat(client)).status_code == 502
    assert content(await chat(client)) == "fine"
    assert [record.fault for record in server.chats] == [
        "close_before_headers", "rst_before_headers", "reply", "slow_headers"]  # fmt: skip


async def test_a_hang_ends_when_the_client_leaves(server: OllamaServer, client: httpx.AsyncClient) -> None:
    server.fault(Fault("accept_and_hang"))
    with pytest.raises(httpx.ReadTimeout):
        await client.post("/api/chat", json=BODY, timeout=0.1)
    await server.wait_until(lambda: server.chats[0].disconnected)


async def test_loading_reloading_and_unloading(server: OllamaServer, client: httpx.AsyncClient) -> None:
    server.script(*["x"] * 4)
    await chat(client, options={"num_ctx": 2048})
    await chat(client, options={"num_ctx": 2048, "temperature": 1})
    await chat(client, options={"num_ctx": 8192})
    assert server.memory.loads == [("llama3.2:3b", 2048), ("llama3.2:3b", 8192)]
    assert [record.reloaded for record in server.chats] == [False, False, True]
    assert (await client.get("/api/ps")).json()["models"][0]["context_length"] == 8192
    unloaded = (await client.post("/api/generate", json={"model": "llama3.2:3b", "keep_alive": 0})).json()
    assert unloaded["done_reason"] == "unload"
    assert (await client.get("/api/ps")).json() == {"models": []}
    loaded = (await client.post("/api/generate", json={"model": "llama3.2:3b", "keep_alive": "10m"})).json()
    assert loaded["done_reason"] == "load"
    server.memory.advance(599)
    assert server.memory.is_loaded("llama3.2:3b")
    server.memory.advance(2)
    assert not server.memory.is_loaded("llama3.2:3b")
    await chat(client, keep_alive=-1)
    server.memory.advance(1e9)
    assert server.memory.is_loaded("llama3.2:3b")


async def test_a_long_history_is_cut_from_the_front(server: OllamaServer, client: httpx.AsyncClient) -> None:
    server.script("x")
    long = [{"role": "user", "content": "word " * 1000} for _ in range(5)]
    await chat(client, messages=[{"role": "system", "content": "s"}, *long])
    record = server.chats[0]
    assert record.dropped == 2
    assert record.prompt_tokens <= record.window == 4096


async def test_a_full_queue(server: OllamaServer, client: httpx.AsyncClient) -> None:
    server.max_queue = 1
    server.script(Turn(gate("go")), "second")
    tasks = [asyncio.create_task(chat(client))]
    await server.wait_until(lambda: len(server.chats) == 1)
    tasks.append(asyncio.create_task(chat(client)))
    await server.wait_until(lambda: len(server.chats) == 2)
    refused = await chat(client)
    assert refused.status_code == 503
    server.release("go")
    for task in tasks:
        assert (await task).status_code == 200


async def test_refusing_and_accepting_on_one_port(server: OllamaServer, client: httpx.AsyncClient) -> None:
    await server.refuse()
    with pytest.raises(httpx.ConnectError):
        await chat(client)
    await server.accept()
    server.script("back")
    assert content(await chat(client)) == "back"


def test_on_a_thread() -> None:
    with HostedServer() as server:
        server.script(Turn("Hi", gate("go"), " there"))
        with httpx.stream("POST", f"{server.url}/api/chat", json=BODY, trust_env=False) as response:
            lines = response.iter_lines()
            assert '"Hi"' in next(lines)
            server.release("go")
            assert " there" in next(lines)
        wait_until(lambda: server.chats[0].text_sent == "Hi there")


def test_as_a_process() -> None:
    with server_process("--models", "qwen3:4b", "plain", "--version", "0.20.0") as remote:
        asked = {**BODY, "model": "qwen3:4b"}
        assert httpx.get(f"{remote.url}/api/version", trust_env=False).json() == {"version": "0.20.0"}
        remote.script(Turn(say("Hello"), gate("go"), say(" there")))
        with httpx.stream("POST", f"{remote.url}/api/chat", json=asked, trust_env=False) as response:
            lines = response.iter_lines()
            next(lines)
            assert remote.chats[0]["last_byte"] <= time.monotonic()
            remote.release("go")
            assert len(list(lines)) == 2
        assert [piece for _, piece in remote.chats[0]["sent"]] == ["Hello", " there"]
        remote.apply({"faults": [{"kind": "reply", "status": 503, "body": {"error": "busy"}}]})
        assert httpx.post(f"{remote.url}/api/chat", json=asked, trust_env=False).status_code == 503
        with pytest.raises(AssertionError, match="no step"):
            remote.apply({"turns": [[{"sing": "la"}]]})
        remote.reset()
        assert remote.log == []


def test_a_process_plays_a_file(tmp_path: Path) -> None:
    script = tmp_path / "script.json"
    document = {
        "models": [{"name": "tiny", "capabilities": ["completion"], "train_ctx": 2048}],
        "turns": {"tiny": ["First.", {"steps": [{"say": "Second.", "chunking": "whole"}]}]},
    }
    script.write_text(json.dumps(document))
    with server_process("--script", str(script), "--default", "Default.") as remote:
        asked = {**BODY, "model": "tiny"}
        found = [content(httpx.post(f"{remote.url}/api/chat", json=asked, trust_env=False)) for _ in range(3)]
    assert found == ["First.", "Second.", "Default."]


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_process_leaves_quietly(number: signal.Signals) -> None:
    command = [sys.executable, "-m", "tests.support.ollama_server"]
    with subprocess.Popen(
        command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        remote = RemoteServer(process.stdout.readline().strip())
        remote.script(Turn("x", end("hang")))
        with httpx.stream("POST", f"{remote.url}/api/chat", json=BODY, trust_env=False) as response:
            next(response.iter_lines())
            process.send_signal(number)
            _, errors = process.communicate(timeout=10)
    assert (process.returncode, errors) == (0, "")
