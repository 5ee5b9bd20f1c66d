"""The models that are being fetched; they go on while one talks."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing
from enum import StrEnum
from time import monotonic
from typing import Any

from textual.screen import Screen
from textual.worker import Worker

from local_agent.domain.errors import LocalAgentError
from local_agent.domain.models import PullProgress, full_name
from local_agent.tui.models.pull_meter import PullMeter

Fetch = Callable[[str], AsyncGenerator[PullProgress, None]]


class PullStage(StrEnum):
    """Where a pull stands."""

    RUNNING = "running"
    DONE = "done"
    STOPPED = "stopped"
    """By the person; what has come stays on the server, and the next pull goes on from there."""
    FAILED = "failed"


class Pull:
    """One model on its way."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.stage = PullStage.RUNNING
        self.meter = PullMeter()
        self.problem: LocalAgentError | None = None
        self.worker: Worker[None] | None = None

    @property
    def running(self) -> bool:
        """False once it is here, stopped or failed."""
        return self.stage is PullStage.RUNNING


class Pulls:
    """At most one pull of a name at a time; several names may come at once.

    ``changed`` is called when one begins, ends or was looked at, ``ended`` with each that came to an end by
    itself. ``x`` and ``x:latest`` are one name.
    """

    def __init__(
        self,
        screen: Screen[Any],
        fetch: Fetch,
        changed: Callable[[], None],
        ended: Callable[[Pull], None],
    ) -> None:
        self._screen = screen
        self._fetch = fetch
        self._changed = changed
        self._ended = ended
        self._pulls: dict[str, Pull] = {}

    @property
    def latest(self) -> Pull | None:
        """The one that began last and still runs; else the last one whose end nobody has seen."""
        return next(reversed(self.running or list(self._pulls.values())), None)

    @property
    def running(self) -> list[Pull]:
        """In the order in which they began."""
        return [pull for pull in self._pulls.values() if pull.running]

    def begin(self, name: str) -> Pull:
        """Fetch a model, or go on where it was left; a pull of it that runs already is given."""
        known = self._pulls.get(full_name(name))
        if known is not None and known.running:
            return known
        self._pulls.pop(full_name(name), None)
        pull = self._pulls[full_name(name)] = Pull(name)
        pull.worker = self._screen.run_worker(self._run(pull), name=name, group="pull")
        self._changed()
        return pull

    def stop(self, pull: Pull) -> None:
        """End it here and now; the part that has come is kept by the server."""
        if pull.running and pull.worker is not None:
            pull.stage = PullStage.STOPPED
            pull.worker.cancel()
            self._changed()

    def forget(self, name: str) -> None:
        """The person has seen how the pull of this model ended, or uses the model."""
        pull = self._pulls.get(full_name(name))
        if pull is not None and not pull.running:
            del self._pulls[full_name(name)]
            self._changed()

    async def _run(self, pull: Pull) -> None:
        try:
            async with aclosing(self._fetch(pull.name)) as reports:
                async for progress in reports:
                    pull.meter.note(progress, monotonic())
        except LocalAgentError as error:
            pull.stage, pull.problem = PullStage.FAILED, error
        else:
            pull.stage = PullStage.DONE
        self._changed()
        self._ended(pull)
