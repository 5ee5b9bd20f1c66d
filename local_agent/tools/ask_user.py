"""``ask_user``: one question of the model's to the person."""

from __future__ import annotations

from collections.abc import Mapping

from local_agent.domain.text import one_line
from local_agent.domain.tools import ResultStatus, Surroundings, ToolFailed, ToolResult, ToolSpec
from local_agent.tools.output import cut_bytes
from local_agent.tools.talking import TalkingTool

SPEC = ToolSpec(
    "ask_user",
    "Ask the person one question, only when you can't go on without the answer.",
    {
        "type": "object",
        "properties": {
            "question": {"type": "string"},
            "options": {"type": "array", "items": {"type": "string"}, "description": "short answers"},
        },
        "required": ["question"],
    },
    example={"question": "Which database?", "options": ["SQLite", "Postgres"]},
)

OPTIONS = 8
OPTION_LENGTH = 200
QUESTION_LENGTH = 2_000


def _aim(arguments: Mapping[str, object]) -> str:
    question = str(arguments["question"])
    if not question.strip():
        raise ToolFailed("The question is empty.")
    if len(question) > QUESTION_LENGTH:
        raise ToolFailed(
            f"The question is too long: {len(question):,} characters, at most {QUESTION_LENGTH:,}."
        )
    if len(_options(arguments)) > OPTIONS:
        raise ToolFailed(f"There are too many options: at most {OPTIONS}.")
    return question


def _options(arguments: Mapping[str, object]) -> list[str]:
    options = arguments.get("options")
    found = [one_line(str(each), OPTION_LENGTH) for each in options] if isinstance(options, list) else []
    return list(dict.fromkeys(each for each in found if each))


async def _talk(arguments: Mapping[str, object], most_bytes: int, around: Surroundings) -> ToolResult:
    answer = await around.ask(str(arguments["question"]), _options(arguments))
    if answer is None:
        status = ResultStatus.CANCELLED if around.stop.is_set() else ResultStatus.FAILED
        return ToolResult(
            status, "Nobody answered. Decide yourself, or end with what you need to know.", "no answer"
        )
    answer = cut_bytes(answer, most_bytes)
    return ToolResult(ResultStatus.OK, answer, one_line(answer, 60))


ASK_USER = TalkingTool(SPEC, _aim, _talk)
