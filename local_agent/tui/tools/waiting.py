"""What stands in the composer's place while a question waits, and takes no key of a person who is typing."""

from __future__ import annotations

from dataclasses import dataclass
from time import monotonic
from typing import TYPE_CHECKING, cast

from textual import events
from textual.containers import Vertical
from textual.message import Message

from local_agent.domain.approvals import Answer
from local_agent.tui.device.attention import Asked
from local_agent.tui.widgets.lines_view import LinesView

if TYPE_CHECKING:
    from local_agent.tui.app import LocalAgentApp
    from local_agent.tui.widgets.composer import Composer
    from local_agent.tui.widgets.prompt_pane import PromptPane

QUIET_SECONDS = 0.5
"""Of no key, before a question takes one for its answer."""
LOOK_SECONDS = 0.05


class WaitingPanel(Vertical, can_focus=True):
    """A question. The composer keeps the keys until none has come for a moment, and then gives its place.

    It listens exactly while it, or something in it, has the focus. A letter that is no answer is the
    next one of a sentence: the composer has it, and the moment begins again.
    """

    DEFAULT_CSS = """
    WaitingPanel {
        height: auto;
        padding: 0 2;
        border-top: solid $border-blurred;
        &:focus-within { border-top: solid $primary; }
    }
    """

    @dataclass
    class Answered(Message):
        """The person has said something."""

        question_id: str
        answer: Answer

    def __init__(self, question_id: str) -> None:
        super().__init__()
        self.question_id = question_id
        self._seen_from: float | None = None
        """Since when it has been in sight, on the monotonic clock."""
        self._has_listened = False
        self._given = False
        self._is_over = False

    @property
    def listening(self) -> bool:
        """Whether keys are its own."""
        return self._seen_from is not None and self._focused

    @property
    def _focused(self) -> bool:
        # What a widget knows of its focus is told behind the keys that were sent with the one before.
        focused = self.screen.focused
        return focused is not None and self in focused.ancestors_with_self

    def on_mount(self) -> None:
        self.add_class("-typing")
        self.set_interval(LOOK_SECONDS, self._look)
        self._composer.parked = True
        self.app.post_message(Asked())

    def give(self, answer: Answer) -> None:
        """Answer, once."""
        if not self._given:
            self._given = True
            self.post_message(self.Answered(self.question_id, answer))

    def hand_back(self, text: str = "") -> None:
        """Let the person type on, beginning with ``text``."""
        self.add_class("-typing")
        self._pane.display = True
        self.screen.set_focus(self._composer)
        if text:
            self._composer.insert(text)
        self._seen_from = monotonic()

    def close(self) -> None:
        """Give the composer its place back. Keys that were meant for the question send nothing."""
        self._is_over = True
        composer = self._composer
        self._pane.display = True
        if self._focused:
            self.screen.set_focus(composer)
        composer.parked, composer.just_back = False, True
        self.screen.set_timer(QUIET_SECONDS, composer.settle_in)

    def on_key(self, event: events.Key) -> None:
        letter = event.character if event.is_printable else None
        if self.screen.focused is not self:
            if letter and not self._focused:
                # It was sent here together with one that was handed back.
                event.stop()
                self.hand_back(letter)
            return
        if not self.listening or (letter and not self._means(event.key)):
            event.stop()
            self.hand_back(letter or "")

    def on_paste(self, event: events.Paste) -> None:
        event.stop()
        self.hand_back()
        self._composer.post_message(events.Paste(event.text))

    def focus_inside(self) -> None:
        """Take the keys."""
        self.focus()

    def _means(self, key: str) -> bool:
        """Whether a key does something here now."""
        active = self.screen.active_bindings.get(key)
        return active is not None and active.node is self and active.enabled

    def _look(self) -> None:
        """Take the composer's place once nobody types. What is hidden takes no key."""
        # A look that was due before it closed may come before it is removed.
        if self._is_over:
            return
        if self.app.screen is not self.screen:
            self._seen_from = None
            return
        if self._seen_from is None:
            self._seen_from = monotonic()
            if self._focused:
                self.hand_back()
        if self._focused:
            return
        # Whoever goes from here to the conversation stays there, and types on in the composer.
        self._pane.display = True
        reads = isinstance(self.screen.focused, LinesView) and not self._has_listened
        if not reads and self.screen.focused not in (None, self._composer):
            return
        app = cast("LocalAgentApp", self.app)
        if monotonic() - max(self._seen_from, app.last_key_at) >= QUIET_SECONDS:
            self._has_listened = True
            self.focus_inside()
            self.remove_class("-typing")
            self._pane.display = False

    @property
    def _pane(self) -> PromptPane:
        return cast("PromptPane", self.screen.query_one("PromptPane"))

    @property
    def _composer(self) -> Composer:
        return cast("Composer", self.screen.query_one("Composer"))
