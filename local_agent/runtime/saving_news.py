"""Tells a front end when what is on screen is not on disk, and when it is again."""

from __future__ import annotations

from local_agent.domain.errors import LeaseLost, Outdated
from local_agent.domain.events import Notice, SavedAgain, SavingFailed
from local_agent.runtime.journal import ConversationJournal

News = SavingFailed | SavedAgain | Notice


class SavingNews:
    """Each change between memory and disk once, as the journal of one conversation knows it."""

    def __init__(self, journal: ConversationJournal) -> None:
        self._journal = journal
        self._told: SavingFailed | Notice | None = None

    def take(self) -> News | None:
        """What has changed since the last call."""
        found, told = self._found(), self._told
        if found == told:
            return None
        self._told = found
        if found is None and isinstance(told, SavingFailed):
            info = self._journal.info
            ids = dict(self._journal.unsaved.ids)
            return SavedAgain(told.waiting, info.handle if info is not None else "", ids)
        return found

    def _found(self) -> SavingFailed | Notice | None:
        trouble = self._journal.trouble
        if trouble is None or isinstance(trouble, LeaseLost):
            return None
        if isinstance(trouble, Outdated):
            return Notice(str(trouble))
        return SavingFailed(len(self._journal.unsaved.waiting), trouble.line, trouble.hint)
