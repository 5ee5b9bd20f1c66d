"""Streamed completions of the OpenAI shape, as llama.cpp writes them."""

from __future__ import annotations

import pytest

from local_agent.domain.entries import ToolCall
from local_agent.domain.errors import ModelError, ModelErrorKind
from local_agent.domain.ports import CallPart, ChatRequest, StreamPart, TextPart
from local_agent.domain.requests import Message
from local_agent.domain.tools import ToolSpec
from local_agent.llm.completion import Completion, request_body

READ = ToolSpec("read", "Read a file.", {"type": "object", "properties": {"path": {"type": "string"}}})


def delta(value: dict[str, object], finish: str | None = None) -> dict[str, object]:
    return {"choices": [{"index": 0, "delta": value, "finish_reason": finish}]}


def piece(index: int, call_id: str = "", name: str = "", arguments: str = "") -> dict[str, object]:
    function = {"arguments": arguments, **({"name": name} if name else {})}
    shaped = {
        "index": index,
        "function": function,
        **({"id": call_id, "type": "function"} if call_id else {}),
    }
    return delta({"tool_calls": [shaped]})


def parts_of(*chunks: dict[str, object]) -> list[StreamPart]:
    completion = Completion()
    return [part for chunk in chunks for part in completion.parts(chunk)]


def test_calls_come_in_pieces_and_leave_whole_and_in_order() -> None:
    parts = parts_of(
        delta({"role": "assistant", "content": None}),
        delta({"content": "Looking."}),
        piece(1, "b", "grep", '{"pattern"'),
        piece(0, "a", "read", ""),
        piece(0, arguments='{"path":'),
        piece(1, arguments=': "x"}'),
        piece(0, arguments=' "a.txt"}'),
        delta({}, "tool_calls"),
    )
    assert parts == [
        TextPart("Looking."),
        CallPart(ToolCall("a", "read", {"path": "a.txt"})),
        CallPart(ToolCall("b", "grep", {"pattern": "x"})),
    ]


def test_arguments_that_are_no_object_are_kept_apart() -> None:
    (part,) = parts_of(piece(0, "a", "read", '{"path": '), delta({}, "length"))
    assert part == CallPart(ToolCall("a", "read", {}, '{"path": '))


def test_a_call_without_an_id_gets_one_and_one_without_a_name_is_no_call() -> None:
    (part,) = parts_of(piece(0, "", "read", "{}"), delta({}, "tool_calls"))
    assert isinstance(part, CallPart) and part.call.id
    with pytest.raises(ModelError) as caught:
        parts_of(piece(0, "a", "", "{}"), delta({}, "tool_calls"))
    assert caught.value.kind is ModelErrorKind.MALFORMED


def test_tools_are_sent_in_their_shape_and_only_where_there_are_any() -> None:
    request = ChatRequest("m", (Message("user", "Hi"),), 512, 8)
    assert "tools" not in request_body(request)
    function = {"name": "read", "description": "Read a file.", "parameters": dict(READ.parameters)}
    body = request_body(ChatRequest("m", request.messages, 512, 8, tools=(READ,)))
    assert body["tools"] == [{"type": "function", "function": function}]
