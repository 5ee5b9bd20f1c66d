"""What the server refuses about a chat request before it looks at a model's memory, in its order."""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Mapping

from tests.support.ollama_server.registry import ModelSpec, at_least

_INTEGERS = {
    "num_ctx", "num_predict", "num_keep", "num_batch", "num_gpu", "main_gpu", "num_thread", "seed", "top_k",
    "repeat_last_n",
}  # fmt: skip
_NUMBERS = {"temperature", "top_p", "min_p", "typical_p", "repeat_penalty", "presence_penalty",
            "frequency_penalty"}  # fmt: skip
_DURATION = re.compile(r"-?(\d+(\.\d+)?(ns|us|µs|ms|s|m|h))+|0")
_UNITS = {"ns": 1e-9, "us": 1e-6, "µs": 1e-6, "ms": 1e-3, "s": 1.0, "m": 60.0, "h": 3600.0}
_LEVELS = ("high", "medium", "low", "max")


class Refusal(Exception):
    """An HTTP error in place of a reply."""

    def __init__(self, status: int, error: str) -> None:
        super().__init__(status, error)
        self.status = status
        self.error = error


def check_shape(body: object) -> Mapping[str, object]:
    """What Go's decoder refuses: types of fields, ``think``, base64, ``keep_alive``."""
    if body is None:
        raise Refusal(400, "missing request body")
    if not isinstance(body, dict):
        raise Refusal(400, "json: cannot unmarshal array into Go value of type api.ChatRequest")
    messages = body.get("messages") or []
    if not isinstance(messages, list):
        raise _type_error("string", "messages", "[]api.Message")
    for message in messages:
        _check_message(message)
    _check_think(body.get("think"))
    _check_keep_alive(body.get("keep_alive"))
    top = body.get("top_logprobs") or 0
    if not isinstance(top, int) or not 0 <= top <= 20:
        raise Refusal(400, "top_logprobs must be between 0 and 20")
    if not body.get("model"):
        raise Refusal(400, "model is required")
    return body


def check_model(body: Mapping[str, object], model: ModelSpec, version: str) -> None:
    """What the model cannot do: thinking, then chat and tools, then the types of options."""
    if body.get("think") and at_least(version, "0.9.0") and "thinking" not in model.capabilities:
        raise Refusal(400, f'"{body["model"]}" does not support thinking')
    if "completion" not in model.capabilities:
        raise Refusal(400, f'"{body["model"]}" does not support chat')
    if body.get("tools") and "tools" not in model.capabilities:
        raise Refusal(400, f"registry.ollama.ai/library/{model.name} does not support tools")
    options = body.get("options") or {}
    if not isinstance(options, dict):
        raise _type_error("string", "options", "map[string]interface {}")
    for name, value in options.items():
        _check_option(name, value)


def seconds(keep_alive: object) -> float | None:
    """``keep_alive`` in seconds; None is forever."""
    if keep_alive is None:
        return 300.0
    if isinstance(keep_alive, int | float):
        value = float(keep_alive)
    else:
        text = str(keep_alive)
        parts = re.findall(r"(\d+(?:\.\d+)?)(ns|us|µs|ms|s|m|h)", text)
        value = sum(float(number) * _UNITS[unit] for number, unit in parts) * (-1 if text[0] == "-" else 1)
    return None if value < 0 else value


def _type_error(found: str, field: str, wanted: str) -> Refusal:
    return Refusal(
        400, f"json: cannot unmarshal {found} into Go struct field ChatRequest.{field} of type {wanted}"
    )


def _check_message(message: object) -> None:
    if not isinstance(message, dict):
        raise _type_error("string", "messages", "api.Message")
    if not isinstance(message.get("content") or "", str):
        raise _type_error("array", "messages.content", "string")
    for call in message.get("tool_calls") or []:
        if not isinstance(call.get("function", {}).get("arguments", {}), dict):
            raise _type_error("string", "messages.tool_calls.function.arguments", "map[string]interface {}")
    for image in message.get("images") or []:
        try:
            base64.b64decode(image, validate=True)
        except (binascii.Error, ValueError, TypeError):
            raise Refusal(400, f"illegal base64 data at input byte {_bad_byte(str(image))}") from None


def _bad_byte(image: str) -> int:
    match = re.search(r"[^A-Za-z0-9+/=]", image)
    return match.start() if match else len(image)


def _check_think(think: object) -> None:
    if think is None or isinstance(think, bool) or think in _LEVELS:
        return
    if isinstance(think, str):
        wanted = ", ".join(f'"{level}"' for level in _LEVELS)
        raise Refusal(400, f'invalid think value: "{think}" (must be {wanted}, true, or false)')
    raise Refusal(400, 'think must be a boolean or string ("high", "medium", "low", "max", true, or false)')


def _check_keep_alive(value: object) -> None:
    if isinstance(value, str) and not _DURATION.fullmatch(value):
        raise Refusal(400, f'time: missing unit in duration "{value}"')


def _check_option(name: str, value: object) -> None:
    number = isinstance(value, int | float) and not isinstance(value, bool)
    if name in _INTEGERS and not (number and float(str(value)).is_integer()):
        raise Refusal(500, f'option "{name}" must be of type integer')
    if name in _NUMBERS and not number:
        raise Refusal(500, f'option "{name}" must be of type float32')
    if name == "stop" and not isinstance(value, list):
        raise Refusal(500, 'option "stop" must be of type array')
