"""What a turn is asked with, and the clocks it runs by."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from local_agent.domain.drafts import Draft
from local_agent.domain.entries import Origin, ToolCall
from local_agent.domain.errors import ModelError
from local_agent.domain.modes import Mode
from local_agent.domain.pictures import Picture
from local_agent.domain.ports import ChatRequest, Opening, Shown
from local_agent.domain.tools import ToolSpec

REQUESTS = 10
"""That a turn may make, and a segment of a turn in AUTO."""
REQUESTS_IN_AUTO = 40


@dataclass(frozen=True, slots=True)
class TurnPlan:
    """What one turn is asked with. It is pinned: a change made meanwhile counts from the next turn."""

    text: str
    parent: int | None
    model: str
    window: int
    """Context window in tokens."""
    max_output: int
    """Upper bound of the reply in tokens."""
    model_digest: str = ""
    think: bool | str | None = None
    keep_alive: str | int | None = None
    options: Mapping[str, object] = field(default_factory=dict)
    system_prompt: str = ""
    context: str = ""
    """What the program adds to the question, such as the date."""
    pictures: tuple[Picture, ...] = ()
    """What goes along with the question."""
    sees: bool = True
    """False for a model that can't be shown pictures: those of earlier questions are left out."""
    origin: Origin = Origin.PERSON
    watchdog_seconds: float = 0
    """End the turn after so much silence in mid-reply; 0 only tells of it."""
    may_cut: bool = False
    """The server shortens long prompts by itself instead of refusing them."""
    smaller_window: int | None = None
    """What is tried where the model does not fit into memory with ``window``."""
    window_known: bool = True
    """False where it is somebody else's, who did not say: nothing is refused for its size then."""
    refusal: ModelError | None = None
    """Known beforehand to fail: the question is stored and the failure recorded, nothing is sent."""
    notices: tuple[str, ...] = ()
    """What the person should know before the answer comes."""
    mode: Mode = Mode.NORMAL
    tools: tuple[ToolSpec, ...] = ()
    """What the model may call; nothing is offered without any."""
    command: ToolCall | None = None
    """Of a ``!command``: nothing is sent, this one call is run."""
    max_requests: int = REQUESTS
    """After ``REQUESTS`` of them the turn goes on only where it gets somewhere."""
    uncertain: frozenset[tuple[int, int]] = frozenset()
    """Calls whose outcome nobody knows, by entry and number of the call: the model is told so."""
    unsent: Callable[[], Draft | None] | None = None
    """See ``Opening``."""

    most_result: int = 96 * 1024
    """Bytes of a tool's result that are sent; what was stored in a larger window is cut to that."""

    @property
    def measured_as(self) -> str:
        """The model, for what servers count."""
        return self.model_digest or self.model

    def opening(self) -> Opening:
        """What is committed before anything is sent."""
        return Opening(
            text=self.text,
            parent=self.parent,
            model=self.model,
            model_digest=self.model_digest,
            context=self.context,
            pictures=self.pictures,
            system_prompt=self.system_prompt,
            origin=self.origin,
            command=self.command,
            unsent=self.unsent,
        )

    def request(self, shown: Shown, window: int, max_output: int) -> ChatRequest:
        """The request that carries these messages; ``max_output`` is what the reply has room for."""
        return ChatRequest(
            model=self.model,
            messages=shown.messages,
            picture_bytes=shown.picture_bytes,
            window=window,
            max_output=max_output,
            think=self.think,
            keep_alive=self.keep_alive,
            options=self.options,
            tools=self.tools,
        )


@dataclass(frozen=True, slots=True)
class TurnLimits:
    """The clocks of a turn, in seconds."""

    save_every: float = 0.25
    tell_silence_every: float = 20.0
    stop_within: float = 0.15
    """How long a stop waits for the stream to close, and for a tool that only reads to end."""
    store_within: float = 1.0
    """How long a stop waits for the question to be stored, which a locked database may hold up."""
    effect_within: float = 2.0
    """How long a stop waits for a tool that changes something; one that does not end is uncertain."""
