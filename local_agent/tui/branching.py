"""Branches, forks and marks on screen: the tree, another way from any message, an earlier question again."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from textual.widget import Widget

from local_agent.domain.drafts import Prompt
from local_agent.domain.entries import Kind
from local_agent.domain.errors import LocalAgentError, UsageError
from local_agent.domain.marks import Mark
from local_agent.domain.own_command import command_of
from local_agent.domain.titles import given_title
from local_agent.tui.conversation import opening
from local_agent.tui.conversation.history import TAIL_ENTRIES
from local_agent.tui.prompt.editing import Editing

if TYPE_CHECKING:
    from local_agent.domain.branches import TreeNode
    from local_agent.domain.checkpoints import Checkpoint
    from local_agent.domain.entries import Entry, Slice
    from local_agent.runtime.conversation import Conversation
    from local_agent.tui.screens.chat import ChatScreen

NOTHING_YET = "There is no question here yet."
ASK_FIRST = "Type one and press Enter."
_SAYS = {
    Mark.PIN: "Kept: a summary of what came before holds this exchange word for word. + again takes it back.",
    Mark.DROP: "Left out: this exchange is sent no more, and stays here. - again takes it back.",
    Mark.FREE: "Neither kept nor left out any more.",
}


class Branching:
    """Made when it is first wanted."""

    def __init__(self, screen: ChatScreen) -> None:
        self._screen = screen

    async def tree(self) -> None:
        """Show the tree, and do what is chosen there."""
        from local_agent.tui.screens.tree import TreeScreen, TreeWish

        screen, conversation = self._screen, self._conversation()
        tree = TreeOf(conversation)
        choice = await screen.app.push_screen_wait(TreeScreen(tree, glyphs=screen.glyphs))
        if choice is None:
            return
        self._require_still(conversation)
        match choice.wish:
            case TreeWish.SWITCH if choice.node.last == await tree.head():
                pass  # the person is there
            case TreeWish.SWITCH:
                await screen.travelling.switch(choice.node.last)
            case TreeWish.FORK:
                await self.fork(at=choice.node.last)
            case TreeWish.EDIT:
                await self._edit(conversation, choice.node.entry_id)

    async def fork(self, title: str = "", *, at: int | None = None) -> None:
        """Go on in another session, from where this one ends or from the end of the turn ``at`` ends."""
        screen, conversation = self._screen, self._conversation()
        if screen.runtime is None or not await opening.may_leave(screen):
            return
        left = conversation.handle
        if not left:
            where = "There is no session yet." if conversation.saved else "Nothing of this is saved."
            raise UsageError(f"{where} There is nothing to fork.", "A fork begins with a stored answer.")
        if conversation.unsaved:
            raise UsageError("What was said last is not on disk yet.", "Fork once it is saved.")
        fork = await screen.runtime.library.fork(left, given_title(title) if title.strip() else "", at)
        await screen.open_session(fork.handle)
        if screen.conversation is not None and screen.conversation.handle == fork.handle:
            screen.notify_line(f"This is a fork of {left}, which stays as it was: /sessions opens it again.")

    async def edit(self) -> None:
        """Edit the last question, to ask it again as a branch of its own."""
        conversation = self._conversation()
        await self._edit(conversation, (await _last_question(conversation)).id)

    async def mark(self, mark: Mark) -> None:
        """Keep the last exchange in requests, or leave it out of them; again: neither."""
        conversation = self._conversation()
        await self._mark(conversation, mark, (await _last_question(conversation)).id)

    async def on_message(self, what: str, widget: Widget | None) -> None:
        """Do something with the message that has the focus: ``fork``, ``edit``, ``pin`` or ``drop``."""
        conversation = self._conversation()
        try:
            node = await self._node(conversation, widget)
            match what:
                case "fork":
                    await self.fork(at=node.last)
                case "edit":
                    await self._edit(conversation, node.entry_id)
                case _:
                    await self._mark(conversation, Mark(what), node.entry_id)
        except LocalAgentError as error:
            self._screen.notify_line(str(error), "error")

    def let_be(self) -> None:
        """End the editing: what was typed before comes back, and Up brings the edited text back."""
        screen, editing = self._screen, self._screen.turns.queue.editing
        if editing is None:
            return
        screen.turns.queue.editing = None
        edited = screen.pane.prompt
        if edited != Prompt(editing.question.text, editing.question.pictures):
            screen.pane.let_go(edited)
        screen.pane.load(editing.parked)
        screen.note_draft()
        screen.show_facts()

    def look(self) -> None:
        """A turn has begun or ended: go on with what was parked, or with what was sent in vain."""
        screen, editing = self._screen, self._screen.turns.queue.editing
        if editing is None:
            return
        if editing.asked:
            screen.turns.queue.editing = None
            screen.pane.put_before(editing.parked)
        elif editing.refused is not None:
            refused, editing.refused = editing.refused, None
            screen.pane.put_before(refused)
        screen.note_draft()

    def refused(self, prompt: Prompt) -> str:
        """Why this can't be asked in place of the question that is edited; empty when it can."""
        editing, turns = self._screen.turns.queue.editing, self._screen.turns
        if editing is None or editing.asked:
            return ""
        if turns.busy or turns.paused:
            return "An earlier question is asked again once this is over: one moment, or Esc."
        if command_of(prompt.text) is not None:
            return "A command can't stand in the place of a question: Esc lets the question be."
        return ""

    async def _edit(self, conversation: Conversation, entry_id: int) -> None:
        screen = self._screen
        self._require_writable(conversation)
        if not await opening.may_leave(screen):
            return
        question = await _question(conversation, entry_id)
        self._require_still(conversation)
        screen.turns.queue.editing = Editing(question, screen.pane.prompt)
        screen.pane.load(Prompt(question.text, question.pictures))
        screen.composer.focus()
        screen.note_draft()
        screen.show_facts()

    async def _mark(self, conversation: Conversation, mark: Mark, question_id: int) -> None:
        from local_agent.domain.tree_layout import layout, marks_on_path

        self._require_writable(conversation)
        rows = layout(await conversation.time.tree(), conversation.search.newest)
        if marks_on_path(rows).get(question_id) is mark:
            mark = Mark.FREE
        await conversation.time.mark(mark, question_id)
        if conversation is self._screen.conversation:
            self._screen.history.mark(question_id, mark)
            self._screen.show_facts()
            self._screen.notify_line(_SAYS[mark])

    async def _node(self, conversation: Conversation, widget: Widget | None) -> TreeNode:
        """The turn that a message of the transcript belongs to."""
        from local_agent.domain.tree_layout import place_of

        items = self._screen.transcript.window.items
        entry_id = next((item.entry_id for item in items if widget in item.widgets), 0)
        if not entry_id:
            raise UsageError("This is not stored yet.", "Once its answer is there it can be gone back to.")
        nodes = await conversation.time.tree()
        place = place_of(nodes, conversation.search.known_as(entry_id))
        if place is None:
            raise UsageError("This message is not on disk yet.", "Try again once it is saved.")
        return nodes[place]

    def _conversation(self) -> Conversation:
        if self._screen.conversation is None:
            raise UsageError("The database is still being opened: one moment.")
        return self._screen.conversation

    def _require_still(self, conversation: Conversation) -> None:
        if conversation is not self._screen.conversation:
            raise UsageError("Another conversation is on screen now.", "Look at its tree: /tree")

    def _require_writable(self, conversation: Conversation) -> None:
        runtime = self._screen.runtime
        if conversation.read_only or (runtime is not None and not runtime.writable):
            raise UsageError("This session is only read here.", "/fork goes on in a session of your own.")


class TreeOf:
    """The tree of one conversation, as its screen reads it."""

    def __init__(self, conversation: Conversation) -> None:
        self._conversation = conversation

    async def tree(self) -> Sequence[TreeNode]:
        return await self._conversation.time.tree()

    async def head(self) -> int | None:
        path = await self._conversation.search.path()
        return path[-1] if path else None

    async def checkpoints(self, before: int | None, limit: int) -> Sequence[Checkpoint]:
        return await self._conversation.time.checkpoints(before, limit)

    async def leading_to(self, entry_id: int, count: int) -> Slice:
        return await self._conversation.time.leading_to(entry_id, count)


async def _last_question(conversation: Conversation) -> Entry:
    part = await conversation.tail(TAIL_ENTRIES)
    while True:
        for entry in reversed(part.entries):
            if entry.kind is Kind.QUESTION and entry.readable:
                return entry
        if not part.more or not part.entries:
            raise UsageError(NOTHING_YET, ASK_FIRST)
        part = await conversation.before(part.entries[0].id, TAIL_ENTRIES)


async def _question(conversation: Conversation, entry_id: int) -> Entry:
    """A question of any branch; of the path without the pictures that are forgotten since."""
    path = await conversation.search.path()
    behind = path.index(entry_id) + 1 if entry_id in path else len(path)
    if behind < len(path):
        entry = next(
            each for each in (await conversation.before(path[behind], 1)).entries if each.id == entry_id
        )
        if entry.kind is Kind.QUESTION and entry.readable:
            return entry
    return await conversation.time.question(entry_id)
