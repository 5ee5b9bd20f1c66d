"""Questions to the person: asked one at a time, answered once, and what each answer lets run."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import aclosing

import pytest

from local_agent.domain.approvals import NO, Answer, Choice
from local_agent.domain.entries import TurnStatus
from local_agent.domain.events import (
    Answered,
    ApprovalAsked,
    Event,
    Notice,
    QuestionAsked,
    ToolFinished,
    TurnFailed,
)
from local_agent.domain.ledger import EventKind
from local_agent.domain.modes import Mode
from tests.agent.conftest import Bench, only, the_end
from tests.agent.small_tools import SmallToolbox
from tests.agent.test_tools import results, states
from tests.support.ollama_server import Turn, call

ONCE = Answer(Choice.ONCE)


def write(path: str, content: str = "new") -> Turn:
    return Turn(call("write", {"path": path, "content": content}))


def answering(bench: Bench, *answers: Answer) -> Callable[[Event], None]:
    """Answer the questions of a turn in order."""
    left = list(answers)

    def look(event: Event) -> None:
        match event:
            case ApprovalAsked(request):
                assert bench.agent.answer(request.id, left.pop(0))
            case QuestionAsked(id=asked):
                assert bench.agent.answer(asked, left.pop(0))
            case _:
                pass

    return look


async def test_what_is_asked_names_the_call_and_a_yes_lets_it_run(bench: Bench, tools: SmallToolbox) -> None:
    tools.path("a").write_text("old")
    bench.server.script(write("a"), "Done.")
    events = await bench.events("go", answering(bench, ONCE))
    request = only(events, ApprovalAsked)[0].request
    assert (request.tool, request.target, request.diff) == ("write", "a", "-old\n+new")
    assert request.arguments == {"path": "a", "content": "new"}
    assert only(events, Answered) == [Answered(request.id, Choice.ONCE)]
    assert tools.path("a").read_text() == "new"
    assert states(events) == [EventKind.COMPLETED]


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (NO, "Not run: the person said no. Do not"),
        (Answer(Choice.NO, text="use tabs"), "Not run: the person said no, and: use tabs"),
        (Answer(Choice.ONCE, hunks=frozenset()), "Not run: the person said no."),
    ],
)
async def test_a_no_is_told_to_the_model(
    bench: Bench, tools: SmallToolbox, answer: Answer, said: str
) -> None:
    bench.server.script(write("a"), "I see.")
    events = await bench.events("go", answering(bench, answer))
    assert the_end(events).status is TurnStatus.SETTLED
    assert states(events) == [EventKind.DENIED]
    assert results(events)[0].startswith(said)
    assert only(events, Answered)[0].choice is Choice.NO
    assert not tools.path("a").exists()
    ended = only(events, ToolFinished)[0].execution
    assert ended.receipt is not None and ended.receipt.diff == "-\n+new", "what was refused can be looked at"


async def test_a_wider_answer_covers_the_next_call(bench: Bench, tools: SmallToolbox) -> None:
    again = call("write", {"path": "a", "content": "2"})
    bench.server.script(Turn(call("write", {"path": "a", "content": "1"}), again), "Done.")
    events = await bench.events("go", answering(bench, Answer(Choice.SESSION)))
    assert [answered.line for answered in only(events, Answered)] == ["a from now on"]
    assert tools.path("a").read_text() == "2"


async def test_a_wider_answer_covers_calls_that_wait_to_be_asked_about(
    bench: Bench, tools: SmallToolbox
) -> None:
    tools.path("outside").write_text("O")
    bench.server.script(Turn(*[call("read", {"path": "outside"})] * 3), "Done.")
    events = await bench.events("go", answering(bench, Answer(Choice.SESSION)))
    assert len(only(events, ApprovalAsked)) == 1
    assert results(events) == ["O"] * 3


async def test_an_answer_that_was_not_offered_is_good_for_once(bench: Bench, tools: SmallToolbox) -> None:
    bench.server.script(write("a", "1"), write("a", "2"), "Done.")
    events = await bench.events("go", answering(bench, Answer(Choice.WORKSPACE), NO))
    assert [answered.choice for answered in only(events, Answered)] == [Choice.ONCE, Choice.NO]
    assert tools.path("a").read_text() == "1"


async def test_a_part_of_a_change_may_be_accepted(bench: Bench, tools: SmallToolbox) -> None:
    bench.server.script(write("a", "one\ntwo\nthree"), "Done.")
    events = await bench.events("go", answering(bench, Answer(Choice.ONCE, hunks=frozenset({0, 2}))))
    assert tools.path("a").read_text() == "one\nthree"
    assert results(events)[0].endswith("(hunks 1, 3). Read the file before you go on.")


async def test_a_yes_is_void_when_the_file_changed_meanwhile(bench: Bench, tools: SmallToolbox) -> None:
    tools.path("a").write_text("old")
    bench.server.script(write("a"), "I see.")
    yes = answering(bench, ONCE)

    def look(event: Event) -> None:
        if isinstance(event, ApprovalAsked):
            tools.path("a").write_text("the person's")
        yes(event)

    events = await bench.events("go", look)
    assert (states(events), tools.path("a").read_text()) == ([EventKind.FAILED], "the person's")
    assert results(events) == ["a has changed meanwhile: read it again."]


async def test_only_the_open_question_is_answered_and_only_once(bench: Bench, tools: SmallToolbox) -> None:
    bench.server.script(Turn(*[call("write", {"path": path, "content": "x"}) for path in "ab"]), "Done.")
    asked: list[str] = []

    def look(event: Event) -> None:
        if isinstance(event, ApprovalAsked):
            assert not bench.agent.answer("nothing", ONCE)
            assert not any(bench.agent.answer(earlier, ONCE) for earlier in asked)
            asked.append(event.request.id)
            assert bench.agent.answer(asked[-1], NO)
            assert not bench.agent.answer(asked[-1], ONCE)

    events = await bench.events("go", look)
    assert len(set(asked)) == 2 and not list(tools.folder.iterdir())
    assert not bench.agent.answer(asked[0], ONCE)
    kinds = [type(event) for event in events if isinstance(event, ApprovalAsked | Answered | ToolFinished)]
    assert kinds == [ApprovalAsked, Answered, ToolFinished] * 2


async def test_reading_goes_on_while_a_question_waits_but_questions_come_one_by_one(
    bench: Bench, tools: SmallToolbox
) -> None:
    tools.path("a").write_text("A")
    bench.server.script(
        Turn(
            call("ask", {"question": "one?"}), call("ask", {"question": "two?"}), call("read", {"path": "a"})
        ),
        "Done.",
    )
    waiting: list[str] = []

    def look(event: Event) -> None:
        match event:
            case QuestionAsked(id=asked):
                waiting.append(asked)
                if len(waiting) == 2:
                    assert bench.agent.answer(asked, Answer(Choice.ONCE, text="second"))
            case ToolFinished(result=result) if result.text == "A":
                assert len(waiting) == 1
                assert bench.agent.answer(waiting[0], Answer(Choice.ONCE, text="first"))
            case _:
                pass

    events = await bench.events("go", look)
    assert results(events) == ["A", "first", "second"]
    asked = only(events, QuestionAsked)[0]
    assert (asked.text, asked.options) == ("one?", ("yes", "no"))


async def test_a_question_that_nobody_answers_is_told_so(bench: Bench, tools: SmallToolbox) -> None:
    bench.server.script(Turn(call("ask", {"question": "one?"})), "Done.")
    assert results(await bench.events("go", answering(bench, NO))) == ["nobody answers"]


async def test_plan_refuses_without_a_question(bench: Bench, tools: SmallToolbox) -> None:
    bench.server.script(write("a"), "So I would do it.")
    events = await bench.events("go", mode=Mode.PLAN)
    assert (results(events), states(events)) == (["PLAN changes nothing."], [EventKind.DENIED])
    assert not only(events, ApprovalAsked)


@pytest.mark.parametrize("way", ["stop", "close", "cancel"])
async def test_whoever_leaves_a_question_open_has_said_no(
    bench: Bench, tools: SmallToolbox, way: str
) -> None:
    bench.server.script(write("a"))

    async def run() -> list[Event]:
        seen: list[Event] = []
        async with aclosing(bench.ask("go")) as events:
            async for event in events:
                seen.append(event)
                if isinstance(event, ApprovalAsked):
                    match way:
                        case "stop":
                            bench.agent.stop()
                        case "close":
                            break
                        case _:
                            running.cancel()
        return seen

    running = asyncio.create_task(run())
    async with asyncio.timeout(5):
        await asyncio.wait({running})
    if way == "stop":
        events = running.result()
        assert the_end(events).status is TurnStatus.INTERRUPTED
        assert [answered.choice for answered in only(events, Answered)] == [Choice.NO]
        assert not only(events, TurnFailed)
    assert not tools.path("a").exists()
    page = await bench.store.tail(bench.info.id, 10)
    assert [each.state for each in page.executions.values()] == [EventKind.CANCELLED]
    assert page.turns[max(page.turns)].status is TurnStatus.INTERRUPTED


async def test_a_grant_that_cannot_be_kept_is_good_for_once_and_says_so(
    bench: Bench, tools: SmallToolbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    from local_agent.domain.errors import LocalAgentError

    def full(*_: object) -> str:
        raise LocalAgentError("The rules can't be written: the disk is full.")

    assert bench.rules is not None
    monkeypatch.setattr(bench.rules, "grant", full)
    bench.server.script(write("a"), "Done.")
    events = await bench.events("go", answering(bench, Answer(Choice.SESSION)))
    assert tools.path("a").exists()
    assert only(events, Answered)[0].choice is Choice.ONCE
    assert any("disk is full" in notice.text for notice in only(events, Notice))
