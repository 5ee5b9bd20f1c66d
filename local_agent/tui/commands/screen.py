"""What commands may ask of the screen that they are typed on."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, Protocol

NoticeKind = Literal["information", "warning", "error"]


class Reading(Protocol):
    """What a command may ask of the transcript."""

    async def find(self, words: str = "") -> None: ...

    def view(self) -> None: ...


class Copying(Protocol):
    """What a command may ask to be copied."""

    async def answer(self, number: int) -> None: ...

    async def code(self, number: int | None) -> None: ...


class Composing(Protocol):
    """What a command may ask about questions of the past and of the next minutes."""

    def search(self, words: str) -> None: ...

    def queue(self) -> None: ...


class Attaching(Protocol):
    """What a command may ask about pictures."""

    async def paths(self, words: Sequence[str]) -> None: ...

    async def clipboard(self) -> None: ...

    async def forget_history(self) -> None: ...

    def list(self) -> None: ...

    def clear(self) -> None: ...


class CommandScreen(Protocol):
    """What a command may ask of the screen it is typed on."""

    @property
    def composing(self) -> Composing: ...

    @property
    def attaching(self) -> Attaching: ...

    @property
    def copying(self) -> Copying: ...

    @property
    def history(self) -> Reading: ...

    def notify_line(self, text: str, kind: NoticeKind = "information") -> None: ...

    async def new_conversation(self) -> None: ...

    async def retry(self) -> None: ...

    async def rename(self, title: str) -> None: ...

    def open_sessions(self) -> None: ...

    def open_runtime(self) -> None: ...

    def open_errors(self) -> None: ...

    def open_help(self) -> None: ...

    async def leave(self) -> None: ...
