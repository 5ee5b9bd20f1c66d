"""Draws a session that another process writes, as it grows."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import TYPE_CHECKING

from local_agent.domain.entries import Entry, Kind, Slice, TurnStatus
from local_agent.domain.errors import LocalAgentError
from local_agent.domain.mirror import Mirrored
from local_agent.domain.ports import Reply
from local_agent.tui.conversation.turn_view import OpenReply

if TYPE_CHECKING:
    from local_agent.runtime.conversation import Conversation
    from local_agent.tui.conversation.history import History

_log = logging.getLogger(__name__)


async def mirror(
    history: History, conversation: Conversation, tail: Slice, say: Callable[[str], None]
) -> None:
    """Follow the conversation that ``history`` shows up to ``tail``, until it shows another one.

    ``say`` is told when nobody writes any more, and how to go on then.
    """
    shown = Mirrored(tail, Reply(), conversation.writer)
    open_reply = OpenReply(history.transcript, history.glyphs)
    try:
        async for seen in conversation.follow():
            if conversation is not history.conversation:
                return
            if not history.transcript.end_mounted:
                await open_reply.remove()
                continue
            place = first_to_draw(shown, seen, history.mounted)
            if place is not None:
                await open_reply.remove()
                await history.draw_end(seen.tail, place)
            await open_reply.show(seen.reply)
            if shown.holder is not None and seen.holder is None:
                say(
                    f"Process {shown.holder.pid} no longer holds this session: "
                    "send a prompt to go on with it here."
                )
            shown = seen
    except LocalAgentError as error:
        _log.warning("the mirror ended: %s", error)
        say(f"What the other process writes can't be read any more. {error}")


def first_to_draw(shown: Mirrored, seen: Mirrored, mounted: list[int]) -> int | None:
    """The place in the new tail from which on it must be drawn; None when all of it is on screen."""
    known = set(mounted)
    entries = seen.tail.entries
    for place, entry in enumerate(entries):
        if entry.kind is Kind.RESULT:
            continue  # drawn with the entry that holds its call
        if entry.id not in known or _looks(entry, shown) != _looks(entry, seen):
            return place
    # What is mounted behind the tail is on another branch by now.
    nodes = [entry.id for entry in entries if entry.kind is not Kind.RESULT]
    return None if not nodes or mounted[-1] == nodes[-1] else len(entries)


def _looks(entry: Entry, at: Mirrored) -> object:
    """What an entry's drawing depends on beside itself."""
    turn = at.tail.turns.get(entry.turn_id) if entry.turn_id is not None else None
    calls = [at.tail.executions.get((entry.id, number)) for number in range(len(entry.calls))]
    if turn is None:
        return calls
    # What has been written of an answer stands below: that says enough of a turn that nobody ends.
    written = at.holder is not None or not at.reply.empty
    return turn, at.tail.errors.get(turn.id), turn.status is TurnStatus.RUNNING and written, calls
