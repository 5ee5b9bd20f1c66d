"""``models``: what the server has, fetched and put out of memory outside the screen."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Iterator
from contextlib import aclosing
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar

import click

from local_agent.cli.pull_progress import PullPrinter
from local_agent.cli.startup import Startup
from local_agent.cli.streams import say, say_waiting, write, write_json
from local_agent.config.launch import LaunchOptions
from local_agent.domain.errors import LocalAgentError, StoreError
from local_agent.domain.models import Fit, ModelInfo, Speed, full_name
from local_agent.domain.text import one_line
from local_agent.headless.consent import not_allowed
from local_agent.headless.jsonl import as_json
from local_agent.tui.look.quantities import seconds, size, tokens

if TYPE_CHECKING:
    from local_agent.runtime.runtime import Runtime

T = TypeVar("T")
_json = click.option("--json", "as_document", is_flag=True, help="Print JSON.")
_ABILITIES = ("tools", "thinking", "vision")
_ORDER = (Fit.FITS, Fit.TIGHT, Fit.UNKNOWN, Fit.TOO_BIG)


@dataclass(frozen=True, slots=True)
class Judged:
    """A model, and what is known of it on this machine."""

    model: ModelInfo
    fit: Fit
    needs_bytes: int | None
    window: int
    """Tokens that it would be asked with."""
    speed: Speed | None


@click.group()
def models() -> None:
    """List, look at, fetch and unload the models of the Ollama server."""


@models.command("list")
@_json
def list_models(as_document: bool) -> None:
    """List the models: size, whether they fit, what they can do, how fast they were here."""
    found = _with_runtime(_list)
    if as_document:
        write_json(as_json(found, indent=2) + "\n")
        return
    rows = [_cells(judged) for judged in found]
    widths = [max(len(row[column]) for row in rows) for column in range(4)] if rows else []
    for row in rows:
        line = "  ".join(f"{cell:<{width}}" for cell, width in zip(row, (*widths, 0), strict=True))
        write(line.rstrip() + "\n")
    if not rows:
        say("The server has no models. Get one, such as: local-agent models pull qwen3:4b")


@models.command()
@_json
@click.argument("name")
def show(name: str, as_document: bool) -> None:
    """Print what is known of a model."""

    async def look(runtime: Runtime) -> Judged:
        model = await runtime.models.describe(name)
        return _judged(runtime, model, (await runtime.models.speeds()).get(full_name(model.name)))

    judged = _with_runtime(look)
    if as_document:
        write_json(as_json(judged, indent=2) + "\n")
        return
    for label, value in _facts(judged):
        if value:
            write(f"{label:<13} {one_line(value)}\n")


@models.command()
@click.argument("name")
def pull(name: str) -> None:
    """Fetch a model. What has come stays after a stop, and the next pull goes on from there."""
    shown = one_line(name.strip(), 200)
    printer = PullPrinter(shown)

    async def fetch(runtime: Runtime) -> None:
        async with aclosing(runtime.models.pull(name)) as steps:
            async for step in steps:
                printer.note(step, time.monotonic())

    try:
        _with_runtime(fetch)
    except KeyboardInterrupt:
        printer.end()
        say(f"Stopped. It goes on from here with: local-agent models pull {shown}")
        raise click.Abort from None
    finally:
        printer.end()
    say(f"{shown} is there. Talk to it with: local-agent --model {shown}")


@models.command()
@click.argument("name")
def unload(name: str) -> None:
    """Free the memory that a model takes; an answer that is being written is finished first."""
    _with_runtime(lambda runtime: runtime.models.unload(name))
    say(f"{one_line(name, 200)} is not in memory any more.")


def _with_runtime(work: Callable[[Runtime], Awaitable[T]]) -> T:
    startup = Startup.here()
    settings = startup.load().settings

    async def run() -> T:
        from local_agent.runtime.runtime import Runtime  # the store's libraries: 0.4 s

        # Of all that is needed only speeds lie in the database: none is made for them, and one that
        # can't be opened is no obstacle.
        options = LaunchOptions(startup.workspace, save=startup.paths.database.exists())
        try:
            runtime = await Runtime.open(options, settings, startup.paths, on_wait=say_waiting)
        except StoreError:
            options = LaunchOptions(startup.workspace, save=False)
            runtime = await Runtime.open(options, settings, startup.paths)
        try:
            if runtime.consent_needed is not None:
                raise not_allowed(runtime.consent_needed, startup.paths.config_file)
            return await work(runtime)
        finally:
            await runtime.close()

    return asyncio.run(run())


async def _list(runtime: Runtime) -> list[Judged]:
    state = await runtime.state()
    if not state.reachable:
        raise LocalAgentError(state.problem, state.hint)
    speeds = await runtime.models.speeds()
    found = [_judged(runtime, model, speeds.get(full_name(model.name))) for model in state.models]
    return sorted(found, key=lambda j: (not j.model.loaded, _ORDER.index(j.fit), j.model.name))


def _judged(runtime: Runtime, model: ModelInfo, speed: Speed | None) -> Judged:
    known = runtime.models
    return Judged(model, known.fit(model), known.needed(model), known.window(model), speed)


def _cells(judged: Judged) -> tuple[str, str, str, str, str]:
    model = judged.model
    state = "loaded" if model.loaded else _fit_words(judged)
    return (
        one_line(model.name, 60),
        size(model.size),
        state,
        ", ".join(ability for ability in _ABILITIES if ability in (model.capabilities or ())),
        _speed_words(judged.speed),
    )


def _fit_words(judged: Judged) -> str:
    if judged.model.leaves:
        return f"not here ({judged.model.location})"
    return {
        Fit.FITS: "fits",
        Fit.TIGHT: "just fits",
        Fit.TOO_BIG: "too big",
        Fit.UNKNOWN: "elsewhere" if judged.model.location == "remote" else "",
    }[judged.fit]


def _speed_words(speed: Speed | None) -> str:
    per_second = speed.tokens_per_second if speed is not None else None
    return f"{per_second:.0f} tokens/s" if per_second else ""


def _facts(judged: Judged) -> Iterator[tuple[str, str]]:
    model, speed = judged.model, judged.speed
    yield "name", model.name
    yield "location", str(model.location)
    yield "fit", _fit_words(judged)
    yield "loaded", f"yes, with a window of {tokens(model.loaded_window)}" if model.loaded else ""
    yield "size", size(model.size)
    yield "needs", f"{size(judged.needs_bytes)} with its window" if judged.needs_bytes else ""
    yield "window", f"{tokens(judged.window)} of {tokens(model.trained_window) or 'unknown'}"
    yield "parameters", model.parameters
    yield "quantization", model.quantization
    yield "family", model.family
    yield "can", ", ".join(sorted(model.capabilities)) if model.capabilities is not None else "not known"
    yield "digest", model.digest[:12]
    if speed is not None:
        yield "speed", _speed_words(speed)
        yield "first word", f"after {seconds(speed.first_token_seconds)}" if speed.first_token_seconds else ""
        yield "load", seconds(speed.load_seconds)
