"""JSON as Go's ``encoding/json`` writes it, which is what clients of a real server receive."""

from __future__ import annotations

import json

_ESCAPES = {"<": "\\u003c", ">": "\\u003e", "&": "\\u0026", "\u2028": "\\u2028", "\u2029": "\\u2029"}
_TABLE = str.maketrans(_ESCAPES)


def encode(value: object) -> bytes:
    """Compact UTF-8; only ``<>&`` and U+2028/9 escaped, so U+0085 and the like go out raw."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    return text.translate(_TABLE).encode("utf-8", "replace")


def encode_line(value: object) -> bytes:
    """One value of a stream."""
    return encode(value) + b"\n"
