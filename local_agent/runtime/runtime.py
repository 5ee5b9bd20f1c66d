"""Everything a front end needs, opened once per process and closed at its end."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path

from local_agent import __version__
from local_agent.config.launch import LaunchOptions
from local_agent.config.paths import Paths
from local_agent.config.settings import Settings
from local_agent.domain.drafts import Draft
from local_agent.domain.errors import Damaged, StoreError
from local_agent.domain.models import ServerState
from local_agent.domain.modes import Mode
from local_agent.domain.ports import Opening
from local_agent.domain.sessions import NewSession, SessionInfo
from local_agent.domain.titles import title_from
from local_agent.llm.crash import engine_crash_report
from local_agent.llm.demo import DemoProgress
from local_agent.memory.notes_file import NotesFile
from local_agent.objects.store import ObjectFolder, ObjectsInMemory
from local_agent.runtime.asked import AskedBefore
from local_agent.runtime.asking import HURRY_SECONDS
from local_agent.runtime.bundling import Bundling
from local_agent.runtime.conversation import Conversation
from local_agent.runtime.engines import Engines
from local_agent.runtime.facts import RuntimeFacts, gather_facts
from local_agent.runtime.hands import Hands, Workshop
from local_agent.runtime.journal import ConversationJournal
from local_agent.runtime.library import Library
from local_agent.runtime.machine import memory_bytes
from local_agent.runtime.models import Models
from local_agent.runtime.moved import MovedProjects
from local_agent.runtime.notes import FolderNotes
from local_agent.runtime.pictures import Pictures
from local_agent.runtime.planning import Planner
from local_agent.runtime.purging import Purging
from local_agent.runtime.resume_report import note_failed_resume
from local_agent.runtime.set_aside import SetAside, left_behind
from local_agent.runtime.workspace import git_root_commit
from local_agent.store.held import HeldSession
from local_agent.store.patience import Patience
from local_agent.store.store import Store


class Runtime:
    """The composition root: it alone knows the concrete store, backends and agent."""

    def __init__(
        self,
        options: LaunchOptions,
        settings: Settings,
        paths: Paths,
        store: Store,
        engines: Engines,
        workshop: Workshop,
    ) -> None:
        self.options = options
        self.settings = settings
        self.paths = paths
        self.workspace_root = str(options.workspace)
        self.startup_notices: tuple[str, ...] = ()
        self.wants_demo = False
        self.engines = engines
        self.workshop = workshop
        self._store = store
        self.models = Models(engines, settings, options, paths, store.speeds)
        objects = ObjectFolder(paths.picture_objects) if store.durable else ObjectsInMemory()
        self.pictures = Pictures(objects, store.picture_digests)
        self.asked = AskedBefore(store, self.workspace_root)
        self.library = Library(store, self.workspace_root)
        self.purging = Purging(store, paths)
        self.moved = MovedProjects(store, paths, self.workspace_root)
        self.notes = FolderNotes(NotesFile(paths, self.workspace_root))
        self.bundling = Bundling(store, paths, self.workspace_root)
        self.git_root_commit: str | None = None
        """The first commit of the folder's Git repository."""

    def adopt(self, settings: Settings, conversation: Conversation | None) -> None:
        """Work by other settings from the next turn on; hosts and engines stay until a restart."""
        self.settings = settings
        self.models.adopt(settings)
        if conversation is not None:
            conversation.adopt(settings)

    @classmethod
    async def open(
        cls,
        options: LaunchOptions,
        settings: Settings,
        paths: Paths,
        *,
        on_wait: Callable[[bool], None] | None = None,
    ) -> Runtime:
        """Open the database (migrating it) and choose the backend. Raises ``StoreError``, ``UsageError``.

        ``on_wait`` is told when the database keeps us waiting for a second, and when that is over.
        """
        engines = Engines(settings, paths)
        durable = options.save and settings.sessions.enabled
        workshop = await Workshop.open(options, settings, paths, durable=durable)
        if durable:
            store = await _opened(paths.database, on_wait)
        else:
            store = await asyncio.to_thread(Store.in_memory, program_version=__version__)
        return await cls(options, settings, paths, store, engines, workshop)._started(on_wait)

    @classmethod
    async def read(cls, options: LaunchOptions, settings: Settings, paths: Paths) -> Runtime:
        """Read what is stored from a copy, where the database itself can't be opened."""
        engines = Engines(settings, paths)
        store = await asyncio.to_thread(Store.read_copy, paths.database, program_version=__version__)
        workshop = Workshop(options, settings, paths)
        return await cls(options, settings, paths, store, engines, workshop)._started(None)

    @property
    def saved(self) -> bool:
        """False with ``--no-save``."""
        return self._store.durable

    @property
    def writable(self) -> bool:
        """False while what is stored is only read."""
        return self._store.writable

    @property
    def consent_needed(self) -> str | None:
        """A host that is not this machine and was not allowed yet; nothing is sent to it before."""
        return self.engines.consent_needed

    async def allow_host(self, remember: bool) -> None:
        """The person agreed that the conversation leaves this machine."""
        await self.engines.allow_server(remember=remember)

    def new_conversation(self) -> Conversation:
        """A conversation that is written nowhere until its first question."""
        planner = self._planner(None)
        journal = self._journal(planner)
        return self._conversation(planner, journal)

    async def resume(self, handle: str) -> Conversation:
        """Take the session's lease and go on; where that can't be written, open it read-only.

        Raises ``SessionHeld``, ``UnknownSession``, ``StoreError``.
        """
        if not self.writable:
            return await self.view(handle)
        try:
            return await self._continue(await self._store.hold(handle))
        except Damaged as error:
            await note_failed_resume(self._store, handle, error)
            return await self.view(handle, notices=(str(error),))

    async def take_over(self, handle: str) -> Conversation:
        """Take the lease from the process that holds it; that one can't write the session any more."""
        return await self._continue(await self._store.take_over(handle))

    async def view(self, handle: str, notices: tuple[str, ...] = ()) -> Conversation:
        """Open read-only, beside the process that writes it. ``notices``: what the person is told first."""
        info = await self._store.find(handle)
        planner = self._planner(info)
        journal = self._journal(planner)
        return self._conversation(planner, journal, viewed=info, head=info.head, notices=notices)

    async def state(self) -> ServerState:
        """Look at the backend of new conversations."""
        return await self.engines.current.state()

    async def use_embedded(self, gguf: Path) -> None:
        """New conversations run in this process on ``gguf``."""
        self.engines.use_embedded(gguf)
        self.wants_demo = False

    async def fetch_demo(self, progress: Callable[[DemoProgress], None]) -> Path:
        """Get the demo model once; the path of its file."""
        return await self.engines.fetch_demo(progress)

    async def facts(self, conversation: Conversation | None = None) -> RuntimeFacts:
        """What the runtime view and the doctor show."""
        return await gather_facts(self, self._store, conversation)

    async def save_draft(
        self, conversation: Conversation | None, draft: Draft, *, moved_from: Conversation | None = None
    ) -> None:
        """Keep unsent work for its session, or for none while there is none that is ours to write.

        An empty draft is dropped. ``moved_from`` is the conversation that it was kept for before.
        """
        if self.saved and self.writable:
            place, before = _writable_id(conversation), _writable_id(moved_from)
            await self._store.save_draft(
                self.workspace_root, place, draft, moved_from=before if before != place else None
            )

    async def take_draft(self, conversation: Conversation | None) -> Draft | None:
        """The session's own draft; for None, the workspace's of a process that is dead."""
        if not (self.saved and self.writable):
            return None
        return await self._store.take_draft(self.workspace_root, _session_id(conversation))

    def hurry(self) -> None:
        """The person wants to leave: from now on nothing waits long for a locked database."""
        self._store.hurry(HURRY_SECONDS)

    async def close(self) -> None:
        """Close backends and database."""
        await self.engines.close()
        await self._store.close()

    async def _started(self, on_wait: Callable[[bool], None] | None) -> Runtime:
        self._store.on_wait(on_wait)
        self.git_root_commit = await asyncio.to_thread(git_root_commit, Path(self.workspace_root))
        crash = await asyncio.to_thread(engine_crash_report, self.paths.engine_marker)
        left = await asyncio.to_thread(left_behind, self.paths.unsaved)
        unread = self.models.remembered()[1]
        self.startup_notices = (*self._store.notices, *(line for line in (crash, unread) if line), *left)
        gguf = self.options.gguf or self.settings.embedded.gguf
        if self.options.demo:
            gguf = await asyncio.to_thread(self.engines.cached_demo)
            self.wants_demo = gguf is None
        if gguf is not None:
            self.engines.use_embedded(gguf)
        return self

    def _planner(self, info: SessionInfo | None) -> Planner:
        return Planner(
            self.models.router(info),
            self.settings,
            self.workspace_root,
            memory=memory_bytes(),
            mode=Mode(info.mode) if info is not None and info.mode in list(Mode) else self._first_mode,
            specs=self.workshop.specs,
            learned=self.models.learned,
            notes=self.workshop.notes,
        )

    @property
    def _first_mode(self) -> Mode:
        return self.options.mode or Mode(self.settings.tools.mode)

    def _conversation(
        self,
        planner: Planner,
        journal: ConversationJournal,
        *,
        viewed: SessionInfo | None = None,
        head: int | None = None,
        notices: tuple[str, ...] = (),
    ) -> Conversation:
        hands = Hands(self.workshop, self._store, journal)
        return Conversation(
            self._store, journal, planner, self.pictures, hands, viewed=viewed, head=head, notices=notices
        )

    async def _continue(self, held: HeldSession) -> Conversation:
        planner = self._planner(held.info)
        journal = self._journal(planner, held)
        conversation = self._conversation(planner, journal, head=held.info.head)
        try:
            await conversation.recall()
        except StoreError as error:
            await held.release()
            await note_failed_resume(self._store, held.info.handle, error)
            raise
        return conversation

    def _journal(self, planner: Planner, held: HeldSession | None = None) -> ConversationJournal:
        # What is not to be saved is not put into a file either.
        aside = SetAside(self.paths.unsaved) if self.saved else None
        return ConversationJournal(self._store, self._birth(planner), held, aside)

    def _birth(self, planner: Planner) -> Callable[[Opening], NewSession]:
        def birth(opening: Opening) -> NewSession:
            return NewSession(
                workspace_root=self.workspace_root,
                title=_title(opening),
                backend=planner.backend.kind,
                host=planner.backend.address,
                model=opening.model,
                model_pinned=planner.pinned,
                mode=planner.mode,
                headless=self.options.headless,
                git_root_commit=self.git_root_commit,
            )

        return birth


def _title(opening: Opening) -> str:
    """From the question, or from the picture where there is nothing else."""
    first = opening.pictures[0].name if opening.pictures else ""
    return title_from(opening.text if opening.text.strip() else first)


async def _opened(database: Path, on_wait: Callable[[bool], None] | None) -> Store:
    """Open on a thread, which stops waiting for a lock when nobody waits for it any more."""
    loop = asyncio.get_running_loop()

    def tell(waiting: bool) -> None:
        if on_wait is not None and not loop.is_closed():
            loop.call_soon_threadsafe(on_wait, waiting)

    patience = Patience(tell)
    try:
        return await asyncio.to_thread(Store.open, database, program_version=__version__, patience=patience)
    except asyncio.CancelledError:
        patience.call_off()
        raise


def _writable_id(conversation: Conversation | None) -> int | None:
    return None if conversation is None or conversation.read_only else _session_id(conversation)


def _session_id(conversation: Conversation | None) -> int | None:
    return conversation.info.id if conversation is not None and conversation.info is not None else None
