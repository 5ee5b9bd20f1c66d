"""Checkpoints, restore, undo and redo on screen: asks what goes back, has it done, shows what came of it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Coroutine, Sequence
from contextlib import asynccontextmanager, suppress
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

from local_agent.domain.errors import LocalAgentError, UsageError
from local_agent.domain.text import one_line
from local_agent.tui.conversation import opening
from local_agent.tui.conversation.history import TAIL_ENTRIES
from local_agent.tui.look.quantities import counted

if TYPE_CHECKING:
    from local_agent.domain.checkpoints import Checkpoint
    from local_agent.domain.drafts import Prompt
    from local_agent.domain.entries import Slice
    from local_agent.domain.ledger import Execution
    from local_agent.domain.moves import Scope
    from local_agent.domain.restoring import FilePlan, PlannedPath
    from local_agent.runtime.conversation import Conversation
    from local_agent.runtime.time_travel import Arrival, Journey, TimeTravel
    from local_agent.tui.commands.screen import NoticeKind
    from local_agent.tui.screens.chat import ChatScreen

    Look = Callable[[TimeTravel], Coroutine[Any, Any, Journey]]

Progress = Callable[[int, int], None]
DoneT = TypeVar("DoneT")

IN_A_HURRY = ("/undo", "/redo")
"""What is typed right behind a question that has just come back."""

LOOKING, PUTTING_BACK = "Looking at the files", "Putting files back"
SHOWN_AFTER_SECONDS = 0.2
"""What is over sooner is told by its outcome alone."""
HALT_SECONDS = 1.0


class Travelling:
    """Made when it is first wanted. One move at a time: what is asked for meanwhile comes after it."""

    def __init__(self, screen: ChatScreen) -> None:
        self._screen = screen
        self._returned = ""
        """What the composer held when the question of an undone turn had come back to it."""
        self._moving = asyncio.Lock()
        self._stop = asyncio.Event()
        self._working: asyncio.Future[Any] | None = None
        """What changes files now."""

    def took(self, prompt: Prompt) -> bool:
        """Carry out ``/undo`` or ``/redo`` that was typed in a hurry behind a question that had just come
        back: that one is in the tree. False for anything else.
        """
        returned, self._returned = self._returned, ""
        typed = prompt.text.removeprefix(returned).strip()
        if not returned or not prompt.text.startswith(returned) or typed.partition(" ")[0] not in IN_A_HURRY:
            return False
        self._screen.action_command(typed)
        return True

    async def checkpoint(self, label: str) -> None:
        """Name where the conversation stands."""
        made = await self._writable().time.checkpoint(label)
        dot = f" {self._screen.glyphs.dot} "
        parts = [f"Checkpoint {made.id}", one_line(made.label), counted(made.message_count, "message")]
        self._screen.notify_line(f"{dot.join(filter(None, parts))}. Back to it: /restore {made.id}")

    async def checkpoints(self) -> None:
        """Choose one, to restore it or to go on from it in another session."""
        from local_agent.tui.screens.checkpoints import CheckpointsScreen, Wanted

        screen = self._screen
        listed = CheckpointsScreen(CheckpointsOf(self._conversation()), glyphs=screen.glyphs)
        wish = await screen.app.push_screen_wait(listed)
        if wish is None:
            return
        if wish.wanted is Wanted.RESTORE:
            await self.restore(wish.checkpoint.id)
        elif wish.checkpoint.entry_id is None:
            line = f"Nothing was asked yet at checkpoint {wish.checkpoint.id}."
            raise UsageError(line, "Begin anew with /new.")
        else:
            await screen.branching.fork(at=wish.checkpoint.entry_id)

    async def restore(self, checkpoint_id: int, scope: Scope | None = None) -> None:
        """To a checkpoint. Without ``scope`` it is asked what goes there, where files differ."""
        await self._travel(lambda time: time.to_checkpoint(checkpoint_id), scope)

    async def undo(self, scope: Scope | None = None) -> None:
        """Back by a step."""
        await self._travel(lambda time: time.undo(), scope)

    async def redo(self, scope: Scope | None = None) -> None:
        """Forth again by a step."""
        await self._travel(lambda time: time.redo(), scope)

    async def switch(self, entry_id: int, scope: Scope | None = None) -> None:
        """To an entry of whatever branch."""
        await self._travel(lambda time: time.to_entry(entry_id), scope)

    async def settle(self) -> bool:
        """Have the person say what becomes of a restore that was cut off; False when there is none."""
        from local_agent.tui.screens.unfinished import UnfinishedAnswer, UnfinishedDialog

        screen, conversation = self._screen, self._writable()
        async with self._alone():
            unfinished = await conversation.time.unfinished()
            if unfinished is None:
                return False
            parts = (unfinished.done, unfinished.left, unfinished.conflicts)
            done, left, conflicts = ([step.path for step in part] for part in parts)
            dialog = UnfinishedDialog(unfinished.what, done, left, conflicts, glyphs=screen.glyphs)
            answer = await screen.app.push_screen_wait(dialog)
            if answer is UnfinishedAnswer.LATER or conversation is not screen.conversation:
                return True
            time = conversation.time
            complete = answer is UnfinishedAnswer.COMPLETE
            settle = time.complete if complete else time.take_back
            execution = await self.while_shown(
                PUTTING_BACK, lambda progress, stop: settle(unfinished, progress), stoppable=False
            )
            await show_again(screen)
            await self._say(
                _settled_words(execution, complete=complete), troubled=complete and _troubled(execution)
            )
        return True

    async def _travel(self, look: Look, scope: Scope | None) -> None:
        from local_agent.runtime.stopping import unless_stopped  # with the runtime, after the first paint

        screen = self._screen
        self._writable()
        async with self._alone():
            if not await opening.may_leave(screen):
                return
            conversation = self._writable()
            journey = await self.while_shown(
                LOOKING, lambda progress, stop: unless_stopped(look(conversation.time), stop)
            )
            if journey is None:
                return
            if scope is None:
                scope = await self._asked(conversation, journey)
            if scope is None or conversation is not screen.conversation:
                return
            try:
                arrival = await self._gone(conversation, journey, scope)
            except LocalAgentError:
                # The head may have moved before it failed.
                with suppress(LocalAgentError):
                    await show_again(screen)
                raise
            if arrival.question is not None:
                screen.pane.put_before(arrival.question)
                self._returned = screen.pane.prompt.text
            await show_again(screen)
            stays = scope.moves_files and len(journey.files.steps) < len(journey.files.different)
            await self._say(arrival.line, troubled=stays or _troubled(arrival.files))

    @asynccontextmanager
    async def _alone(self) -> AsyncIterator[None]:
        """One move at a time, and no turn begins meanwhile: prompts wait until it is over."""
        screen, turns = self._screen, self._screen.turns
        async with self._moving:
            turns.paused = True
            try:
                yield
            finally:
                turns.paused = False
                for prompt in [] if turns.queue.held or turns.busy else turns.queue.take_all():
                    screen.send_prompt(prompt)

    async def _asked(self, conversation: Conversation, journey: Journey) -> Scope | None:
        """What goes there; None when nothing is to."""
        from local_agent.domain.moves import Scope

        if not journey.asks:
            return Scope.CONVERSATION
        from local_agent.tui.screens.journey import JourneyDialog

        compare = partial(CheckpointsOf(conversation).compare, back=True)
        dialog = JourneyDialog(journey.landing, journey.files, compare, glyphs=self._screen.glyphs)
        return (await self._screen.app.push_screen_wait(dialog)).scope

    async def _gone(self, conversation: Conversation, journey: Journey, scope: Scope) -> Arrival:
        time = conversation.time
        if not (scope.moves_files and journey.files.steps):
            return await time.go(journey, scope)
        return await self.while_shown(
            PUTTING_BACK, lambda progress, stop: time.go(journey, scope, progress, stop)
        )

    async def while_shown(
        self,
        what: str,
        work: Callable[[Progress, asyncio.Event], Coroutine[Any, Any, DoneT]],
        *,
        stoppable: bool = True,
    ) -> DoneT:
        """Once it takes long, a screen tells of it; Esc there sets the event that ``work`` was given."""
        from local_agent.tui.screens.restoring import RestoringScreen

        screen = self._screen
        self._stop = asyncio.Event()
        stop = self._stop if stoppable else None
        shown = RestoringScreen(what, stop, screen.composer.insert, glyphs=screen.glyphs)
        self._working = working = asyncio.create_task(work(shown.note, self._stop))
        working.add_done_callback(lambda done: shown.end())
        try:
            await asyncio.wait((working,), timeout=SHOWN_AFTER_SECONDS)
            if not working.done():
                await screen.app.push_screen_wait(shown)
            return await working
        finally:
            self._working = None

    async def halt(self) -> None:
        """Whoever leaves puts no further file back, and is asked about the rest on coming back."""
        if self._working is not None:
            self._working.cancel()
            await asyncio.wait((self._working,), timeout=HALT_SECONDS)

    async def _say(self, line: str, *, troubled: bool) -> None:
        """Below the conversation, where it stays until something else is shown."""
        from local_agent.tui.widgets.remarks import Remark

        screen = self._screen
        kind: NoticeKind = "warning" if troubled else "information"
        await screen.transcript.say(Remark(line, kind, glyphs=screen.glyphs))

    def _conversation(self) -> Conversation:
        if self._screen.conversation is None:
            raise UsageError("The database is still being opened: one moment.")
        return self._screen.conversation

    def _writable(self) -> Conversation:
        conversation = self._conversation()
        if conversation.read_only or (self._screen.runtime is not None and not self._screen.runtime.writable):
            raise UsageError("This session is open read-only.", "Only the one who writes it can move it.")
        if conversation.unsaved:
            from local_agent.runtime.writer import NOTHING_SAVED  # with the runtime, after the first paint

            raise UsageError(*NOTHING_SAVED)
        return conversation


class CheckpointsOf:
    """The checkpoints of one conversation, and what became of its files."""

    def __init__(self, conversation: Conversation) -> None:
        self._conversation = conversation

    async def checkpoints(self, before: int | None, limit: int) -> Sequence[Checkpoint]:
        return await self._conversation.time.checkpoints(before, limit)

    async def files_since(self, checkpoint: Checkpoint) -> FilePlan:
        return await self._conversation.time.files_since(checkpoint)

    async def leading_to(self, entry_id: int, count: int) -> Slice:
        return await self._conversation.time.leading_to(entry_id, count)

    async def compare(self, paths: Sequence[PlannedPath], *, back: bool = False) -> str:
        from local_agent.tools.restoring.compared import compared

        return await asyncio.to_thread(compared, self._conversation.hands.toolbox.folder, paths, back=back)


async def offer_to_settle(screen: ChatScreen, conversation: Conversation) -> None:
    """Ask about a restore that a dead process left half done, once its session is open again."""
    try:
        if conversation is screen.conversation and await conversation.time.unfinished() is not None:
            await screen.travelling.settle()
    except LocalAgentError as error:
        screen.notify_line(str(error), "error")


async def show_again(screen: ChatScreen) -> None:
    """Show the conversation at its end, after its head was moved; all that tells of it follows.

    Raises ``LocalAgentError`` where the end can't be read.
    """
    conversation = screen.conversation
    if conversation is None:
        return
    tail = await conversation.tail(TAIL_ENTRIES)
    await conversation.recall()
    screen.history.end_find()
    await screen.history.show(conversation, tail)
    screen.tooling.open(tail.executions[key] for key in sorted(tail.executions))
    if tail.entries:
        screen.greeting.end()
    else:
        await screen.greeting.begin()
    screen.show_facts()


def _troubled(files: Execution | None) -> bool:
    """Whether a restore of files came to another end than was wanted, be it for one of them."""
    # Its excerpt names those that did not go back.
    receipt = files.receipt if files is not None else None
    return files is not None and (receipt is None or receipt.status != "ok" or bool(receipt.excerpt))


def _settled_words(execution: Execution, *, complete: bool) -> str:
    what = "The restore is complete" if complete else "The restore is taken back"
    summary = one_line(execution.receipt.summary) if execution.receipt is not None else ""
    return f"{what}: {summary}." if summary else f"{what}."
