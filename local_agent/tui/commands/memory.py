"""``/memory``: the notes of the folder, and what was said in any conversation."""

from __future__ import annotations

from typing import Protocol

from local_agent.tui.commands.screen import NoticeKind
from local_agent.tui.commands.table import COMMANDS


class _Noting(Protocol):
    def open(self, *, only_inbox: bool = False, editing: int | None = None) -> None: ...

    async def add(self, text: str) -> None: ...

    async def delete(self, note_id: int) -> None: ...


class _Screen(Protocol):
    @property
    def noting(self) -> _Noting | None: ...

    def open_sessions(self, typed: str = "") -> None: ...

    def notify_line(self, text: str, kind: NoticeKind = "information") -> None: ...


@COMMANDS.command(
    "memory", "Notes of this folder: add, edit, delete, inbox; any other words are searched", hint="[WORDS]"
)
async def memory(screen: _Screen, *words: str) -> None:
    match words:
        case ["search", *sought]:
            screen.open_sessions(f"/{' '.join(sought)}")
            return
        case [] | ["add" | "edit" | "delete" | "inbox", *_]:
            pass
        case _:
            screen.open_sessions(f"/{' '.join(words)}")
            return
    if (noting := screen.noting) is None:
        return
    match words:
        case []:
            noting.open()
        case ["inbox"]:
            noting.open(only_inbox=True)
        case ["add"]:
            noting.open(editing=0)
        case ["add", *said]:
            await noting.add(" ".join(said))
        case ["edit", number] if number.isdecimal():
            noting.open(editing=int(number))
        case ["delete", number] if number.isdecimal():
            await noting.delete(int(number))
        case _:
            wrong = "It takes no words" if words[0] == "inbox" else "Say the number of a note"
            screen.notify_line(f"{wrong}. To look for these words: /memory search WORDS.", "warning")
