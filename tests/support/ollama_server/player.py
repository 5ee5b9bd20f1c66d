"""Plays one Turn on the wire, the way a model's engine would have written it."""

from __future__ import annotations

import asyncio
import hashlib
import json
import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime

from tests.support.ollama_server import gojson
from tests.support.ollama_server.connection import Response
from tests.support.ollama_server.log import RequestRecord
from tests.support.ollama_server.registry import ModelSpec, at_least
from tests.support.ollama_server.script import (
    Call,
    Done,
    End,
    Error,
    Gate,
    Http,
    Line,
    Raw,
    Say,
    Sleep,
    Step,
    Think,
    Turn,
    pieces,
)

_CALLS_IN_DONE = ("native", "harmony")


class TurnOver(Exception):
    """The reply is complete; later steps are not played."""


@dataclass
class Stage:
    """What a Turn is played on."""

    response: Response
    record: RequestRecord
    model: ModelSpec
    answers_as: str
    """The name in ``model`` of each value."""
    version: str
    stream: bool
    load_seconds: float
    wait_gate: Callable[[str], Awaitable[None]]
    started: float = field(default_factory=time.monotonic)


class Player:
    """Turns steps into lines, or into the one value of a request without ``stream``."""

    def __init__(self, stage: Stage) -> None:
        self._stage = stage
        self._text: list[str] = []
        self._thinking: list[str] = []
        self._held_calls: list[dict[str, object]] = []
        self._whole_calls: list[dict[str, object]] = []
        self._calls_made = 0
        self._count = 0

    async def play(self, turn: Turn) -> None:
        """Play all steps; a Turn that does not say how it ends gets a ``done`` and a clean end."""
        if End("eof") in turn.steps:
            self._stage.response.until_close()
        steps = turn.steps if turn.ended else (*turn.steps, Done())
        try:
            for step in steps:
                await self._step(step)
            await self._end("clean")
        except TurnOver:
            return

    async def _step(self, step: Step) -> None:
        match step:
            case Say() | Think():
                await self._pieces(step)
            case Call():
                await self._call(step)
            case Sleep():
                await asyncio.sleep(step.sleep)
            case Gate():
                await self._stage.wait_gate(step.gate)
            case Raw() | Line():
                await self._stage.response.stream(step.data)
            case Error():
                await self._error(step)
            case Http():
                await self._http(step)
            case Done():
                await self._done(step)
            case End():
                await self._end(step.end)

    async def _pieces(self, step: Say | Think) -> None:
        text = step.say if isinstance(step, Say) else step.think
        cut = pieces(text, step.chunking)
        kind, _, size = step.chunking.partition(":")
        together = int(size) if kind == "lines" else 1
        write_size = int(size) if kind == "bytes" else 0
        begun = time.monotonic()
        for start in range(0, len(cut), together):
            if step.pause and start:
                due = begun + step.pause * start
                await asyncio.sleep(max(0.0, due - time.monotonic()))
            await self._text_lines(cut[start : start + together], isinstance(step, Say), write_size)

    async def _text_lines(self, texts: list[str], answer: bool, write_size: int) -> None:
        self._count += len(texts)
        (self._text if answer else self._thinking).extend(texts)
        if not self._stage.stream:
            return
        messages = [{"content": text} if answer else {"content": "", "thinking": text} for text in texts]
        data = b"".join(gojson.encode_line(self._value(message)) for message in messages)
        if answer:
            now = time.monotonic()
            self._stage.record.sent.extend((now, text) for text in texts)
        await self._stage.response.stream(data, write_size)

    async def _call(self, step: Call) -> None:
        self._count += 1
        engine = self._stage.model.engine
        function: dict[str, object] = {"name": step.call, "arguments": step.args}
        index = 0 if engine == "harmony" else self._calls_made
        function["index"] = index if step.index is None else step.index
        call: dict[str, object] = {"function": function}
        call_id = self._call_id() if step.id is None else step.id
        if call_id and at_least(self._stage.version, "0.12.10"):
            call = {"id": call_id, **call}
        self._calls_made += 1
        self._whole_calls.append(call)
        if engine in _CALLS_IN_DONE:
            self._held_calls.append(call)
        elif self._stage.stream:
            message = {"content": "", "tool_calls": [call]}
            await self._stage.response.stream(gojson.encode_line(self._value(message)))

    def _call_id(self) -> str:
        seed = f"{self._stage.record.number}.{self._calls_made}".encode()
        digest = hashlib.sha256(seed).hexdigest()
        return digest[:32] if self._stage.model.engine == "native" else f"call_{digest[:8]}"

    async def _error(self, step: Error) -> None:
        response = self._stage.response
        if response.started:
            await response.stream(gojson.encode_line({"error": step.error}))
            await self._end("clean")
        await response.json(step.status, {"error": step.error})
        raise TurnOver

    async def _http(self, step: Http) -> None:
        body = step.body.encode() if isinstance(step.body, str) else gojson.encode(step.body)
        await self._stage.response.whole(step.http, body, step.content_type, step.headers)
        raise TurnOver

    async def _done(self, step: Done) -> None:
        if self._stage.model.engine == "harmony" and len(self._held_calls) > 1:
            raws = "".join(json.dumps(call["function"]) for call in self._held_calls)
            await self._error(Error(f"error parsing tool call: raw='{raws}', err=invalid character '{{'"))
        message: dict[str, object] = {"content": step.text}
        calls = self._held_calls if self._stage.stream else self._whole_calls
        if not self._stage.stream:
            message = {"content": "".join(self._text) + step.text}
            if self._thinking:
                message["thinking"] = "".join(self._thinking)
        if calls:
            message["tool_calls"] = calls
        last = {
            "done": True,
            **({"done_reason": step.done} if step.done else {}),
            **self._counts(step.counts),
        }
        value = self._value(message) | last
        self._held_calls = []
        if step.text:
            self._stage.record.sent.append((time.monotonic(), step.text))
        if not self._stage.stream:
            await self._stage.response.json(200, value)
            raise TurnOver
        await self._stage.response.stream(gojson.encode_line(value))

    def _counts(self, given: Mapping[str, int | None]) -> dict[str, int]:
        elapsed = time.monotonic() - self._stage.started
        counted: dict[str, int | None] = {
            "total_duration": int((elapsed + self._stage.load_seconds) * 1e9),
            "load_duration": int(self._stage.load_seconds * 1e9),
            "prompt_eval_count": self._stage.record.prompt_tokens,
            "prompt_eval_duration": 1_000_000,
            "eval_count": self._count,
            "eval_duration": max(1, int(elapsed * 1e9)),
        }
        return {key: value for key, value in (counted | dict(given)).items() if value}

    async def _end(self, kind: str) -> None:
        response = self._stage.response
        if kind.startswith("midline"):
            half = gojson.encode_line(self._value({"content": "cut"}))[:-9]
            await response.stream(half)
        if kind == "hang":
            await asyncio.Event().wait()
        if kind in ("clean", "no_done", "midline_clean"):
            await self._finish()
        elif kind == "rst":
            response.reset()
        else:
            await response.abort()
        raise TurnOver

    async def _finish(self) -> None:
        if self._stage.stream:
            await self._stage.response.finish_stream()
        else:
            message: dict[str, object] = {"content": "".join(self._text)}
            await self._stage.response.json(200, self._value(message))

    def _value(self, message: Mapping[str, object]) -> dict[str, object]:
        remote = {
            "remote_model": self._stage.model.remote_model,
            "remote_host": self._stage.model.remote_host,
        }
        created = datetime.now(UTC).isoformat(timespec="microseconds").replace("+00:00", "Z")
        return {
            "model": self._stage.answers_as,
            **(remote if self._stage.model.remote_host else {}),
            "created_at": created,
            "message": {"role": "assistant", **message},
            "done": False,
        }
