"""Opens the whole output of calls in the viewer."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from local_agent.domain.errors import LocalAgentError
from local_agent.domain.text import decode, one_line
from local_agent.tui.screens.viewer import ViewerScreen
from local_agent.tui.tools.calls import Call, read_words, target_of, whole_text

if TYPE_CHECKING:
    from local_agent.runtime.conversation import Conversation
    from local_agent.tui.screens.doors import Doors

READ_AT_MOST = 8_000_000
"""Bytes of an output that are shown: setting more in lines takes longer than anybody reads."""


async def read_calls(screen: Doors, conversation: Conversation, calls: Sequence[Call]) -> None:
    """Show arguments, diff and output of each call."""
    texts = [whole_text(call, await _output(conversation, call)) for call in calls]
    execution = calls[0].execution
    title = f"{one_line(execution.tool, 40)} {target_of(execution)}" if len(calls) == 1 else read_words(calls)
    screen.app.push_screen(ViewerScreen(title, "\n\n".join(texts), raw=True, glyphs=screen.glyphs))


async def _output(conversation: Conversation, call: Call) -> str:
    """The whole output where it is kept; else what the model got of it."""
    receipt = call.execution.receipt
    if receipt is None or not receipt.output:
        return call.output or call.progress
    try:
        data = await conversation.hands.output(receipt.output)
    except LocalAgentError as error:
        return f"The whole output {error.line} This is what the model read of it:\n\n{call.output}"
    cut = f"\n\n(The first {READ_AT_MOST:,} bytes of {len(data):,}.)" if len(data) > READ_AT_MOST else ""
    return decode(data[:READ_AT_MOST]) + cut
