"""What the model reads of calls that did not go as it wished, and what is kept of an end."""

from __future__ import annotations

from collections.abc import Collection

from local_agent.domain import executions
from local_agent.domain.errors import StoreError
from local_agent.domain.ledger import Receipt
from local_agent.domain.text import one_line
from local_agent.domain.tools import ResultStatus, ToolResult

CALLS_AT_MOST = 64
"""Of one reply."""
_REASON = 2_000

NOT_RUN = ToolResult(ResultStatus.CANCELLED, executions.NOT_RUN, "not run")
STOPPED = ToolResult(ResultStatus.CANCELLED, "The person stopped this.", "stopped")
LOST = ToolResult(
    ResultStatus.UNCERTAIN,
    "This was stopped and did not end: nobody knows what it did.",
    "stopped, and did not end",
)
TOO_MANY = ToolResult(
    ResultStatus.FAILED,
    f"Not run: a reply may hold {CALLS_AT_MOST} calls. Send the others in the next one.",
    "too many calls",
)


def failed(text: str) -> ToolResult:
    """It could not be carried out; nothing was done."""
    return ToolResult(ResultStatus.FAILED, text)


def refused(text: str) -> ToolResult:
    """It was not allowed."""
    return ToolResult(ResultStatus.REFUSED, text)


def said_no(words: str) -> str:
    """What the model is told when the person says no, perhaps in more ``words``."""
    said = words.strip()[:_REASON]
    if said:
        return f"Not run: the person said no, and: {said}"
    return "Not run: the person said no. Do not try the same again; go on without it, or ask what is wanted."


def in_part(hunks: Collection[int]) -> str:
    """What the model is told when only some hunks of its change were accepted."""
    names = ", ".join(str(number + 1) for number in sorted(hunks))
    return f"The person accepted only a part of this change (hunks {names}). Read the file before you go on."


def not_recorded(error: StoreError) -> ToolResult:
    """Its start could not be committed, and so it was not run."""
    return failed(f"Not run: what is done can't be recorded now ({one_line(error.line, 200)})")


def broken(tool: str) -> ToolResult:
    """The tool has a fault."""
    return failed(f"{one_line(tool, 60)} failed by a fault of its own, which is in the log. Try another way.")


def receipt(result: ToolResult, seconds: float | None) -> Receipt:
    """What is kept of the end; ``seconds`` is how long it ran."""
    return Receipt(
        status=result.status,
        summary=one_line(result.summary),
        exit_code=result.exit_code,
        seconds=seconds,
        size=result.size,
        output=result.output,
        diff=result.diff,
        sizes=result.sizes,
        unscanned=result.unscanned,
    )
