"""OpenAI-shaped chat completions, as llama.cpp speaks them: requests in, stream parts out. Pure."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from local_agent.domain.entries import ToolCall, Usage
from local_agent.domain.errors import ModelError, ModelErrorKind
from local_agent.domain.events import Phase
from local_agent.domain.ports import (
    CallPart,
    ChatRequest,
    DonePart,
    ProgressPart,
    StreamPart,
    TextPart,
    ThinkingPart,
)
from local_agent.domain.requests import Message
from local_agent.domain.text import normalise
from local_agent.llm.wire import new_call_id, read_arguments, tool_list

# What has the same name and meaning here as among Ollama's options.
_OPTIONS = (
    "temperature", "top_k", "top_p", "min_p", "typical_p", "seed", "stop",
    "repeat_penalty", "repeat_last_n", "presence_penalty", "frequency_penalty",
)  # fmt: skip


def request_body(request: ChatRequest) -> dict[str, object]:
    """The body of a streaming completion."""
    body: dict[str, object] = {name: request.options[name] for name in _OPTIONS if name in request.options}
    body |= {
        "messages": [_message(message) for message in request.messages],
        "max_tokens": request.max_output,
        "stream": True,
        "stream_options": {"include_usage": True},
        # Without it nothing is called back, and nothing can be stopped, while the prompt is read.
        "return_progress": True,
    }
    if request.tools:
        body["tools"] = tool_list(request.tools)
    if isinstance(request.think, str):
        body["chat_template_kwargs"] = {"enable_thinking": True, "reasoning_effort": request.think}
    elif request.think is not None:
        body["chat_template_kwargs"] = {"enable_thinking": request.think}
    return body


def _message(message: Message) -> dict[str, object]:
    shaped: dict[str, object] = {"role": message.role, "content": message.content}
    if message.thinking:
        shaped["reasoning_content"] = message.thinking
    if message.calls:
        shaped["tool_calls"] = [
            {
                "id": call.id,
                "type": "function",
                "function": {"name": call.name, "arguments": json.dumps(dict(call.arguments))},
            }
            for call in message.calls
        ]
    if message.tool_call_id:
        shaped["tool_call_id"] = message.tool_call_id
    return shaped


@dataclass(slots=True)
class _ArrivingCall:
    """A call whose arguments come in pieces of JSON."""

    id: str = ""
    name: str = ""
    arguments: str = ""

    def add(self, delta: Mapping[str, Any]) -> None:
        function = delta.get("function") or {}
        self.id = delta.get("id") or self.id
        self.name = function.get("name") or self.name
        self.arguments += function.get("arguments") or ""

    def whole(self) -> CallPart:
        if not self.name:
            raise ModelError(
                ModelErrorKind.MALFORMED,
                "The model wrote a tool call without a name.",
                "Try again.",
                str(self),
            )
        arguments, raw = read_arguments(self.arguments)
        return CallPart(ToolCall(self.id or new_call_id(), normalise(self.name), arguments, raw))


@dataclass(slots=True)
class Completion:
    """Turns the chunks of one stream into parts; remembers how it ended."""

    _reason: str | None = None
    _usage: Mapping[str, Any] = field(default_factory=dict)
    _timings: Mapping[str, Any] = field(default_factory=dict)
    _calls: dict[int, _ArrivingCall] = field(default_factory=dict)

    def parts(self, chunk: Mapping[str, Any]) -> Sequence[StreamPart]:
        """The parts that one chunk carries; raises ``ModelError`` for an error in it."""
        if error := chunk.get("error"):
            raise _failure(error if isinstance(error, dict) else {"message": str(error)})
        self._usage = chunk.get("usage") or self._usage
        self._timings = chunk.get("timings") or self._timings
        if progress := chunk.get("prompt_progress"):
            return [ProgressPart(Phase.READING, progress["processed"], progress["total"])]
        parts: list[StreamPart] = []
        for choice in chunk.get("choices") or ():
            self._reason = choice.get("finish_reason") or self._reason
            delta = choice.get("delta") or {}
            if thinking := delta.get("reasoning_content"):
                parts.append(ThinkingPart(thinking))
            if text := delta.get("content"):
                parts.append(TextPart(text))
            for call in delta.get("tool_calls") or ():
                self._calls.setdefault(call.get("index") or 0, _ArrivingCall()).add(call)
            if choice.get("finish_reason"):
                parts += [self._calls[index].whole() for index in sorted(self._calls)]
                self._calls.clear()
        return parts

    def end(self, load_seconds: float | None, first_token_seconds: float | None) -> DonePart:
        """The last part; raises ``ModelError`` when the engine ended without saying how."""
        if self._reason is None:
            raise ModelError(
                ModelErrorKind.CUT_OFF, "The engine stopped before the reply was complete.", "Try again."
            )
        usage = Usage(
            prompt_tokens=self._usage.get("prompt_tokens"),
            reply_tokens=self._usage.get("completion_tokens"),
            load_seconds=load_seconds,
            prompt_seconds=_seconds(self._timings.get("prompt_ms")),
            reply_seconds=_seconds(self._timings.get("predicted_ms")),
            first_token_seconds=first_token_seconds,
        )
        return DonePart("length" if self._reason == "length" else "stop", usage)


def _seconds(milliseconds: float | None) -> float | None:
    return None if milliseconds is None else milliseconds / 1000


def _failure(error: Mapping[str, Any]) -> ModelError:
    said = str(error.get("message", ""))
    if error.get("type") == "exceed_context_size_error":
        return ModelError(
            ModelErrorKind.CONTEXT_OVERFLOW,
            f"The conversation has {error.get('n_prompt_tokens')} tokens; "
            f"the model's window holds {error.get('n_ctx')}.",
            "Take a larger context window, or start a new session.",
            raw=said,
        )
    if error.get("type") == "invalid_request_error":
        return ModelError(
            ModelErrorKind.MALFORMED, "The engine does not accept this request.", "Look at /errors.", raw=said
        )
    return ModelError(
        ModelErrorKind.ENGINE, "The engine failed while it wrote the reply.", "Try again.", raw=said
    )
