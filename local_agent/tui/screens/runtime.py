"""The runtime view: everything that is known of what is running, each fact in one place."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import TYPE_CHECKING, ClassVar

from textual import work
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Container, VerticalScroll
from textual.content import Content
from textual.screen import Screen
from textual.widgets import Static

from local_agent.domain.entries import Slice, Usage
from local_agent.domain.errors import LocalAgentError
from local_agent.domain.models import Speed, full_name
from local_agent.tui.look.glyphs import UNICODE, Glyphs
from local_agent.tui.look.lines import BLANK, Line, wrap
from local_agent.tui.look.quantities import seconds, size
from local_agent.tui.screens.breakpoints import HEIGHTS, WIDTHS
from local_agent.tui.widgets.key_line import KeyLine
from local_agent.tui.widgets.labelled import labelled_lines
from local_agent.tui.widgets.typeset_view import TypesetView

if TYPE_CHECKING:
    from local_agent.runtime.conversation import Conversation
    from local_agent.runtime.runtime import Runtime

Groups = Mapping[str, Mapping[str, object]]
LEFT = ("Session", "Model", "Asked with", "Authority")


class RuntimeScreen(Screen[None]):
    """Two columns where the width allows; ``r`` looks again."""

    CSS_PATH = "runtime.tcss"
    HORIZONTAL_BREAKPOINTS = WIDTHS
    VERTICAL_BREAKPOINTS = HEIGHTS
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "close", "close", id="runtime.close"),
        Binding("r", "look", "look again", id="runtime.look"),
        Binding("up,k", "scroll('up')", "Up", show=False),
        Binding("down,j", "scroll('down')", "Down", show=False),
        Binding("pageup", "scroll('page_up')", "Page up", show=False),
        Binding("pagedown", "scroll('page_down')", "Page down", show=False),
    ]

    def __init__(self, gather: Callable[[], Awaitable[Groups]], *, glyphs: Glyphs = UNICODE) -> None:
        super().__init__()
        self._gather = gather
        self._glyphs = glyphs
        self._left, self._right = TypesetView(id="left"), TypesetView(id="right")
        self._scroll = VerticalScroll(Container(self._left, self._right, id="sides"), id="columns")

    def compose(self) -> ComposeResult:
        yield Static(Content.styled("Runtime", "bold"), id="heading")
        yield self._scroll
        yield KeyLine(self._glyphs)

    def on_mount(self) -> None:
        self._scroll.focus()
        self.look()

    @work(group="look", exclusive=True)
    async def look(self) -> None:
        """Ask again, and draw what came."""
        try:
            groups = await self._gather()
        except LocalAgentError as error:
            failure = Content.styled(str(error), "$text-error")
            self._left.show(lambda width: wrap(failure, width))
            return
        self._left.show(lambda width: self._side(groups, width, left=True))
        self._right.show(lambda width: self._side(groups, width, left=False))

    def _side(self, groups: Groups, width: int, *, left: bool) -> list[Line]:
        """The groups of one side, a blank line behind each; in one column all are on the left, in order."""
        wide = self.has_class("-wide")
        lines: list[Line] = []
        for title, facts in groups.items():
            if facts and left is (title in LEFT or not wide):
                lines += [*labelled_lines(title, facts, width), BLANK]
        return lines

    def action_look(self) -> None:
        self.look()

    def action_close(self) -> None:
        self.dismiss(None)

    def action_scroll(self, how: str) -> None:
        getattr(self._scroll, f"action_{how if how.startswith('page') else f'scroll_{how}'}")()


async def gather_groups(runtime: Runtime, conversation: Conversation | None) -> Groups:
    """What the runtime says of itself, and the last turn's numbers behind its model."""
    facts = await runtime.facts(conversation)
    groups, info = facts.groups(), facts.model_info
    if info is not None and info.size_vram is not None:
        share = f", {info.size_vram / info.size:.0%} of it" if info.size else ""
        groups["Model"] = {**groups["Model"], "in video memory": size(info.size_vram) + share}
    order: dict[str, Mapping[str, object]] = {"Session": {}, "Model": {}, "Asked with": {}}
    last = await conversation.tail(4) if conversation is not None else None
    usage = _last_usage(last) if last is not None else None
    if conversation is not None and usage is not None:
        typical = (await runtime.models.speeds()).get(full_name(conversation.model))
        order["Last turn"] = usage_facts(usage, conversation.used_tokens, conversation.window, typical)
    return order | groups


def usage_facts(
    usage: Usage, used: int | None, window: int, typical: Speed | None = None
) -> dict[str, object]:
    """Tokens and timings of one reply, beside what is usual; what the server did not say is left out."""
    usual = typical or Speed(0)
    facts: dict[str, object] = {
        "used": used,
        "of the window": f"{used / window:.0%}" if used and window else None,
        "prompt": usage.prompt_tokens,
        "reply": usage.reply_tokens,
        "first token": _beside(seconds(usage.first_token_seconds), seconds(usual.first_token_seconds)),
        "load": _beside(seconds(usage.load_seconds), seconds(usual.load_seconds)),
        "reading prompt": usage.prompt_seconds,
        "writing": usage.reply_seconds,
        "speed": _beside(_rate(usage.tokens_per_second, " tokens/s"), _rate(usual.tokens_per_second)),
    }
    return {label: value for label, value in facts.items() if value is not None}


def _beside(value: str, usual: str) -> str | None:
    """``600 ms (usually 450 ms)``"""
    return f"{value} (usually {usual})" if value and usual else value or None


def _rate(tokens_per_second: float | None, unit: str = "") -> str:
    return f"{tokens_per_second:.0f}{unit}" if tokens_per_second is not None else ""


def _last_usage(tail: Slice) -> Usage | None:
    turns = [tail.turns[e.turn_id] for e in tail.entries if e.turn_id is not None and e.turn_id in tail.turns]
    return turns[-1].usage if turns else None
