"""How one model is to be asked: what is set for all models, with what is set for this one laid over it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from local_agent.config.settings import PER_MODEL, Option, Settings
from local_agent.domain.models import full_name
from local_agent.domain.thinking import Thinking


@dataclass(frozen=True, slots=True)
class Wishes:
    """None and missing options are left to the program or the server."""

    num_ctx: int | None = None
    keep_alive: str | int | None = None
    max_output: int | None = None
    thinking: Thinking | None = None
    options: Mapping[str, Option] = field(default_factory=dict)
    origins: Mapping[str, str] = field(default_factory=dict, compare=False)
    """Where each wish came from, by its name; those that nobody set are missing."""


def wishes_for(settings: Settings, model: str) -> Wishes:
    """What is set for ``model``, key by key and option by option."""
    own = next(
        (own for name, own in settings.model.per_model.items() if full_name(name) == full_name(model)), {}
    )
    values: dict[str, Any] = {}
    origins: dict[str, str] = {}
    for wish, key in PER_MODEL.items():
        if wish in own or settings.value(key) is not None:
            values[wish] = own.get(wish, settings.value(key))
            origins[wish] = settings.origin("model.per_model" if wish in own else key)
    values["options"] = {**settings.model.options, **own.get("options", {})}
    for option in values["options"]:
        mine = option in own.get("options", {})
        origins[option] = settings.origin("model.per_model" if mine else "model.options")
    origins.pop("options", None)
    return Wishes(**values, origins=origins)
