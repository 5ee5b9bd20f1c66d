"""The application: themes, global keys, signals; everything else is its screens'."""

from __future__ import annotations

import logging
from functools import partial
from time import monotonic
from typing import TYPE_CHECKING, Any, ClassVar

from textual import events, on
from textual.app import App
from textual.binding import Binding, BindingType
from textual.driver import Driver
from textual.filter import Monochrome, NoColor
from textual.screen import Screen

from local_agent.config.launch import LaunchOptions
from local_agent.config.paths import Paths
from local_agent.config.settings import Settings, UISettings
from local_agent.domain.text import normalise
from local_agent.tui.conversation.turns import TurnRunner
from local_agent.tui.device.signals import EndSignals
from local_agent.tui.device.terminal import know_alt_enter
from local_agent.tui.homing import come_home
from local_agent.tui.launch import ExitReport, Launch
from local_agent.tui.look.themes import register_themes, theme_named
from local_agent.tui.screens.breakpoints import size_classes
from local_agent.tui.screens.chat import ChatScreen
from local_agent.tui.screens.too_small import TooSmallScreen, too_small
from local_agent.tui.vi_keys import meant

if TYPE_CHECKING:
    from local_agent.tui.device.attention import Attention

__all__ = ["ExitReport", "LocalAgentApp"]

_log = logging.getLogger(__name__)


class LocalAgentApp(App[ExitReport | None]):
    """Returns what the command line tells the person about the session they left."""

    CSS_PATH = ["app.tcss", "screens/chat.tcss"]  # noqa: RUF012  # Textual's own type
    TITLE = "local-agent"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("ctrl+q", "leave", "Quit", id="app.leave", show=False, priority=True)
    ]

    def __init__(self, options: LaunchOptions, settings: Settings, paths: Paths) -> None:
        super().__init__()
        know_alt_enter()
        self.chat = ChatScreen(Launch(options, settings, paths))
        self._end_signals = EndSignals(self._end)
        self._early: list[events.Event] | None = []
        """What was typed before anything could take it; None once something does."""
        themed: App[Any] = self
        register_themes(themed)
        self.theme = theme_named(settings.ui.theme)
        ascii_only = self.chat.glyphs.bar.isascii()
        if self.no_color or ascii_only:
            self._draw_plainly(ascii_only=ascii_only)
        if settings.ui.motion == "reduced":
            self.animation_level = "none"
        self.last_key_at = 0.0
        """When a key was pressed last, on the monotonic clock."""
        self._attention: Attention | None = None

    @property
    def _ui(self) -> UISettings:
        """As it is now: it may be changed while the program runs."""
        return self.chat.launch.settings.ui

    def _draw_plainly(self, *, ascii_only: bool) -> None:
        """Textual's own way without colours leaves greys."""
        from local_agent.tui.device.plain_cells import COLOURLESS, filters

        if ascii_only:
            self.add_class("-ascii")
        if self.no_color:
            self.register_theme(COLOURLESS.theme())
            self.theme = COLOURLESS.name
        self._filters[:] = [
            *(each for each in self._filters if not isinstance(each, Monochrome | NoColor)),
            *filters(no_color=self.no_color, ascii_only=ascii_only),
        ]

    def get_driver_class(self) -> type[Driver]:
        chosen = super().get_driver_class()
        if chosen.__name__ != "LinuxDriver":
            return chosen
        from local_agent.tui.device.driver import TerminalDriver  # not on Windows

        return TerminalDriver

    def get_default_screen(self) -> Screen[None]:
        # With the classes of its size from the start: what they change would all be styled once more.
        self.chat.add_class(*size_classes(self.size))
        return self.chat

    def on_mount(self) -> None:
        self._end_signals.watch()

    async def on_event(self, event: events.Event) -> None:
        if isinstance(event, events.Key | events.Paste):
            self.last_key_at = monotonic()
        if self._early is not None and isinstance(event, events.Key | events.Paste):
            self._early.append(event)
            return
        if isinstance(event, events.Key) and not event.is_forwarded:
            event = meant(event, self.screen, vi=self._ui.vi)
        if isinstance(event, events.Key | events.Paste) and not event.is_forwarded:
            come_home(event, self.screen)
        await super().on_event(event)

    @on(events.DescendantFocus)
    async def _take_early_keys(self) -> None:
        early, self._early = self._early or [], None
        for event in early:
            # A terminal that still gathered lines made a line feed of Enter.
            is_enter = isinstance(event, events.Key) and event.key == "ctrl+j"
            await super().on_event(events.Key("enter", "\r") if is_enter else event)

    def on_resize(self, event: events.Resize) -> None:
        if too_small(event.size.width, event.size.height) and not isinstance(self.screen, TooSmallScreen):
            self.push_screen(TooSmallScreen())
            self.call_next(self._take_early_keys)

    @on(TurnRunner.Changed)
    def _turns_changed(self, event: TurnRunner.Changed) -> None:
        self._caller.note(busy=self.chat.busy, settled=event.settled)

    def on_asked(self) -> None:
        self._caller.asked()

    @property
    def _caller(self) -> Attention:
        if self._attention is None:
            from local_agent.tui.device.attention import Attention  # with the first turn or question

            self._attention = Attention(self, lambda: self._ui.notify)
        return self._attention

    def copy_to_clipboard(self, text: str) -> None:
        from local_agent.tui.device.clipboard import (
            SENT_AT_MOST,
            clipboard_tools,
            give_to_tool,
            wrapped_osc52,
        )

        text = normalise(text)
        size = len(text.encode())
        for tool in clipboard_tools(size):
            self.run_worker(partial(give_to_tool, tool, text), thread=True, group="clipboard")
        if size <= SENT_AT_MOST:
            super().copy_to_clipboard(text)
            wrapped = wrapped_osc52(text)
            if wrapped and self._driver is not None:
                self._driver.write(wrapped)

    def action_command_palette(self) -> None:
        if self.use_command_palette and not isinstance(self.screen, TooSmallScreen):
            from local_agent.tui.commands.palette import Palette, PaletteProvider

            if not isinstance(self.screen, Palette):
                self.push_screen(Palette([PaletteProvider], id="--command-palette"))

    def action_leave(self) -> None:
        """Leave in order."""
        self._end(0)

    async def action_quit(self) -> None:
        self._end(0)

    def _fatal_error(self) -> None:
        # Textual would print a traceback with the values of all variables, conversations among them.
        _log.error("the screen failed", exc_info=self._exception)
        self._exit_renderables.append(
            "local-agent: the screen failed; what was asked and answered is kept. See: local-agent logs"
        )
        aside = self.chat.conversation.set_aside() if self.chat.conversation is not None else None
        if aside is not None:
            self._exit_renderables.append(f"local-agent: what could not be saved is in {aside}")
        self._close_messages_no_wait()

    def _end(self, return_code: int) -> None:
        self.chat.run_worker(self.chat.leave(return_code), group="leave", exclusive=True)
