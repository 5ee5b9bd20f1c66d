"""Text that is typeset anew for each width by a function."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from local_agent.tui.look.lines import Line
from local_agent.tui.widgets.lines_view import LinesView

Typeset = Callable[[int], Sequence[Line]]


class TypesetView(LinesView):
    """Empty until ``show`` says how its lines are made."""

    def __init__(self, typeset: Typeset | None = None, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self._typeset = typeset
        self._cached: tuple[int, Sequence[Line]] = (0, ())

    def show(self, typeset: Typeset | None) -> None:
        """Draw what ``typeset`` gives for the width there is; None empties the view."""
        self._typeset = typeset
        self._cached = (0, ())
        self.refresh(layout=True)

    def lines_for(self, width: int) -> Sequence[Line]:
        if self._cached[0] != width:
            self._cached = (width, self._typeset(width) if self._typeset is not None else ())
        return self._cached[1]
