"""The other screens that the main screen opens."""

from __future__ import annotations

from functools import cached_property, partial
from typing import TYPE_CHECKING, Literal, cast

from textual.screen import Screen

from local_agent.tui.look.glyphs import Glyphs

if TYPE_CHECKING:
    from collections.abc import Sequence

    from local_agent.domain.pictures import Picture
    from local_agent.runtime.conversation import Conversation
    from local_agent.runtime.runtime import Runtime
    from local_agent.tui.branching import Branching
    from local_agent.tui.configuring import Configuring
    from local_agent.tui.launch import Launch
    from local_agent.tui.noting import Noting
    from local_agent.tui.screens.chat import ChatScreen
    from local_agent.tui.tools.cards import Card
    from local_agent.tui.widgets.found_browser import FoundEntry
    from local_agent.tui.widgets.question import Question


NoticeKind = Literal["information", "warning", "error"]


class Doors(Screen[None]):
    """Each imports and opens one screen once the store is open, and says so when it is not."""

    runtime: Runtime | None = None
    conversation: Conversation | None = None
    glyphs: Glyphs
    launch: Launch

    @cached_property
    def branching(self) -> Branching:
        """The tree, forks, and earlier questions asked otherwise."""
        from local_agent.tui.branching import Branching  # not before the first paint

        return Branching(cast("ChatScreen", self))

    @property
    def configuring(self) -> Configuring:
        """What can be set, and who changes it."""
        from local_agent.tui.configuring import Configuring

        return Configuring(self)

    @property
    def noting(self) -> Noting | None:
        """The notes of the folder; None while the store is not open, which is said."""
        runtime = self._ready()
        if runtime is None:
            return None
        from local_agent.tui.noting import Noting

        return Noting(self, runtime)

    def notify_line(self, text: str, kind: NoticeKind = "information") -> None:
        """Say one line to the person."""
        raise NotImplementedError

    async def open_session(self, handle: str) -> None:
        """Replace the conversation by a stored session."""
        raise NotImplementedError

    def show_facts(self) -> None:
        """Draw what is known of the conversation again."""
        raise NotImplementedError

    def open_sessions(self, typed: str = "") -> None:
        """The session picker, with something typed in it."""
        runtime = self._ready()
        if runtime is None:
            return
        from local_agent.tui.screens.sessions import SessionsScreen

        current = self.conversation.handle if self.conversation is not None else ""
        screen = SessionsScreen(runtime.library, typed=typed, current=current, glyphs=self.glyphs)
        self.app.push_screen(screen, self._picked)

    def open_runtime(self) -> None:
        """What is running."""
        runtime = self._ready()
        if runtime is None:
            return
        from local_agent.tui.screens.runtime import RuntimeScreen, gather_groups

        gather = partial(gather_groups, runtime, self.conversation)
        self.app.push_screen(RuntimeScreen(gather, glyphs=self.glyphs))

    def open_errors(self) -> None:
        """What went wrong in this conversation."""
        if self._ready() is None or self.conversation is None:
            return
        from local_agent.tui.screens.errors import ErrorsScreen

        self.app.push_screen(ErrorsScreen(self.conversation.errors, glyphs=self.glyphs))

    def open_help(self) -> None:
        """Keys and commands."""
        from local_agent.tui.screens.help import HelpScreen, keys_of

        self.app.push_screen(HelpScreen(keys_of(self), glyphs=self.glyphs))

    def action_message(self, what: str) -> None:
        """Do something with the message that has the focus."""
        self.run_worker(self.branching.on_message(what, self.focused), group="branching", exclusive=True)

    def on_descendant_focus(self) -> None:
        self.show_facts()

    def on_turn_runner_changed(self) -> None:
        if "branching" in self.__dict__:
            self.branching.look()

    def on_question_pictures_wanted(self, event: Question.PicturesWanted) -> None:
        self.open_pictures(event.pictures, event.first)

    def on_card_opened(self, event: Card.Opened) -> None:
        if self.conversation is not None:
            from local_agent.tui.tools.reading import read_calls

            self.run_worker(read_calls(self, self.conversation, event.calls), group="reading")

    def show_pictures(self) -> None:
        """Look at the pictures of the questions that are mounted, the newest question first."""
        from local_agent.tui.widgets.question import Question  # after the first paint

        newest_first = reversed(list(self.query(Question)))
        pictures = [picture for question in newest_first for picture in question.pictures]
        if pictures:
            self.open_pictures(pictures)
        else:
            self.notify_line("No question here has a picture. /image PATH attaches one.")

    def open_pictures(self, pictures: Sequence[Picture], first: int = 0) -> None:
        """Look at pictures, one after another."""
        runtime = self._ready()
        if runtime is None or not pictures:
            return
        from local_agent.tui.screens.picture import PictureScreen

        read = runtime.pictures.read

        def closed(_: None) -> None:
            self.query_one("Composer").focus()  # a click has taken the focus to the question

        self.app.push_screen(PictureScreen(pictures, read, first=first, glyphs=self.glyphs), closed)

    def _picked(self, place: str | FoundEntry | None) -> None:
        if isinstance(place, str):
            self.run_worker(self.open_session(place), group="opening")
        elif place is not None:
            from local_agent.tui.conversation.opening import open_entry

            self.run_worker(open_entry(cast("ChatScreen", self), *place), group="opening")

    def _ready(self) -> Runtime | None:
        if self.runtime is None:
            self.notify_line("The database is still being opened: one moment.")
        return self.runtime
