"""What the runtime view says of the model: what it is asked with, who decided that, and whether it fits."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from local_agent.domain.models import Reason
from local_agent.runtime.machine import memory_bytes
from tests.runtime.opened import opened, settings_for
from tests.runtime.test_requests_sent import THINKER, configured
from tests.support.ollama_server import OllamaServer


async def test_what_a_model_is_asked_with_and_who_said_so(home: Path, server: OllamaServer) -> None:
    server.models = {THINKER.name: THINKER}
    async with opened(home, "", settings=configured(home, server.url)) as runtime:
        conversation = runtime.new_conversation()
        assert (await runtime.facts(conversation)).requests == {}
        await conversation.prepare()
        facts = await runtime.facts(conversation)
        assert facts.groups()["Asked with"] == {
            "window": "4096 (config.yaml, line 5)",
            "longest reply": "300 (config.yaml, line 5)",
            "thinking": "off (config.yaml, line 5)",
            "keep loaded": "-1 (config.yaml, line 5)",
            "temperature": "0.2 (config.yaml, line 4)",
            "seed": "1 (config.yaml, line 5)",
            "stop": "['###'] (config.yaml, line 4)",
            "top_k": "3 (config.yaml, line 5)",
        }
        conversation.set_thinking("high")
        assert (await runtime.facts(conversation)).requests["thinking"] == "high (chosen here)"
        assert facts.model["chosen by"] == Reason.AUTO
        assert facts.model["this machine"] == ("fits" if memory_bytes() else "unknown")
        await runtime.models.choose(conversation, "qwen3:4b")
        assert (await runtime.facts(conversation)).model["chosen by"] == "chosen here, pinned"


async def test_without_settings_the_program_says_how_it_decided(home: Path, server: OllamaServer) -> None:
    settings = settings_for(server.url)
    async with opened(home, "", settings=replace(settings)) as runtime:
        conversation = runtime.new_conversation()
        await conversation.prepare()
        assert (await runtime.facts(conversation)).requests == {
            "window": f"{conversation.window} (by this machine's memory)",
            "longest reply": f"{conversation.window // 2} (half the window)",
            "thinking": "not of this model",
            "keep loaded": "as the server does",
        }
