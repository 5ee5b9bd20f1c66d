"""What the main screen does with models: choose, fetch, unload, and how much they think."""

from __future__ import annotations

import asyncio
from time import monotonic
from typing import TYPE_CHECKING

from local_agent.domain.errors import CloudConsentNeeded, ModelError, ModelErrorKind, UsageError
from local_agent.domain.models import full_name
from local_agent.domain.text import one_line
from local_agent.llm.pull import checked_name
from local_agent.runtime.machine import memory_bytes
from local_agent.runtime.suggested import suggested_model
from local_agent.tui.models.model_list import Inventory, arranged, found
from local_agent.tui.models.model_source import ConversationModels
from local_agent.tui.models.pulls import Pull, Pulls
from local_agent.tui.models.thinking_modes import next_thinking, thinking_of, thinking_words
from local_agent.tui.widgets.phase import Pace
from local_agent.tui.widgets.pull_line import PullLine

if TYPE_CHECKING:
    from local_agent.domain.drafts import Prompt
    from local_agent.runtime.conversation import Conversation
    from local_agent.runtime.runtime import Runtime
    from local_agent.tui.screens.chat import ChatScreen

PULL_KEY = "f4"
FRESH_SECONDS = 30.0
PATIENCE_SECONDS = 0.5
"""How long whoever types waits for names."""


class Models:
    """Made when it is first wanted: a start needs none of this."""

    def __init__(self, screen: ChatScreen, runtime: Runtime) -> None:
        self.pulls = Pulls(screen, runtime.models.pull, self._pulls_changed, self._pull_ended)
        self._screen = screen
        self._runtime = runtime
        self._seen: Inventory | None = None
        self._looked_at = -FRESH_SECONDS
        self._line: PullLine | None = None
        self._expected = ""
        """The model whose pace is known."""

    async def pick(self, typed: str = "", said: str = "") -> None:
        """Let the person choose from the list; ``typed`` is in its filter, ``said`` below it."""
        conversation = self._conversation()
        from local_agent.tui.screens.models import ModelsScreen

        source = ConversationModels(self._runtime, conversation)
        current, glyphs = conversation.model, self._screen.glyphs
        models = ModelsScreen(
            source, current=current, known=source.known, typed=typed, said=said, glyphs=glyphs
        )
        picked = await self._screen.app.push_screen_wait(models)
        if picked is not None and picked.here:
            await self.use(picked.name)
        elif picked is not None:
            await self.pull(picked.name)

    async def choose(self, name: str) -> None:
        """Use a model by its name; one that is not there is looked for in the list."""
        try:
            await self.use(name)
        except ModelError as error:
            if error.kind is not ModelErrorKind.NO_MODEL:
                raise
            await self.pick(name, error.line)

    async def use(self, name: str) -> None:
        """Answer with this model from the next prompt on. Raises ``LocalAgentError``."""
        conversation = self._conversation()
        try:
            line = await self._runtime.models.choose(conversation, name)
        except CloudConsentNeeded as needed:
            if not await self.agreed(needed):
                return
            line = await self._runtime.models.choose(conversation, name)
        if line:
            self._screen.notify_line(line, "warning")
        self.pulls.forget(name)
        self._screen.show_facts()
        self._look_around()

    async def agreed(self, needed: CloudConsentNeeded) -> bool:
        """Ask whether this conversation may go where the model runs."""
        from local_agent.tui.screens.cloud_consent import CloudAnswer, CloudConsentDialog

        conversation = self._conversation()
        asked = conversation.info.turn_count if conversation.info is not None else 0
        via, glyphs = conversation.planner.backend.address, self._screen.glyphs
        dialog = CloudConsentDialog(needed.model, needed.where, asked, via=via, glyphs=glyphs)
        if await self._screen.app.push_screen_wait(dialog) is CloudAnswer.NO:
            return False
        self._runtime.models.agree(conversation, needed.model)
        return True

    def send_once_agreed(self, prompt: Prompt) -> None:
        """Send a prompt when the person agreed that it leaves; without that it goes back to the composer."""
        queue = self._screen.turns.queue
        if queue.sending:
            queue.add(prompt)
        else:
            queue.sending = prompt
            self._screen.run_worker(self._send_once_agreed(prompt), group="opening")

    async def _send_once_agreed(self, prompt: Prompt) -> None:
        screen, conversation = self._screen, self._conversation()
        needed = conversation.planner.router.consent_needed
        if needed is None or await self.agreed(needed):
            await conversation.prepare()
            screen.send_prompt(prompt)
        else:
            screen.turns.queue.sending = None
            screen.turns.queue.hold()
            screen.load_prompt(prompt)

    async def choose_auto(self) -> None:
        """Forget the choice, and let the program choose again. Raises ``LocalAgentError``."""
        conversation = self._conversation()
        line = await self._runtime.models.choose_auto(conversation)
        if line:
            self._screen.notify_line(line, "warning")
        self._screen.show_facts()
        self._look_around()
        self._screen.notify_line(f"Chosen by itself from now on: {one_line(conversation.model)}.")

    async def pull(self, name: str = "") -> None:
        """Fetch a model and show it; without a name the pull that runs, or which one is asked for."""
        from local_agent.tui.screens.pull import PullScreen

        conversation = self._conversation()
        pull = self.pulls.begin(checked_name(name)) if name else self.pulls.latest
        await self._show_line()
        first = "" if conversation.model else suggested_model(memory_bytes()).name
        wanted = await self._screen.app.push_screen_wait(
            PullScreen(self.pulls, pull, name=first, glyphs=self._screen.glyphs)
        )
        if wanted is not None:
            await self.use(wanted)

    async def unload(self, name: str = "") -> None:
        """Free the memory that a model takes; of the one that answers here when none is named."""
        name = name or self._conversation().model
        if not name:
            raise UsageError("No model is chosen yet.", "Usage: /unload [NAME]")
        if self._screen.busy and full_name(name) == full_name(self._conversation().model):
            raise UsageError(f"{one_line(name)} is answering.", "Stop it with Esc first.")
        await self._runtime.models.unload(name)
        self._screen.notify_line(f"{one_line(name)} is not in memory any more.")

    def think(self, word: str = "") -> None:
        """Think as a word says, or in the next way, from the next prompt on. Raises ``UsageError``."""
        conversation = self._conversation()
        info = conversation.model_info
        value = thinking_of(word, info) if word else next_thinking(conversation.thinking, info)
        conversation.set_thinking(value)
        self._screen.show_facts()
        how = thinking_words(conversation.thinking) or "thinks as it does by itself"
        self._screen.notify_line(f"{one_line(conversation.model)} {how} from the next prompt on.")

    async def names(self, typed: str) -> list[str]:
        """The models whose names fit what is typed; none where the server is slow to answer."""
        conversation = self._screen.conversation
        if conversation is None:
            return []
        if monotonic() - self._looked_at > FRESH_SECONDS:
            self._looked_at = monotonic()
            try:
                async with asyncio.timeout(PATIENCE_SECONDS):
                    self._seen = await ConversationModels(self._runtime, conversation).look()
            except TimeoutError:
                return []
        models = arranged(self._seen.models) if self._seen is not None else []
        return [model.name for model in found(models, typed) if model.info.can_chat]

    async def expect(self) -> None:
        """Tell the phase line what the next wait is likely to be."""
        conversation, phase = self._conversation(), self._screen.phase
        phase.pace = phase.pace._replace(context_tokens=conversation.used_tokens or 0)
        model = full_name(conversation.model) if conversation.model else ""
        if model != self._expected:
            self._expected = model
            speed = (await ConversationModels(self._runtime, conversation).speeds()).get(model)
            load = speed.load_seconds if speed is not None else None
            phase.pace = Pace(phase.pace.context_tokens, load_seconds=load)

    async def _show_line(self) -> None:
        """The line above the composer, for pulls that go on while one talks."""
        if self._line is None:
            self._line = PullLine(self.pulls, PULL_KEY, self._screen.glyphs)
            await self._screen.mount(self._line, before=self._screen.pane)

    def _pulls_changed(self) -> None:
        if self._line is not None:
            self._line.look()

    def _pull_ended(self, pull: Pull) -> None:
        """Say where the person is why a pull failed, unless the screen of the pull does."""
        from local_agent.tui.screens.pull import PullScreen

        if self._screen.conversation is not None and not self._screen.conversation.model:
            self._look_around()
        seen = self._screen.app.screen
        if pull.problem is not None and not (isinstance(seen, PullScreen) and seen.pull is pull):
            line = f"{pull.problem.line} /pull {one_line(pull.name)} tries again."
            self._screen.notify_line(line, "warning")

    def _look_around(self) -> None:
        """What the welcome says of models is another thing now."""
        if self._screen.greeting.shown:
            self._screen.run_worker(
                self._screen.greeting.look_around(self._runtime), group="greeting", exclusive=True
            )

    def _conversation(self) -> Conversation:
        conversation = self._screen.conversation
        if conversation is None:
            raise UsageError("No conversation is open yet.", "One moment.")
        return conversation
