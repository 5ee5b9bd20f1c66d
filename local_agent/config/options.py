"""The sampling and loading options of an Ollama server, with the values that make sense."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple


class Range(NamedTuple):
    """A number between two bounds."""

    minimum: float
    maximum: float
    whole: bool = False

    @property
    def expects(self) -> str:
        """In words."""
        kind = "a whole number" if self.whole else "a number"
        to = f" to {self.maximum:g}" if self.maximum < _MANY else ""
        return f"{kind} from {self.minimum:g}{to}"

    def accepts(self, value: object) -> bool:
        """Whether ``value`` may be sent."""
        if isinstance(value, bool) or not isinstance(value, int if self.whole else int | float):
            return False
        return self.minimum <= value <= self.maximum


_MANY = 2**31 - 1
_SHARE = Range(0, 1)
_RANGES: Mapping[str, Range] = {
    "temperature": Range(0, 5),
    "top_k": Range(0, _MANY, whole=True),
    "top_p": _SHARE,
    "min_p": _SHARE,
    "typical_p": _SHARE,
    "seed": Range(-1, _MANY, whole=True),
    "repeat_penalty": Range(0, 10),
    "repeat_last_n": Range(-1, _MANY, whole=True),
    "presence_penalty": Range(-10, 10),
    "frequency_penalty": Range(-10, 10),
    "num_keep": Range(-1, _MANY, whole=True),
    "num_batch": Range(1, 65_536, whole=True),
    "num_gpu": Range(-1, 9_999, whole=True),
    "main_gpu": Range(0, 255, whole=True),
    "num_thread": Range(0, 1_024, whole=True),
    "draft_num_predict": Range(0, 1_024, whole=True),
}
_ELSEWHERE = {"num_ctx": "ollama.num_ctx", "num_predict": "model.max_output"}
_STOPS = 16


class Problem(NamedTuple):
    """Why an option is refused, and the way out."""

    words: str
    hint: str = ""


def option_problem(name: str, value: object) -> Problem | None:
    """What is wrong with an option, in words that follow its name; None when it may be sent."""
    if name in _ELSEWHERE:
        return Problem(f"is set with {_ELSEWHERE[name]}.", f"Move it to {_ELSEWHERE[name]}.")
    match name:
        case "stop":
            good, expects = _are_stops(value), f"a list of 1 to {_STOPS} texts"
        case "use_mmap":
            good, expects = isinstance(value, bool), "true or false"
        case _ if name in _RANGES:
            good, expects = _RANGES[name].accepts(value), _RANGES[name].expects
        case _:
            return _unknown(name)
    return None if good else Problem(f"must be {expects}")


def _are_stops(value: object) -> bool:
    if not isinstance(value, list) or not 0 < len(value) <= _STOPS:
        return False
    return all(isinstance(text, str) and text for text in value)


def _unknown(name: str) -> Problem:
    import difflib  # 4 ms that a start without a mistake does not need

    known = (*_RANGES, "stop", "use_mmap")
    close = difflib.get_close_matches(name, known, n=1)
    return Problem("is no option.", f"Did you mean {close[0]}?" if close else f"Known: {', '.join(known)}.")
