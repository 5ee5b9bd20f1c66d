"""Attaches pictures to what is being written: by path, from a paste, from the clipboard."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from local_agent.domain.drafts import Prompt
from local_agent.domain.errors import LocalAgentError, UsageError
from local_agent.domain.pictures import PROMPT_PICTURES, Picture
from local_agent.domain.text import one_line
from local_agent.tui.conversation.history import TAIL_ENTRIES
from local_agent.tui.look.quantities import counted, size
from local_agent.tui.prompt.pasted_paths import path_of, picture_paths

if TYPE_CHECKING:
    from local_agent.runtime.pictures import Pictures
    from local_agent.tui.screens.chat import ChatScreen

CLIPBOARD_NAME = "clipboard"
OPENING_SECONDS = 0.02
"""How often one looks whether the store is open."""


class Attaching:
    """Each file is looked at on a thread; meanwhile one goes on typing."""

    def __init__(self, screen: ChatScreen) -> None:
        self._screen = screen

    @property
    def _folder(self) -> Path:
        return self._screen.launch.options.workspace

    async def paths(self, words: Sequence[str]) -> None:
        """Attach the files that a person names; what can't be taken is said, one line for each.

        Raises ``UsageError`` where no more fit.
        """
        for word in words:
            path = path_of(word, self._folder)
            self._require_room()
            try:
                self._screen.pane.attach(await self._accepted(path))
            except LocalAgentError as error:
                self._screen.notify_line(str(error), "warning")

    async def clipboard(self) -> None:
        """Attach the picture that is in the system's clipboard."""
        from local_agent.objects.clipboard import read_picture  # what few starts need

        self._require_room()
        data = await asyncio.to_thread(read_picture)
        if data is None:
            raise UsageError("There is no picture in the clipboard.", "/image PATH attaches a file.")
        with self._checking(CLIPBOARD_NAME):
            pictures = await self._pictures()
            picture = await pictures.accept_bytes(data, CLIPBOARD_NAME)
        self._screen.pane.attach(picture)

    def pasted(self, text: str, shown: str) -> None:
        """Attach what was pasted when that is nothing but paths of pictures; else it stays text.

        ``shown`` is what stands in the composer for it.
        """
        readings = picture_paths(text, self._folder)
        if readings:
            self._screen.run_worker(self._attach_pasted(shown, readings), group="attaching")

    def show(self) -> None:
        """Look at what goes along."""
        pictures = self._screen.pane.prompt.pictures
        if not pictures:
            raise UsageError("No picture is attached.", "/image PATH attaches one.")
        self._screen.open_pictures(pictures)

    def list(self) -> None:
        """Say what goes along."""
        pictures = self._screen.pane.prompt.pictures
        named = ", ".join(
            f"[{number}] {one_line(each.name, 60)} {each.width}x{each.height} {size(each.size)}"
            for number, each in enumerate(pictures, 1)
        )
        self._screen.notify_line(named or "No picture is attached. /image PATH attaches one.")

    def clear(self) -> None:
        """Take them all away."""
        count = self._screen.pane.detach_all()
        said = f"{counted(count, 'picture')} taken away; ctrl+z brings back." if count else "There was none."
        self._screen.notify_line(said)

    async def forget_history(self) -> None:
        """Leave the pictures of earlier questions out from now on; those attached now stay."""
        screen, conversation = self._screen, self._screen.conversation
        if conversation is None:
            raise UsageError("There is no conversation yet.")
        count = await conversation.forget_pictures()
        await screen.history.show(conversation, await conversation.tail(TAIL_ENTRIES))
        screen.notify_line(f"{counted(count, 'picture')} of earlier questions left out from now on.")

    def refused(self, prompt: Prompt) -> str:
        """Why this can't be sent to the model that answers here; empty when it can."""
        conversation = self._screen.conversation
        if not prompt.pictures or conversation is None or not conversation.planner.pinned:
            return ""
        model = conversation.model_info
        if model is None or model.can_see is not False:
            return ""
        return (
            f"{one_line(model.name, 80)} can't be shown pictures. Choose a model with vision with /model, "
            "or send the words alone after /image clear."
        )

    async def _pictures(self) -> Pictures:
        """Where they are kept: what is attached before that is open waits for it, and so does its prompt."""
        while self._screen.runtime is None:  # noqa: ASYNC110  # nobody tells when
            await asyncio.sleep(OPENING_SECONDS)
        return self._screen.runtime.pictures

    async def _accepted(self, path: Path) -> Picture:
        with self._checking(path.name):
            return await (await self._pictures()).accept(path)

    async def _attach_pasted(self, shown: str, readings: Sequence[Sequence[Path]]) -> None:
        try:
            for paths in readings:
                if await asyncio.to_thread(_all_there, paths):
                    self._require_room(len(paths))
                    taken = [await self._accepted(path) for path in paths]
                    self._screen.pane.attach(*taken, pasted=shown)
                    return
        except LocalAgentError as error:
            self._screen.notify_line(f"{error} The text stays as it was pasted.", "warning")

    @contextmanager
    def _checking(self, name: str) -> Iterator[None]:
        """Show that it is being looked at."""
        pane = self._screen.pane
        pane.checking(name)
        try:
            yield
        finally:
            pane.checking(name, over=True)

    def _require_room(self, count: int = 1) -> None:
        if len(self._screen.pane.prompt.pictures) + count > PROMPT_PICTURES:
            raise UsageError(f"A prompt takes {PROMPT_PICTURES} pictures, no more.")


def _all_there(paths: Sequence[Path]) -> bool:
    try:
        return all(path.exists() for path in paths)
    except OSError:
        return False
