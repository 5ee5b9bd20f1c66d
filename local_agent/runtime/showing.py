"""The pictures of one conversation: which may be asked with, which go out, which are forgotten."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from itertools import chain

from local_agent.domain.drafts import Prompt
from local_agent.domain.entries import PICTURES_FORGOTTEN
from local_agent.domain.errors import LocalAgentError, ModelError, UsageError
from local_agent.domain.pictures import (
    CONVERSATION_BYTES,
    CONVERSATION_PICTURES,
    PROMPT_PICTURES,
    Picture,
)
from local_agent.domain.ports import Shown
from local_agent.domain.requests import Message, build_messages, with_pictures_of
from local_agent.domain.text import one_line
from local_agent.objects.store import ObjectMissing
from local_agent.runtime.journal import ConversationJournal
from local_agent.runtime.pictures import Pictures
from local_agent.runtime.routing import Router

VISION = frozenset({"vision"})
_ROOM = "Forget the earlier ones with /image forget-history, or start a new conversation with /new."


class Showing:
    """Implements ``domain.ports.PictureReader`` for one conversation. Tells once what it leaves out."""

    def __init__(self, pictures: Pictures, router: Router, journal: ConversationJournal) -> None:
        self._pictures = pictures
        self._router = router
        self._journal = journal
        self._told: set[str] = set()

    async def admit(self, prompt: Prompt, parent: int | None) -> str:
        """Make sure that ``prompt`` can be asked behind ``parent``, before anything is stored.

        A model that nobody pinned gives way to a local one with vision; then a line says so. Raises
        ``LocalAgentError`` for too many pictures, for one that is gone, and for a model without vision.
        """
        if not prompt.pictures:
            return ""
        await self._require_room(prompt.pictures, parent)
        for picture in prompt.pictures:
            await self._pictures.read(picture)
        await self._router.find()
        return await self._require_sight()

    async def history(self, leaf: int | None) -> tuple[Picture, ...]:
        """What the next request would carry of earlier questions, oldest first."""
        if leaf is None:
            return ()
        path = await self._journal.model_path(leaf)
        messages = await asyncio.to_thread(build_messages, "", path, asking=False)
        return tuple(chain.from_iterable(message.pictures for message in messages))

    async def forget(self, leaf: int | None) -> tuple[int, int]:
        """Leave all pictures up to ``leaf`` out from here on: the new leaf, and how many they were."""
        count = len(await self.history(leaf))
        if leaf is None or count == 0:
            raise UsageError("No earlier question has a picture.", "Pictures not sent yet: /image clear.")
        return await self._journal.mark(leaf, PICTURES_FORGOTTEN), count

    async def shown(self, messages: tuple[Message, ...], model: str, *, sees: bool) -> Shown:
        """See ``PictureReader.shown``. Bytes are read here, once for each request, and kept nowhere."""
        if not sees:
            line = f"{one_line(model, 80)} can't be shown pictures: those of earlier questions are left out."
            return Shown(with_pictures_of(messages, ()), notices=self._once(line))
        question = next(message for message in reversed(messages) if message.role == "user")
        asked = {picture.sha256 for picture in question.pictures}
        found: dict[str, bytes] = {}
        notices: tuple[str, ...] = ()
        for picture in chain.from_iterable(message.pictures for message in messages):
            if picture.sha256 in found:
                continue
            try:
                found[picture.sha256] = await self._pictures.read(picture)
            except ObjectMissing as missing:
                if picture.sha256 in asked:
                    raise
                notices += self._once(f"{missing.line} It is left out from here on.")
        return Shown(with_pictures_of(messages, found), found, notices)

    async def _require_room(self, pictures: Sequence[Picture], parent: int | None) -> None:
        if len(pictures) > PROMPT_PICTURES:
            raise UsageError(f"{len(pictures)} pictures are too many: a question takes {PROMPT_PICTURES}.")
        together = (*await self.history(parent), *pictures)
        if len(together) > CONVERSATION_PICTURES:
            line = f"A conversation carries {CONVERSATION_PICTURES} pictures at most, not {len(together)}."
            raise UsageError(line, _ROOM)
        if sum(picture.size for picture in together) > CONVERSATION_BYTES:
            line = f"The pictures of a conversation may have {CONVERSATION_BYTES // 2**20} MiB together."
            raise UsageError(line, _ROOM)

    async def _require_sight(self) -> str:
        router = self._router
        if router.model is None or router.model.can_see is not False:
            return ""  # the turn says why there is none, or the server is too old to know
        blind = one_line(router.model.name, 80)
        if not router.pinned and router.backend.kind == "ollama":
            try:
                await router.route(VISION)
            except ModelError:
                pass
            else:
                if self._journal.held is not None:
                    await self._journal.held.set_model(router.name, pinned=False)
                return f"{router.name} answers: {blind} can't be shown pictures."
        raise LocalAgentError(
            f"{blind} can't be shown pictures.", "Choose one with vision: /model, or --model NAME."
        )

    def _once(self, line: str) -> tuple[str, ...]:
        if line in self._told:
            return ()
        self._told.add(line)
        return (line,)
