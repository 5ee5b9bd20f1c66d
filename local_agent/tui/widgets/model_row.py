"""One model as a row of the model picker."""

from __future__ import annotations

from textual.content import Content

from local_agent.domain.text import one_line
from local_agent.tui.look.glyphs import Glyphs
from local_agent.tui.look.quantities import size, tokens
from local_agent.tui.models.model_list import Listed, Standing
from local_agent.tui.widgets.row_list import fit, fit_right

_GAP = "  "
_LEAST_NAME = 18
_LEAST_SHARE = 0.4
"""Of a narrow row, for the name."""
_WIDTHS = {"state": 9, "size": 7, "speed": 9, "window": 5, "quantization": 8, "abilities": 18}
_BY_IMPORTANCE = ("state", "size", "abilities", "speed", "window", "quantization")
_ABILITIES = {"tools": "tools", "thinking": "think", "vision": "vision"}
"""What a model can do, and how a column says it."""


class ModelRow:
    """Name, what it is to this machine, size, speed, window, quantisation and what it can do."""

    def __init__(self, model: Listed, glyphs: Glyphs, *, current: bool = False) -> None:
        self._model = model
        self._glyphs = glyphs
        self._current = current

    def __call__(self, width: int) -> Content:
        left = width
        least = min(_LEAST_NAME, int(width * _LEAST_SHARE))
        shown: dict[str, Content] = {}
        for name in _BY_IMPORTANCE:
            if left - _WIDTHS[name] - len(_GAP) < least:
                break
            shown[name] = self._column(name)
            left -= _WIDTHS[name] + len(_GAP)
        title = Content.styled(one_line(self._model.name), "bold" if self._current else "")
        return Content(_GAP).join([fit(title, left), *(shown[key] for key in _WIDTHS if key in shown)])

    def _column(self, name: str) -> Content:
        info, width = self._model.info, _WIDTHS[name]
        match name:
            case "state":
                return fit(state(self._model, self._glyphs), width)
            case "size":
                return fit_right(Content.styled(size(info.size), "$text-muted"), width)
            case "speed":
                return fit_right(Content.styled(self._speed(), "$text-muted"), width)
            case "window":
                return fit_right(Content.styled(tokens(info.trained_window), "$text-muted"), width)
            case "quantization":
                return fit(Content.styled(one_line(info.quantization), "$text-muted"), width)
            case _:
                return fit(Content.styled(self._abilities(), "$text-muted"), width)

    def _speed(self) -> str:
        speed = self._model.speed
        rate = speed.tokens_per_second if speed is not None else None
        return f"{tokens(round(rate))} tok/s" if rate is not None else ""

    def _abilities(self) -> str:
        """Each at its own place, so that one looks down a column for it."""
        able = self._model.info.capabilities
        if able is None:
            return ""
        return " ".join(word if name in able else " " * len(word) for name, word in _ABILITIES.items())


def state(model: Listed, glyphs: Glyphs) -> Content:
    """A sign and a word, at most nine cells: ``✓ fits``, ``✗ too big``."""
    match model.standing:
        case Standing.LOADED:
            return Content.styled(f"{glyphs.bullet} loaded", "$text-success")
        case Standing.FITS:
            return Content.styled(f"{glyphs.ok} fits", "$text-success")
        case Standing.TIGHT:
            return Content.styled(f"{glyphs.warning} tight", "$text-warning")
        case Standing.TOO_BIG:
            return Content.styled(f"{glyphs.error} too big", "$text-error")
        case Standing.ELSEWHERE:
            return Content.styled(str(model.info.location), "$text-warning")
        case Standing.NO_CHAT:
            return Content.styled("no chat", "$text-muted")
        case _:
            return Content("")
