"""Replies as they come over a real socket, whole and in pieces, good and bad."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import aclosing
from dataclasses import dataclass, field, replace

import pytest

from local_agent.domain.entries import ToolCall, Usage
from local_agent.domain.errors import ModelError, ModelErrorKind
from local_agent.domain.ports import (
    CallPart,
    ChatRequest,
    DonePart,
    NoticePart,
    StreamPart,
    TextPart,
    ThinkingPart,
)
from local_agent.domain.requests import Message
from local_agent.domain.tools import ToolSpec
from local_agent.llm.host import parse_host
from local_agent.llm.ollama import OllamaBackend
from tests.support.ollama_server import (
    Fault,
    ModelSpec,
    OllamaServer,
    Turn,
    call,
    done,
    end,
    error,
    free_port,
    gate,
    http,
    line,
    raw,
    reply,
    say,
    sleep,
    streamed,
    think,
)

LLAMA = ModelSpec("llama3.2:3b")
THINKER = ModelSpec("qwen3:4b", ("completion", "tools", "thinking"), "qwen3")
REQUEST = ChatRequest("llama3.2:3b", (Message("user", "Hello?"),), window=4096, max_output=2048)


@dataclass
class Arrived:
    """What came of one request."""

    parts: list[StreamPart] = field(default_factory=list)
    error: ModelError | None = None

    @property
    def text(self) -> str:
        return "".join(part.text for part in self.parts if isinstance(part, TextPart))

    @property
    def thinking(self) -> str:
        return "".join(part.text for part in self.parts if isinstance(part, ThinkingPart))

    @property
    def calls(self) -> list[ToolCall]:
        return [part.call for part in self.parts if isinstance(part, CallPart)]

    @property
    def notices(self) -> list[str]:
        return [part.text for part in self.parts if isinstance(part, NoticePart)]

    @property
    def done(self) -> DonePart:
        last = self.parts[-1]
        assert isinstance(last, DonePart)
        return last

    @property
    def failed(self) -> ModelError:
        assert self.error is not None, f"no error, but {self.parts}"
        assert self.error.line.isprintable()
        assert len(self.error.line) < 420
        return self.error


async def ask(backend: OllamaBackend, request: ChatRequest = REQUEST) -> Arrived:
    """Read one reply to its end."""
    arrived = Arrived()
    try:
        async for part in backend.stream(request):
            arrived.parts.append(part)
    except ModelError as failure:
        arrived.error = failure
    return arrived


@pytest.fixture
async def ollama() -> AsyncIterator[OllamaServer]:
    async with OllamaServer([LLAMA, THINKER]) as server:
        yield server


@pytest.fixture
async def backend(ollama: OllamaServer) -> AsyncIterator[OllamaBackend]:
    backend = OllamaBackend(parse_host(ollama.url))
    yield backend
    await backend.close()


async def test_plain_text(ollama: OllamaServer, backend: OllamaBackend) -> None:
    ollama.script("Hello there, **you**. 1 < 2 & 3 > 2\n")
    arrived = await ask(backend)
    assert arrived.text == "Hello there, **you**. 1 < 2 & 3 > 2\n"
    assert len(arrived.parts) > 5
    usage = arrived.done.usage
    assert arrived.done.reason == "stop"
    assert usage.prompt_tokens == ollama.chats[0].prompt_tokens > 0
    assert usage.reply_tokens == len(ollama.chats[0].sent)
    assert usage.first_token_seconds is not None
    assert 0 < usage.first_token_seconds < 5
    assert usage.tokens_per_second is not None


async def test_what_a_request_carries(ollama: OllamaServer, backend: OllamaBackend) -> None:
    ollama.script("Yes.")
    call_made = ToolCall("c1", "read", {"path": "a"})
    messages = (
        Message("system", "Be brief."),
        Message("user", "Hello? \ud800"),
        Message("assistant", "", "Hm.", (call_made,)),
        Message("tool", "text", tool_name="read", tool_call_id="c1"),
    )
    request = replace(
        REQUEST, messages=messages, options={"temperature": 0.2, "num_ctx": 9}, keep_alive="10m"
    )
    await ask(backend, request)
    assert ollama.chats[0].body == {
        "model": "llama3.2:3b",
        "messages": [
            {"role": "system", "content": "Be brief."},
            {"role": "user", "content": "Hello? \ud800"},
            {
                "role": "assistant",
                "content": "",
                "thinking": "Hm.",
                "tool_calls": [
                    {"id": "c1", "function": {"index": 0, "name": "read", "arguments": {"path": "a"}}}
                ],
            },
            {"role": "tool", "content": "text", "tool_name": "read", "tool_call_id": "c1"},
        ],
        "stream": True,
        "options": {"temperature": 0.2, "num_ctx": 4096, "num_predict": 2048},
        "truncate": False,
        "keep_alive": "10m",
    }


@pytest.mark.parametrize(
    ("version", "sent"),
    [
        ("0.12.6", True),
        ("0.12.6-rc0", True),
        ("0.33.0", True),
        ("0.0.0", True),
        ("0.12.5", False),
        ("0.9.0", False),
    ],
)
async def test_truncate_is_sent_to_servers_that_know_it(version: str, sent: bool) -> None:
    async with OllamaServer(version=version) as server:
        server.script("Yes.")
        backend = OllamaBackend(parse_host(server.url))
        await ask(backend)
        await backend.close()
        assert ("truncate" in server.chats[0].body) is sent


@pytest.mark.parametrize(
    "model",
    [
        ModelSpec(
            "big:120b-cloud", engine="cloud", remote_host="https://ollama.com:443", remote_model="big:120b"
        ),
        ModelSpec(
            "mine:latest", engine="cloud", remote_host="https://ollama.com:443", remote_model="big:120b"
        ),
        ModelSpec(
            "hers:latest", engine="cloud", remote_host="https://other.example", remote_model="big:120b"
        ),
    ],
)
async def test_no_window_goes_to_models_that_run_elsewhere(model: ModelSpec) -> None:
    async with OllamaServer([model]) as server:
        server.script("Yes.")
        backend = OllamaBackend(parse_host(server.url))
        arrived = await ask(backend, replace(REQUEST, model=model.name, options={"num_ctx": 5}))
        await backend.close()
        assert arrived.text == "Yes."
        assert server.chats[0].body["options"] == {"num_predict": 2048}


async def test_no_window_goes_to_a_cloud_name_the_server_does_not_list(
    ollama: OllamaServer, backend: OllamaBackend
) -> None:
    ollama.script("Yes.")
    assert (await ask(backend, replace(REQUEST, model="gpt-oss:120b-cloud"))).text == "Yes."
    assert ollama.chats[0].body["options"] == {"num_predict": 2048}


async def test_thinking_stays_apart(ollama: OllamaServer, backend: OllamaBackend) -> None:
    ollama.script(Turn(think("Let me see. "), say("Yes.")))
    arrived = await ask(backend, replace(REQUEST, model="qwen3:4b", think=True))
    assert (arrived.thinking, arrived.text) == ("Let me see. ", "Yes.")
    assert ollama.chats[0].body["think"] is True


@pytest.mark.parametrize("asked", [None, False, True, "high"])
async def test_think_is_sent_only_when_asked(
    ollama: OllamaServer, backend: OllamaBackend, asked: bool | str | None
) -> None:
    ollama.script("Yes.")
    await ask(backend, replace(REQUEST, model="qwen3:4b", think=asked))
    assert ollama.chats[0].body.get("think") == asked
    assert ("think" in ollama.chats[0].body) is (asked is not None)


@pytest.mark.parametrize("chunking", ["whole", "token", "chars:1", "chars:3", "bytes:7"])
@pytest.mark.parametrize(
    ("content", "thinking", "text"),
    [
        ("<think>Hm, well.</think>\n\nYes.", "Hm, well.", "Yes."),
        ("\n<think>\nHm.\n</think>Yes.", "Hm.\n", "Yes."),
        ("<think>\n\n</think>\n\nYes.", "", "Yes."),
        ("<think>a < b </thin </think>Yes.", "a < b </thin ", "Yes."),
        ("<think>never closed", "never closed", ""),
        ("<thinner>", "", "<thinner>"),
        ("<thi", "", "<thi"),
        ("Write <think>x</think> so.", "", "Write <think>x</think> so."),
        ("  indented", "", "  indented"),
    ],
)
async def test_leaked_thinking_is_taken_out(
    ollama: OllamaServer, backend: OllamaBackend, chunking: str, content: str, thinking: str, text: str
) -> None:
    ollama.script(Turn(say(content, chunking=chunking)))
    arrived = await ask(backend)
    assert (arrived.thinking, arrived.text) == (thinking, text)
    assert arrived.done.reason == "stop"


TRICKY = "é😀 \x85 \u2028 \u2029 \x0b\x0c\x1c <b>&amp;</b> [red] \x1b[31m \u202e 日本語\r\n"


@pytest.mark.parametrize(
    "chunking", ["whole", "token", "chars:1", "bytes:1", "bytes:2", "bytes:5", "lines:4"]
)
async def test_any_cut_gives_the_same_text(
    ollama: OllamaServer, backend: OllamaBackend, chunking: str
) -> None:
    ollama.script(Turn(say(TRICKY * 3, chunking=chunking)))
    arrived = await ask(backend)
    assert arrived.error is None
    assert arrived.text == TRICKY * 3


async def test_a_line_of_nine_megabytes(ollama: OllamaServer, backend: OllamaBackend) -> None:
    text = "0123456789abcde\n" * (9 * 1024 * 64)
    ollama.script(Turn(say(text, chunking="whole"), say(" and on")))
    arrived = await ask(backend)
    assert len(arrived.text) == len(text) + 7
    assert arrived.text == text + " and on"


async def test_a_line_beyond_all_bounds(ollama: OllamaServer, backend: OllamaBackend) -> None:
    ollama.script(Turn(say("First. "), raw(b"x" * (33 * 1024 * 1024)), say("never")))
    arrived = await ask(backend)
    assert arrived.text == "First. "
    assert arrived.failed.kind is ModelErrorKind.MALFORMED
    assert len(arrived.failed.raw) <= 2000


@pytest.mark.parametrize(
    "noise",
    [raw(b"\n"), raw(b"\r\n"), raw(b"   \n\n\n"), line({"model": "x", "created_at": "", "done": False}),
     line({"message": {"content": None}, "done": False, "new_field": [1]}), line({"message": None})],
)  # fmt: skip
async def test_lines_that_say_nothing(ollama: OllamaServer, backend: OllamaBackend, noise: object) -> None:
    ollama.script(Turn(say("One, "), noise, say("two.")))  # type: ignore[arg-type]  # any step
    arrived = await ask(backend)
    assert arrived.text == "One, two."
    assert arrived.done.reason == "stop"


async def test_lines_that_end_in_crlf(ollama: OllamaServer, backend: OllamaBackend) -> None:
    value = b'{"message":{"role":"assistant","content":"Hi."},"done":false}\r\n{"done":true}\r\n'
    ollama.script(Turn(raw(value), end("clean")))
    arrived = await ask(backend)
    assert arrived.text == "Hi."
    assert arrived.done == replace(arrived.done, reason="stop")


async def test_invalid_utf8_becomes_a_replacement(ollama: OllamaServer, backend: OllamaBackend) -> None:
    ollama.script(Turn(raw(b'{"message":{"content":"a\xff\xc3(b"},"done":false}\n'), done()))
    arrived = await ask(backend)
    assert arrived.text == "a��(b"


async def test_a_raw_control_character_is_kept(ollama: OllamaServer, backend: OllamaBackend) -> None:
    ollama.script(Turn(raw(b'{"message":{"content":"a\x01\tb"},"done":false}\n'), done()))
    assert (await ask(backend)).text == "a\x01\tb"


async def test_lone_surrogates_become_storable(ollama: OllamaServer, backend: OllamaBackend) -> None:
    ollama.script(Turn(raw(b'{"message":{"content":"a\\ud83d b \\ud83d\\ude00"},"done":false}\n'), done()))
    assert (await ask(backend)).text == "a� b 😀"


@pytest.mark.parametrize(
    "bad",
    [
        raw(b"<html>oops</html>\n"),
        raw(b"[1,2]\n"),
        raw(b"null\n"),
        raw(b"[" * 100_000 + b"\n"),
        raw(b'{"message":{"content":"x"\n'),
        line({"message": "text", "done": False}),
        line({"message": {"content": ["list"]}, "done": False}),
        line({"message": {"content": "", "tool_calls": "x"}}),
        line({"message": {"content": "", "tool_calls": [1]}}),
        line({"message": {"content": "", "tool_calls": [{"function": {"arguments": {}}}]}}),
        line({"message": {"content": "", "tool_calls": [{"function": {"name": "", "arguments": {}}}]}}),
    ],
)
async def test_a_line_that_is_no_value_keeps_what_came_before(
    ollama: OllamaServer, backend: OllamaBackend, bad: object
) -> None:
    ollama.script(Turn(say("Kept. "), bad, say("never"), done()))  # type: ignore[arg-type]  # any step
    arrived = await ask(backend)
    assert arrived.text == "Kept. "
    assert arrived.failed.kind is ModelErrorKind.MALFORMED


@pytest.mark.parametrize(
    ("reason", "expected"), [("stop", "stop"), ("length", "length"), ("", "stop"), ("load", "stop")]
)
async def test_how_a_reply_says_that_it_is_done(
    ollama: OllamaServer, backend: OllamaBackend, reason: str, expected: str
) -> None:
    ollama.script(Turn(say("Text"), done(reason)))
    assert (await ask(backend)).done.reason == expected


async def test_counts_may_be_missing(ollama: OllamaServer, backend: OllamaBackend) -> None:
    names = ("prompt_eval_count", "prompt_eval_duration", "eval_count", "eval_duration", "total_duration")
    ollama.script(Turn(say("Text"), done(counts=dict.fromkeys(names))))
    usage = (await ask(backend)).done.usage
    assert replace(usage, first_token_seconds=None) == Usage()


async def test_text_on_the_last_value_is_kept(ollama: OllamaServer, backend: OllamaBackend) -> None:
    ollama.script(Turn(say("Almost"), done(text=" done.")))
    assert (await ask(backend)).text == "Almost done."


@pytest.mark.parametrize(
    "after", [say("late"), done(), error("late"), raw(b"garbage\n"), end("abort"), end("hang")]
)
async def test_what_follows_done_changes_nothing(
    ollama: OllamaServer, backend: OllamaBackend, after: object
) -> None:
    ollama.script(Turn(say("All."), done(), after))  # type: ignore[arg-type]  # any step
    arrived = await ask(backend)
    assert arrived.text == "All."
    assert arrived.done.reason == "stop"


async def test_two_replies_share_a_connection(ollama: OllamaServer, backend: OllamaBackend) -> None:
    ollama.script("One.", "Two.")
    await ask(backend)
    await ask(backend)
    assert len({record.connection for record in ollama.log}) == 1


@pytest.mark.parametrize("engine", ["native", "qwen3", "harmony", "generic"])
async def test_calls_are_found_wherever_the_engine_puts_them(engine: str) -> None:
    async with OllamaServer([ModelSpec("m", engine=engine)]) as server:
        server.script(Turn(say("Looking."), call("read", {"path": "a"})), Turn(call("read", {}, id="")))
        backend = OllamaBackend(parse_host(server.url))
        first = await ask(backend, replace(REQUEST, model="m"))
        second = await ask(backend, replace(REQUEST, model="m"))
        await backend.close()
    assert first.text == "Looking."
    assert [(made.name, dict(made.arguments)) for made in first.calls] == [("read", {"path": "a"})]
    assert first.done.reason == "stop"
    assert first.calls[0].id
    assert second.calls[0].id not in ("", first.calls[0].id)


@pytest.mark.parametrize(
    ("written", "arguments", "raw_text"),
    [
        ({"path": "a"}, {"path": "a"}, ""),
        ('{"path": "a"}', {"path": "a"}, ""),
        (None, {}, ""),
        ("", {}, ""),
        ('{"path": "a"', {}, '{"path": "a"'),
        ('{"size": NaN}', {}, '{"size": NaN}'),
        ("[" * 100_000, {}, "[" * 16_384),
        (["a"], {}, '["a"]'),
        ("a.txt", {}, "a.txt"),
        (7, {}, "7"),
    ],
)
async def test_arguments_are_an_object_or_kept_apart(
    ollama: OllamaServer, backend: OllamaBackend, written: object, arguments: object, raw_text: str
) -> None:
    ollama.script(Turn(call("read", written)))
    (made,) = (await ask(backend)).calls
    assert (made.arguments, made.raw) == (arguments, raw_text)


READ = ToolSpec(
    "read",
    "Read a file.",
    {"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]},
)


async def test_tools_are_sent_whole(ollama: OllamaServer, backend: OllamaBackend) -> None:
    ollama.script("Yes.")
    await ask(backend, replace(REQUEST, tools=(READ,)))
    function = {"name": "read", "description": "Read a file.", "parameters": dict(READ.parameters)}
    assert ollama.chats[0].body["tools"] == [{"type": "function", "function": function}]


async def test_a_model_that_refuses_tools_is_asked_without_once_and_for_all() -> None:
    model = ModelSpec("plain:1b", ("completion",))
    async with OllamaServer([model]) as server:
        server.script("One.", "Two.")
        backend = OllamaBackend(parse_host(server.url))
        first, second = [await ask(backend, replace(REQUEST, model=model.name, tools=(READ,))) for _ in "12"]
        await backend.close()
        assert ["tools" in chat.body for chat in server.chats] == [True, False, False]
    assert (first.text, second.text) == ("One.", "Two.")
    assert first.notices == ["plain:1b can't call tools; it was asked without."]
    assert second.notices == []


async def test_content_thinking_and_call_in_one_value(ollama: OllamaServer, backend: OllamaBackend) -> None:
    message = {"content": "C", "thinking": "T", "tool_calls": [{"function": {"name": "f", "arguments": {}}}]}
    ollama.script(Turn(line({"message": message, "done": False}), done()))
    arrived = await ask(backend)
    assert (arrived.thinking, arrived.text, [made.name for made in arrived.calls]) == ("T", "C", ["f"])


@pytest.mark.parametrize(
    "ending", ["no_done", "clean", "midline_clean", "midline_abort", "abort", "rst", "eof"]
)
async def test_a_reply_that_breaks_off_is_kept_and_named(
    ollama: OllamaServer, backend: OllamaBackend, ending: str
) -> None:
    ollama.script(Turn(say("Half a <thi", chunking="whole"), gate("read"), end(ending)))
    arrived = Arrived()
    with pytest.raises(ModelError) as caught:
        async for part in backend.stream(REQUEST):
            arrived.parts.append(part)
            ollama.release("read")
    assert arrived.text == "Half a <thi"
    assert caught.value.kind is ModelErrorKind.CUT_OFF
    assert len(ollama.chats) == 1


async def test_a_held_back_tag_is_delivered_before_the_failure(
    ollama: OllamaServer, backend: OllamaBackend
) -> None:
    ollama.script(Turn(say("<thi", chunking="whole"), end("abort")))
    arrived = await ask(backend)
    assert arrived.text == "<thi"
    assert arrived.failed.kind is ModelErrorKind.CUT_OFF


async def test_a_server_that_closes_before_answering_is_asked_once_more(
    ollama: OllamaServer, backend: OllamaBackend
) -> None:
    ollama.fault(Fault("close_before_headers"))
    ollama.script("Here.")
    arrived = await ask(backend)
    assert arrived.text == "Here."
    assert len(ollama.chats) == 2


@pytest.mark.parametrize("kind", ["close_before_headers", "rst_before_headers"])
async def test_a_server_that_never_answers_is_named(
    ollama: OllamaServer, backend: OllamaBackend, kind: str
) -> None:
    ollama.fault(Fault(kind), Fault(kind))
    arrived = await ask(backend)
    assert arrived.failed.kind is ModelErrorKind.UNREACHABLE
    assert "without an answer" in arrived.failed.line
    assert len(ollama.chats) == 2


async def test_refused_and_back_again(ollama: OllamaServer, backend: OllamaBackend) -> None:
    await ollama.refuse()
    arrived = await ask(backend)
    assert arrived.failed.kind is ModelErrorKind.UNREACHABLE
    assert arrived.failed.line == f"No Ollama server answers at {parse_host(ollama.url).display}."
    assert arrived.failed.hint == "Start it with: ollama serve"
    await ollama.accept()
    ollama.script("Back.")
    assert (await ask(backend)).text == "Back."


async def test_a_server_that_restarts_between_two_turns(ollama: OllamaServer, backend: OllamaBackend) -> None:
    ollama.script("One.", "Two.")
    assert (await ask(backend)).text == "One."
    await ollama.refuse()
    await ollama.accept()
    assert (await ask(backend)).text == "Two."


async def test_a_name_that_does_not_exist() -> None:
    backend = OllamaBackend(parse_host("nowhere.invalid"))
    arrived = await ask(backend)
    await backend.close()
    assert arrived.failed.kind is ModelErrorKind.UNREACHABLE
    assert "nowhere.invalid" in arrived.failed.line


@pytest.mark.parametrize(
    ("scheme", "greeting", "kind", "words"),
    [
        ("http", b"SSH-2.0-OpenSSH_9.7\r\n\r\n", ModelErrorKind.MALFORMED, "other than HTTP"),
        ("https", b"HTTP/1.1 400 Bad Request\r\n\r\n", ModelErrorKind.UNREACHABLE, "secure"),
    ],
)
async def test_something_else_listens_there(
    scheme: str, greeting: bytes, kind: ModelErrorKind, words: str
) -> None:
    async def greet(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read(4096)
        writer.write(greeting)
        await writer.drain()
        writer.close()

    async with await asyncio.start_server(greet, "127.0.0.1", 0) as listener:
        port = listener.sockets[0].getsockname()[1]
        backend = OllamaBackend(parse_host(f"{scheme}://127.0.0.1:{port}"))
        arrived = await ask(backend)
        await backend.close()
    assert arrived.failed.kind is kind
    assert words in arrived.failed.line


async def test_localhost_is_looked_up_and_dialled(ollama: OllamaServer) -> None:
    ollama.script("Yes.")
    backend = OllamaBackend(parse_host(ollama.url.replace("127.0.0.1", "localhost")))
    arrived = await ask(backend)
    await backend.close()
    assert arrived.text == "Yes."


async def test_a_name_of_this_machine_that_leads_elsewhere_gets_no_conversation() -> None:
    backend = OllamaBackend(parse_host(f"http://elsewhere.localhost:{free_port()}"))
    arrived = await ask(backend)
    await backend.close()
    assert arrived.failed.kind is ModelErrorKind.UNREACHABLE


async def test_no_proxy_for_loopback(ollama: OllamaServer, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"):
        monkeypatch.setenv(name, f"http://127.0.0.1:{free_port()}")
    ollama.script("Direct.")
    backend = OllamaBackend(parse_host(ollama.url))
    arrived = await ask(backend)
    await backend.close()
    assert arrived.text == "Direct."


async def test_closing_the_generator_hangs_up_at_once(ollama: OllamaServer, backend: OllamaBackend) -> None:
    ollama.script(streamed("word " * 1000, per_second=200))
    async with aclosing(backend.stream(REQUEST)) as parts:
        async for _ in parts:
            break
    left = time.monotonic()
    await ollama.wait_until(lambda: ollama.chats[0].disconnected)
    disconnected = ollama.chats[0].disconnected
    assert disconnected is not None
    assert disconnected - left < 2
    ollama.script("Next.")
    assert (await ask(backend)).text == "Next."


@pytest.mark.parametrize(
    "steps",
    [(gate("never"),), (say("Some"), gate("never")), (think("Some"), end("hang")), (sleep(60), say("late"))],
)
async def test_cancelling_hangs_up_at_once(
    ollama: OllamaServer, backend: OllamaBackend, steps: tuple[object, ...]
) -> None:
    ollama.script(Turn(*steps))  # type: ignore[arg-type]  # any steps
    task = asyncio.create_task(ask(backend, replace(REQUEST, model="qwen3:4b")))
    await ollama.wait_until(lambda: ollama.chats)
    await ollama.wait_until(lambda: ollama.chats[0].text_sent or steps[0] != say("Some"))
    left = time.monotonic()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert time.monotonic() - left < 2
    await ollama.wait_until(lambda: ollama.chats[0].disconnected)
    assert (ollama.chats[0].disconnected or 0) - left < 2


async def test_cancelling_a_load_aborts_it() -> None:
    async with OllamaServer([replace(LLAMA, load_seconds=60)]) as server:
        backend = OllamaBackend(parse_host(server.url))
        task = asyncio.create_task(ask(backend))
        await server.wait_until(lambda: server.chats)
        left = time.monotonic()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        await server.wait_until(lambda: server.chats[0].disconnected)
        assert (server.chats[0].disconnected or 0) - left < 2
        assert server.memory.loads == []
        await backend.close()


async def test_a_busy_server_is_asked_twice_more(ollama: OllamaServer, backend: OllamaBackend) -> None:
    busy = http(503, {"error": "server busy, please try again.  maximum pending requests exceeded"})
    ollama.script(Turn(busy), Turn(busy), "Now.")
    arrived = await ask(backend)
    assert arrived.text == "Now."
    assert len(arrived.notices) == 2
    waits = [record.accepted for record in ollama.chats]
    assert waits[1] - waits[0] >= 0.45
    assert waits[2] - waits[1] > waits[1] - waits[0]


async def test_a_server_that_stays_busy_is_named(ollama: OllamaServer, backend: OllamaBackend) -> None:
    ollama.script(*[Turn(http(503, {"error": "server busy, please try again."}))] * 3)
    arrived = await ask(backend)
    assert arrived.failed.kind is ModelErrorKind.BUSY
    assert len(ollama.chats) == 3


async def test_think_is_taken_back_once_and_remembered(ollama: OllamaServer, backend: OllamaBackend) -> None:
    ollama.script("One.", "Two.")
    thinking = replace(REQUEST, think=True)
    first, second = await ask(backend, thinking), await ask(backend, thinking)
    assert (first.text, second.text) == ("One.", "Two.")
    assert (len(first.notices), len(second.notices)) == (1, 0)
    assert [record.body.get("think") for record in ollama.chats] == [True, None, None]


async def test_nothing_is_asked_again_once_something_arrived(
    ollama: OllamaServer, backend: OllamaBackend
) -> None:
    ollama.script(Turn(say("Some"), error('"llama3.2:3b" does not support thinking')))
    arrived = await ask(backend, replace(REQUEST, model="qwen3:4b", think=True))
    assert arrived.text == "Some"
    assert arrived.failed.kind is ModelErrorKind.NO_THINKING
    assert len(ollama.chats) == 1


async def test_a_redirect_is_not_followed(ollama: OllamaServer, backend: OllamaBackend) -> None:
    async with OllamaServer() as other:
        ollama.fault(reply(307, headers={"Location": f"{other.url}/api/chat"}))
        arrived = await ask(backend)
        assert other.log == []
    assert arrived.failed.kind is ModelErrorKind.SERVER
    assert other.url in arrived.failed.line


async def test_one_request_at_a_time_waits_in_silence(ollama: OllamaServer, backend: OllamaBackend) -> None:
    ollama.script(Turn(say("First."), gate("go")), "Second.")
    first = asyncio.create_task(ask(backend))
    await ollama.wait_until(lambda: ollama.chats and ollama.chats[0].text_sent)
    second = asyncio.create_task(ask(backend))
    await ollama.wait_until(lambda: len(ollama.chats) == 2)
    assert ollama.chats[1].first_byte is None
    ollama.release("go")
    assert [(await first).text, (await second).text] == ["First.", "Second."]


async def test_every_call_to_one_model_keeps_it_loaded(ollama: OllamaServer, backend: OllamaBackend) -> None:
    ollama.script("One.", "Two.", "Three.")
    for _ in range(3):
        await ask(backend)
    assert ollama.memory.loads == [("llama3.2:3b", 4096)]
    assert not any(record.reloaded for record in ollama.chats)
