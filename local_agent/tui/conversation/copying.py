"""Copying: an answer, code out of it, or what is selected; and what is then said about it."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import TYPE_CHECKING, Any

from textual.app import App

from local_agent.domain.errors import LocalAgentError, UsageError
from local_agent.domain.text import sanitise
from local_agent.tui.device.clipboard import COMMON_LIMIT, SENT_AT_MOST, desktop_tool
from local_agent.tui.look.quantities import size

if TYPE_CHECKING:
    from local_agent.tui.screens.doors import Doors
    from local_agent.tui.widgets.reply import Reply
    from local_agent.tui.widgets.transcript import Transcript

ENTRIES_AT_ONCE = 40


def copy(app: App[Any], text: str, what: str) -> None:
    """Put a text into the clipboard as it is drawn, and say so; ``what`` begins the sentence."""
    text = sanitise(text, tabs=True)  # what acts on a terminal would act on the one it is pasted into
    app.copy_to_clipboard(text)
    count = len(text.encode("utf-8", "replace"))
    if count <= COMMON_LIMIT or desktop_tool() is not None:
        app.notify(f"{what} is in the clipboard.", markup=False)
    elif count <= SENT_AT_MOST:
        line = f"{what} was sent to the terminal: {size(count)}, and many take no more than 75 kB."
        app.notify(line, severity="warning", markup=False)
    else:
        line = f"{what} is too large for the terminal's clipboard: {size(count)}. Select a part of it."
        app.notify(line, severity="warning", markup=False)


class Copying:
    """Copies answers of a screen's conversation, whatever of it is mounted."""

    def __init__(self, screen: Doors, transcript: Transcript) -> None:
        self._screen = screen
        self._transcript = transcript

    def text(self, text: str, what: str) -> None:
        """Copy a text and say so; ``what`` begins the sentence."""
        copy(self._screen.app, text, what)

    async def last_answer(self) -> None:
        """Copy the newest answer as Markdown; what can't be read is said on the screen."""
        try:
            await self.answer(1)
        except LocalAgentError as error:
            self._screen.notify_line(str(error), "error")

    async def answer(self, number: int) -> None:
        """Copy an answer as Markdown, the newest being number 1. Raises ``LocalAgentError``."""
        text = await self._answer(number)
        if text is not None:
            name = "The last answer" if number == 1 else f"Answer {number} from the end"
            copy(self._screen.app, text, name)
        elif number == 1:
            self._screen.notify_line("There is no answer to copy yet.")
        else:
            self._screen.notify_line(f"There are fewer than {number} answers.")

    async def code(self, number: int | None) -> None:
        """Copy a code block of the newest answer, the first being number 1, or its last one."""
        from local_agent.tui.markdown.code import code_blocks  # not before the first paint

        blocks = code_blocks(await self._answer(1) or "")
        if not blocks:
            self._screen.notify_line("The last answer has no code to copy.")
        elif number is not None and number > len(blocks):
            raise UsageError(f"The last answer has code blocks 1 to {len(blocks)}.", "")
        else:
            place = number or len(blocks)
            name = "The code" if len(blocks) == 1 else f"Code block {place}"
            copy(self._screen.app, blocks[place - 1], name)

    async def _answer(self, number: int) -> str | None:
        if number == 1 and (mounted := self._mounted_at_end()):
            return mounted[-1].source  # whatever has become of the database
        async with aclosing(self._newest_first()) as answers:
            async for text in answers:
                number -= 1
                if not number:
                    return text
        return None

    async def _newest_first(self) -> AsyncGenerator[str, None]:
        """The answers from the one that is being written on; read as far back as is asked for."""
        from local_agent.domain.entries import Kind  # only once something is copied

        conversation = self._screen.conversation
        if (mounted := self._mounted_at_end()) and mounted[-1].live:
            yield mounted[-1].source
        if conversation is None:
            return
        part = await conversation.tail(ENTRIES_AT_ONCE)
        while True:
            for entry in reversed(part.entries):
                if entry.kind is Kind.ASSISTANT and entry.readable and entry.text.strip():
                    yield entry.text
            if not part.more or not part.entries:
                return
            part = await conversation.before(part.entries[0].id, ENTRIES_AT_ONCE)

    def _mounted_at_end(self) -> list[Reply]:
        """The answers on screen, when that is where the conversation ends."""
        from local_agent.tui.widgets.reply import Reply  # not before the first paint

        items = self._transcript.window.items if self._transcript.end_mounted else []
        replies = [widget for item in items for widget in item.widgets if isinstance(widget, Reply)]
        return [reply for reply in replies if reply.source.strip()]
