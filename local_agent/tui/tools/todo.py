"""The list that the model keeps of what is to be done, above the composer."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from textual.content import Content

from local_agent.domain.ledger import EventKind, Execution
from local_agent.domain.text import one_line
from local_agent.tui.look.glyphs import UNICODE, Glyphs
from local_agent.tui.widgets.composer_strip import ComposerStrip

TOOL = "todo"
ROWS = 5
TEXT_LIMIT = 200


@dataclass(frozen=True, slots=True)
class TodoItem:
    """One thing to do. ``state`` is ``open``, ``doing`` or ``done``."""

    text: str
    state: str = "open"


_TEXTS = ("text", "content", "title", "task")
_STATES = {
    "done": "done",
    "completed": "done",
    "doing": "doing",
    "in_progress": "doing",
    "in progress": "doing",
    "active": "doing",
}


def items_of(arguments: Mapping[str, object]) -> tuple[TodoItem, ...]:
    """The list that a call of the ``todo`` tool sets; what is no item of it is left out."""
    listed = next((value for value in arguments.values() if isinstance(value, list | tuple)), ())
    return tuple(item for each in listed if (item := _item(each)) is not None)


def _item(each: object) -> TodoItem | None:
    match each:
        case str() if each.strip():
            return _written(each)
        case Mapping():
            words = next(
                (str(each[key]) for key in ("text", "content", "title", "task") if each.get(key)), ""
            )
            state = str(each.get("state") or each.get("status") or "")
            state = "done" if each.get("done") is True else _STATES.get(state.lower(), "open")
            return TodoItem(one_line(words, TEXT_LIMIT), state) if words.strip() else None
        case _:
            return None


def _written(line: str) -> TodoItem:
    """``[x] done``, ``[>] doing``, ``[ ] open``, or the words alone."""
    words = line.strip().removeprefix("- ")
    mark, rest = words[:3].lower(), words[3:]
    states = {"[x]": "done", "[>]": "doing", "[~]": "doing", "[-]": "doing", "[ ]": "open"}
    if mark in states:
        return TodoItem(one_line(rest, TEXT_LIMIT), states[mark])
    return TodoItem(one_line(words, TEXT_LIMIT))


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
        if (rest := len(self.items) - len(shown)) > 0:
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
