"""Turns with tools: what is run, what the model reads of it, and what is recorded."""

from __future__ import annotations

import json

import pytest

from local_agent.agent.results import CALLS_AT_MOST
from local_agent.domain.entries import EntryStatus, Kind, ToolCall, TurnStatus
from local_agent.domain.errors import ModelErrorKind
from local_agent.domain.events import (
    Event,
    Notice,
    ReplyRecorded,
    TextDelta,
    ToolFinished,
    ToolProgress,
    ToolRequested,
    ToolStarted,
    TurnFailed,
    UsageReported,
)
from local_agent.domain.ledger import EventKind
from local_agent.domain.modes import Mode
from tests.agent.conftest import Bench, only, text_of, the_end
from tests.agent.small_tools import SmallToolbox
from tests.support.ollama_server import ModelSpec, Turn, call, done, end, error, http, line, say, think

ENGINES = ("native", "qwen3", "gemma4", "harmony", "generic")


def results(events: list[Event]) -> list[str]:
    """What the model reads of the calls, in the order in which they ended."""
    return [event.result.text for event in only(events, ToolFinished)]


def states(events: list[Event]) -> list[EventKind]:
    """How the calls ended, in that order."""
    return [event.execution.state for event in only(events, ToolFinished)]


def notices(events: list[Event]) -> list[str]:
    return [event.text for event in only(events, Notice)]


def assert_requests_grow(bench: Bench) -> None:
    """Each request begins with all of the one before, and carries the same tools."""
    for number in range(1, len(bench.server.chats)):
        before, after = bench.sent(number - 1), bench.sent(number)
        assert after[: len(before)] == before
    assert len({str(chat.body.get("tools")) for chat in bench.server.chats}) == 1


@pytest.mark.parametrize("engine", ENGINES)
async def test_a_call_is_run_wherever_the_server_puts_it(
    bench: Bench, tools: SmallToolbox, engine: str
) -> None:
    bench.server.models["m:latest"] = ModelSpec("m", ("completion", "tools"), engine)
    tools.path("a.txt").write_text("hello")
    bench.server.script(Turn("Looking. ", call("read", {"path": "a.txt"})), "It says hello.")
    events = await bench.events("What is in a.txt?", model="m")
    assert the_end(events).status is TurnStatus.SETTLED
    assert (results(events), tools.log) == (["hello"], ["read a.txt"])
    assert_requests_grow(bench)
    asked, result = bench.sent(1)[-2:]
    assert asked["content"] == "Looking. "
    assert (result["role"], result["content"], result["tool_name"]) == ("tool", "hello", "read")
    assert [type(e) for e in events if isinstance(e, ReplyRecorded | ToolRequested | ToolStarted)] == [
        ReplyRecorded,
        ToolRequested,
        ToolStarted,
    ]
    assert len(only(events, UsageReported)) == 2
    kinds = [entry.kind for entry in await bench.stored()]
    assert kinds == [Kind.QUESTION, Kind.ASSISTANT, Kind.RESULT, Kind.ASSISTANT]


async def test_text_thinking_and_a_call_of_one_chunk_are_all_kept(bench: Bench, tools: SmallToolbox) -> None:
    tools.path("a").write_text("hello")
    function = {"name": "read", "arguments": {"path": "a"}}
    message = {"content": "C", "thinking": "T", "tool_calls": [{"function": function}]}
    bench.server.script(Turn(line({"message": message, "done": False}), done()), "Done.")
    events = await bench.events("go")
    reply = only(events, ReplyRecorded)[0].reply
    assert (reply.text, reply.thinking, [made.name for made in reply.calls]) == ("C", "T", ["read"])
    assert results(events) == ["hello"]


async def test_calls_over_several_chunks_are_answered_in_call_order(
    bench: Bench, tools: SmallToolbox
) -> None:
    for name in "abc":
        tools.path(name).write_text(name.upper())
    first = [{"function": {"index": n, "name": "read", "arguments": {"path": "ab"[n]}}} for n in range(2)]
    bench.server.script(
        Turn(
            line({"message": {"content": "", "tool_calls": first}, "done": False}),
            call("read", {"path": "c"}, index=2),
        ),
        "ABC.",
    )
    await bench.events("read all")
    assert [message["content"] for message in bench.sent(1)[-3:]] == ["A", "B", "C"]


async def test_one_call_after_the_other_with_the_same_index_is_two(bench: Bench, tools: SmallToolbox) -> None:
    bench.server.models["m:latest"] = ModelSpec("m", ("completion", "tools"), "harmony")
    tools.path("a").write_text("A")
    again = Turn(call("read", {"path": "a"}))
    bench.server.script(again, again, "Done.")
    events = await bench.events("read it twice", model="m")
    assert results(events) == ["A", "A"]
    assert_requests_grow(bench)


@pytest.mark.parametrize("call_id", ["", "same"])
async def test_calls_without_an_id_or_with_the_same_stay_two(
    bench: Bench, tools: SmallToolbox, call_id: str
) -> None:
    for name in "ab":
        tools.path(name).write_text(name.upper())
    calls = [call("read", {"path": name}, id=call_id) for name in "ab"]
    bench.server.script(Turn(*calls), "Done.")
    events = await bench.events("read both")
    assert sorted(results(events)) == ["A", "B"]
    made = only(events, ReplyRecorded)[0].reply.calls
    assert len({each.id for each in made}) == 2 and all(each.id for each in made)
    assert [message["tool_call_id"] for message in bench.sent(1)[-2:]] == [each.id for each in made]


@pytest.mark.parametrize(
    ("name", "written", "said"),
    [
        ("shell", {"command": "ls"}, "There is no tool shell."),
        ("read", {}, 'needs "path"'),
        ("read", {"path": {"a": 1}}, "must be text"),
        ("read", {"path": "a", "sudo": True}, 'no argument "sudo"'),
        ("read", ["a"], "one JSON object"),
        ("read", '{"path": ', "one JSON object"),
        ("read", "a" * 100_000, "one JSON object"),
    ],
)
async def test_a_call_that_makes_no_sense_is_answered_and_not_run(
    bench: Bench, tools: SmallToolbox, name: str, written: object, said: str
) -> None:
    bench.server.script(Turn(call(name, written)), "I see.")
    events = await bench.events("go")
    assert the_end(events).status is TurnStatus.SETTLED
    assert states(events) == [EventKind.FAILED]
    assert said in results(events)[0]
    assert tools.log == []
    sent = bench.sent(1)[-2]["tool_calls"]
    assert isinstance(sent[0]["function"]["arguments"], dict)  # type: ignore[index]  # a list of calls


async def test_arguments_as_json_text_are_read(bench: Bench, tools: SmallToolbox) -> None:
    tools.path("a").write_text("A")
    bench.server.script(Turn(call("read", '{"path": "a"}')), "Done.")
    assert results(await bench.events("go")) == ["A"]


async def test_a_call_in_the_text_runs_under_the_same_rules_and_is_told_once(
    bench: Bench, tools: SmallToolbox
) -> None:
    tools.path("a").write_text("A")
    read = '<tool_call>{"name": "read", "arguments": {"path": "a"}}</tool_call>'
    write = '<tool_call>{"name": "write", "arguments": {"path": "b", "content": "B"}}</tool_call>'
    bench.server.script(f"First I look. {read}", f"{write}", "Done.")
    events = await bench.events("go", mode=Mode.PLAN)
    assert states(events) == [EventKind.COMPLETED, EventKind.DENIED]
    assert all(event.execution.recovered for event in only(events, ToolRequested))
    assert not tools.path("b").exists()
    assert len([text for text in notices(events) if "as text" in text]) == 1
    reply = only(events, ReplyRecorded)[0].reply
    assert (reply.text, reply.calls[0].recovered) == ("First I look.", True)
    assert "tool_call>" not in str(bench.sent(2))
    assert_requests_grow(bench)


async def test_a_text_that_shows_a_call_is_an_answer(bench: Bench, tools: SmallToolbox) -> None:
    bench.server.script('Like this:\n```json\n{"name": "read", "arguments": {"path": "a"}}\n```')
    assert not only(await bench.events("how?"), ToolRequested)
    assert len(bench.server.chats) == 1


EMPTY = Turn(done(counts={"eval_count": 12}))
UNREADABLE = "failed to parse JSON: unexpected end of JSON input"


@pytest.mark.parametrize("stumble", [EMPTY, Turn(error(UNREADABLE)), Turn(http(500, {"error": UNREADABLE}))])
async def test_a_model_that_stumbles_gets_one_more_try(
    bench: Bench, tools: SmallToolbox, stumble: Turn
) -> None:
    bench.server.script(stumble, "Here.")
    events = await bench.events("go")
    assert (the_end(events).status, text_of(events)) == (TurnStatus.SETTLED, "Here.")
    assert len([text for text in notices(events) if text.endswith("It is asked again.")]) == 1
    bench.server.script(stumble, stumble)
    again = await bench.events("go")
    assert the_end(again).status is TurnStatus.FAILED
    assert len(bench.server.chats) == 4


async def test_the_words_before_a_stumble_stay_and_its_calls_do_not(
    bench: Bench, tools: SmallToolbox
) -> None:
    bench.server.models["m:latest"] = ModelSpec("m", ("completion", "tools"), "qwen3")
    tools.path("a").write_text("A")
    bench.server.script(
        Turn("I look. ", call("write", {"path": "b", "content": "B"}), error(UNREADABLE)),
        Turn("Again.", call("read", {"path": "a"})),
        "Done.",
    )
    events = await bench.events("go", model="m", mode=Mode.AUTO)
    assert results(events) == ["A"]
    assert only(events, ReplyRecorded)[0].reply.text == "I look. \n\nAgain."
    assert "".join(event.text for event in only(events, TextDelta)) == "I look. \n\nAgain.Done."
    assert not tools.path("b").exists()


async def test_a_stumble_after_tools_ran_runs_none_of_them_again(bench: Bench, tools: SmallToolbox) -> None:
    bench.server.script(Turn(call("write", {"path": "a", "content": "A"})), EMPTY, "Done.")
    events = await bench.events("go", mode=Mode.AUTO)
    assert (tools.log, the_end(events).status) == (["write a"], TurnStatus.SETTLED)


@pytest.mark.parametrize("kind", ["no_done", "abort", "midline_abort", "rst"])
async def test_a_reply_that_is_cut_off_runs_nothing(bench: Bench, tools: SmallToolbox, kind: str) -> None:
    bench.server.models["m:latest"] = ModelSpec("m", ("completion", "tools"), "qwen3")
    bench.server.script(Turn("Soon. ", call("write", {"path": "a", "content": "A"}), end(kind)), "Next.")
    events = await bench.events("go", model="m", mode=Mode.AUTO)
    assert the_end(events).status is TurnStatus.FAILED
    assert not only(events, ToolRequested) and not tools.path("a").exists()
    assert len(bench.server.chats) == 1
    reply = the_end(events).reply
    assert reply is not None and (reply.text, reply.status) == ("Soon. ", EntryStatus.INTERRUPTED)
    await bench.events("and now?", model="m")
    assert [message["role"] for message in bench.sent(1)][-1] == "user"


@pytest.mark.parametrize("step", [think("Hm."), say("")])
async def test_a_reply_at_its_limit_that_says_nothing_is_named(
    bench: Bench, tools: SmallToolbox, step: object
) -> None:
    turn = Turn(step, done("length"))  # type: ignore[arg-type]  # any step
    bench.server.script(turn, turn)
    failure = only(await bench.events("go"), TurnFailed)[0]
    assert "limit of 1,024 tokens" in failure.line and "model.max_output" in failure.hint


OVERFLOWS = [
    "the input length exceeds the context length",
    "the prompt is longer than the context length currently available to the model; shorten the prompt",
    '{"error":{"code":400,"message":"request (20000 tokens) exceeds the available context size (4096 tokens)'
    ', try increasing it","type":"exceed_context_size_error","n_prompt_tokens":20000,"n_ctx":4096}}',
    "input length (20000 tokens) exceeds the model's maximum context length (4096 tokens)",
]


@pytest.mark.parametrize("words", OVERFLOWS)
async def test_results_that_are_too_much_are_shortened_and_sent_again(
    bench: Bench, tools: SmallToolbox, words: str
) -> None:
    tools.path("big").write_text("B" * 3_000)
    read = Turn(call("read", {"path": "big"}))
    bench.server.script(read, Turn(http(400, {"error": words})), read, "Done.")
    events = await bench.events("read it")
    assert the_end(events).status is TurnStatus.SETTLED
    contents = [str(message["content"]) for message in bench.sent(2)]
    assert contents[-1].startswith("B" * 300 + "\n(The rest of read")
    first, second = [m["content"] for m in bench.sent(3) if m["role"] == "tool"]
    assert first == contents[-1] and str(second).startswith("BBB")
    assert [event.result.text for event in only(events, ToolFinished)] == ["B" * 3_000] * 2


async def test_an_overflow_that_nothing_can_mend_is_told(bench: Bench, tools: SmallToolbox) -> None:
    tools.path("big").write_text("B" * 3_000)
    too_long = Turn(http(400, {"error": OVERFLOWS[0]}))
    bench.server.script(Turn(call("read", {"path": "big"})), too_long, too_long)
    events = await bench.events("read it")
    assert [failure.kind for failure in only(events, TurnFailed)] == [ModelErrorKind.CONTEXT_OVERFLOW]


async def test_old_results_give_way_before_the_window_is_full(bench: Bench, tools: SmallToolbox) -> None:
    for name in "abcd":
        tools.path(name).write_text(name * 3_000)
    bench.server.script(*[Turn(call("read", {"path": name})) for name in "abcd"], "Done.")
    events = await bench.events("read them", window=4096)
    assert the_end(events).status is TurnStatus.SETTLED
    sent = [str(message["content"]) for message in bench.sent(4) if message["role"] == "tool"]
    assert sent[0].startswith("(Left out to save room: read") and sent[-1] == "d" * 3_000
    assert any("left out" in text for text in notices(events))


async def test_arguments_that_no_window_holds_do_not_end_the_conversation(
    bench: Bench, tools: SmallToolbox
) -> None:
    bench.server.script(Turn(call("read", {"path": "p" * 100_000})), "Too long a name.", "Go on.")
    assert the_end(await bench.events("read it", window=4096)).status is TurnStatus.SETTLED
    assert the_end(await bench.events("and now?", window=4096)).status is TurnStatus.SETTLED
    for number in (1, 2):
        [made] = [message["tool_calls"] for message in bench.sent(number) if "tool_calls" in message]
        assert len(json.dumps(made)) < 1_000 and "left out to save room" in json.dumps(made)


async def test_more_calls_than_a_reply_may_hold_are_answered_and_not_run(
    bench: Bench, tools: SmallToolbox
) -> None:
    tools.path("a").write_text("A")
    bench.server.script(Turn(*[call("read", {"path": "a"})] * (CALLS_AT_MOST + 2)), "Done.")
    events = await bench.events("go")
    assert len(tools.log) == CALLS_AT_MOST
    assert [message["content"] for message in bench.sent(1)[-3:]] == ["A", *results(events)[-2:]]
    assert results(events)[-1].startswith("Not run: a reply may hold 64 calls.")


async def test_a_tool_with_a_fault_fails_and_the_turn_goes_on(
    bench: Bench, tools: SmallToolbox, caplog: pytest.LogCaptureFixture
) -> None:
    bench.server.script(
        Turn(call("broken", {"how": "prepare"}), call("broken", {"how": "run"})), "I go on without."
    )
    events = await bench.events("go")
    assert the_end(events).status is TurnStatus.SETTLED
    assert states(events) == [EventKind.FAILED, EventKind.FAILED]
    assert all("fault of its own" in text for text in results(events))
    assert "a fault in prepare" in caplog.text


async def test_the_same_call_that_fails_again_and_again_ends_the_turn(
    bench: Bench, tools: SmallToolbox
) -> None:
    bench.server.script(*[Turn(call("read", {"path": "gone"}))] * 3)
    events = await bench.events("go")
    failure = only(events, TurnFailed)[0]
    assert (failure.kind, failure.line) == (ModelErrorKind.REPEATING, "The same call of read failed 3 times.")
    assert results(events) == ["gone does not exist."] * 3


async def test_a_check_may_fail_again_after_each_change(bench: Bench, tools: SmallToolbox) -> None:
    tools.failing.add("make")
    rounds = [
        Turn(call("write", {"path": "a", "content": str(n)}), call("bash", {"command": "make"}))
        for n in range(4)
    ]
    bench.server.script(*rounds, "I give up.")
    assert the_end(await bench.events("go", mode=Mode.AUTO)).status is TurnStatus.SETTLED


async def test_a_turn_has_so_many_requests(bench: Bench, tools: SmallToolbox) -> None:
    tools.path("a").write_text("A")
    bench.server.script(*[Turn(call("read", {"path": "a"}))] * 4)
    events = await bench.events("go", max_requests=4)
    failure = only(events, TurnFailed)[0]
    assert (failure.kind, failure.line) == (
        ModelErrorKind.LIMIT,
        "The model made 4 requests in this turn and is not done.",
    )
    assert the_end(events).reply is None
    bench.server.script("Done.")
    assert the_end(await bench.events("go on")).status is TurnStatus.SETTLED
    assert_requests_grow(bench)


async def test_a_long_turn_goes_on_only_where_it_gets_somewhere(bench: Bench, tools: SmallToolbox) -> None:
    tools.path("a").write_text("A")
    reading = [Turn(call("read", {"path": "a"}))] * 9
    writing = Turn(call("write", {"path": "b", "content": "B"}))
    bench.server.script(
        *reading, writing, *reading, Turn(call("bash", {"command": "ls"})), *reading, reading[0]
    )
    failure = only(await bench.events("go", mode=Mode.AUTO, max_requests=40), TurnFailed)[0]
    assert failure.kind == ModelErrorKind.LIMIT
    assert "30 requests" in failure.line and "changed nothing" in failure.line


async def test_a_check_that_passes_after_it_failed_is_progress(bench: Bench, tools: SmallToolbox) -> None:
    check = Turn(call("bash", {"command": "make"}))
    other = [Turn(call("read", {"path": "a"}))] * 8
    tools.path("a").write_text("A")
    bench.server.script(check, *other, check, check, *other, check, "never")
    failure = only(await bench.events("go", mode=Mode.AUTO, max_requests=40), TurnFailed)[0]
    assert "20 requests" in failure.line, "a check that passes again and again is none"
    tools.failing.add("make")
    seen = 0

    def mend(event: Event) -> None:
        nonlocal seen
        if isinstance(event, ToolFinished):
            seen += 1
        if seen == 12:
            tools.failing.discard("make")

    bench.server.reset()
    bench.server.script(
        check, *other, Turn(call("write", {"path": "b", "content": ""})), check, *other, check, "Done."
    )
    events = await bench.events("again", mend, mode=Mode.AUTO, max_requests=40)
    assert the_end(events).status is TurnStatus.SETTLED


async def test_a_command_of_the_persons_own_asks_neither_rules_nor_model(
    bench: Bench, tools: SmallToolbox
) -> None:
    made = ToolCall("c", "bash", {"command": "make"})
    events = await bench.events("make", command=made, mode=Mode.NORMAL)
    assert (the_end(events).status, results(events)) == (TurnStatus.SETTLED, ["make: ok"])
    assert [event.text for event in only(events, ToolProgress)] == ["make: output"]
    assert bench.server.chats == []
    bench.server.script("It went well.")
    await bench.events("how was it?")
    assert bench.sent(0)[-1]["content"] == (
        "I ran a command myself:\n\n    $ make\n    make: ok\n\nhow was it?"
    )


async def test_what_is_recorded_agrees_with_what_was_told(bench: Bench, tools: SmallToolbox) -> None:
    tools.path("a").write_text("A")
    bench.server.script(
        Turn(call("read", {"path": "a"}), call("write", {"path": "b", "content": "B"})), "Done."
    )
    events = await bench.events("go", mode=Mode.AUTO)
    page = await bench.store.tail(bench.info.id, 10)
    told = {event.execution.id: event for event in only(events, ToolFinished)}
    assert {each.id: each.state for each in page.executions.values()} == {
        key: event.execution.state for key, event in told.items()
    }
    written = next(each for each in page.executions.values() if each.tool == "write")
    assert [change.path for change in written.changes] == ["b"]
    assert written.receipt is not None and written.receipt.seconds is not None
    assert (written.target, written.facts["confined"]) == ("b", False)
    leaves = [entry for entry in page.entries if entry.kind is Kind.RESULT]
    assert {leaf.text for leaf in leaves} == {event.result.text for event in told.values()}


async def test_without_tools_calls_are_named_and_not_run(bench: Bench, tools: SmallToolbox) -> None:
    bench.server.script(Turn("Hm.", call("read", {"path": "a"})))
    events = await bench.events("go", tools=())
    assert the_end(events).status is TurnStatus.SETTLED
    assert "tools" not in bench.server.chats[0].body
    assert any("were not run" in text for text in notices(events))


async def test_a_model_that_refuses_tools_answers_without(bench: Bench, tools: SmallToolbox) -> None:
    bench.server.models["plain:1b"] = ModelSpec("plain:1b", ("completion",))
    bench.server.script("Hello.")
    events = await bench.events("Hi", model="plain:1b")
    assert text_of(events) == "Hello."
    assert notices(events) == ["plain:1b can't call tools; it was asked without."]
