"""One setting as a row of the settings screen."""

from __future__ import annotations

from textual.content import Content

from local_agent.tui.widgets.row_list import fit

_GAP = "  "
_NAME = 22
_ORIGIN = 26
_LEAST_VALUE = 18


class SettingRow:
    """Its name, its value, and where that comes from; the narrower, the less of the last."""

    def __init__(self, name: str, value: str, origin: str, *, changed: bool, locked: bool) -> None:
        self._name = name
        self._value = value
        self._origin = origin
        self._changed = changed
        self._locked = locked

    def __call__(self, width: int) -> Content:
        origin_room = width - _NAME - _LEAST_VALUE - 2 * len(_GAP)
        name_room = min(_NAME, max(width * 3 // 5, 8))
        value = Content.styled(self._value, "bold" if self._changed else "$text-muted")
        section, dot, leaf = self._name.partition(".")
        name = fit(Content.assemble((section + dot, "$text-muted"), leaf), name_room)
        if origin_room < _ORIGIN // 2:
            return fit(Content.assemble(name, _GAP, value), width)
        room = min(origin_room, _ORIGIN)
        left = fit(Content.assemble(name, _GAP, value), width - room - len(_GAP))
        style = "$text-warning" if self._locked else "$text-muted"
        return Content.assemble(left, _GAP, fit(Content.styled(self._origin, style), room))
