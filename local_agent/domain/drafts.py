"""Work that was typed and not sent."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from local_agent.domain.pictures import Picture


class Prompt(NamedTuple):
    """What a person sends: words, and the pictures that go along in their order."""

    text: str
    pictures: tuple[Picture, ...] = ()

    @property
    def empty(self) -> bool:
        """True when there is nothing to send."""
        return not (self.text.strip() or self.pictures)


class Draft(NamedTuple):
    """Unsent work: what stands in the composer, and the prompts queued behind a running turn, in order."""

    text: str
    queue: tuple[Prompt, ...] = ()
    pictures: tuple[Picture, ...] = ()

    @property
    def empty(self) -> bool:
        """True when there is nothing worth keeping."""
        return not (self.text.strip() or self.queue or self.pictures)


def as_one(draft: Draft) -> Draft:
    """All of it as one text that was typed, oldest first, with all its pictures."""
    prompts = [*draft.queue, Prompt(draft.text, draft.pictures)]
    text = "\n\n".join(prompt.text for prompt in prompts if prompt.text.strip())
    return Draft(text, pictures=tuple(picture for prompt in prompts for picture in prompt.pictures))
