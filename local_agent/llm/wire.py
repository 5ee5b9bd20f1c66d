"""The chat stream of an Ollama server: a request as JSON, lines as values, values as parts of a reply."""

from __future__ import annotations

import json
import secrets
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from local_agent.domain.entries import ToolCall, Usage
from local_agent.domain.errors import ModelError, ModelErrorKind
from local_agent.domain.ports import CallPart, ChatRequest, TextPart, ThinkingPart
from local_agent.domain.requests import Message
from local_agent.domain.text import decode, normalise, one_line
from local_agent.domain.tools import ToolSpec

LINE_LIMIT = 32 * 1024 * 1024
"""Bytes of one line. A real server's values are small; more than this is not held in memory."""

RAW_LIMIT = 16 * 1024
"""Characters that are kept of what stands in the place of arguments and is none."""

_TRUNCATE_SINCE = (0, 12, 6)

ReplyPart = ThinkingPart | TextPart | CallPart


def chat_body(
    request: ChatRequest, *, window: bool, truncate_known: bool, think: bool | str | None, tools: bool = True
) -> dict[str, object]:
    """A chat request but for its pictures.

    ``window`` false leaves the window to the server; ``tools`` false leaves out what may be called.
    """
    options = {key: value for key, value in request.options.items() if key != "num_ctx"}
    if window:
        options["num_ctx"] = request.window
    options["num_predict"] = request.max_output
    body: dict[str, object] = {
        "model": request.model,
        "messages": [_message(message) for message in request.messages],
        "stream": True,
        "options": options,
    }
    if truncate_known:
        # An overflow is an error then, and never a silent cut.
        body["truncate"] = False
    if request.tools and tools:
        body["tools"] = tool_list(request.tools)
    if think is not None:
        body["think"] = think
    if request.keep_alive is not None:
        body["keep_alive"] = request.keep_alive
    return body


def tool_list(specs: Sequence[ToolSpec]) -> list[dict[str, object]]:
    """Tools in the shape that Ollama took over from OpenAI."""
    return [
        {
            "type": "function",
            "function": {
                "name": spec.name,
                "description": spec.description,
                "parameters": dict(spec.parameters),
            },
        }
        for spec in specs
    ]


def knows_truncate(version: str | None) -> bool:
    """Whether the server understands ``truncate``; one that does not say its version ignores it at worst."""
    numbers = [int(part) for part in (version or "").partition("-")[0].split(".") if part.isdigit()]
    # Development builds call themselves 0.0.0.
    return not any(numbers) or tuple(numbers) >= _TRUNCATE_SINCE


def _message(message: Message) -> dict[str, object]:
    value: dict[str, object] = {"role": message.role, "content": message.content}
    if message.thinking:
        value["thinking"] = message.thinking
    if message.calls:
        value["tool_calls"] = [
            {
                "id": call.id,
                "function": {"index": index, "name": call.name, "arguments": dict(call.arguments)},
            }
            for index, call in enumerate(message.calls)
        ]
    if message.tool_name:
        value["tool_name"] = message.tool_name
    if message.tool_call_id:
        value["tool_call_id"] = message.tool_call_id
    return value


class LineSplitter:
    """Cuts bytes into lines at LF and nowhere else: U+0085 and its like stand inside JSON strings."""

    def __init__(self, limit: int = LINE_LIMIT) -> None:
        self._limit = limit
        self._pending: list[bytes] = []
        self._size = 0

    def feed(self, data: bytes) -> Iterator[bytes]:
        """The lines that ``data`` completes. Raises ``ModelError`` for a line beyond the limit."""
        *complete, rest = data.split(b"\n")
        for line in complete:
            yield self._take(line)
        if rest:
            self._hold(rest)

    def rest(self) -> bytes:
        """What came after the last LF."""
        return self._take(b"")

    def _hold(self, data: bytes) -> None:
        self._size += len(data)
        if self._size > self._limit:
            raise malformed(f"a line of more than {self._limit // 1024 // 1024} MiB")
        self._pending.append(data)

    def _take(self, data: bytes) -> bytes:
        self._hold(data)
        line = b"".join(self._pending)
        self._pending.clear()
        self._size = 0
        return line


@dataclass(frozen=True, slots=True)
class Finish:
    """The last value of a reply."""

    reason: str
    counts: Usage


@dataclass(frozen=True, slots=True)
class Failure:
    """An error in the place of a value; ``error`` is as the server wrote it."""

    error: object


@dataclass(frozen=True, slots=True)
class Chunk:
    """One value of the stream."""

    parts: tuple[ReplyPart, ...] = ()
    finish: Finish | None = None
    failure: Failure | None = None


def read_chunk(line: bytes) -> Chunk | None:
    """Read one line; None for a blank one. Raises ``ModelError`` for what is no value of a reply."""
    text = decode(line).strip()
    if not text:
        return None
    try:
        # A raw control character in a string is no reason to lose the reply.
        value = json.loads(text, strict=False)
    except (ValueError, RecursionError):
        raise malformed("a line that is no JSON", text) from None
    if not isinstance(value, dict):
        raise malformed("a line that is no JSON object", text)
    if "error" in value:
        return Chunk(failure=Failure(value["error"]))
    message = value.get("message")
    if message is None:
        message = {}
    if not isinstance(message, dict):
        raise malformed("a message that is no object", text)
    parts = tuple(_parts(message, text))
    return Chunk(parts, _finish(value) if value.get("done") is True else None)


def malformed(what: str, raw: str = "") -> ModelError:
    """The error for a server that does not write what an Ollama server writes."""
    return ModelError(
        ModelErrorKind.MALFORMED,
        f"The server's reply can't be read: it sent {what}.",
        "Try again with /retry; if it stays so, see what else listens at that address.",
        one_line(raw, 2000),
    )


def _parts(message: Mapping[str, object], line: str) -> Iterator[ReplyPart]:
    if thinking := _text(message, "thinking", line):
        yield ThinkingPart(thinking)
    if content := _text(message, "content", line):
        yield TextPart(content)
    calls = message.get("tool_calls")
    if not isinstance(calls, list | None):
        raise malformed("tool calls that are no list", line)
    for call in calls or ():
        yield CallPart(_call(call, line))


def _text(message: Mapping[str, object], key: str, line: str) -> str:
    value = message.get(key)
    if value is None:
        return ""
    if not isinstance(value, str):
        raise malformed(f"a {key} that is no text", line)
    return normalise(value)


def _call(value: object, line: str) -> ToolCall:
    function = value.get("function") if isinstance(value, dict) else None
    if not isinstance(value, dict) or not isinstance(function, dict):
        raise malformed("a tool call without a function", line)
    name = function.get("name")
    if not isinstance(name, str) or not name:
        raise malformed("a tool call without a name", line)
    arguments, raw = read_arguments(function.get("arguments"))
    call_id = value.get("id")
    # Engines without ids leave them out; a result has to name its call all the same.
    call_id = normalise(call_id) if isinstance(call_id, str) and call_id else new_call_id()
    return ToolCall(call_id, normalise(name), arguments, raw)


def new_call_id() -> str:
    """An id for a call that came without one."""
    return f"call_{secrets.token_hex(4)}"


def read_arguments(written: object) -> tuple[dict[str, object], str]:
    """The arguments of a call as an object, and what was written in their place when that is none.

    An object may be written as a JSON string. Nothing at all is an empty object.
    """
    if isinstance(written, dict):
        return written, ""
    if written is None or written == "":
        return {}, ""
    if not isinstance(written, str):
        return {}, json.dumps(written)[:RAW_LIMIT]
    try:
        value = json.loads(written, strict=False, parse_constant=_no_number)
    except (ValueError, RecursionError):
        value = None
    return (value, "") if isinstance(value, dict) else ({}, normalise(written)[:RAW_LIMIT])


def _no_number(name: str) -> object:
    """NaN and the infinities, which no server would read again."""
    raise ValueError(name)


def _finish(value: Mapping[str, object]) -> Finish:
    reason = "length" if value.get("done_reason") == "length" else "stop"
    counts = Usage(
        prompt_tokens=_count(value, "prompt_eval_count"),
        reply_tokens=_count(value, "eval_count"),
        load_seconds=_seconds(value, "load_duration"),
        prompt_seconds=_seconds(value, "prompt_eval_duration"),
        reply_seconds=_seconds(value, "eval_duration"),
    )
    return Finish(reason, counts)


def _count(value: Mapping[str, object], key: str) -> int | None:
    number = value.get(key)
    return number if isinstance(number, int) and not isinstance(number, bool) else None


def _seconds(value: Mapping[str, object], key: str) -> float | None:
    nanoseconds = _count(value, key)
    return None if nanoseconds is None else nanoseconds / 1e9
