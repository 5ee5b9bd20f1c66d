"""What one conversation may do: its tools, the rules they run under, and what has to be settled first."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from local_agent.config.launch import LaunchOptions
from local_agent.config.paths import Paths
from local_agent.config.settings import Settings
from local_agent.domain.errors import LocalAgentError, StoreError, UsageError
from local_agent.domain.ledger import EventKind, Execution, Pending
from local_agent.domain.modes import Mode
from local_agent.domain.quoting import quoted
from local_agent.domain.text import one_line
from local_agent.domain.tools import ToolSpec
from local_agent.memory.notes_file import NotesFile
from local_agent.policy.authority import ProjectAuthority
from local_agent.runtime.history import History
from local_agent.runtime.notes import utc_now
from local_agent.runtime.past import Past
from local_agent.runtime.recovering import Recovering
from local_agent.runtime.restoring import Restoring, Unfinished, unfinished_line
from local_agent.tools.box import Box
from local_agent.tools.changing.offered import changing_tools
from local_agent.tools.folder import Folder, result_bytes
from local_agent.tools.notes import note_tools
from local_agent.tools.reading import LOOKING, TALKING
from local_agent.tools.search_memory import SEARCH_MEMORY, search_memory
from local_agent.tools.shell.commands import Command, Commands
from local_agent.tools.shell.sandbox import Sandbox
from local_agent.tools.shell.tools import shell_tools
from local_agent.tools.tool import Tool

if TYPE_CHECKING:
    from local_agent.runtime.journal import ConversationJournal
    from local_agent.store.store import Store

COMPLETED_LOOKS, COMPLETED_SECONDS = 20, 0.05
"""How often, and after how long each time, it is looked whether the start of a job is written."""


class Workshop:
    """What the tools of all conversations of a process share."""

    def __init__(
        self,
        options: LaunchOptions,
        settings: Settings,
        paths: Paths,
        *,
        durable: bool = True,
        sandbox: Sandbox | None = None,
    ) -> None:
        self.root = options.workspace
        self.sandbox = sandbox
        """None where nothing can be confined."""
        self.home = paths.home
        self.history = History(paths.outputs if durable else None, settings.tools.history_mib)
        self.outputs = self.history.objects
        self._options = options
        self._paths = paths
        self.searches = durable and settings.memory.search_tool
        """Whether models may look into earlier conversations."""
        self.notes = NotesFile(paths, str(options.workspace)) if settings.memory.notes and durable else None
        """What is noted of the folder; None where nothing is."""
        searching = (SEARCH_MEMORY,) if self.searches else ()
        self._specs = (*self.box(Commands(self.outputs)).specs, *searching)

    @classmethod
    async def open(
        cls, options: LaunchOptions, settings: Settings, paths: Paths, *, durable: bool
    ) -> Workshop:
        """Find out what can be confined here. Raises ``UsageError`` for tools that there are none of."""
        wanted = settings.tools.enabled and settings.tools.sandbox
        sandbox = await asyncio.to_thread(Sandbox.find, options.workspace) if wanted else None
        shop = cls(options, settings, paths, durable=durable, sandbox=sandbox)
        known = {spec.name for spec in shop.specs}
        if unknown := sorted((options.tools or frozenset()) - known):
            raise UsageError(
                f"There is no tool {one_line(unknown[0], 60)}.", f"There are: {', '.join(sorted(known))}."
            )
        return shop

    @property
    def specs(self) -> Sequence[ToolSpec]:
        """What models are told of them, in a fixed order."""
        return self._specs

    def box(
        self, commands: Commands, more: Sequence[Tool] = (), handle: Callable[[], str] = lambda: ""
    ) -> Box:
        """The tools of one conversation, in the order in which a model is told of them; ``handle``: of it."""
        noting = note_tools(self.notes, utc_now, handle) if self.notes is not None else ()
        tools = [*LOOKING, *changing_tools(), *shell_tools(commands, self.sandbox), *TALKING, *noting, *more]
        return Box(Folder(self.root, self.outputs, keeps_contents=self.history.keeps_contents), tools)

    def authority(self) -> ProjectAuthority:
        """The rules of one conversation."""
        return ProjectAuthority(
            self.root,
            self._paths,
            sandbox=self.sandbox is not None,
            skip_approvals=self._options.skip_approvals,
            only_tools=self._options.tools,
        )


class Hands:
    """The tools of one conversation and their authority."""

    def __init__(self, shop: Workshop, store: Store, journal: ConversationJournal) -> None:
        self.commands = Commands(shop.outputs, self._job_ended, store.execution)
        past = [search_memory(Past(store, journal, str(shop.root)))] if shop.searches else []
        self.toolbox = shop.box(self.commands, past, self._handle)
        self.authority = shop.authority()
        self.sandbox = shop.sandbox
        self.recovering = Recovering(store, journal, shop.home)
        self.restoring = Restoring(store, journal, self.toolbox.folder)
        self.told: Callable[[str], None] | None = None
        """Hears of jobs that ended."""
        self.dropped = shop.history.news
        """See ``History.news``."""
        self._outputs = shop.outputs
        self._store = store
        self._journal = journal

    def _handle(self) -> str:
        return self._journal.info.handle if self._journal.info is not None else ""

    @property
    def confines(self) -> bool:
        """Whether commands that run project code can be confined to the workspace here."""
        return self.sandbox is not None

    def suit(self, window: int) -> None:
        """Bound results by a context window of so many tokens."""
        self.toolbox.folder.result_bytes = result_bytes(window)

    async def output(self, digest: str) -> bytes:
        """All that a command or search said; raises ``ObjectMissing``."""
        return await asyncio.to_thread(self._outputs.get, digest)

    async def pending(self, leaf: int | None) -> Sequence[Pending]:
        """Calls whose outcome nobody knows, of this session or on the path to ``leaf``."""
        info = self._journal.info
        stored = self._journal.unsaved.path(leaf)[1]
        if info is None and stored is None:
            return ()
        return await self._store.pending(info.id if info is not None else None, stored)

    async def require_settled(self, leaf: int | None, mode: Mode) -> None:
        """Raises ``LocalAgentError`` while a turn in ``mode`` is blocked: by what is pending, or by a restore
        that was cut off.

        A PLAN turn can have no effect, so that nothing blocks it.
        """
        if mode is Mode.PLAN:
            return
        await self.require_restored()
        info = self._journal.info
        if not (pending := await self.pending(leaf)):
            return
        raise blocked(pending, info.handle if info is not None else "")

    async def require_restored(self) -> None:
        """Raises ``LocalAgentError`` while files are half-way back to an earlier moment."""
        if (unfinished := await self.unfinished()) is not None:
            raise unfinished_line(unfinished)

    async def unfinished(self) -> Unfinished | None:
        """A restore of the session's files that was cut off."""
        info = self._journal.info
        return await self.restoring.unfinished(info.id) if info is not None else None

    async def uncertain(self, leaf: int | None) -> frozenset[tuple[int, int]]:
        """The same by entry and number of the call, for the model to be told."""
        pending = await self.pending(leaf)
        return frozenset((each.execution.entry_id, each.execution.call_number) for each in pending)

    async def close(self) -> None:
        """End what runs in the background."""
        await self.commands.close()

    async def _job_ended(self, command: Command) -> None:
        from local_agent.tools.shell.telling import ending_line

        line = ending_line(command)
        try:
            execution = await self._completed(command.id)
            if execution is not None:
                exit_code = command.ending.exit_code if command.ending is not None else None
                detail = {"summary": line, "exit_code": exit_code}
                await self._journal.note(execution, EventKind.JOB_ENDED, detail)
        except StoreError:
            pass  # whoever took the session over has said of it what can be said
        if self.told is not None:
            self.told(f"In the background {line}: {one_line(command.text, 120)}")

    async def _completed(self, execution_id: str) -> Execution | None:
        """The call that started a job, once its end is written: a job may be over as soon as that."""
        for _ in range(COMPLETED_LOOKS):
            execution = await self._store.execution(execution_id)
            if execution is None or execution.ended:
                return execution
            await asyncio.sleep(COMPLETED_SECONDS)
        return None


def blocked(pending: Sequence[Pending], here: str) -> LocalAgentError:
    """Why a turn can't begin, and the way out."""
    first = pending[0]
    what = one_line(f"{first.execution.tool} {first.execution.target}", 80).rstrip()
    more = f" and {len(pending) - 1} more" if len(pending) > 1 else ""
    line = f"It is not known what this call did when it was cut off: {what}{more}."
    command = f"local-agent execution recover {first.handle} --all"
    if first.handle == here:
        return LocalAgentError(line, f"Settle it with /recover, or: {command}. Until then PLAN mode works.")
    place = f"cd {quoted(first.workspace_root)} && " if first.workspace_root else ""
    return LocalAgentError(
        line,
        f"Session {first.handle} wrote it; settle it there: {place}{command}. Until then PLAN mode works.",
    )
