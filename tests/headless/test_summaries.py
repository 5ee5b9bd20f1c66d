"""What a run without a screen says of a summary that makes room for its question."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from local_agent.domain.drafts import Prompt
from local_agent.headless.jsonl import JsonLines
from local_agent.headless.printer import TextPrinter
from local_agent.headless.receipt import Receipt
from tests.runtime.opened import events_of
from tests.runtime.test_compacting import ASKS_FOR_SUMMARY, PLAIN, talking
from tests.support.ollama_server import OllamaServer, Turn, http


@pytest.fixture(autouse=True)
def models(server: OllamaServer) -> None:
    server.models = {PLAIN.name: PLAIN}


async def test_a_summary_is_a_line_beside_the_answer_an_event_and_a_number(
    home: Path, server: OllamaServer
) -> None:
    written: list[str] = []
    said: list[str] = []
    lines: list[str] = []
    receipt = Receipt()
    async with talking(home, server, 5) as (_, conversation):
        server.script(
            Turn(http(500, {"error": "out of luck"}), when=ASKS_FOR_SUMMARY),
            Turn("They filled it.", when=ASKS_FOR_SUMMARY),
            "Six.",
        )
        failed = await events_of(conversation.ask(Prompt("Question 6?")))
        server.script("Seven.")
        made = await events_of(conversation.ask(Prompt("Question 7?")))
    printer = TextPrinter(written.append, said.append, to_terminal=False)
    for event in (*failed, *made):
        printer.show(event)
        JsonLines(lines.append).show(event)
        receipt.note(event)
    assert "".join(written) == "Six.Seven."
    began, refused, again, done = said
    assert began == again == "Summarising earlier turns, to make room in the context window."
    assert refused.startswith("Earlier turns were not summarised.")
    assert done.startswith("Earlier turns summarised: 8 messages left the window, ")
    assert receipt.summarised == 8
    (compacted,) = (each for line in lines if (each := json.loads(line))["event"] == "compacted")
    assert compacted["summary"]["text"] == "They filled it." and len(compacted["left"]) == 8
