"""Judging a stream that ended by itself, for backends that say less than Ollama's does."""

from __future__ import annotations

from local_agent.agent.arriving import ArrivingReply
from local_agent.agent.ending import Ending, judged
from local_agent.domain.entries import EntryStatus, ToolCall, TurnStatus, Usage
from local_agent.domain.errors import ModelError, ModelErrorKind
from local_agent.domain.events import Event, Phase, PhaseChanged
from local_agent.domain.ports import CallPart, DonePart, ProgressPart, StreamPart, TextPart


def ending_of(*parts: StreamPart) -> Ending:
    reply = ArrivingReply(lambda event: None)
    for part in parts:
        reply.take(part)
    return judged(reply, window=4096, max_output=512, may_cut=False)


def test_a_stream_that_ends_without_done_was_cut_off() -> None:
    ending = ending_of(TextPart("half"))
    assert (ending.status, ending.entry_status) == (TurnStatus.FAILED, EntryStatus.INTERRUPTED)
    assert isinstance(ending.error, ModelError)
    assert ending.error.kind is ModelErrorKind.CUT_OFF


def test_calls_without_a_word_are_a_reply() -> None:
    ending = ending_of(CallPart(ToolCall("1", "\x1b[31mread")), DonePart("", Usage()))
    assert (ending.status, ending.stop_reason) == (TurnStatus.SETTLED, "stop")
    assert "\x1b" not in ending.notices[0]


def test_what_a_backend_says_of_its_progress_is_passed_on() -> None:
    events: list[Event] = []
    reply = ArrivingReply(events.append)
    reply.take(ProgressPart(Phase.READING, 128, 512))
    reply.found_loaded(False)
    reply.take(TextPart("x"))
    reply.take(TextPart(""))
    assert [event for event in events if isinstance(event, PhaseChanged)] == [
        PhaseChanged(Phase.READING, 128, 512),
        PhaseChanged(Phase.WRITING),
    ]


def test_a_surrogate_pair_that_was_split_over_two_parts_is_stored_whole() -> None:
    reply = ArrivingReply(lambda event: None)
    reply.take(TextPart("\ud83d"))
    reply.take(TextPart("\ude00 \udc00"))
    assert reply.so_far.text == "😀 \ufffd"
