"""The words of a server's error, whatever they are wrapped in."""

from __future__ import annotations

import json
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Words:
    """What a server said, whatever it was wrapped in."""

    text: str
    signin_url: str = ""
    is_json: bool = False


def read_error(body: bytes, content_type: str = "") -> Words:
    """The words in the body of an HTTP error: nested JSON unwrapped, HTML left out."""
    text = body.decode("utf-8", "replace").strip()
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        is_page = "html" in content_type.lower() or text.startswith("<")
        return Words("" if is_page else text)
    url = value.get("signin_url") if isinstance(value, dict) else None
    return Words(unwrap(value), url if isinstance(url, str) else "", True)


def unwrap(value: object, depth: int = 4) -> str:
    """The message inside ``{"error": ...}``, ``{"message": ...}`` and JSON documents in strings."""
    if isinstance(value, dict):
        inner = next((value[key] for key in ("error", "message") if value.get(key)), None)
        if inner is not None and depth:
            return unwrap(inner, depth - 1)
        return json.dumps(value) if value else ""
    if isinstance(value, str):
        return _unwrap_text(value.strip(), depth)
    return "" if value is None else json.dumps(value)


def _unwrap_text(text: str, depth: int) -> str:
    if text.startswith("{") and depth:
        try:
            inner = json.loads(text)
        except (ValueError, RecursionError):
            return text
        if isinstance(inner, dict):
            return unwrap(inner, depth - 1)
    return text
