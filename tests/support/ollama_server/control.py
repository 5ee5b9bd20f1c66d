"""``/_ctl``: the script, the log and the gates, for a server that runs in another process."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from tests.support.ollama_server.connection import Request, Response
from tests.support.ollama_server.faults import Fault
from tests.support.ollama_server.registry import ModelSpec
from tests.support.ollama_server.script import turn_from_json

if TYPE_CHECKING:
    from tests.support.ollama_server.server import OllamaServer


def apply(server: OllamaServer, document: Mapping[str, object]) -> None:
    """Apply a script document: ``models``, ``version``, ``turns``, ``model``, ``faults``, ``default``,
    ``library``: offers such as ``{"model": "qwen3:4b", "pause": 0.1}``.

    ``turns`` is a list (for ``model``, or for any model), or a map from model name to list.
    """
    if "models" in document:
        specs = [_model(value) for value in _sequence(document["models"])]
        server.models = {spec.name: spec for spec in specs}
    for offer in _sequence(document.get("library", [])):
        how = dict(_mapping(offer))
        server.offer(_model(how.pop("model")), **how)
    if "version" in document:
        server.version = str(document["version"])
    if "default" in document:
        server.default = turn_from_json(document["default"])
    turns = document.get("turns", [])
    by_model = turns if isinstance(turns, Mapping) else {str(document.get("model", "")): turns}
    for model, queue in by_model.items():
        server.script(*(turn_from_json(value) for value in _sequence(queue)), model=model)
    server.fault(*(Fault(**_mapping(value)) for value in _sequence(document.get("faults", []))))


def _model(value: object) -> ModelSpec:
    if isinstance(value, str):
        return ModelSpec(value)
    fields = dict(_mapping(value))
    if "capabilities" in fields:
        fields["capabilities"] = tuple(fields["capabilities"])
    return ModelSpec(**fields)


def _mapping(value: object) -> Mapping[str, Any]:
    if not isinstance(value, dict):
        raise ValueError(f"not an object: {value!r}")
    return value


def _sequence(value: object) -> list[object]:
    if not isinstance(value, list):
        raise ValueError(f"not a list: {value!r}")
    return value


class ControlRoutes:
    """Answers ``POST /_ctl/script``, ``/_ctl/reset``, ``/_ctl/release`` and ``GET /_ctl/log``."""

    def __init__(self, server: OllamaServer) -> None:
        self._server = server

    async def answer(self, request: Request, response: Response) -> None:
        """Carry one command out; 400 with the reason when it makes no sense."""
        body = request.parsed()
        document = body if isinstance(body, dict) else {}
        try:
            match request.path:
                case "/_ctl/script":
                    apply(self._server, document)
                case "/_ctl/release":
                    self._server.release(str(document["gate"]))
                case "/_ctl/reset":
                    self._server.reset()
                case "/_ctl/log":
                    await response.json(200, [record.to_json() for record in self._server.log])
                    return
                case _:
                    await response.json(404, {"error": f"no control route {request.path}"})
                    return
        except (KeyError, TypeError, ValueError) as error:
            await response.json(400, {"error": f"{type(error).__name__}: {error}"})
            return
        await response.json(200, {})
