"""Fetching a model through an Ollama server: its name checked, its progress as values, its failures told."""

from __future__ import annotations

import asyncio
import json
import re
import time
from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from contextlib import aclosing

import httpx

from local_agent.domain.errors import ModelError, ModelErrorKind, UsageError
from local_agent.domain.models import PullProgress, is_cloud_name
from local_agent.domain.text import decode, one_line
from local_agent.llm.chat_stream import TIMEOUT, error_words
from local_agent.llm.error_words import unwrap
from local_agent.llm.failures import Explainer
from local_agent.llm.host import ServerAddress
from local_agent.llm.wire import LineSplitter, malformed

NAME_LIMIT = 200
_NAME = re.compile(
    r"(?:[A-Za-z0-9][\w.-]*(?::\d{1,5})?/)?(?:[A-Za-z0-9_][\w.-]*/)?[A-Za-z0-9_][\w.-]*(?::[A-Za-z0-9_][\w.-]*)?",
    re.ASCII,
)
_GO_ON = "Pull it again: it goes on from where it is."
_BURST_SECONDS = 0.01
"""How long what has already arrived may be read before everything else gets its turn."""


def checked_name(name: str) -> str:
    """The name without blanks around it. Raises ``UsageError`` for what no library has."""
    name = name.strip()
    if not name:
        raise UsageError("A pull needs the name of a model.", "Such as qwen3:4b.")
    if len(name) > NAME_LIMIT or not _NAME.fullmatch(name):
        raise UsageError(
            f"{one_line(name, 60)} is no name of a model.",
            "A name looks like qwen3:4b or hf.co/owner/model:tag.",
        )
    if is_cloud_name(name):
        raise UsageError(
            f"{name} runs in Ollama's cloud: there is nothing to pull.", f"Use it with: /model {name}"
        )
    return name


async def pull(
    http: httpx.AsyncClient, address: ServerAddress, name: str
) -> AsyncGenerator[PullProgress, None]:
    """Fetch ``name``; the last progress says ``success``. Raises ``UsageError`` and ``ModelError``.

    Closing the generator closes the connection, which ends the download; the server keeps what has
    come, and a later pull of the same name goes on from there.
    """
    name = checked_name(name)
    explain = Explainer(address, name)
    body = json.dumps({"model": name, "stream": True}).encode()
    begun = False
    try:
        async with http.stream("POST", "/api/pull", content=body, timeout=TIMEOUT) as response:
            begun = True
            if response.status_code != 200:
                words = await error_words(response)
                if "invalid model name" in words.text:
                    raise _unknown(name, words.text)
                raise explain.status(response.status_code, words, response.headers)
            async with aclosing(_values(response.aiter_bytes())) as values:
                async for value in values:
                    if "error" in value:
                        raise _failed(name, unwrap(value["error"]))
                    progress = read_progress(value)
                    yield progress
                    if progress.status == "success":
                        return
    except httpx.HTTPError as error:
        raise explain.transport(error, begun=False) if not begun else _broken(name, repr(error)) from error
    raise _broken(name)


def read_progress(value: Mapping[str, object]) -> PullProgress:
    """One value of the stream; what makes no sense in it is left out."""
    status, layer = value.get("status"), value.get("digest")
    total = _bytes(value.get("total"))
    done = _bytes(value.get("completed"))
    if total is not None:
        # The field is left out while nothing has come.
        done = min(done or 0, total)
    return PullProgress(
        status=one_line(status, 120) if isinstance(status, str) else "",
        done=done,
        total=total,
        layer=one_line(layer, 80) if isinstance(layer, str) else "",
    )


async def _values(data: AsyncIterator[bytes]) -> AsyncGenerator[Mapping[str, object], None]:
    splitter = LineSplitter()
    rested = time.monotonic()
    async for piece in data:
        for line in splitter.feed(piece):
            if time.monotonic() - rested > _BURST_SECONDS:
                await asyncio.sleep(0)
                rested = time.monotonic()
            if line.strip():
                yield _value(line)
    if rest := splitter.rest().strip():
        yield _value(rest)


def _value(line: bytes) -> Mapping[str, object]:
    text = decode(line)
    try:
        value = json.loads(text, strict=False)
    except (ValueError, RecursionError):
        value = None
    if not isinstance(value, dict):
        raise malformed("a line that is no JSON object", text)
    return value


def _bytes(value: object) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else None


_CAUSES = (
    (
        re.compile(r"412\b|newer version of ollama", re.I),
        "{name} needs a newer Ollama.",
        "Update the server.",
    ),
    (
        re.compile(r"no space left|disk quota|not enough space", re.I),
        "There is no room left on the server's disk for {name}.",
        f"Make room. {_GO_ON}",
    ),
    (
        re.compile(r"digest mismatch", re.I),
        "What arrived of {name} is damaged.",
        "Pull it again: the damaged part is fetched anew.",
    ),
    (
        re.compile(r"dial tcp|no such host|i/o timeout|connection re(fused|set)|unreachable|TLS|EOF", re.I),
        "The server lost or never had its way to the model library: {said}",
        f"Check its network. {_GO_ON}",
    ),
    (re.compile(r"requires MLX", re.I), "{name} needs a Mac with MLX.", "Choose another one."),
)
"""What a server's words mean: line and way out."""


def _failed(name: str, said: str) -> ModelError:
    if "file does not exist" in said or "invalid model name" in said:
        return _unknown(name, said)
    for words, line, hint in _CAUSES:
        if words.search(said):
            return ModelError(
                ModelErrorKind.SERVER, line.format(name=name, said=one_line(said, 200)), hint, said
            )
    line = f"{name} could not be pulled: {one_line(said, 200)}" if said else f"{name} could not be pulled."
    return ModelError(ModelErrorKind.SERVER, line, _GO_ON, said)


def _unknown(name: str, said: str) -> ModelError:
    return ModelError(
        ModelErrorKind.NO_MODEL,
        f"The library has no model named {name}.",
        "Look for its name at https://ollama.com/search",
        said,
    )


def _broken(name: str, raw: str = "") -> ModelError:
    line = f"The pull of {name} broke off before its end."
    return ModelError(ModelErrorKind.CUT_OFF, line, _GO_ON, raw)
