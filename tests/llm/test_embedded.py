"""The embedded backend on the real engine with a real small model."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import aclosing
from dataclasses import replace
from pathlib import Path

import pytest
import pytest_asyncio

from local_agent.domain.entries import ToolCall
from local_agent.domain.errors import ModelError, ModelErrorKind
from local_agent.domain.events import Phase
from local_agent.domain.pictures import Picture
from local_agent.domain.ports import ChatRequest, DonePart, ProgressPart, StreamPart, TextPart, ThinkingPart
from local_agent.domain.requests import Message
from local_agent.domain.tools import ToolSpec
from local_agent.llm.embedded import EmbeddedBackend
from tests.support.model import small_model

pytestmark = pytest.mark.engine

LIMIT = 60
LONG = "The quick brown fox jumps over the lazy dog. " * 600


@pytest_asyncio.fixture
async def backend() -> AsyncIterator[EmbeddedBackend]:
    # Two threads wait for each other by spinning: on a busy machine they are slower than one.
    embedded = EmbeddedBackend(small_model(), threads=1)
    yield embedded
    await embedded.close()


def ask(text: str, *, window: int = 8192, max_output: int = 24, **options: object) -> ChatRequest:
    return ChatRequest(
        model="SmolLM2-135M-Instruct.Q4_1",
        messages=(Message("user", text),),
        window=window,
        max_output=max_output,
        options={"temperature": 0, **options},
    )


async def collect(backend: EmbeddedBackend, request: ChatRequest) -> list[StreamPart]:
    async with asyncio.timeout(LIMIT):
        return [part async for part in backend.stream(request)]


def text_of(parts: list[StreamPart]) -> str:
    return "".join(part.text for part in parts if isinstance(part, TextPart))


def assert_answered(parts: list[StreamPart]) -> None:
    assert text_of(parts).strip()
    assert isinstance(parts[-1], DonePart)


async def read_until(backend: EmbeddedBackend, request: ChatRequest, wanted: Phase | type[TextPart]) -> float:
    """Stream until a part of the wanted kind, close, and give the seconds that closing took."""
    async with asyncio.timeout(LIMIT), aclosing(backend.stream(request)) as stream:
        async for part in stream:
            if wanted in (type(part), getattr(part, "phase", None)):
                break
        else:
            pytest.fail(f"no {wanted} came")
        started = time.monotonic()
        await stream.aclose()
        return time.monotonic() - started


async def test_a_reply_streams_with_its_phases_and_its_cost(backend: EmbeddedBackend) -> None:
    parts = await collect(backend, ask("What is the capital of France?"))

    phases = [part.phase for part in parts if isinstance(part, ProgressPart)]
    assert phases[0] is Phase.LOADING
    assert set(phases[1:]) == {Phase.READING}
    assert_answered(parts)
    assert len([part for part in parts if isinstance(part, TextPart)]) > 3
    done = parts[-1]
    assert isinstance(done, DonePart)
    assert done.usage.prompt_tokens and done.usage.prompt_tokens > 30
    assert done.usage.reply_tokens and done.usage.tokens_per_second
    assert done.usage.load_seconds and done.usage.prompt_seconds and done.usage.first_token_seconds
    assert done.usage.first_token_seconds > done.usage.load_seconds


async def test_the_model_is_loaded_once_and_again_for_another_window(backend: EmbeddedBackend) -> None:
    assert await backend.loaded(backend.model) is False
    first = await collect(backend, ask("Hello", max_output=2, window=1024))
    assert await backend.loaded(backend.model) is True
    assert (await backend.describe(backend.model)).loaded_window == 1024
    second = await collect(backend, ask("Hello", max_output=2, window=1024))
    third = await collect(backend, ask("Hello", max_output=2, window=2048))

    loading = ProgressPart(Phase.LOADING)
    assert (loading in first, loading in second, loading in third) == (True, False, True)
    assert (await backend.describe(backend.model)).loaded_window == 2048


async def test_the_reply_is_bounded(backend: EmbeddedBackend) -> None:
    parts = await collect(backend, ask("Tell a long story.", max_output=8))

    done = parts[-1]
    assert isinstance(done, DonePart)
    assert (done.reason, done.usage.reply_tokens) == ("length", 8)


async def test_options_reach_the_engine(backend: EmbeddedBackend) -> None:
    plain = await collect(backend, ask("Count from one to ten in digits: 1, 2, 3,", max_output=30))
    stopped = await collect(
        backend, ask("Count from one to ten in digits: 1, 2, 3,", max_output=30, stop=[text_of(plain)[5]])
    )
    assert text_of(stopped) == text_of(plain)[:5].split(text_of(plain)[5])[0]


async def test_a_stop_while_the_prompt_is_read_is_at_once_and_the_next_request_waits(
    backend: EmbeddedBackend,
) -> None:
    await collect(backend, ask("Hello", max_output=1))
    closing = await read_until(backend, ask(LONG), Phase.READING)
    assert closing < 0.2

    parts = await collect(backend, ask("What is the capital of France?"))
    assert parts[0] == ProgressPart(Phase.STOPPING)
    assert_answered(parts)


@pytest.mark.slow
async def test_the_engine_itself_stops_within_a_few_batches(backend: EmbeddedBackend) -> None:
    await collect(backend, ask("Hello", max_output=1))
    batches: list[float] = []
    async with asyncio.timeout(LIMIT), aclosing(backend.stream(ask(LONG))) as stream:
        async for part in stream:
            assert isinstance(part, ProgressPart)
            batches.append(time.monotonic())
            if len(batches) == 4:
                break
    stopped = time.monotonic()
    waiting = await collect(backend, ask("Hello", max_output=1))
    waited = time.monotonic() - stopped

    assert waiting[0] == ProgressPart(Phase.STOPPING)
    # The prompt has some 50 batches; this one and the next request's own take two.
    assert waited < 10 * (batches[-1] - batches[1]) / 2


async def test_a_stop_in_the_middle_of_the_reply(backend: EmbeddedBackend) -> None:
    closing = await read_until(backend, ask("Tell a long story.", max_output=4000), TextPart)
    assert closing < 0.2
    assert_answered(await collect(backend, ask("Hello")))


async def test_cancelling_the_consumer_stops_the_engine(backend: EmbeddedBackend) -> None:
    writing = asyncio.Event()

    async def consume() -> None:
        async for part in backend.stream(ask("Tell a long story.", max_output=4000)):
            if isinstance(part, TextPart):
                writing.set()

    consumer = asyncio.create_task(consume())
    async with asyncio.timeout(LIMIT):
        await writing.wait()
    consumer.cancel()
    with pytest.raises(asyncio.CancelledError):
        await consumer
    parts = await collect(backend, ask("What is the capital of France?"))
    assert_answered(parts)


async def test_a_conversation_too_long_for_the_window(backend: EmbeddedBackend) -> None:
    with pytest.raises(ModelError) as caught:
        await collect(backend, ask(LONG, window=1024))
    assert caught.value.kind is ModelErrorKind.CONTEXT_OVERFLOW
    assert "1024" in caught.value.line
    assert_answered(await collect(backend, ask("Hello", window=1024)))


async def test_an_option_of_the_wrong_kind(backend: EmbeddedBackend) -> None:
    with pytest.raises(ModelError) as caught:
        await collect(backend, ask("Hello", temperature="hot"))
    assert caught.value.kind is ModelErrorKind.MALFORMED
    assert "temperature" in caught.value.raw


async def test_pictures_are_refused_in_words(backend: EmbeddedBackend) -> None:
    shown = Message("user", "What is it?", pictures=(Picture("a" * 64, "x.png", "image/png", 9, 2, 2),))
    with pytest.raises(ModelError, match=r"The embedded engine can't be shown pictures\."):
        await collect(backend, replace(ask(""), messages=(shown,)))


async def test_a_history_with_calls_and_results(backend: EmbeddedBackend) -> None:
    call = ToolCall("c1", "read", {"path": "a.txt"})
    history = (
        Message("system", "Be brief."),
        Message("user", "Read a.txt"),
        Message("assistant", "", thinking="I shall read it.", calls=(call,)),
        Message("tool", "hello", tool_name="read", tool_call_id="c1"),
        Message("assistant", "It says hello."),
        Message("user", "Thanks ‮\x1b[31m 中 \U0001f600"),
    )
    assert_answered(await collect(backend, replace(ask("", window=1024), messages=history)))


async def test_the_event_loop_stays_awake_while_the_engine_works(backend: EmbeddedBackend) -> None:
    # Loading is left out: the library holds the interpreter's lock for that time.
    await collect(backend, ask("Hello", max_output=1))
    gaps: list[float] = []

    async def beat() -> None:
        while True:
            before = time.monotonic()
            await asyncio.sleep(0.01)
            gaps.append(time.monotonic() - before)

    heart = asyncio.create_task(beat())
    await collect(backend, ask("The fox. " * 60, max_output=40))
    heart.cancel()
    assert len(gaps) > 50
    assert sorted(gaps)[-3] < 0.25


async def test_a_window_larger_than_the_trained_one_allocates_no_more(backend: EmbeddedBackend) -> None:
    assert_answered(await collect(backend, ask("Hello", window=500_000_000)))
    assert (await backend.describe(backend.model)).loaded_window == 8192
    again = await collect(backend, ask("Hello", max_output=2, window=500_000_000))
    assert ProgressPart(Phase.LOADING) not in again


async def test_a_model_whose_weights_are_cut_off(tmp_path: Path) -> None:
    path = tmp_path / "cut.gguf"
    path.write_bytes(small_model().read_bytes()[:-1000])
    backend = EmbeddedBackend(path, threads=1)
    for _ in range(2):
        with pytest.raises(ModelError) as caught:
            await collect(backend, ChatRequest("cut", (Message("user", "Hi"),), 512, 8))
        assert caught.value.kind is ModelErrorKind.ENGINE
        assert caught.value.line == "The engine could not load cut.gguf with a window of 512 tokens."
    await backend.close()


async def test_files_that_are_no_models(tmp_path: Path) -> None:
    whole = small_model().read_bytes()
    for name, content in {
        "text": b"hello" * 100,
        "empty": b"",
        "header": whole[:1000],
        "half": whole[: len(whole) // 2],
    }.items():
        path = tmp_path / f"{name}.gguf"
        path.write_bytes(content)
        backend = EmbeddedBackend(path)
        with pytest.raises(ModelError) as caught:
            await collect(backend, ChatRequest(name, (Message("user", "Hi"),), 512, 8))
        assert caught.value.kind is ModelErrorKind.NO_MODEL
        assert str(path) in caught.value.line
        assert "\n" not in caught.value.line
        state = await backend.state()
        assert (state.reachable, state.problem) == (False, caught.value.line)
        await backend.close()


async def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    backend = EmbeddedBackend(tmp_path / "gone.gguf")
    state = await backend.state()
    assert not state.reachable
    assert state.problem == f"There is no model file {tmp_path / 'gone.gguf'}."
    await backend.close()


async def test_the_state_names_the_model_without_loading_it(backend: EmbeddedBackend) -> None:
    state = await backend.state()
    assert state.reachable and state.version
    (model,) = state.models
    assert (model.name, model.family, model.quantization) == (backend.model, "llama", "Q4_1")
    assert (model.trained_window, model.size, model.parameters) == (8192, 98_362_432, "135M")
    assert model.can_chat and not model.loaded


async def test_another_model_is_not_here(backend: EmbeddedBackend) -> None:
    with pytest.raises(ModelError) as caught:
        await backend.describe("llama3:8b")
    assert caught.value.kind is ModelErrorKind.NO_MODEL


async def test_closing_in_the_middle_of_a_reply_frees_the_engine() -> None:
    backend = EmbeddedBackend(small_model(), threads=1)
    stream = backend.stream(ask("Tell a long story.", max_output=4000))
    async with asyncio.timeout(LIMIT):
        async for part in stream:
            if isinstance(part, TextPart):
                break
        await backend.close()
        await backend.close()
        await stream.aclose()
    assert await backend.loaded(backend.model) is False


THINKING_TEMPLATE = (
    r"{% for m in messages %}{{'<|im_start|>'+m.role+'\n'}}"
    r"{% if m.reasoning_content %}{{'<think>\n'+m.reasoning_content+'\n</think>\n'}}{% endif %}"
    r"{{m.content+'<|im_end|>\n'}}{% endfor %}"
    r"{% if add_generation_prompt %}{{'<|im_start|>assistant\n<think>\n'}}"
    r"{% if enable_thinking==false %}{{'\n</think>\n'}}{% endif %}{% endif %}"
)


def with_chat_template(content: bytes, template: str) -> bytes:
    """The same model with another template, which must not be longer: offsets stay as they are."""
    key = b"tokenizer.chat_template"
    start = content.index(key) + len(key) + 12
    size = int.from_bytes(content[start - 8 : start], "little")
    return content[:start] + (template + "{#").encode().ljust(size - 2) + b"#}" + content[start + size :]


async def test_a_thinking_model_thinks_apart_from_its_answer_or_not_at_all(tmp_path: Path) -> None:
    """The small model does not think; its weights do behind a template that opens a thought."""
    path = tmp_path / "thinking.gguf"
    path.write_bytes(with_chat_template(small_model().read_bytes(), THINKING_TEMPLATE))
    backend = EmbeddedBackend(path, threads=1)
    capabilities = (await backend.describe("thinking")).capabilities
    assert capabilities is not None and "thinking" in capabilities

    question = ChatRequest("thinking", (Message("user", "Hello"),), 512, 12, options={"temperature": 0})
    by_default = await collect(backend, question)
    without = await collect(backend, replace(question, think=False))
    await backend.close()

    assert "Hello" in "".join(part.text for part in by_default if isinstance(part, ThinkingPart))
    assert text_of(by_default) == ""
    assert text_of(without) and not any(isinstance(part, ThinkingPart) for part in without)
    assert isinstance(by_default[-1], DonePart) and isinstance(without[-1], DonePart)


TOOL_TEMPLATE = (
    r"{% for t in tools %}{{t|tojson}}{% endfor %}{% for m in messages %}{{'<|im_start|>'+m.role+'\n'}}"
    r"{{m.content}}{% for c in m.tool_calls %}<tool_call>{{c.function|tojson}}</tool_call>{% endfor %}"
    r"{{'<|im_end|>\n'}}{% endfor %}{{'<|im_start|>assistant\n'}}"
)


async def test_a_template_that_knows_tools_is_given_them(tmp_path: Path) -> None:
    path = tmp_path / "tools.gguf"
    path.write_bytes(with_chat_template(small_model().read_bytes(), TOOL_TEMPLATE))
    backend = EmbeddedBackend(path, threads=1)
    capabilities = (await backend.describe("tools")).capabilities
    assert capabilities is not None and "tools" in capabilities
    schema = {"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]}
    question = ChatRequest("tools", (Message("user", "Hello"),), 1024, 4, options={"temperature": 0})
    without = await collect(backend, question)
    offered = await collect(backend, replace(question, tools=(ToolSpec("read", "Read a file.", schema),)))
    counts = [
        parts[-1].usage.prompt_tokens for parts in (without, offered) if isinstance(parts[-1], DonePart)
    ]
    assert counts[1] > counts[0] + 20  # type: ignore[operator]  # the engine counts
    await backend.close()
