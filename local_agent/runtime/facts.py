"""What is known right now, labelled and grouped, for the runtime view and the doctor."""

from __future__ import annotations

import importlib.metadata
import importlib.util
import platform
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from local_agent import __version__
from local_agent.domain.models import ModelInfo, ServerState
from local_agent.runtime.authority_facts import authority_facts
from local_agent.runtime.request_facts import request_facts
from local_agent.runtime.workspace import git_branch

if TYPE_CHECKING:
    from local_agent.runtime.conversation import Conversation
    from local_agent.runtime.models import Models
    from local_agent.runtime.runtime import Runtime
    from local_agent.store.store import Store


@dataclass(frozen=True, slots=True)
class RuntimeFacts:
    """Groups of facts, in the order they are shown; values are plain JSON types, None is unknown."""

    program: Mapping[str, object]
    workspace: Mapping[str, object]
    session: Mapping[str, object]
    model: Mapping[str, object]
    requests: Mapping[str, object]
    authority: Mapping[str, object]
    backend: Mapping[str, object]
    database: Mapping[str, object]
    state: ServerState
    model_info: ModelInfo | None = None
    notices: tuple[str, ...] = field(default_factory=tuple)
    earlier_contents: str = ""
    """How much is kept of what files held and commands said, and how much may be."""

    def groups(self) -> dict[str, Mapping[str, object]]:
        """By title, without the empty ones."""
        named = {
            "Session": self.session,
            "Workspace": self.workspace,
            "Model": self.model,
            "Asked with": self.requests,
            "Authority": self.authority,
            "Backend": self.backend,
            "Database": self._stored(),
            "Program": self.program,
        }
        return {title: facts for title, facts in named.items() if facts}

    def _stored(self) -> Mapping[str, object]:
        kept = {"earlier contents": self.earlier_contents} if self.earlier_contents else {}
        return {**self.database, **kept}


async def gather_facts(runtime: Runtime, store: Store, conversation: Conversation | None) -> RuntimeFacts:
    """Ask store and backend; a server that does not answer is a fact, not an error."""
    kind = runtime.engines.current.kind if conversation is None else conversation.backend_kind
    state = await (runtime if conversation is None else conversation).state()
    info = _model_of(state, conversation)
    return RuntimeFacts(
        program=_program(),
        workspace=_workspace(runtime),
        session=_session(conversation),
        model=_model(info, conversation, runtime.models),
        requests={} if conversation is None else request_facts(conversation.planner),
        authority={} if conversation is None else await authority_facts(conversation),
        backend=_backend(kind, state),
        database=await store.facts(),
        state=state,
        model_info=info,
        notices=runtime.startup_notices,
        earlier_contents=await runtime.workshop.history.describe(),
    )


def _program() -> dict[str, object]:
    facts: dict[str, object] = {
        "local-agent": __version__,
        "Python": platform.python_version(),
        "system": f"{platform.system()} {platform.release()}",
    }
    for package in ("textual", "sqlalchemy", "alembic", "ollama", "xllamacpp"):
        facts[package] = _version(package)
    return facts


def _version(package: str) -> str | None:
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return None


def _workspace(runtime: Runtime) -> dict[str, object]:
    return {"folder": runtime.workspace_root, "branch": git_branch(runtime.options.workspace)}


def _session(conversation: Conversation | None) -> dict[str, object]:
    if conversation is None or conversation.info is None:
        return {}
    info = conversation.info
    return {
        "handle": conversation.handle or "not saved",
        "title": info.title,
        "started": info.created_at,
        "turns": info.turn_count,
        "errors": info.error_count,
        "lease": "read-only" if conversation.read_only else "held by this process",
    }


def _model_of(state: ServerState, conversation: Conversation | None) -> ModelInfo | None:
    if conversation is None:
        return None
    described = conversation.model_info
    listed = next((model for model in state.models if model.name == conversation.model), None)
    if described is None or listed is None:
        return described or listed
    return replace(
        described,
        loaded=listed.loaded,
        loaded_window=listed.loaded_window,
        size_vram=listed.size_vram,
        expires_at=listed.expires_at,
    )


def _model(info: ModelInfo | None, conversation: Conversation | None, models: Models) -> dict[str, object]:
    if conversation is None or not conversation.model:
        return {}
    router = conversation.planner.router
    facts: dict[str, object] = {
        "name": conversation.model,
        "chosen by": f"{router.reason}{', pinned' if router.pinned else ''}",
        "window": conversation.window or None,
    }
    if info is None:
        return facts
    facts |= {
        "digest": info.digest[:12] or None,
        "size": info.size,
        "parameters": info.parameters or None,
        "quantization": info.quantization or None,
        "trained window": info.trained_window,
        "capabilities": sorted(info.capabilities) if info.capabilities is not None else None,
        "location": str(info.location),
        "loaded": info.loaded,
        "loaded window": info.loaded_window,
        "in video memory": info.size_vram,
        "needs": models.needed(info),
        "this machine": models.fit(info).replace("_", " "),
        "kept until": info.expires_at,
    }
    return facts


def _backend(kind: str, state: ServerState) -> dict[str, object]:
    return {
        "kind": kind,
        "address": state.address,
        "answers": state.reachable,
        "version": state.version,
        "problem": state.problem or None,
        "models": len(state.models),
        "embedded engine": importlib.util.find_spec("xllamacpp") is not None,
    }
