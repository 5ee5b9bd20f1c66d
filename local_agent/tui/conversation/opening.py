"""Changes the conversation on screen: asks first, and changes nothing until the new one is there."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

from textual.worker import WorkerError

from local_agent.domain.drafts import Draft, Prompt
from local_agent.domain.errors import LocalAgentError, SessionHeld
from local_agent.tui.conversation.history import TAIL_ENTRIES

if TYPE_CHECKING:
    from local_agent.domain.entries import Slice
    from local_agent.runtime.conversation import Conversation
    from local_agent.tui.screens.chat import ChatScreen


async def begin_new(screen: ChatScreen) -> None:
    """Leave this session as it is; the next prompt opens a new one."""
    if screen.runtime is None or not await may_leave(screen):
        return
    await replace(screen, screen.runtime.new_conversation())


async def open_handle(screen: ChatScreen, handle: str, *, unsent: bool = True) -> None:
    """Replace the conversation by a stored session.

    ``unsent`` says that what is typed may be meant for something else: then it is asked about.
    """
    runtime = screen.runtime
    open_now = screen.conversation
    if runtime is None or (open_now is not None and open_now.handle == handle and not open_now.read_only):
        return
    if not await may_leave(screen):
        return
    drop = False
    if unsent and not screen.pane.prompt.empty:
        from local_agent.tui.screens.draft_choice import DraftAnswer, DraftDialog

        answer = await screen.app.push_screen_wait(DraftDialog(handle, glyphs=screen.glyphs))
        if answer is DraftAnswer.CANCEL:
            return
        drop = answer is DraftAnswer.DISCARD_BOTH
    conversation = None
    try:
        conversation = await _opened(screen, handle)
        if conversation is not None:
            await replace(screen, conversation, drop_draft=drop)
    except LocalAgentError as error:
        if conversation is not None and conversation is not screen.conversation:
            await conversation.close()
        screen.notify_line(str(error), "error")


async def open_entry(screen: ChatScreen, handle: str, entry_id: int) -> None:
    """Go to an entry of a session, which is opened first when it is another one."""
    await open_handle(screen, handle)
    conversation = screen.conversation
    if conversation is None or conversation.handle != handle:
        return
    # What is said of a session when it is opened stands at its end, and takes the view there.
    for group in ("changes", "remarks"):
        with suppress(WorkerError):
            saying = [worker for worker in screen.workers if worker.group == group]
            await screen.workers.wait_for_complete(saying)
    if not await screen.history.reveal_entry(entry_id):
        screen.notify_line("That was said on another branch of this session: /tree shows it.", "warning")


async def drop_to_mirror(screen: ChatScreen) -> None:
    """Another process has taken the session over: go on reading it."""
    runtime, conversation = screen.runtime, screen.conversation
    if runtime is None or conversation is None or not conversation.handle or conversation.read_only:
        return
    try:
        view = await runtime.view(conversation.handle)
        if conversation is screen.conversation:
            await screen.turns.stop()
            await replace(screen, view)
            who = f"Process {view.writer.pid}" if view.writer is not None else "Another process"
            screen.notify_line(f"{who} has taken this session over: it is read-only here.", "warning")
    except LocalAgentError as error:
        screen.notify_line(str(error), "error")


async def take_up(screen: ChatScreen, prompt: Prompt) -> None:
    """Send a prompt to a session that was only read, if nobody holds it any more."""
    runtime, view, queue = screen.runtime, screen.conversation, screen.turns.queue
    if runtime is None or view is None or view.writer is not None:
        screen.load_prompt(prompt)
        screen.notify_line("This session is open read-only: open another one, or /new.", "warning")
        return
    queue.sending = prompt
    try:
        await replace(screen, await runtime.resume(view.handle))
    except LocalAgentError as error:
        queue.sending = None
        screen.load_prompt(prompt)
        screen.notify_line(str(error), "error")
        return
    screen.send_prompt(prompt)


async def may_leave(screen: ChatScreen) -> bool:
    """True once no turn runs, no prompt is held back and no question is edited."""
    if screen.busy:
        from local_agent.tui.screens.stop_turn import StopAnswer, StopTurnDialog

        answer = await screen.app.push_screen_wait(StopTurnDialog(glyphs=screen.glyphs))
        if answer is not StopAnswer.STOP:
            return False
        await screen.turns.stop()
    if screen.turns.queue.held:
        screen.notify_line("A prompt is held back: take it up with Up, or drop it with Esc.", "warning")
        return False
    if screen.turns.queue.editing is not None:
        screen.notify_line(
            "An earlier question is being edited: ask it with Enter, or let it be with Esc.", "warning"
        )
        return False
    return True


async def _opened(screen: ChatScreen, handle: str) -> Conversation | None:
    assert screen.runtime is not None
    try:
        return await screen.runtime.resume(handle)
    except SessionHeld as held:
        from local_agent.tui.screens.held import HeldAnswer, HeldDialog

        answer = await screen.app.push_screen_wait(HeldDialog(handle, held.holder, glyphs=screen.glyphs))
    match answer:
        case HeldAnswer.READ_ONLY:
            return await screen.runtime.view(handle)
        case HeldAnswer.FORK:
            fork = await screen.runtime.library.fork(handle)
            conversation = await screen.runtime.resume(fork.handle)
            screen.notify_line(f"A fork of {handle}, from its last finished answer.")
            return conversation
        case HeldAnswer.TAKE_OVER:
            return await screen.runtime.take_over(handle)
        case _:
            return None


async def replace(screen: ChatScreen, conversation: Conversation, *, drop_draft: bool = False) -> None:
    """Show another conversation; nothing has changed when its end can't be read."""
    before = screen.conversation
    screen.workers.cancel_group(screen, "mirror")
    tail = await conversation.tail(TAIL_ENTRIES)
    own = Draft("")
    if conversation.handle and not conversation.read_only:
        own = await screen.drafts.take(conversation)
    if screen.turns.queue.editing is not None:
        screen.branching.let_be()
    screen.conversation = conversation
    await screen.history.show(conversation, tail)
    if drop_draft:
        screen.load_prompt(Prompt(""))
    else:
        put_back(screen, own)
    # What stays typed goes along in one step; what is dropped is dropped from where it was kept, too.
    screen.note_draft()
    await screen.drafts.save()
    if before is not None:
        await before.close()
        aside = before.set_aside()
        if aside is not None:
            screen.notify_line(f"What could not be saved is in {aside}", "warning")
    screen.saving.end()
    await _settle_in(screen, conversation, tail)


def put_back(screen: ChatScreen, draft: Draft) -> None:
    """Unsent work comes back: its text before what has been typed meanwhile, its queue as held."""
    if draft.text.strip() or draft.pictures:
        screen.pane.put_before(Prompt(draft.text, draft.pictures))
    screen.turns.queue.restore(draft.queue)


async def _settle_in(screen: ChatScreen, conversation: Conversation, tail: Slice) -> None:
    screen.show_facts()
    screen.tooling.open(tail.executions[key] for key in sorted(tail.executions))
    if tail.entries:
        screen.greeting.end()
    else:
        await screen.greeting.begin()
    for notice in conversation.notices:
        screen.notify_line(notice, "warning")
    if tail.entries and not conversation.read_only:
        from local_agent.tui.conversation.recovering import tell_changes  # nothing that a start needs

        screen.run_worker(tell_changes(screen, conversation), group="changes", exclusive=True)
    if conversation.info is not None and not conversation.read_only:
        from local_agent.tui.travelling import offer_to_settle  # nothing that a start needs

        screen.run_worker(offer_to_settle(screen, conversation), group="unfinished", exclusive=True)
    if conversation.read_only and screen.runtime is not None and screen.runtime.writable:
        from local_agent.tui.conversation.mirror import mirror  # Markdown and Pygments: after the first paint

        following = mirror(
            screen.history, conversation, tail, lambda line: screen.notify_line(line, "warning")
        )
        screen.run_worker(following, group="mirror", exclusive=True)
    if screen.runtime is not None:
        screen.run_worker(screen.greeting.look_around(screen.runtime), group="greeting", exclusive=True)
