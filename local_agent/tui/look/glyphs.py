"""The signs that the screens are drawn with, typographic or plain ASCII."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import NamedTuple


class Glyphs(NamedTuple):
    """One sign for each meaning; every sign is one cell wide unless its name says otherwise."""

    bar: str = "▌"
    thin_bar: str = "▏"
    side_bar: str = "│"
    rule: str = "─"
    prompt: str = "❯"
    closed: str = "▸"
    opened: str = "▾"
    dot: str = "·"
    bullet: str = "•"
    circle: str = "◦"
    todo: str = "☐"
    done: str = "☑"
    fork: str = "↳"
    branch: str = "├"
    place: str = "◆"
    pinned: str = "+"
    dropped: str = "-"
    picture: str = "▣"
    error: str = "✗"
    warning: str = "⚠"
    ok: str = "✓"
    stopped: str = "◼"
    waiting: str = "◇"
    to: str = "→"
    ellipsis: str = "…"
    levels: str = "▁▂▃▄▅▆▇█"
    spinner: str = "⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏"


UNICODE = Glyphs()
ASCII = Glyphs(
    bar="|",
    thin_bar="|",
    side_bar="|",
    rule="-",
    prompt=">",
    closed=">",
    opened="v",
    dot="-",
    bullet="*",
    circle="o",
    todo="[ ]",
    done="[x]",
    fork="\\",
    branch="+",
    place="@",
    picture="[#]",
    error="x",
    warning="!",
    ok="+",
    stopped="#",
    waiting="?",
    to="->",
    ellipsis="...",
    levels="_.-=#",
    spinner="|/-\\",
)


def choose_glyphs(setting: str, environment: Mapping[str, str] = os.environ) -> Glyphs:
    """ASCII where it is set, or where the terminal declares that it can draw nothing else."""
    locale = next((environment[name] for name in ("LC_ALL", "LC_CTYPE", "LANG") if environment.get(name)), "")
    encoding = locale.partition(".")[2].partition("@")[0].lower().replace("-", "")
    plain = encoding not in ("", "utf8") or environment.get("TERM") in ("linux", "dumb")
    return ASCII if setting == "ascii" or plain else UNICODE
