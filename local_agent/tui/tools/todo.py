"""The list that the model keeps of what is to be done, above the composer."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from textual.content import Content

from local_agent.domain.ledger import EventKind, Execution
from local_agent.domain.tools import ToolFailed
from local_agent.tools.todo import listed
from local_agent.tui.look.glyphs import UNICODE, Glyphs
from local_agent.tui.widgets.composer_strip import ComposerStrip

State = Literal["open", "doing", "done"]
TOOL = "todo"
ROWS = 5


@dataclass(frozen=True, slots=True)
class TodoItem:
    """One thing to do."""

    text: str
    state: State = "open"


_STATES: Mapping[str, State] = {"[x]": "done", "[>]": "doing", "[ ]": "open"}


def items_of(arguments: Mapping[str, object]) -> tuple[TodoItem, ...]:
    """The list that a call of the ``todo`` tool sets; none when it is no such list."""
    try:
        lines = listed(arguments.get("items"))
    except ToolFailed:
        return ()
    return tuple(TodoItem(line[4:], _STATES.get(line[:3], "open")) for line in lines)


def newest_list(executions: Iterable[Execution]) -> tuple[TodoItem, ...] | None:
    """The list as it was set last, of executions oldest first; None where none sets it."""
    done = [each for each in executions if each.tool == TOOL and each.state is EventKind.COMPLETED]
    return items_of(done[-1].arguments) if done else None


class TodoStrip(ComposerStrip):
    """Hidden while nothing is left to do; a key folds it to one line."""

    def __init__(self, glyphs: Glyphs = UNICODE) -> None:
        super().__init__()
        self.items: Sequence[TodoItem] = ()
        self.folded = False
        self._glyphs = glyphs

    def show(self, items: Sequence[TodoItem]) -> None:
        """Draw another list."""
        self.items = items
        left = [item for item in items if item.state != "done"]
        if not left:
            self.draw(())
            return
        short = self._in_one(left)
        self.draw([short] if self.folded else self._rows(), short)

    def fold(self) -> None:
        """One line, or all of them again."""
        self.folded = not self.folded
        self.show(self.items)

    def on_click(self) -> None:
        self.fold()

    def _rows(self) -> list[Content]:
        """Five at most: what is being done and what comes next, rather than what is over."""
        first = next(at for at, item in enumerate(self.items) if item.state != "done")
        start = max(0, min(first - 1, len(self.items) - ROWS))
        shown = self.items[start : start + ROWS]
        rows = [self._row(item) for item in shown]
        if (rest := len(self.items) - start - ROWS) > 0:
            rows[-1] = Content.styled(f"{self._glyphs.ellipsis} {rest + 1} more", "$text-muted")
        return rows

    def _row(self, item: TodoItem) -> Content:
        glyphs = self._glyphs
        sign, style = {
            "done": (glyphs.done, "$text-muted"),
            "doing": (glyphs.todo, "bold $text-primary"),
        }.get(item.state, (glyphs.todo, "$text"))
        return Content.styled(f"{sign} {item.text}", style)

    def _in_one(self, left: Sequence[TodoItem]) -> Content:
        done = len(self.items) - len(left)
        now = next((item for item in left if item.state == "doing"), left[0])
        count = f"{self._glyphs.done} {done} of {len(self.items)}  "
        return Content.assemble((count, "$text-muted"), (now.text, "$text"))
