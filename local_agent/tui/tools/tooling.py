"""What the main screen does about tools beside drawing them: the mode, the list of what is to be done."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from local_agent.domain.errors import UsageError
from local_agent.domain.ledger import Execution
from local_agent.domain.modes import Mode
from local_agent.tui.tools.todo import TodoItem, TodoStrip, newest_list

if TYPE_CHECKING:
    from local_agent.tui.screens.chat import ChatScreen

_MEANING = {
    Mode.NORMAL: "NORMAL: reads run; every effect is asked about.",
    Mode.PLAN: "PLAN: reads run; nothing that has an effect does.",
    Mode.AUTO: "AUTO: edits in the workspace run without a question.",
}
UNCONFINED = (
    "There is no sandbox here: the first command that runs project code is asked about, once a session."
)


class Tooling:
    """Made when it is first wanted."""

    def __init__(self, screen: ChatScreen) -> None:
        self._screen = screen
        self._strip: TodoStrip | None = None
        self._warned = False

    async def set_mode(self, mode: Mode | None) -> None:
        """Work in a mode, without one in the next, and say what it means."""
        screen = self._screen
        conversation = screen.conversation
        if conversation is None:
            raise UsageError("The database is still being opened: one moment.")
        if conversation.read_only:
            raise UsageError("This session is open read-only.")
        chosen = mode or conversation.mode.next
        await conversation.set_mode(chosen)
        screen.show_facts()
        words = [_MEANING[chosen]]
        if chosen is Mode.AUTO and not self._warned and not conversation.hands.confines:
            self._warned = True
            words.append(UNCONFINED)
        if screen.busy:
            words.append("It counts from the next turn on.")
        screen.notify_line(" ".join(words))

    def note(self, execution: Execution) -> None:
        """A call has ended."""
        if (items := newest_list((execution,))) is not None:
            self._show(items)

    def open(self, executions: Iterable[Execution]) -> None:
        """Another conversation is on screen; these are the calls of its end, oldest first."""
        self._show(newest_list(executions) or ())

    def fold_todo(self) -> None:
        """Fold the list, or show all of it."""
        if self._strip is None or not self._strip.items:
            self._screen.notify_line("There is no list of what is to be done.")
        else:
            self._strip.fold()

    def _show(self, items: tuple[TodoItem, ...]) -> None:
        if self._strip is None:
            if not items:
                return
            self._strip = TodoStrip(self._screen.glyphs)
            self._screen.mount(self._strip, before=self._screen.pane)
        self._strip.show(items)
