"""Brings up the questions of a running turn, one at a time, and takes them away."""

from __future__ import annotations

from textual.widget import Widget

from local_agent.domain.events import ApprovalAsked, QuestionAsked
from local_agent.tui.look.glyphs import Glyphs
from local_agent.tui.tools.approval import ApprovalPanel
from local_agent.tui.tools.asked import QuestionPanel
from local_agent.tui.tools.waiting import WaitingPanel


class Asking:
    """The question that waits, if one does."""

    def __init__(self, beside: Widget, glyphs: Glyphs) -> None:
        self._beside = beside
        self._glyphs = glyphs
        self._panel: WaitingPanel | None = None

    async def show(self, event: ApprovalAsked | QuestionAsked) -> str:
        """Bring up a question; the execution that it is about."""
        await self.end()
        match event:
            case ApprovalAsked(request=request):
                self._panel = ApprovalPanel(request, self._glyphs)
                execution_id = request.execution_id
            case QuestionAsked(execution_id=execution_id):
                self._panel = QuestionPanel(event, self._glyphs)
        await self._beside.screen.mount(self._panel, before="PromptPane")
        return execution_id

    async def end(self) -> None:
        """It is answered, or nobody waits for an answer any more."""
        panel, self._panel = self._panel, None
        if panel is not None and panel.is_attached:
            panel.close()
            await panel.remove()
