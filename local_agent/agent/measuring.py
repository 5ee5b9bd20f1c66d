"""What the requests of one conversation weigh, and what servers count for them."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from local_agent.domain.budget import Calibration
from local_agent.domain.context import Broken, Sent, broken

BREAKS = 50
"""That are remembered, the newest."""


@dataclass(frozen=True, slots=True)
class PrefixBreak:
    """A request that did not begin with all of the one before."""

    turn_id: int
    at: str
    """UTC, ISO 8601."""
    broken: Broken
    tokens: int
    """That the server had to read from there on, by our estimate."""


class Measuring:
    """Estimates calibrated by counts, and the last request that was sent."""

    def __init__(self, calibration: Calibration | None = None) -> None:
        """``calibration`` is shared by the conversations of a process."""
        self.calibration = calibration or Calibration()
        self.last: Sent | None = None
        self.counted: int | None = None
        """What the server counted for ``last``."""
        self._answered: set[tuple[str, int]] = set()
        """Models with the windows that they have answered in."""
        self._breaks: deque[PrefixBreak] = deque(maxlen=BREAKS)
        self._at_least = 0
        """What a count of all of ``last`` can't be below."""

    @property
    def breaks(self) -> Sequence[PrefixBreak]:
        """Oldest first."""
        return tuple(self._breaks)

    def tokens(self, model: str, estimate: int) -> int:
        """What the server of ``model`` would count; its digest, or its name where there is none."""
        return self.calibration.tokens(model, estimate)

    def knows(self, model: str) -> bool:
        """Whether a server has counted anything for ``model``."""
        return self.calibration.known(model)

    def answered(self, model: str, window: int) -> bool:
        """Whether the model has answered here with this window: then it fits into memory."""
        return (model, window) in self._answered

    def note(self, request: Sent, turn_id: int) -> None:
        """A request goes out now."""
        before = self.last
        parted = broken(before, request) if before is not None else None
        if parted is not None:
            tokens = self.tokens(request.model, request.weight_from(parted.at))
            now = datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
            self._breaks.append(PrefixBreak(turn_id, now, parted, tokens))
        goes_on = before is not None and parted is None
        self._at_least = (self.counted or 0) if goes_on else 0
        self.last, self.counted = request, None

    def learn(self, counted: int | None, *, whole: bool = True) -> None:
        """The server's count of the last request.

        One below that of a request which this one begins with is a count of what was not cached (servers
        before 0.30), and teaches nothing. Where it may not be of the ``whole`` request, because the server
        cuts what is too long, nothing is learned from it that is below our own estimate.
        """
        if self.last is None:
            return
        self._answered.add((self.last.model, self.last.window))
        if not counted or counted < self._at_least:
            return
        self.counted = counted
        self.calibration.learn(
            self.last.model, self.last.estimate, counted if whole else max(counted, self.last.estimate)
        )
