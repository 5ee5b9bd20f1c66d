"""Turns stored entries into the widgets that they were when they were live."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from textual.widget import Widget

from local_agent.domain.entries import Entry, EntryStatus, Kind, Slice, Turn, TurnStatus
from local_agent.domain.marks import Mark
from local_agent.domain.own_command import as_typed
from local_agent.domain.tree import forgets_pictures, words_of
from local_agent.tui.conversation.summarised import PathReader, stored_summary
from local_agent.tui.conversation.turn_view import ending_of
from local_agent.tui.look.glyphs import Glyphs
from local_agent.tui.tools.placing import stored_cards
from local_agent.tui.widgets.question import Question
from local_agent.tui.widgets.remarks import Receipt, Remark
from local_agent.tui.widgets.reply import Reply
from local_agent.tui.widgets.thinking import Thinking
from local_agent.tui.widgets.window import Item


async def stored_items(
    part: Slice, width: int, glyphs: Glyphs, *, written: bool = False, path: PathReader | None = None
) -> list[Item]:
    """The entries of a slice as the transcript holds them, drawn as they were when they were live.

    ``written`` says that a process lives that writes here: a running turn was not left behind. ``path`` is
    where what left the window can be read.
    """
    nodes = [entry for entry in part.entries if entry.kind is not Kind.RESULT]
    last_of_turn = {entry.turn_id: entry.id for entry in nodes if entry.turn_id is not None}
    items = []
    before = _model_before(part)
    for entry in nodes:
        widgets = await _entry_widgets(entry, part, width, glyphs, path)
        turn = part.turns.get(entry.turn_id) if entry.turn_id is not None else None
        ended = turn is not None and not (written and turn.status is TurnStatus.RUNNING)
        if turn is not None and ended and last_of_turn[turn.id] == entry.id:
            named = before is None or before not in ("", turn.model)
            widgets.extend(_turn_end(entry, turn, part, glyphs, named=named))
            if isinstance(widgets[-1] if widgets else None, Receipt):
                before = turn.model
        if turn is not None and turn.id in part.marks:
            dress(widgets, Mark(part.marks[turn.id]))
        items.append(Item(entry.id, widgets))
        # Forty of them take long enough for a key to wait.
        await asyncio.sleep(0)
    return items


def dress(widgets: Sequence[Widget], mark: Mark) -> None:
    """Show what is wanted of the exchange that these belong to."""
    for widget in widgets:
        widget.set_class(mark is Mark.DROP, "-left-out")
        if isinstance(widget, Question):
            widget.wanted = None if mark is Mark.FREE else mark


def _model_before(part: Slice) -> str | None:
    """The model of the turn before those of a slice; empty before the first one, None when it is unknown."""
    first = next((entry.turn_id for entry in part.entries if entry.turn_id is not None), 0)
    earlier = [key for key in part.turns if key < first]
    if earlier:
        return part.turns[max(earlier)].model
    return None if part.more else ""


async def _entry_widgets(
    entry: Entry, part: Slice, width: int, glyphs: Glyphs, path: PathReader | None
) -> list[Widget]:
    if not entry.readable:
        return [Remark("This message could not be read from the database.", "warning", glyphs=glyphs)]
    match entry.kind:
        case Kind.QUESTION:
            question = Question(
                words_of(entry), entry.created_at, glyphs, context=entry.context, pictures=entry.pictures
            )
            question.set_reactive(Question.failed, _unanswered(entry, part))
            return [question]
        case Kind.COMMAND:
            command = Question(as_typed(entry.text), entry.created_at, glyphs)
            return [command, *stored_cards(entry, part, glyphs, opened=True)]
        case Kind.ASSISTANT:
            widgets: list[Widget] = []
            if entry.thinking.strip():
                widgets.append(Thinking(entry.thinking, glyphs, about=_thinking_seconds(entry, part)))
            if entry.text.strip():
                widgets.append(await Reply.prepared(entry.text, width, glyphs))
            return [*widgets, *stored_cards(entry, part, glyphs)]
        case Kind.SUMMARY:
            return [stored_summary(entry, path, glyphs)]
        case Kind.MARKER if forgets_pictures(entry):
            return [Remark(words_of(entry), glyphs=glyphs)]
        case _:
            return []


def _thinking_seconds(entry: Entry, part: Slice) -> float | None:
    """How long the model thought: of the time that it wrote, as much as thinking is of what it wrote.

    Only the whole time is stored. None where it is not known, or was that of several replies.
    """
    turn = part.turns.get(entry.turn_id) if entry.turn_id is not None else None
    if turn is None or turn.usage.reply_seconds is None or entry.calls:
        return None
    return turn.usage.reply_seconds * len(entry.thinking) / (len(entry.thinking) + len(entry.text))


def _unanswered(question: Entry, part: Slice) -> bool:
    turn = part.turns.get(question.turn_id) if question.turn_id is not None else None
    if turn is None or turn.status is not TurnStatus.FAILED:
        return False
    return not any(entry.turn_id == turn.id and entry.kind is Kind.ASSISTANT for entry in part.entries)


def _turn_end(entry: Entry, turn: Turn, part: Slice, glyphs: Glyphs, *, named: bool) -> list[Widget]:
    widgets: list[Widget] = []
    error = part.errors.get(turn.id)
    if error is not None:
        widgets.append(Remark(error.line, "error", glyphs=glyphs))
    interrupted = turn.status is TurnStatus.RUNNING or entry.status is EntryStatus.INTERRUPTED
    status = TurnStatus.INTERRUPTED if interrupted else turn.status
    if entry.kind is Kind.ASSISTANT or status is TurnStatus.INTERRUPTED:
        ending = ending_of(status, turn.stop_reason, turn.usage, glyphs, model=turn.model, named=named)
        if ending is not None:
            widgets.append(ending)
    return widgets
