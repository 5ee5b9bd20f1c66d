"""The question whether a call may run: what it would do, and the answers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import Enum
from typing import ClassVar

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import VerticalScroll
from textual.content import Content
from textual.getters import query_one
from textual.widgets import Static

from local_agent.domain.approvals import NO, Answer, ApprovalRequest, Choice
from local_agent.domain.text import one_line
from local_agent.domain.tools import Action
from local_agent.tui.look.glyphs import UNICODE, Glyphs
from local_agent.tui.look.lines import Line
from local_agent.tui.tools.calls import TARGET_LIMIT
from local_agent.tui.tools.request_body import RequestBody, exact_words
from local_agent.tui.tools.waiting import WaitingPanel
from local_agent.tui.widgets.line_input import LineInput
from local_agent.tui.widgets.lines_view import LinesView

ANSWER_ROWS = 2
_WORDS = {Choice.SESSION: "this session", Choice.WORKSPACE: "always here", Choice.REQUEST: "this again"}
_KEYS = {Choice.REQUEST: "r", Choice.SESSION: "s", Choice.WORKSPACE: "w"}


class Stage(Enum):
    """What keys mean at the moment."""

    DECIDE = "decide"
    CONFIRM = "confirm"
    """A wider answer was named, and Enter gives it."""
    HUNKS = "hunks"
    """Some of a diff are chosen."""
    REASON = "reason"
    """The person types why not."""


class Answers(LinesView, can_focus=False):
    """The answers and their keys, the more important ones first; what finds no room is left out."""

    def __init__(self, glyphs: Glyphs) -> None:
        super().__init__()
        self._dot = Content.styled(f" {glyphs.dot} ", "$text-muted")
        self._pieces: Sequence[Content] = ()

    def show(self, pieces: Sequence[tuple[str, str]]) -> None:
        """Keys, and what each of them does."""
        self._pieces = [
            Content.assemble((key, "bold $text"), (f" {what}", "$text-muted")) for key, what in pieces
        ]
        self.refresh(layout=True)

    def lines_for(self, width: int) -> Sequence[Line]:
        rows: list[Content] = []
        for piece in self._pieces:
            if rows and rows[-1].cell_length + piece.cell_length + 3 <= width:
                rows[-1] = Content.assemble(rows[-1], self._dot, piece)
            elif len(rows) < ANSWER_ROWS:
                rows.append(piece.truncate(max(width, 2), ellipsis=True))
        return [Line(row, gutter=len(row)) for row in rows]


class ApprovalPanel(WaitingPanel):
    """*No* is Enter and Esc, *once* is one key; what reaches further needs its key and Enter."""

    DEFAULT_CSS = """
    ApprovalPanel {
        /* Beside a height in rows the bound of the body's would count for nothing. */
        & > Static { height: auto; text-wrap: nowrap; text-overflow: ellipsis; }
        & > #request-reason { height: auto; max-height: 2; text-wrap: wrap; color: $text-muted; }
        & > #request-covers { height: auto; max-height: 3; text-wrap: wrap; display: none; }
        & > #request-body { height: auto; max-height: 40vh; scrollbar-size-vertical: 1; }
        & > LineInput { display: none; height: auto; border: none; padding: 0; background: transparent; }
        &.-covers > #request-covers, &.-why > LineInput { display: block; }
        &:blur Answers { opacity: 60%; }
    }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "accept", "No, or what is chosen", id="approval.accept", show=False),
        Binding("escape", "refuse", "No", id="approval.no", show=False),
        Binding("ctrl+c", "refuse", "No", id="approval.stop", show=False, priority=True),
        Binding("y", "once", "Once", id="approval.once", show=False),
        Binding("r", "wider('request')", "This request again", id="approval.request", show=False),
        Binding("s", "wider('session')", "In this session", id="approval.session", show=False),
        Binding("w", "wider('workspace')", "Always in this workspace", id="approval.workspace", show=False),
        Binding("h", "hunks", "Choose hunks", id="approval.hunks", show=False),
        Binding("space", "toggle_hunk", "Take a hunk or leave it", id="approval.toggle", show=False),
        Binding("n", "reason", "No, and say why", id="approval.reason", show=False),
        Binding("d", "details", "The exact arguments", id="approval.details", show=False),
        Binding("v", "view", "Read it on the whole screen", id="approval.view", show=False),
        Binding("up", "move(-1)", "Up", id="approval.up", show=False),
        Binding("down", "move(1)", "Down", id="approval.down", show=False),
        Binding("pageup", "page(-1)", "Page up", id="approval.page_up", show=False),
        Binding("pagedown", "page(1)", "Page down", id="approval.page_down", show=False),
    ]

    body = query_one(RequestBody)
    answers = query_one(Answers)

    def __init__(self, request: ApprovalRequest, glyphs: Glyphs = UNICODE) -> None:
        super().__init__(request.id)
        self.request = request
        self.stage = Stage.DECIDE
        self._glyphs = glyphs
        self._wider: Choice | None = None

    def compose(self) -> ComposeResult:
        request, glyphs = self.request, self._glyphs
        yield Static(
            Content.assemble(
                (f"{glyphs.waiting} ", "bold $text-warning"),
                (f"{one_line(request.tool, 40)}  ", "bold $text"),
                (one_line(request.target[: TARGET_LIMIT * 4], TARGET_LIMIT), "$text"),
                ("  sandboxed" if request.confined else "", "$text-muted"),
            ),
            id="request-action",
            markup=False,
        )
        yield Static(one_line(request.reason, TARGET_LIMIT), id="request-reason", markup=False)
        yield VerticalScroll(RequestBody(request, glyphs), id="request-body", can_focus=False)
        yield Static(id="request-covers", markup=False)
        yield LineInput(placeholder="what the model is told", compact=True)
        yield Answers(glyphs)

    def on_mount(self) -> None:
        self.query_one("#request-reason").display = bool(self.request.reason.strip())
        self._turn_to(Stage.DECIDE)

    def hand_back(self, text: str = "") -> None:
        # The letter that named a wider answer was the first one of a word.
        named = _KEYS[self._wider] if text and self._wider is not None else ""
        self._turn_to(Stage.DECIDE)
        super().hand_back(named + text)

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        stage = self.stage
        if stage is Stage.REASON:
            return action == "refuse"
        match action:
            case "once" | "reason" | "details" | "view":
                return stage is Stage.DECIDE
            case "hunks":
                return stage is Stage.DECIDE and self._divisible
            case "wider":
                return stage in (Stage.DECIDE, Stage.CONFIRM) and Choice(str(parameters[0])) in self._offers
            case "toggle_hunk":
                return stage is Stage.HUNKS
            case _:
                return True

    def action_accept(self) -> None:
        match self.stage:
            case Stage.CONFIRM if self._wider is not None:
                self.give(Answer(self._wider))
            case Stage.HUNKS if self.body.chosen:
                every = len(self.body.chosen) == len(self.body.hunks)
                self.give(Answer(Choice.ONCE, None if every else self.body.chosen))
            case _:
                self.give(NO)

    def action_refuse(self) -> None:
        if self.stage is Stage.DECIDE:
            self.give(NO)
        else:
            self._turn_to(Stage.DECIDE)
            self.focus()

    def action_once(self) -> None:
        self.give(Answer(Choice.ONCE))

    def action_wider(self, choice: str) -> None:
        self._turn_to(Stage.CONFIRM, Choice(choice))

    def action_hunks(self) -> None:
        self._turn_to(Stage.HUNKS)

    def action_toggle_hunk(self) -> None:
        self.body.chosen ^= {self.body.at or 0}
        self._turn_to(Stage.HUNKS)

    def action_reason(self) -> None:
        self._turn_to(Stage.REASON)
        self.query_one(LineInput).focus()

    def action_details(self) -> None:
        self.body.exact = not self.body.exact
        self._redraw()

    def action_view(self) -> None:
        from local_agent.tui.screens.viewer import ViewerScreen  # only when it is wanted

        request = self.request
        parts = [request.reason, request.diff, exact_words(request.arguments)]
        text = "\n\n".join(part for part in parts if part.strip())
        title = f"{one_line(request.tool, 40)} {one_line(request.target[:400], 100)}"
        self.app.push_screen(ViewerScreen(title, text, raw=True, glyphs=self._glyphs))

    def action_move(self, step: int) -> None:
        body = self.body
        if self.stage is Stage.HUNKS and body.at is not None:
            body.at = min(max(body.at + step, 0), len(body.hunks) - 1)
            self._redraw()
            self._scroll.scroll_to(y=body.row_of(body.at), animate=False, immediate=True)
        else:
            self._scroll.scroll_relative(y=step, animate=False, immediate=True)

    def action_page(self, step: int) -> None:
        rows = max(self._scroll.size.height - 1, 1)
        self._scroll.scroll_relative(y=step * rows, animate=False, immediate=True)

    @on(LineInput.Submitted)
    def _reasoned(self, event: LineInput.Submitted) -> None:
        event.stop()
        self.give(Answer(Choice.NO, text=event.value.strip()))

    @property
    def _scroll(self) -> VerticalScroll:
        return self.query_one("#request-body", VerticalScroll)

    @property
    def _offers(self) -> Mapping[Choice, str]:
        return {offer.choice: offer.covers for offer in self.request.offers}

    @property
    def _divisible(self) -> bool:
        return self.request.action is Action.WRITE and len(self.body.hunks) > 1

    def _turn_to(self, stage: Stage, wider: Choice | None = None) -> None:
        self.stage, self._wider = stage, wider
        self.set_class(stage is Stage.CONFIRM, "-covers")
        self.set_class(stage is Stage.REASON, "-why")
        body = self.body
        if stage is not Stage.HUNKS:
            body.at = None
            body.chosen = frozenset(hunk.number for hunk in body.hunks)
        elif body.at is None:
            body.at, body.exact = 0, False
        if wider is not None:
            covers = one_line(self._offers[wider], TARGET_LIMIT)
            line = Content.assemble((f"{_WORDS[wider]}: ", "bold $text-warning"), (covers, "$text"))
            self.query_one("#request-covers", Static).update(line)
        self.answers.show(self._keys())
        self._redraw()
        self.refresh_bindings()

    def _redraw(self) -> None:
        self.body.refresh(layout=True)

    def _keys(self) -> list[tuple[str, str]]:
        match self.stage:
            case Stage.CONFIRM:
                return [("enter", "allow that"), ("esc", "back")]
            case Stage.HUNKS:
                chosen = len(self.body.chosen)
                done = f"apply {chosen} of {len(self.body.hunks)}" if chosen else "no"
                return [("enter", done), ("space", "take or leave"), ("esc", "back")]
            case Stage.REASON:
                return [("enter", "no, and say this"), ("esc", "back")]
        offers = self._offers
        keys = [("enter", "no"), ("y", "once")]
        keys += [(_KEYS[choice], words) for choice, words in _WORDS.items() if choice in offers]
        keys += [("h", "hunks")] if self._divisible else []
        return [
            *keys,
            ("d", "exactly" if self.body.hunks else "details"),
            ("v", "view"),
            ("n", "no, because"),
        ]
