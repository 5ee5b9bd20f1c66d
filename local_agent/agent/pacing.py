"""Whether a turn gets somewhere: how many requests it may make, and what it tries again and again."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from local_agent.agent import sentences
from local_agent.agent.calling import Ended
from local_agent.agent.plan import REQUESTS
from local_agent.domain.entries import ToolCall
from local_agent.domain.ledger import digest_of
from local_agent.domain.tools import Action, Effect, ResultStatus

FAILURES = 3
"""Of the same call, after which a turn ends."""


class Pace:
    """Counts the requests of one turn, and what came of its calls."""

    def __init__(self, max_requests: int) -> None:
        self._max = max_requests
        self._made = 0
        self._progress = False
        """Since the last segment."""
        self._failures: Counter[str] = Counter()
        self._passing: set[str] = set()
        """Commands that went well when they were last run."""

    def take_request(self) -> None:
        """Count one more; raises ``ModelError`` when there is none left, or it would lead nowhere."""
        if self._made >= self._max:
            raise sentences.out_of_requests(self._made)
        if self._made and self._made % REQUESTS == 0:
            if not self._progress:
                raise sentences.no_progress(self._made)
            self._progress = False
        self._made += 1

    def note(self, ended: Iterable[Ended]) -> None:
        """Look at what came of calls; raises ``LocalAgentError`` when the turn must not go on."""
        for one in ended:
            self._note(one)

    def _note(self, one: Ended) -> None:
        key = _key(one.call)
        match one.status:
            case ResultStatus.OK:
                self._succeeded(one, key)
            case ResultStatus.FAILED | ResultStatus.REFUSED:
                self._passing.discard(key)
                self._failures[key] += 1
                if self._failures[key] >= FAILURES:
                    raise sentences.same_call(one.call.name, FAILURES)
            case ResultStatus.UNCERTAIN:
                raise sentences.uncertain(one.call.name)
            case ResultStatus.CANCELLED:
                pass

    def _succeeded(self, one: Ended, key: str) -> None:
        """A change is progress; so is a command that did not go well before, such as a test."""
        if one.effect is Effect.READ_ONLY or one.action is Action.TALK:
            return
        if one.action is not Action.RUN or key not in self._passing:
            self._progress = True
            # What failed before may go well now.
            self._failures.clear()
        self._passing.add(key)


def _key(call: ToolCall) -> str:
    return digest_of([call.name, call.arguments, call.raw])
