"""All that is known of one model, as labelled lines."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from textual.content import Content

from local_agent.domain.models import Fit, Location, Speed
from local_agent.domain.text import one_line
from local_agent.tui.look.glyphs import Glyphs
from local_agent.tui.look.lines import BLANK, Line, wrap
from local_agent.tui.look.quantities import left, seconds, since, size, tokens
from local_agent.tui.models.model_list import Listed
from local_agent.tui.widgets.labelled import labelled_lines

_FITS: Mapping[Fit, str] = {
    Fit.FITS: "fits this machine",
    Fit.TIGHT: "tight: little is left for anything else",
    Fit.TOO_BIG: "more than this machine has",
    Fit.UNKNOWN: "",
}


class Details(NamedTuple):
    """One model, and what it would be asked with here."""

    model: Listed
    window: int | None = None
    """Tokens of context it would get."""
    needs: int | None = None
    """Bytes of memory with that window; None where it can't be told."""
    complete: bool = True
    """False while the server is still asked for more."""


def details_lines(details: Details, glyphs: Glyphs, width: int) -> list[Line]:
    """The groups, a blank line between them."""
    lines = wrap(Content.styled(one_line(details.model.name), "bold"), width)
    for title, facts in _groups(details, glyphs).items():
        known = {label: value for label, value in facts.items() if value not in (None, "")}
        if known:
            lines += [BLANK, *labelled_lines(title, known, width)]
    if not details.complete:
        lines += [BLANK, Line(Content.styled(f"asking for more {glyphs.ellipsis}", "$text-muted"))]
    return lines


def _groups(details: Details, glyphs: Glyphs) -> Mapping[str, Mapping[str, object]]:
    info = details.model.info
    able = info.capabilities
    return {
        "What it is": {
            "family": info.family,
            "parameters": info.parameters,
            "quantised": info.quantization,
            "size": size(info.size),
            "can": sorted(able) if able is not None else None,
            "template": info.template,
            "licence": info.licence,
            "digest": info.digest[:12],
            "changed": since(info.modified_at),
        },
        "On this machine": {
            "where": _where(info.location, proxied=info.proxied),
            "window": _window(details, glyphs),
            "memory": _memory(details, glyphs),
            "loaded": _loaded(details),
            "kept until": left(info.expires_at) if info.expires_at else "",
        },
        "Measured here": _measured(details.model.speed),
    }


def _where(location: Location, *, proxied: bool) -> str:
    match location:
        case Location.LOCAL:
            return "this machine"
        case Location.CLOUD:
            return "Ollama's cloud: what you ask leaves this machine"
        case Location.REMOTE:
            return "another server" + (", through this one" if proxied else "")
        case _:
            return "not known, so not taken for local"


def _window(details: Details, glyphs: Glyphs) -> str:
    trained = details.model.info.trained_window
    chosen = f"{tokens(details.window)} tokens" if details.window else ""
    native = f"up to {tokens(trained)}" if trained else ""
    return f" {glyphs.dot} ".join(part for part in (chosen, native) if part)


def _memory(details: Details, glyphs: Glyphs) -> str:
    needs = f"about {size(details.needs)}" if details.needs else ""
    return f" {glyphs.dot} ".join(part for part in (needs, _FITS[details.model.fit]) if part)


def _loaded(details: Details) -> str:
    info = details.model.info
    if not info.loaded:
        return "no"
    window = f", with {tokens(info.loaded_window)} tokens" if info.loaded_window else ""
    share = vram_share(info.size_vram, info.size)
    return f"yes{window}{f', {share}' if share else ''}"


def vram_share(in_video: int | None, whole: int | None) -> str:
    """``all in video memory``, ``40% in video memory``; empty where it can't be told."""
    if in_video is None or not whole:
        return ""
    if in_video >= whole:
        return "all in video memory"
    return f"{in_video / whole:.0%} in video memory" if in_video else "none in video memory"


def _measured(speed: Speed | None) -> Mapping[str, object]:
    if speed is None or not speed.turns:
        return {"turns": "none yet"}
    rate = speed.tokens_per_second
    return {
        "turns": speed.turns,
        "writes": f"{rate:.0f} tokens/s" if rate is not None else None,
        "first word": seconds(speed.first_token_seconds),
        "loads in": seconds(speed.load_seconds),
        "last used": since(speed.last_used),
    }
