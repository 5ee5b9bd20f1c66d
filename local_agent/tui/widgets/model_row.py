"""One model as a row of the model picker."""

from __future__ import annotations

from textual.content import Content

from local_agent.domain.models import Location, ModelInfo
from local_agent.domain.text import one_line
from local_agent.tui.glyphs import Glyphs
from local_agent.tui.quantities import size, tokens
from local_agent.tui.widgets.row_list import fit, fit_right

_GAP = "  "
_LEAST_NAME = 20
_WIDTHS = {"state": 6, "size": 7, "quantization": 8, "window": 5, "abilities": 22}
_BY_IMPORTANCE = ("state", "size", "window", "quantization", "abilities")
_SHOWN_ABILITIES = ("tools", "thinking", "vision")


class ModelRow:
    """Name, whether it is loaded, size, quantisation, window and what it can do."""

    def __init__(self, model: ModelInfo, glyphs: Glyphs, *, current: bool = False) -> None:
        self._model = model
        self._glyphs = glyphs
        self._current = current

    def __call__(self, width: int) -> Content:
        left = width
        shown: dict[str, Content] = {}
        for name in _BY_IMPORTANCE:
            if left - _WIDTHS[name] - len(_GAP) < _LEAST_NAME:
                break
            shown[name] = self._column(name)
            left -= _WIDTHS[name] + len(_GAP)
        title = Content.styled(one_line(self._model.name), "bold" if self._current else "")
        return Content(_GAP).join([fit(title, left), *(shown[key] for key in _WIDTHS if key in shown)])

    def _column(self, name: str) -> Content:
        model, width = self._model, _WIDTHS[name]
        match name:
            case "state":
                return fit(self._state(), width)
            case "size":
                return fit_right(Content.styled(size(model.size), "$text-muted"), width)
            case "quantization":
                return fit(Content.styled(one_line(model.quantization), "$text-muted"), width)
            case "window":
                return fit_right(Content.styled(tokens(model.trained_window), "$text-muted"), width)
            case _:
                return fit(Content.styled(self._abilities(), "$text-muted"), width)

    def _state(self) -> Content:
        if self._model.loaded:
            return Content.styled("loaded", "$text-success")
        if self._model.location is Location.LOCAL:
            return Content("")
        return Content.styled(str(self._model.location), "$text-warning")

    def _abilities(self) -> str:
        able = self._model.capabilities
        if able is None:
            return ""
        if not self._model.can_chat:
            return "does not chat"
        return f" {self._glyphs.dot} ".join(name for name in _SHOWN_ABILITIES if name in able)
