"""Requests that fit: trimmed, weighed by what was counted, refused rather than cut."""

from __future__ import annotations

from dataclasses import replace

import pytest

from local_agent.agent.measuring import Measuring
from local_agent.agent.turn import Agent
from local_agent.domain.budget import Calibration, least_reply
from local_agent.domain.context import Why
from local_agent.domain.entries import TurnStatus
from local_agent.domain.errors import ModelErrorKind
from local_agent.domain.events import Event, Notice, TurnFailed
from tests.agent.conftest import MODEL, Bench, only, the_end
from tests.agent.small_tools import SmallToolbox
from tests.support.ollama_server import ModelSpec, Turn, call, done, say


@pytest.fixture
def measuring(bench: Bench) -> Measuring:
    """What the conversation's requests weigh, for a test to look at."""
    found = Measuring()
    bench.agent = Agent(bench.backend, bench.journal, measuring=found)
    return found


def notices(events: list[Event]) -> list[str]:
    return [event.text for event in only(events, Notice)]


def option(bench: Bench, number: int, name: str) -> object:
    options = bench.server.chats[number].body["options"]
    assert isinstance(options, dict)
    return options[name]


@pytest.mark.parametrize("weight", [2.0, 3.0, 4.0, 6.0])
async def test_the_estimate_learns_what_the_server_counts(
    bench: Bench, measuring: Measuring, weight: float
) -> None:
    bench.server.models = {MODEL: ModelSpec(MODEL, bytes_per_token=weight)}
    bench.server.script("Answer. " * 50, "Answer. " * 50, "Done.")
    for _ in range(3):
        await bench.events("How is it? " * 60)
    assert measuring.last is not None and measuring.counted is not None
    estimate = measuring.tokens(MODEL, measuring.last.estimate)
    assert measuring.counted * 0.98 <= estimate <= measuring.counted * 1.1
    assert measuring.counted == bench.server.chats[-1].prompt_tokens
    assert measuring.breaks == ()


def test_a_count_of_what_was_not_cached_teaches_nothing() -> None:
    from tests.domain.test_context import request

    measuring = Measuring(Calibration({"m": 1.2}))
    first = replace(request([]), weights=(300, 400))
    measuring.note(first, 1)
    measuring.learn(800)
    factor = measuring.calibration.factors["m"]
    measuring.note(replace(first, messages=(*first.messages, "x"), weights=(300, 400, 100)), 2)
    measuring.learn(500)
    assert measuring.calibration.factors["m"] == factor and measuring.counted is None


async def test_a_server_that_cuts_teaches_nothing_below_the_estimate(
    bench: Bench, measuring: Measuring
) -> None:
    """It may have counted what it left of a prompt, or what it had not read before."""
    bench.server.script(Turn(say("Yes."), done(counts={"prompt_eval_count": 900})))
    await bench.events("word " * 1_300, may_cut=True)
    assert measuring.counted == 900 and measuring.calibration.factors[MODEL] == 1.0


async def test_a_reply_is_given_no_more_than_the_window_has_room_for(
    bench: Bench, measuring: Measuring
) -> None:
    bench.server.script("Short.", Turn(say("Long."), done("length")))
    await bench.events("word " * 700, window=4096, max_output=2048)
    assert option(bench, 0, "num_predict") == 2048
    events = await bench.events("word " * 2_300, window=4096, max_output=2048)
    room = option(bench, 1, "num_predict")
    assert isinstance(room, int)
    assert room + bench.server.chats[1].prompt_tokens <= 4096
    assert notices(events) == [
        f"The reply has room for {room:,} tokens.",
        f"The reply ended where the context window is full: it had room for {room:,} tokens.",
    ]


async def test_what_does_not_fit_is_never_sent_to_a_server_that_cuts(
    bench: Bench, measuring: Measuring
) -> None:
    bench.server.version = "0.9.0"
    bench.server.script("One.")
    await bench.events("word " * 2_000, window=4096, may_cut=True)
    events = await bench.events("word " * 1_500, window=4096, may_cut=True)
    failure = only(events, TurnFailed)[0]
    assert (failure.kind, len(bench.server.chats)) == (ModelErrorKind.CONTEXT_OVERFLOW, 1)
    assert "4,096" in failure.line and failure.hint
    assert [record.dropped for record in bench.server.chats] == [0]


async def test_a_result_of_a_larger_window_is_trimmed_and_that_is_said_once(
    bench: Bench, tools: SmallToolbox
) -> None:
    measuring = Measuring()
    bench.agent = Agent(bench.backend, bench.journal, None, bench.toolbox, bench.rules, measuring=measuring)
    tools.path("big").write_text("head " + "B" * 20_000 + " tail")
    read = Turn(call("read", {"path": "big"}))
    bench.server.script(read, "Read.", "Again.", "Again.")
    assert notices(await bench.events("read it", window=16_384)) == []
    events = [await bench.events("and?", window=4096, most_result=2048) for _ in range(2)]
    assert [the_end(each).status for each in events] == [TurnStatus.SETTLED] * 2
    for number in (2, 3):
        [result] = [str(m["content"]) for m in bench.sent(number) if m["role"] == "tool"]
        assert len(result) < 2_200 and result.startswith("head B") and result.endswith("B tail")
        assert "\n(… 17,962 bytes left out …)\n" in result
    assert [len([text for text in notices(each) if "larger than" in text]) for each in events] == [1, 0]
    assert [each.broken.why for each in measuring.breaks] == [Why.WINDOW]


async def test_results_give_way_by_what_the_server_counts(bench: Bench, tools: SmallToolbox) -> None:
    """By our own estimate alone all of them would fit."""
    bench.server.models = {MODEL: ModelSpec(MODEL, bytes_per_token=2.0)}
    for name in "abcd":
        tools.path(name).write_text(f"{name} " * 900)
    bench.server.script(*[Turn(call("read", {"path": name})) for name in "abcd"], "Done.")
    events = await bench.events("read them", window=4096)
    assert the_end(events).status is TurnStatus.SETTLED
    assert all(record.prompt_tokens <= 4096 and not record.dropped for record in bench.server.chats)


@pytest.mark.parametrize("window", [512, 4096, 16_384])
def test_a_reply_has_room_in_every_window(window: int) -> None:
    assert 0 < least_reply(window) < window // 4
