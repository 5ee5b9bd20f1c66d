"""The answer on standard output as it streams; everything else on standard error."""

from __future__ import annotations

from collections.abc import Callable

from local_agent.domain.events import Event, Notice, Silence, TextDelta, TurnFailed
from local_agent.domain.text import normalise, one_line, sanitise
from local_agent.headless.receipt import Receipt


class TextPrinter:
    """Prints for a person or a pipe. To a terminal text is sanitised; a pipe gets it unchanged."""

    def __init__(
        self, write: Callable[[str], None], say: Callable[[str], None], *, to_terminal: bool
    ) -> None:
        self._write = write
        self._say = say
        self._clean = sanitise if to_terminal else normalise
        self._last = ""

    def show(self, event: Event) -> None:
        """Print what a reader of the answer needs."""
        match event:
            case TextDelta(text) if text:
                self._last = text
                self._write(self._clean(text))
            case Notice(text):
                self._say(text)
            case Silence(note=note) if note:
                self._say(note)
            case TurnFailed(line=line, hint=hint):
                self._say(f"{line} {hint}")
            case _:
                pass

    def finish(self, receipt: Receipt) -> None:
        """End the last line, and say under which handle the conversation is kept."""
        if self._last and not self._last.endswith("\n"):
            self._write("\n")
        if receipt.handle:
            self._say(
                f"Session {receipt.handle} · {one_line(receipt.title)} (go on with: "
                f"local-agent --resume {receipt.handle})"
            )
