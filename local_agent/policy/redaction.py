"""Takes what looks like a secret out of the arguments of calls, before they are handed to others.

By names and by shapes: what has neither stays. It is a help, not a promise.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

REDACTED = "[redacted]"

_SECRET_WORDS = (
    r"passw(?:or)?d|passphrase|pwd|secret|token|api[_-]?key|access[_-]?key|private[_-]?key|client[_-]?secret"
    r"|credentials?|authorization|auth[_-]?header|cookie|session[_-]?id"
)
_SECRET_NAME = re.compile(rf"(?:^|[_\-. ])(?:{_SECRET_WORDS})(?:$|[_\-. ])", re.IGNORECASE)
_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
_SHAPES = (
    re.compile(r"-----BEGIN [A-Z ]{0,20}PRIVATE KEY-----.*?(?:-----END|\Z)", re.DOTALL),
    re.compile(r"\b(?:sk|pk|rk)-[A-Za-z0-9_-]{16,}"),
    re.compile(r"\bgh[pousr]_[A-Za-z0-9]{20,}|\bgithub_pat_[A-Za-z0-9_]{20,}|\bglpat-[A-Za-z0-9_-]{16,}"),
    re.compile(r"\bhf_[A-Za-z0-9]{20,}|\bnpm_[A-Za-z0-9]{20,}|\bpypi-[A-Za-z0-9_-]{20,}"),
    re.compile(r"\bxox[abprs]-[A-Za-z0-9-]{10,}|\bAIza[A-Za-z0-9_-]{30,}"),
    re.compile(r"\b(?:AKIA|ASIA)[A-Z0-9]{16}\b"),
    re.compile(r"\beyJ[A-Za-z0-9_-]{8,2000}\.[A-Za-z0-9_-]{8,}\."),
)
_AFTER = (
    re.compile(r"(?P<kept>\b(?:bearer|basic)\s{1,9})(?P<secret>[A-Za-z0-9._~+/=-]{8,})", re.IGNORECASE),
    re.compile(r"(?P<kept>://[^\s/:@]{0,80}:)(?P<secret>[^\s/@]{1,200})(?=@)"),
    re.compile(
        rf"(?P<kept>(?<![A-Za-z0-9])[A-Za-z0-9_.-]{{0,40}}(?:{_SECRET_WORDS})(?:_key|_id|_value)?[\"']?\s{{0,9}}"
        r"[=:]\s{0,9})(?P<secret>\"[^\"]*\"|'[^']*'|[^\s\"',;&}]+)",
        re.IGNORECASE,
    ),
    re.compile(
        rf"(?P<kept>(?<![A-Za-z0-9])--?(?:[A-Za-z0-9]{{1,20}}-){{0,4}}(?:{_SECRET_WORDS})\s{{1,9}})"
        r"(?P<secret>\"[^\"]*\"|'[^']*'|[^\s-]\S*)",
        re.IGNORECASE,
    ),
)
"""Shapes whose beginning says what follows."""


def redacted(value: object, name: str = "") -> object:
    """The same JSON value with what looks like a secret replaced; ``name`` is what it is called."""
    if name and _SECRET_NAME.search(_CAMEL.sub("_", name)) and not isinstance(value, Mapping | bool | None):
        return REDACTED
    match value:
        case str():
            return redacted_text(value)
        case Mapping():
            return {str(key): redacted(each, str(key)) for key, each in value.items()}
        case Sequence():
            return [redacted(each) for each in value]
        case _:
            return value


def redacted_text(text: str) -> str:
    """A text, such as a command, without what looks like a secret."""
    for shape in _SHAPES:
        text = shape.sub(REDACTED, text)
    for shape in _AFTER:
        text = shape.sub(lambda found: f"{found['kept']}{REDACTED}", text)
    return text
