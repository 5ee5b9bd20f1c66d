"""Turns that go well, and what is recorded of them."""

from __future__ import annotations

import asyncio
import itertools

import pytest

from local_agent.domain.entries import EntryStatus, Kind, TurnStatus
from local_agent.domain.errors import ModelError, ModelErrorKind
from local_agent.domain.events import (
    Event,
    Notice,
    Phase,
    PhaseChanged,
    TextDelta,
    TurnFailed,
    TurnStarted,
    UsageReported,
)
from tests.agent.conftest import THINKER, WINDOW, Bench, only, text_of, the_end, thinking_of, until, when
from tests.support.ollama_server import ModelSpec, Turn, call, done, gate, say, think


async def test_a_question_is_answered_and_kept(bench: Bench) -> None:
    bench.server.script("Hello there, **friend**.")
    events = await bench.events("Hi")
    end = the_end(events)
    assert text_of(events) == "Hello there, **friend**."
    assert (end.status, end.stop_reason) == (TurnStatus.SETTLED, "stop")
    assert isinstance(events[0], TurnStarted)
    assert events[0].handle == bench.info.handle
    question, answer = await bench.stored()
    assert (question.kind, question.text) == (Kind.QUESTION, "Hi")
    assert (answer.kind, answer.text, answer.status) == (Kind.ASSISTANT, text_of(events), EntryStatus.SETTLED)
    assert answer == end.reply


async def test_the_question_is_stored_before_the_request_goes_out(bench: Bench) -> None:
    bench.server.script("Yes.")
    chats_at_start: list[int] = []

    def look(event: Event) -> None:
        if isinstance(event, TurnStarted):
            chats_at_start.append(len(bench.server.chats))

    await bench.events("Hi", look)
    request = bench.server.chats[0].body
    assert chats_at_start == [0]
    assert request["options"] == {"num_ctx": WINDOW, "num_predict": 1024}
    assert request["messages"] == [
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": "Hi"},
    ]


async def test_thinking_is_kept_apart_from_the_answer(bench: Bench) -> None:
    bench.server.script(Turn(think("Let me see. "), say("Four.")))
    events = await bench.events("2+2?", model=THINKER)
    reply = the_end(events).reply
    assert reply is not None
    assert (reply.thinking, reply.text) == (thinking_of(events), text_of(events)) == ("Let me see. ", "Four.")
    phases = [event.phase for event in only(events, PhaseChanged)]
    assert phases[-2:] == [Phase.THINKING, Phase.WRITING]


async def test_usage_is_reported_before_the_end(bench: Bench) -> None:
    bench.server.script(Turn(say("one two three"), done(counts={"prompt_eval_count": 40, "eval_count": 3})))
    events = await bench.events("count")
    report = only(events, UsageReported)[0]
    assert (report.usage.prompt_tokens, report.usage.reply_tokens, report.window) == (40, 3, WINDOW)
    assert report.usage.first_token_seconds is not None
    assert 0 < report.usage.first_token_seconds < 5
    turns = (await bench.store.tail(bench.info.id, 10)).turns
    assert [turn.usage for turn in turns.values()] == [report.usage]


async def test_a_cold_model_is_loading_and_a_warm_one_reading(bench: Bench) -> None:
    bench.server.models[THINKER] = ModelSpec(
        THINKER, capabilities=("completion", "thinking"), load_seconds=0.3
    )
    bench.server.script("cold", Turn(gate("go"), "warm"))
    cold = await bench.events("one", model=THINKER)

    def release(event: Event) -> None:
        if event == PhaseChanged(Phase.READING):
            bench.server.release("go")

    warm = await bench.events("two", release, model=THINKER)
    assert only(cold, PhaseChanged)[0] == PhaseChanged(Phase.LOADING)
    assert only(warm, PhaseChanged)[0] == PhaseChanged(Phase.READING)


async def test_a_reply_is_saved_while_it_streams_and_while_it_is_silent(bench: Bench) -> None:
    bench.server.script(Turn("so far ", gate("go"), "and the rest"))
    saved: list[str] = []

    async def read_what_is_saved() -> None:
        while not saved:
            reply = await bench.store.open_reply(bench.info.id)
            if reply is not None:
                saved.append(reply.text)
        bench.server.release("go")

    readers: list[asyncio.Task[None]] = []

    def look(event: Event) -> None:
        if isinstance(event, TurnStarted):
            readers.append(asyncio.create_task(read_what_is_saved()))

    await bench.events("go on", look)
    await asyncio.gather(*readers)
    assert saved == ["so far "]
    assert await bench.store.open_reply(bench.info.id) is None


async def test_a_slow_consumer_holds_up_neither_stream_nor_saving(bench: Bench) -> None:
    bench.server.script("one two three four five six")
    generator = bench.ask("count")
    assert isinstance(await anext(generator), TurnStarted)
    await bench.server.wait_until(lambda: bench.server.chats and bench.server.chats[0].last_byte)

    async def settled() -> bool:
        return [entry.text for entry in await bench.stored()][1:] == ["one two three four five six"]

    await until(settled)
    events = [event async for event in generator]
    assert text_of(events) == "one two three four five six"


async def test_each_request_begins_with_all_of_the_one_before(bench: Bench) -> None:
    bench.server.script("one", "two", Turn("thr", gate("never")), "four", Turn(think("Hm."), say("five")))

    for number in range(1, 6):
        await bench.events(
            f"question {number}",
            when(TextDelta, bench.agent.stop) if number == 3 else None,
            model=THINKER,
            context="Date: today" if number == 1 else "",
        )
    sent = [bench.sent(number) for number in range(5)]
    for earlier, later in itertools.pairwise(sent):
        assert later[: len(earlier)] == earlier
        assert len(later) == len(earlier) + 2
    assert {"role": "assistant", "content": "thr"} in sent[-1]


async def test_the_output_limit_is_said_and_the_reply_settled(bench: Bench) -> None:
    bench.server.script(Turn(say("and then"), done("length")))
    events = await bench.events("tell me")
    end = the_end(events)
    assert (end.status, end.stop_reason) == (TurnStatus.SETTLED, "length")
    assert any("output limit of 1,024" in notice.text for notice in only(events, Notice))


async def test_calls_that_nobody_offered_are_kept_and_not_run(bench: Bench) -> None:
    bench.server.script(Turn(say("I look."), call("read", {"path": "a"})), "It says nothing.")
    events = await bench.events("what is in a?")
    reply = the_end(events).reply
    assert reply is not None
    assert [made.name for made in reply.calls] == ["read"]
    assert any("read" in notice.text and "not run" in notice.text for notice in only(events, Notice))
    await bench.events("and now?")
    roles = [message["role"] for message in bench.sent(1)]
    assert roles == ["system", "user", "assistant", "tool", "assistant", "user"]


async def test_a_full_window_is_named_where_the_server_may_cut(bench: Bench) -> None:
    full = Turn(say("ok"), done(counts={"prompt_eval_count": 7900}))
    bench.server.script(full, full)
    warned = await bench.events("one", may_cut=True)
    trusted = await bench.events("two")
    assert any("may have cut" in notice.text for notice in only(warned, Notice))
    assert not only(trusted, Notice)


async def test_what_no_window_could_hold_is_stored_and_not_sent(bench: Bench) -> None:
    events = await bench.events("word " * 20_000)
    failure = only(events, TurnFailed)[0]
    assert failure.kind == ModelErrorKind.CONTEXT_OVERFLOW
    assert the_end(events).status is TurnStatus.FAILED
    assert bench.server.chats == []
    assert [entry.kind for entry in await bench.stored()] == [Kind.QUESTION]


async def test_a_turn_that_is_known_to_fail_is_recorded_and_not_sent(bench: Bench) -> None:
    refusal = ModelError(ModelErrorKind.NO_MODEL, "No model.", "Get one.", "raw words")
    events = await bench.events("Hi\nthere", model="", refusal=refusal)
    assert only(events, TurnFailed) == [TurnFailed("no_model", "No model.", "Get one.", "raw words")]
    assert bench.server.chats == []
    record = (await bench.store.errors(bench.info.id))[0]
    assert (record.kind, record.line, record.raw, record.question) == (
        "generation",
        "No model.",
        "raw words",
        "Hi",
    )


async def test_one_turn_at_a_time(bench: Bench) -> None:
    bench.server.script(Turn(gate("go"), "ok"))
    generator = bench.ask("one")
    await anext(generator)
    with pytest.raises(RuntimeError, match="one turn"):
        await anext(bench.ask("two"))
    bench.server.release("go")
    assert the_end([event async for event in generator]).status is TurnStatus.SETTLED
