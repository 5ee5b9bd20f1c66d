"""How far a pull is, added up from what the server tells of one layer after another."""

from __future__ import annotations

from collections import deque
from typing import NamedTuple

from local_agent.domain.models import PullProgress
from local_agent.domain.text import one_line
from local_agent.tui.look.quantities import seconds, size

SPEED_SECONDS = 10.0
"""Over how long a time the speed is measured."""
_LEAST_SECONDS = 1.0


class Layer(NamedTuple):
    """One part of a model, in bytes; None where the server has not said it yet."""

    done: int
    total: int | None


class PullMeter:
    """``note`` what comes; everything else is derived. Times are of one monotonic clock, in seconds."""

    def __init__(self) -> None:
        self.status = ""
        self._layer = ""
        self._layers: dict[str, Layer] = {}
        self._fetched = 0
        """Bytes that came while we looked: what an earlier pull left here is not among them."""
        self._samples: deque[tuple[float, int]] = deque()

    @property
    def layer(self) -> Layer | None:
        """The layer that is coming now; None while the server does something else."""
        return self._layers.get(self._layer)

    @property
    def done(self) -> int:
        """Bytes of all layers that are here."""
        return sum(layer.done for layer in self._layers.values())

    @property
    def total(self) -> int:
        """Bytes of all layers that have been heard of; 0 while none has."""
        return sum(layer.total or layer.done for layer in self._layers.values())

    @property
    def share(self) -> float:
        """From 0 to 1."""
        return min(self.done / self.total, 1.0) if self.total else 0.0

    def note(self, progress: PullProgress, now: float) -> None:
        """Take in one report."""
        self.status, self._layer = one_line(progress.status, 80), progress.layer
        if not progress.layer:
            return
        before = self._layers.get(progress.layer)
        done = max(progress.done or 0, before.done if before is not None else 0)
        total = progress.total if progress.total is not None else before.total if before is not None else None
        self._layers[progress.layer] = Layer(done, total)
        if before is not None:
            self._fetched += done - before.done
        self._samples.append((now, self._fetched))
        while self._samples[0][0] < now - SPEED_SECONDS:
            self._samples.popleft()

    def speed(self, now: float) -> float | None:
        """Bytes a second of late; None while that can't be told."""
        if not self._samples:
            return None
        since, before = self._samples[0]
        took = now - since
        return (self._fetched - before) / took if took >= _LEAST_SECONDS else None

    def seconds_left(self, now: float) -> float | None:
        """Until the layers heard of are here, at this speed."""
        speed = self.speed(now)
        return (self.total - self.done) / speed if speed and self.total else None

    def parts(self, now: float) -> list[str]:
        """``48%``, ``1.2 of 2.5 GB``, ``12 MB/s``, ``2 min left``, as far as they are known."""
        if not self.total:
            return [self.status] if self.status else []
        percent = round(self.share * 100) if self.done == self.total else min(round(self.share * 100), 99)
        parts = [f"{percent}%", so_far(self.done, self.total)]
        speed, left = self.speed(now), self.seconds_left(now)
        if speed is not None and self.layer is not None:
            parts.append(f"{size(int(speed))}/s")
        if left and self.layer is not None:
            parts.append(f"{seconds(left)} left")
        return parts

    def layer_line(self) -> str:
        """What is being done now: ``layer 2, 56 of 120 kB``, or the server's own word for it."""
        layer = self.layer
        if layer is None:
            return self.status
        place = list(self._layers).index(self._layer) + 1
        amount = so_far(layer.done, layer.total) if layer.total else size(layer.done)
        return f"layer {place}, {amount}"


def so_far(done: int, total: int) -> str:
    """``1.2 of 2.5 GB``; the unit is said once where it is the same."""
    here, whole = size(done), size(total)
    if here.partition(" ")[2] == whole.partition(" ")[2]:
        here = here.partition(" ")[0]
    return f"{here} of {whole}"
