"""Questions that no request can carry: refused before they are stored, in words that say what fits."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from local_agent.domain.drafts import Prompt
from local_agent.domain.errors import ModelError, ModelErrorKind
from tests.runtime.opened import events_of, opened, settings_for
from tests.support.ollama_server import OllamaServer


@pytest.mark.parametrize(
    ("window", "text", "words"),
    [
        (4096, "word " * 20_000, "The question is too long: about 27"),
        (512, "Hi", "Instructions and tools alone need about"),
    ],
)
async def test_what_cannot_be_sent_is_neither_stored_nor_lost(
    home: Path, server: OllamaServer, window: int, text: str, words: str
) -> None:
    defaults = settings_for(server.url)
    settings = replace(defaults, ollama=replace(defaults.ollama, num_ctx=window))
    server.script("Hi.")
    async with opened(home, server.url, settings=settings) as runtime:
        conversation = runtime.new_conversation()
        asked: list[str] = []
        with pytest.raises(ModelError) as caught:
            await events_of(conversation.ask(Prompt(text), lambda: asked.append("stored")))
        assert caught.value.kind is ModelErrorKind.CONTEXT_OVERFLOW
        assert caught.value.line.startswith(words) and "ollama.num_ctx" in caught.value.hint
        assert (conversation.handle, asked, server.chats, conversation.busy) == ("", [], [], False)
        if window > 512:
            await events_of(conversation.ask(Prompt("Shorter")))
            assert [entry.text for entry in (await conversation.tail()).entries] == ["Shorter", "Hi."]
    server.reset()


async def test_a_question_that_only_the_whole_history_makes_too_long_is_asked(
    home: Path, server: OllamaServer
) -> None:
    """Earlier turns are summarised for it."""
    defaults = settings_for(server.url)
    settings = replace(defaults, ollama=replace(defaults.ollama, num_ctx=8192))
    server.script("A. " * 500, "A summary.", "Done.")
    async with opened(home, server.url, settings=settings) as runtime:
        conversation = runtime.new_conversation()
        await events_of(conversation.ask(Prompt("one " * 4_000)))
        await events_of(conversation.ask(Prompt("two " * 3_000)))
    assert [record.dropped for record in server.chats] == [0, 0, 0]
    assert all(record.prompt_tokens <= 8192 and record.status == 200 for record in server.chats)
