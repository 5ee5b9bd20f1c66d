"""The settings: every key with its value and where that comes from, changed in place."""

from __future__ import annotations

from pathlib import Path
from typing import Any, ClassVar, Protocol

from textual import on, work
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.content import Content
from textual.screen import Screen
from textual.widgets import Input, OptionList, Static
from textual.widgets.option_list import Option

from local_agent.config.load import LoadedSettings
from local_agent.config.settings import Key, Settings, settings_keys
from local_agent.domain.errors import ConfigError
from local_agent.domain.text import one_line
from local_agent.tui.device.catching_up import catch_up_typing
from local_agent.tui.look.glyphs import UNICODE, Glyphs
from local_agent.tui.look.themes import theme_named
from local_agent.tui.look.workspace_names import short_path
from local_agent.tui.screens.breakpoints import HEIGHTS, WIDTHS
from local_agent.tui.screens.themes import ThemesScreen
from local_agent.tui.setting_values import effect, origin_words, outranks, typed_form, written
from local_agent.tui.widgets.key_line import KeyLine
from local_agent.tui.widgets.line_input import LineInput
from local_agent.tui.widgets.row_list import Row, RowList
from local_agent.tui.widgets.setting_row import SettingRow


class SettingsSource(Protocol):
    """What the screen may do to the settings."""

    @property
    def file(self) -> Path:
        """Where changes are written."""

    async def load(self) -> LoadedSettings:
        """What is in force, and where it comes from. Raises ``ConfigError``."""

    async def change(self, name: str, value: Any) -> str:
        """Set a key, or reset it (None); what to say. Raises ``ConfigError``."""


class SettingsScreen(Screen[None]):
    """Narrows as one types; Enter toggles, takes the next choice, or opens a line to type the value into."""

    CSS_PATH = "settings.tcss"
    HORIZONTAL_BREAKPOINTS = WIDTHS
    VERTICAL_BREAKPOINTS = HEIGHTS
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "accept", "change", id="settings.change", priority=True),
        Binding("f8", "reset", "default", id="settings.reset", tooltip="Back to the default"),
        Binding("f5", "look", "read again", id="settings.look"),
        Binding("escape", "close", "close", id="settings.close"),
        Binding("up", "move('cursor_up')", "Up", show=False, priority=True),
        Binding("down", "move('cursor_down')", "Down", show=False, priority=True),
        Binding("pageup", "move('page_up')", "Page up", show=False, priority=True),
        Binding("pagedown", "move('page_down')", "Page down", show=False, priority=True),
    ]

    def __init__(self, source: SettingsSource, *, glyphs: Glyphs = UNICODE) -> None:
        super().__init__()
        self.filter_input = LineInput(id="filter", placeholder="type a part of a name or value", compact=True)
        self.value_input = LineInput(id="new-value", compact=True)
        self.row_list = RowList(glyphs=glyphs)
        self._heading = Static(id="heading", markup=False)
        self._about = Static(id="about", markup=False)
        self._line = Static(id="line", markup=False)
        self._source = source
        self._glyphs = glyphs
        self._keys = settings_keys()
        self._loaded: LoadedSettings | None = None
        self._shown: list[Key] = []
        self._editing: Key | None = None

    def compose(self) -> ComposeResult:
        yield self._heading
        yield self.filter_input
        yield self.value_input
        yield self.row_list
        yield self._about
        yield self._line
        yield KeyLine(self._glyphs)

    def on_mount(self) -> None:
        where = f" {self._glyphs.dot} {short_path(str(self._source.file))}"
        self._heading.update(Content.assemble(("Settings", "bold"), (where, "$text-muted")))
        self.filter_input.focus()
        self.action_look()

    @property
    def editing(self) -> bool:
        """True while a value is being typed."""
        return self._editing is not None

    @property
    def selected(self) -> Key | None:
        """The key that the pointer is at."""
        index = self.row_list.highlighted
        return self._shown[index] if index is not None and index < len(self._shown) else None

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        return not self.editing if action in ("move", "reset", "look") else True

    @work(group="settings", exclusive=True)
    async def action_look(self) -> None:
        """Read the files again."""
        self._say("")
        await self._read()

    async def _read(self) -> None:
        try:
            self._loaded = await self._source.load()
        except ConfigError as error:
            self._loaded = None
            self._say(str(error), "$text-error")
        self._narrow()

    @on(Input.Changed, "#filter")
    def _narrow(self) -> None:
        before = self.selected
        words = self.filter_input.value.lower().split()
        self._shown = [key for key in self._keys.values() if all(word in self._text(key) for word in words)]
        if self._loaded is None:
            self._shown = []
        rows = self.row_list
        rows.set_options(self._option(key) for key in self._shown)
        if self._shown:
            rows.highlighted = self._shown.index(before) if before in self._shown else 0
        elif self._loaded is not None:
            nothing = Content.styled("  No setting is called so.", "$text-muted")
            rows.add_option(Option(nothing, disabled=True))
        self._describe()

    def _text(self, key: Key) -> str:
        value = self._loaded.settings.value(key.name) if self._loaded is not None else None
        return f"{key.name} {written(value)}".lower()

    def _option(self, key: Key) -> Option:
        assert self._loaded is not None
        origin = self._loaded.origins[key.name]
        row = SettingRow(
            key.name,
            one_line(written(self._loaded.settings.value(key.name))),
            origin_words(origin, self._source.file),
            changed=origin != "default",
            locked=outranks(origin, self._source.file),
        )
        return Option(Row(row))

    @on(OptionList.OptionHighlighted)
    def _describe(self) -> None:
        key = self.selected
        if key is None:
            self._about.update("")
            return
        default = written(Settings().value(key.name))
        dot = f" {self._glyphs.dot} "
        self._about.update(f"default: {default}{dot}counts {effect(key.name)}{dot}{key.rule.expects}")

    async def action_accept(self) -> None:
        await catch_up_typing(self.value_input if self.editing else self.filter_input, self)
        self._accept()

    @on(OptionList.OptionSelected)
    def _accept(self) -> None:
        if self._editing is not None:
            self._take_typed(self._editing, self.value_input.value)
        elif (key := self.selected) is not None and self._may_change(key):
            self._change_selected(key)

    def _change_selected(self, key: Key) -> None:
        assert self._loaded is not None
        value = self._loaded.settings.value(key.name)
        if key.name == "ui.theme":
            self.app.push_screen(ThemesScreen(self.app.theme, glyphs=self._glyphs), self._theme_chosen)
        elif key.choices:
            after = key.choices.index(value) + 1 if value in key.choices else 0
            self._carry_out(key, key.choices[after % len(key.choices)])
        else:
            self._editing = key
            self.value_input.value = one_line(typed_form(value))
            self.add_class("-editing")
            self.set_focus(self.value_input)
            self._say("enter keeps it, esc leaves it as it is; empty is the default")
            self.refresh_bindings()

    async def action_reset(self) -> None:
        await catch_up_typing(self.filter_input, self)
        key = self.selected
        if key is not None and self._loaded is not None and self._may_change(key):
            if self._loaded.origins[key.name] == "default":
                self._say(f"{key.name} is at its default.")
            else:
                self._carry_out(key, None)

    def action_close(self) -> None:
        if self.editing:
            self._end_editing()
        else:
            self.dismiss(None)

    async def action_move(self, how: str) -> None:
        await catch_up_typing(self.filter_input, self)
        getattr(self.row_list, f"action_{how}")()

    def _may_change(self, key: Key) -> bool:
        """Says why not before anything is typed in vain."""
        assert self._loaded is not None
        origin = self._loaded.origins[key.name]
        if not outranks(origin, self._source.file):
            return True
        words = origin_words(origin, self._source.file)
        self._say(f"{key.name} is set by {words}, which wins over your config.yaml.", "$text-warning")
        return False

    def _theme_chosen(self, name: str | None) -> None:
        if name is not None:
            self._carry_out(self._keys["ui.theme"], name)

    def _take_typed(self, key: Key, typed: str) -> None:
        from local_agent.config.edit import typed_value  # yaml and pydantic: 100 ms, with the first change

        if not typed.strip():
            self._end_editing()
            self._carry_out(key, None)
            return
        try:
            value = typed_value(key, typed)
        except ConfigError as error:
            self._say(str(error), "$text-error")
        else:
            self._end_editing()
            self._carry_out(key, value)

    @work(group="change")
    async def _carry_out(self, key: Key, value: object) -> None:
        try:
            said = await self._source.change(key.name, value)
        except ConfigError as error:
            self._say(str(error), "$text-error")
            if key.name == "ui.theme" and self._loaded is not None:
                self.app.theme = theme_named(self._loaded.settings.ui.theme)
            return
        await self._read()
        self._say(said)

    def _end_editing(self) -> None:
        self._editing = None
        self.remove_class("-editing")
        self.set_focus(self.filter_input)
        self._say("")
        self.refresh_bindings()

    def _say(self, text: str, style: str = "$text-muted") -> None:
        self._line.update(Content.styled(one_line(text), style))
        self._line.display = bool(text)
        self.set_class(bool(text), "-saying")
