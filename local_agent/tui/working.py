"""What is opened about the work of tools: changed files, the plan's form, what is permitted."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from local_agent.domain.drafts import Prompt
from local_agent.domain.errors import UsageError
from local_agent.domain.modes import Mode
from local_agent.domain.restoring import PlannedPath, Standing
from local_agent.domain.tools import FileState

if TYPE_CHECKING:
    from local_agent.domain.changed import ChangedFile
    from local_agent.runtime.conversation import Conversation
    from local_agent.tui.screens.chat import ChatScreen
    from local_agent.tui.screens.plan import PlanWish


class Working:
    """Opens a screen, and does what it gives."""

    def __init__(self, screen: ChatScreen) -> None:
        self._screen = screen

    def changes(self) -> None:
        """The files that this session changed."""
        from local_agent.tui.screens.changes import ChangesScreen

        load = self._conversation().executions
        self._screen.app.push_screen(ChangesScreen(load, self._compared, glyphs=self._screen.glyphs))

    async def _compared(self, file: ChangedFile) -> str:
        """What became of a file since the session first changed it, as a diff or in a sentence."""
        from local_agent.tools.restoring.compared import compared

        folder = self._conversation().hands.toolbox.folder
        then, now = (
            FileState(file.before, file.mode_before),
            FileState(file.after, file.mode_after),
        )
        path = PlannedPath(file.path, Standing.RESTORED, now, then)
        return await asyncio.to_thread(compared, folder, [path], back=False)

    def plan(self, task: str) -> None:
        """The form; what it gives is asked in PLAN mode."""
        from local_agent.tui.screens.plan import PlanForm

        self._conversation()
        self._screen.app.push_screen(PlanForm(task, glyphs=self._screen.glyphs), self._planned)

    def permissions(self) -> None:
        """What is allowed and denied without a question."""
        from local_agent.tui.screens.permissions import PermissionsScreen

        conversation = self._conversation()
        line = mode_line(conversation.mode, confines=conversation.hands.confines)
        screen = PermissionsScreen(conversation.hands.authority, line, glyphs=self._screen.glyphs)
        self._screen.app.push_screen(screen)

    def _planned(self, wish: PlanWish | None) -> None:
        if wish is not None:
            self._screen.run_worker(self._ask_for_plan(wish), group="plan")

    async def _ask_for_plan(self, wish: PlanWish) -> None:
        await self._conversation().set_mode(Mode.PLAN)
        self._screen.show_facts()
        self._screen.send_prompt(Prompt(wish.prompt))

    def _conversation(self) -> Conversation:
        if self._screen.conversation is None:
            raise UsageError("The database is still being opened: one moment.")
        return self._screen.conversation


def mode_line(mode: Mode, *, confines: bool) -> str:
    """What a mode means here."""
    match mode:
        case Mode.PLAN:
            return "PLAN: reads run; nothing is changed, and no command is run."
        case Mode.AUTO:
            code = "project code runs confined" if confines else "project code is asked about once a session"
            return f"AUTO: edits in the folder run; {code}; all else is asked about."
        case _:
            return "NORMAL: reads run; every change and every command is asked about."
