"""What the composer's keys open: the search through earlier questions, and the queue."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from local_agent.domain.drafts import Prompt
from local_agent.domain.errors import LocalAgentError, UsageError

if TYPE_CHECKING:
    from local_agent.domain.asked import AskedPage, AskedQuestion
    from local_agent.runtime.runtime import Runtime
    from local_agent.tui.screens.chat import ChatScreen


class Composing:
    """Opens a screen, and puts what it gives into the composer."""

    def __init__(self, screen: ChatScreen) -> None:
        self._screen = screen

    async def questions(self, count: int) -> Sequence[str]:
        """What Up brings back, newest first; none while the store is not open."""
        screen = self._screen
        if screen.runtime is None:
            return ()
        try:
            return await screen.runtime.asked.recalled(screen.conversation, count)
        except LocalAgentError as error:
            screen.notify_line(str(error), "error")
            return ()

    def search(self, words: str) -> None:
        """Look for an earlier question; without words, for what is typed."""
        from local_agent.tui.screens.recall_search import RecallSearchScreen

        screen = self._screen
        if screen.runtime is None:
            raise UsageError("The database is still being opened: one moment.")
        typed = screen.composer.text
        words = words or ("" if "\n" in typed else typed)
        search = RecallSearchScreen(
            _Asked(screen, screen.runtime),
            folder=screen.runtime.workspace_root,
            typed=words,
            glyphs=screen.glyphs,
        )
        screen.app.push_screen(search, self._found)

    def queue(self) -> None:
        """Look at what waits; the prompt that is chosen there is edited."""
        from local_agent.tui.screens.queue import QueueScreen

        screen = self._screen
        waiting = QueueScreen(screen.turns.queue, self._queue_changed, glyphs=screen.glyphs)
        screen.app.push_screen(waiting, self._edit)

    def drop_held(self) -> bool:
        """Let the question be that is edited, else drop the newest prompt that is held back; False when there
        is neither.
        """
        if self._screen.turns.queue.editing is not None:
            self._screen.branching.let_be()
            return True
        if not self._screen.turns.queue.drop_newest():
            return False
        self._screen.notify_line("Dropped; up in an empty composer brings it back.")
        return True

    def _found(self, text: str | None) -> None:
        pane = self._screen.pane
        if text is not None and text != pane.composer.prompt:
            typed = pane.prompt
            pane.let_go(Prompt(typed.text) if typed.text.strip() else Prompt(""))
            pane.load(Prompt(text, typed.pictures))

    def _edit(self, prompt: Prompt | None) -> None:
        screen = self._screen
        if prompt is None:
            return
        if screen.turns.queue.take(prompt):
            screen.pane.let_go(screen.pane.prompt)
            screen.pane.load(prompt)
        else:
            screen.notify_line("It was sent meanwhile.")

    def _queue_changed(self) -> None:
        """Keep it; and go on sending, where nothing runs that would."""
        screen, queue = self._screen, self._screen.turns.queue
        if not screen.busy and screen.conversation is not None and queue.queued and not queue.held:
            screen.send_prompt(queue.queued.pop(0))
        screen.note_draft()
        screen.show_facts()


class _Asked:
    """The questions of whatever conversation is open."""

    def __init__(self, screen: ChatScreen, runtime: Runtime) -> None:
        self._screen = screen
        self._asked = runtime.asked

    async def own(self) -> Sequence[AskedQuestion]:
        return await self._asked.own(self._screen.conversation)

    async def page(self, *, everywhere: bool, before: int | None = None) -> AskedPage:
        return await self._asked.page(everywhere=everywhere, before=before)

    async def whole(self, question: AskedQuestion) -> str:
        return await self._asked.whole(question)
