"""Models chosen, remembered, routed to and agreed to: what is stored, and what nothing is sent to."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from local_agent.config.preferences import Preferences
from local_agent.config.settings import Settings
from local_agent.domain.drafts import Prompt
from local_agent.domain.errors import CloudConsentNeeded, ModelError, ModelErrorKind, UsageError
from local_agent.domain.events import Event, Notice, TurnFailed
from local_agent.domain.models import Fit, ModelInfo, Reason, full_name
from local_agent.runtime.conversation import Conversation
from tests.runtime.opened import events_of, opened, settings_for
from tests.support.model import small_model
from tests.support.ollama_server import ModelSpec, OllamaServer

SMALL = ModelSpec("llama3.2:3b", size=2_000, modified_at="2026-06-01T00:00:00Z")
OTHER = ModelSpec(
    "qwen3:4b", ("completion", "tools", "thinking"), size=2_000, modified_at="2026-01-01T00:00:00Z"
)
SEEING = ModelSpec("gemma3:4b", ("completion", "vision"), size=2_000, modified_at="2025-01-01T00:00:00Z")
EMBED = ModelSpec("embed", ("embedding",), size=2_000)
ALIAS = ModelSpec("mine", engine="cloud", size=400, remote_model="big", remote_host="https://ollama.com:443")
CLOUD = "gpt-oss:120b-cloud"


@pytest.fixture(autouse=True)
def models(server: OllamaServer) -> None:
    server.models = {spec.name: spec for spec in (SMALL, OTHER, SEEING, EMBED, ALIAS)}


def kept(home: Path) -> dict[str, object]:
    found: dict[str, object] = json.loads((home / "runtime-preferences.json").read_bytes())
    return found


def there(home: Path, ending: str = "") -> bool:
    return os.path.lexists(home / f"runtime-preferences.json{ending}")


def with_model(url: str, name: str) -> Settings:
    settings = settings_for(url)
    return replace(settings, ollama=replace(settings.ollama, model=name))


async def ready(conversation: Conversation) -> tuple[str, Reason]:
    await conversation.prepare()
    return conversation.model, conversation.planner.router.reason


def notices(events: list[Event]) -> list[str]:
    return [event.text for event in events if isinstance(event, Notice)]


async def test_a_choice_is_there_again_in_the_next_process(home: Path, server: OllamaServer) -> None:
    server.script("Hi.")
    async with opened(home, server.url) as runtime:
        conversation = runtime.new_conversation()
        assert await ready(conversation) == ("llama3.2:3b", Reason.AUTO)
        assert await runtime.models.choose(conversation, "qwen3:4b") == ""
        assert await ready(conversation) == ("qwen3:4b", Reason.CHOSEN)
        assert await ready(runtime.new_conversation()) == ("qwen3:4b", Reason.CHOSEN)
    assert kept(home) == {"model": "qwen3:4b"}
    assert (home / "runtime-preferences.json").stat().st_mode & 0o777 == 0o600
    async with opened(home, server.url) as runtime:
        conversation = runtime.new_conversation()
        assert conversation.model == "qwen3:4b"
        assert await ready(conversation) == ("qwen3:4b", Reason.REMEMBERED)
        assert not conversation.planner.pinned
        assert notices(await events_of(conversation.ask(Prompt("Hi")))) == []
    async with opened(home, server.url, model="gemma3:4b") as runtime:
        assert await ready(runtime.new_conversation()) == ("gemma3:4b", Reason.FLAG)
    assert kept(home) == {"model": "qwen3:4b"}


async def test_a_setting_that_was_changed_since_the_choice_counts(home: Path, server: OllamaServer) -> None:
    async with opened(home, "", settings=with_model(server.url, "llama3.2:3b")) as runtime:
        await runtime.models.choose(runtime.new_conversation(), "qwen3:4b")
    for setting, expected in (
        ("llama3.2:3b", ("qwen3:4b", Reason.REMEMBERED)),
        ("gemma3:4b", ("gemma3:4b", Reason.SETTINGS)),
    ):
        async with opened(home, "", settings=with_model(server.url, setting)) as runtime:
            assert await ready(runtime.new_conversation()) == expected
    async with opened(home, server.url) as runtime:
        assert await ready(runtime.new_conversation()) == ("qwen3:4b", Reason.REMEMBERED)


async def test_auto_forgets_first_and_then_routes(home: Path, server: OllamaServer) -> None:
    server.script("Hi.")
    async with opened(home, server.url) as runtime:
        conversation = runtime.new_conversation()
        await runtime.models.choose(conversation, "qwen3:4b")
        await events_of(conversation.ask(Prompt("Hi")))
        assert conversation.info is not None and conversation.info.model_pinned
        assert await runtime.models.choose_auto(conversation) == ""
        # What is loaded comes first, and that is the one that answered.
        assert await ready(conversation) == ("qwen3:4b", Reason.AUTO)
        assert not conversation.info.model_pinned
        await runtime.models.unload("qwen3:4b")
        await runtime.models.choose_auto(conversation)
        assert await ready(conversation) == ("llama3.2:3b", Reason.AUTO)
        await runtime.models.choose(conversation, "gemma3:4b")
        server.models.clear()
        with pytest.raises(ModelError, match="no model to chat with"):
            await runtime.models.choose_auto(conversation)
        # Forgotten all the same; what answers here stays.
        assert conversation.model == "gemma3:4b"
    assert kept(home) == {}


async def test_routing_by_what_a_turn_needs(home: Path, server: OllamaServer) -> None:
    async with opened(home, server.url) as runtime:
        conversation = runtime.new_conversation()
        await conversation.planner.router.route(frozenset({"vision"}))
        assert await ready(conversation) == ("gemma3:4b", Reason.AUTO)
        with pytest.raises(ModelError, match="has audio"):
            await conversation.planner.router.route(frozenset({"audio"}))
        assert conversation.model == "gemma3:4b"


async def test_a_remembered_model_that_is_gone_is_told_once_and_kept(
    home: Path, server: OllamaServer
) -> None:
    server.script("Hi.", "Again.")
    Preferences("gone:7b").write(home / "runtime-preferences.json")
    async with opened(home, server.url) as runtime:
        conversation = runtime.new_conversation()
        assert runtime.startup_notices == ()
        told = notices(await events_of(conversation.ask(Prompt("Hi"))))
        assert len(told) == 1 and told[0].startswith("gone:7b, which you chose last, is not there any more")
        assert notices(await events_of(conversation.ask(Prompt("Again")))) == []
        assert await ready(conversation) == ("llama3.2:3b", Reason.AUTO)
    assert kept(home) == {"model": "gone:7b"}


@pytest.mark.parametrize(("name", "why"), [("mine", "not known to run"), ("embed", "does not chat")])
async def test_only_what_is_proven_local_and_chats_is_restored(
    home: Path, server: OllamaServer, name: str, why: str
) -> None:
    Preferences(name).write(home / "runtime-preferences.json")
    async with opened(home, server.url) as runtime:
        conversation = runtime.new_conversation()
        assert await ready(conversation) == ("llama3.2:3b", Reason.AUTO)
        assert why in conversation.planner.router.take_note()


async def test_what_cannot_be_proven_yet_is_shown_and_used_once_it_can(
    home: Path, server: OllamaServer
) -> None:
    server.script("Hi.")
    Preferences("qwen3:4b").write(home / "runtime-preferences.json")
    await server.refuse()
    async with opened(home, server.url) as runtime:
        conversation = runtime.new_conversation()
        assert await ready(conversation) == ("qwen3:4b", Reason.REMEMBERED)
        assert conversation.model_info is None
        await server.accept()
        await events_of(conversation.ask(Prompt("Hi")))
        assert conversation.model_info is not None
    assert server.chats[0].body["model"] == "qwen3:4b"


@pytest.mark.parametrize("name", [CLOUD, "mine"])
async def test_nothing_is_sent_to_the_cloud_before_one_agrees_for_this_conversation(
    home: Path, server: OllamaServer, name: str
) -> None:
    server.script("From far away.", "From here.")
    async with opened(home, server.url) as runtime:
        conversation = runtime.new_conversation()
        await conversation.prepare()
        with pytest.raises(CloudConsentNeeded, match="in Ollama's cloud") as needed:
            await runtime.models.choose(conversation, name)
        assert conversation.model == "llama3.2:3b"
        with pytest.raises(UsageError, match="nothing of it is in memory"):
            await runtime.models.unload(name)
        assert not asked_for(server, CLOUD) and server.chats == []
        runtime.models.agree(conversation, needed.value.model)
        assert await runtime.models.choose(conversation, name) == ""
        await events_of(conversation.ask(Prompt("Hi")))
        handle = conversation.handle
        await conversation.close()
        assert not there(home)
        # Neither another conversation nor the same one opened again is agreed to.
        with pytest.raises(CloudConsentNeeded):
            await runtime.models.choose(runtime.new_conversation(), name)
        resumed = await runtime.resume(handle)
        await resumed.prepare()
        assert resumed.planner.router.consent_needed is not None
        failed = [e for e in await events_of(resumed.ask(Prompt("More"))) if isinstance(e, TurnFailed)]
        assert "have not agreed" in failed[0].line
        await runtime.models.choose(resumed, "llama3.2:3b")
        await events_of(resumed.ask(Prompt("And here?")))
    assert [chat.body["model"] for chat in server.chats] == [full_name(name), "llama3.2:3b"]


async def test_a_cloud_model_in_settings_or_flag_needs_the_same_agreement(
    home: Path, server: OllamaServer
) -> None:
    server.script("Far.")
    async with opened(home, "", settings=with_model(server.url, CLOUD)) as runtime:
        await events_of(runtime.new_conversation().ask(Prompt("Hi")))
    async with opened(home, server.url, model=CLOUD) as runtime:
        await events_of(runtime.new_conversation().ask(Prompt("Hi")))
    assert server.chats == [] and not asked_for(server, CLOUD)
    async with opened(home, server.url, model=CLOUD, allow_cloud=True) as runtime:
        await events_of(runtime.new_conversation().ask(Prompt("Hi")))
        await events_of(runtime.new_conversation().ask(Prompt("Hi again")))
    assert len(server.chats) == 1


async def test_local_only_asks_nobody_and_refuses(home: Path, server: OllamaServer) -> None:
    settings = settings_for(server.url)
    settings = replace(settings, privacy=replace(settings.privacy, local_only=True))
    async with opened(home, "", settings=settings, allow_cloud=True) as runtime:
        conversation = runtime.new_conversation()
        for name in (CLOUD, "mine"):
            runtime.models.agree(conversation, name)
            with pytest.raises(ModelError, match="local_only") as refused:
                await runtime.models.choose(conversation, name)
            assert not isinstance(refused.value, CloudConsentNeeded)
    assert server.chats == [] and not asked_for(server, CLOUD)


def asked_for(server: OllamaServer, name: str) -> bool:
    """Whether any request named the model."""
    return any(name in record.raw for record in server.log)


async def test_an_embedding_model_is_not_chosen(home: Path, server: OllamaServer) -> None:
    async with opened(home, server.url) as runtime:
        conversation = runtime.new_conversation()
        with pytest.raises(ModelError, match="does not chat") as refused:
            await runtime.models.choose(conversation, "embed")
        assert refused.value.kind is ModelErrorKind.NO_MODEL
    assert not there(home)


async def test_without_saving_nothing_is_remembered(home: Path, server: OllamaServer) -> None:
    async with opened(home, server.url, save=False) as runtime:
        assert await runtime.models.choose(runtime.new_conversation(), "qwen3:4b") == ""
        assert await ready(runtime.new_conversation()) == ("qwen3:4b", Reason.CHOSEN)
        await runtime.models.choose_auto(runtime.new_conversation())
        assert await ready(runtime.new_conversation()) == ("llama3.2:3b", Reason.AUTO)
    assert not there(home)


@pytest.mark.engine
async def test_a_file_of_the_embedded_engine_is_never_a_preference(home: Path, server: OllamaServer) -> None:
    model = small_model()
    async with opened(home, server.url, gguf=model) as runtime:
        conversation = runtime.new_conversation()
        await runtime.models.choose(conversation, model.stem)
        assert conversation.model == model.stem
        await runtime.models.unload(model.stem)
    async with opened(home, server.url, save=False) as runtime:
        await runtime.models.choose(runtime.new_conversation(), "qwen3:4b")
        await runtime.use_embedded(model)
        assert await ready(runtime.new_conversation()) == (model.stem, Reason.AUTO)
    assert not there(home)


def _link(path: Path) -> None:
    (path.parent / "elsewhere").write_bytes(b'{"model": "qwen3:4b"}')
    path.symlink_to("elsewhere")


DAMAGED: dict[str, Callable[[Path], object]] = {
    "corrupt": lambda path: path.write_bytes(b'{"model": "qw'),
    "huge": lambda path: path.write_bytes(b" " * 2_000_000),
    "unknown keys": lambda path: path.write_bytes(b'{"model": "qwen3:4b", "mode": "auto"}'),
    "control": lambda path: path.write_bytes(b'{"model": "a\\u001b[31m"}'),
    "link": _link,
    "folder": lambda path: path.mkdir(),
    "pipe": lambda path: os.mkfifo(path),
}


def damaged(home: Path, damage: str) -> Path:
    home.mkdir(0o700, parents=True)
    path = home / "runtime-preferences.json"
    DAMAGED[damage](path)
    return path


@pytest.mark.parametrize("damage", DAMAGED)
async def test_a_damaged_file_is_one_notice_and_is_set_aside_by_the_next_choice(
    home: Path, server: OllamaServer, damage: str
) -> None:
    path = damaged(home, damage)
    async with opened(home, server.url) as runtime:
        assert len(runtime.startup_notices) == 1 and str(path) in runtime.startup_notices[0]
        conversation = runtime.new_conversation()
        assert await ready(conversation) == ("llama3.2:3b", Reason.AUTO)
        assert not there(home, ".damaged")
        line = await runtime.models.choose(conversation, "qwen3:4b")
        assert "kept as runtime-preferences.json.damaged" in line
        assert await runtime.models.choose(conversation, "gemma3:4b") == ""
    assert there(home, ".damaged")
    assert kept(home) == {"model": "gemma3:4b"}
    if damage == "link":
        assert (home / "elsewhere").read_bytes() == b'{"model": "qwen3:4b"}'


async def test_a_choice_that_cannot_be_written_counts_here(home: Path, server: OllamaServer) -> None:
    name = f"{'x' * 1_100}:1b"
    server.models[name] = replace(SMALL, name=name)
    async with opened(home, server.url) as runtime:
        conversation = runtime.new_conversation()
        line = await runtime.models.choose(conversation, name)
        assert "is not remembered" in line and "no room" in line
        assert conversation.model == name
    assert not there(home)


async def test_what_fits_by_the_window_that_is_set(home: Path, server: OllamaServer) -> None:
    settings = settings_for(server.url)
    wide = replace(settings, model=replace(settings.model, per_model={"qwen3:4b": {"num_ctx": 4_000_000}}))
    async with opened(home, "", settings=wide) as runtime:
        model = await runtime.models.describe("qwen3:4b")
        assert runtime.models.window(model) == 131_072
        big = replace(model, trained_window=None)
        assert runtime.models.fit(big) is Fit.TOO_BIG
        assert runtime.models.fit(replace(big, name="other:4b")) is Fit.FITS
        assert runtime.models.fit(ModelInfo("what")) is Fit.UNKNOWN
        assert runtime.models.needed(ModelInfo("what")) is None
        assert (await runtime.models.describe(CLOUD)).leaves
    assert not asked_for(server, CLOUD)
