"""What the person sees while a conversation can't be saved: one question, and a word when that is over."""

from __future__ import annotations

from typing import TYPE_CHECKING

from textual.timer import Timer

from local_agent.domain.errors import LeaseLost, StoreError
from local_agent.tui.conversation.turns import TurnRunner

if TYPE_CHECKING:
    from local_agent.domain.events import SavingFailed
    from local_agent.runtime.conversation import Conversation
    from local_agent.runtime.saving_news import News
    from local_agent.tui.screens.chat import ChatScreen

RETRY_SECONDS = 5.0
"""How often what waits is tried again while nothing else is written."""


class Saving:
    """Asks once an outage, and tries again by itself until it is over."""

    def __init__(self, screen: ChatScreen) -> None:
        self._screen = screen
        self._told = False
        self._asked = False
        self._timer: Timer | None = None

    def show(self, news: News) -> None:
        """Something on screen is not on disk, or everything is again."""
        from local_agent.domain.events import SavedAgain, SavingFailed

        match news:
            case SavingFailed(waiting=0, line=line, hint=hint):
                if not self._told:
                    self._told = True
                    text = f"The reply is not being saved while it arrives: {line} {hint}"
                    self._screen.notify_line(text, "warning")
            case SavingFailed():
                self._ask_once(news)
            case SavedAgain(turns=turns, ids=ids):
                self._screen.transcript.window.rename(ids)
                if self._asked:
                    what = "1 turn was" if turns == 1 else f"{turns} turns were"
                    self._screen.notify_line(f"Saved again: {what} written.")
                self.end()
            case _:
                pass
        self._screen.show_facts()

    def end(self) -> None:
        """Nothing waits any more, or another conversation is shown."""
        self._told = self._asked = False
        if self._timer is not None:
            self._timer.stop()
            self._timer = None

    def _ask_once(self, news: SavingFailed) -> None:
        if self._timer is None:
            self._timer = self._screen.set_interval(RETRY_SECONDS, self._try_again)
        if not self._asked:
            self._asked = True
            self._screen.run_worker(self._ask(news), group="saving")

    async def _ask(self, news: SavingFailed) -> None:
        from local_agent.tui.screens.unsaved import UnsavedAnswer, UnsavedDialog

        conversation = self._screen.conversation
        dialog = UnsavedDialog(news.line, news.hint, glyphs=self._screen.glyphs)
        answer = await self._screen.app.push_screen_wait(dialog)
        if answer is UnsavedAnswer.GO_ON or conversation is None or not conversation.unsaved:
            return
        await self._save(conversation)
        if conversation.unsaved and self._timer is not None:
            self._screen.notify_line("Still not saved; it is tried again by itself.", "warning")

    def _try_again(self) -> None:
        conversation = self._screen.conversation
        if conversation is None or not conversation.unsaved:
            self.end()
        elif not self._screen.busy:
            self._screen.run_worker(self._save(conversation), group="saving-again", exclusive=True)

    async def _save(self, conversation: Conversation) -> None:
        try:
            news = await conversation.save()
        except LeaseLost:
            self.end()
            self._screen.post_message(TurnRunner.SessionLost())
        except StoreError as error:
            self.end()
            self._screen.notify_line(str(error), "error")
        else:
            if news is not None:
                self.show(news)
