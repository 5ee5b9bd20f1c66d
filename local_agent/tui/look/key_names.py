"""Keys as the screens write them."""

from __future__ import annotations

_NAMES = {"escape": "esc", "pageup": "page up", "pagedown": "page down", "slash": "/", "question_mark": "?"}


def key_name(key: str) -> str:
    """``escape`` is ``esc``; of several keys for one action the first is named."""
    first = key.split(",")[0]
    *modifiers, last = first.split("+")
    return "+".join([*modifiers, _NAMES.get(last, last)])
