"""What an empty conversation says: where you are, what answers, how to get back, what is missing."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from textual.app import ComposeResult
from textual.containers import Container
from textual.content import Content

from local_agent.domain.sessions import SessionInfo
from local_agent.domain.text import one_line
from local_agent.tui.look.glyphs import UNICODE, Glyphs
from local_agent.tui.look.lines import BLANK, Line, indented, wrap
from local_agent.tui.look.quantities import since
from local_agent.tui.look.workspace_names import folder_name, short_path
from local_agent.tui.widgets.row_list import fit
from local_agent.tui.widgets.typeset_view import TypesetView

LABEL_WIDTH = 8
KEYS_WIDTH = 20
ROOMY_WIDTH = 56


class Missing(StrEnum):
    """What stands between the person and a first answer."""

    NOTHING = "nothing"
    NOT_KNOWN_YET = "not known yet"
    SERVER = "server"
    MODEL = "model"
    CONSENT = "consent"


@dataclass(frozen=True, slots=True)
class WelcomeFacts:
    """What is known at the moment; shown again whenever more is."""

    workspace: str
    """The folder, as an absolute path."""
    model: str = ""
    """Empty while none is known."""
    backend: str = "ollama"
    """``ollama`` or ``embedded``."""
    address: str = ""
    """The server that was tried, or the GGUF file."""
    latest: SessionInfo | None = None
    missing: Missing = Missing.NOT_KNOWN_YET
    saved: bool = True
    suggested: str = "qwen3:4b"
    """A first model, where there is none."""
    pull_key: str = "f4"
    demo_key: str = "f3"
    sessions_key: str = "ctrl+s"
    help_key: str = "f1"
    embedded_possible: bool = True
    """False when the engine is not installed: then its key is not offered."""


class WelcomeView(Container):
    """Five calm lines in the middle of an empty transcript."""

    DEFAULT_CSS = """
    WelcomeView {
        height: 1fr;
        align: center middle;
        & > TypesetView { width: 100%; max-width: 60; }
    }
    """

    def __init__(self, facts: WelcomeFacts | None = None, *, glyphs: Glyphs = UNICODE) -> None:
        super().__init__()
        self._facts = facts
        self._glyphs = glyphs

    def compose(self) -> ComposeResult:
        yield TypesetView(self._lines)

    def show(self, facts: WelcomeFacts) -> None:
        """Say what is known now."""
        self._facts = facts
        for view in self.query(TypesetView):
            view.show(self._lines)

    def _lines(self, width: int) -> list[Line]:
        return welcome_lines(self._facts, self._glyphs, width) if self._facts is not None else []


def welcome_lines(facts: WelcomeFacts, glyphs: Glyphs, width: int) -> list[Line]:
    """The lines for a width."""
    if width < ROOMY_WIDTH:
        return _small(facts, glyphs, width)
    lines = [Line(Content.styled("local-agent", "bold $text-primary")), BLANK]
    lines += _labelled("here", Content(short_path(facts.workspace)), width)
    lines += _labelled("model", _model(facts, glyphs), width)
    if facts.latest is not None:
        lines += _labelled("last", _latest(facts.latest, glyphs, width - LABEL_WIDTH), width)
    lines.append(BLANK)
    for keys, does in _ways(facts):
        head = fit(Content(", ".join(keys)), max(KEYS_WIDTH, len(", ".join(keys)) + 2))
        lines += indented(wrap(does, width - head.cell_length), head, Content(" " * head.cell_length))
    return lines


def _small(facts: WelcomeFacts, glyphs: Glyphs, width: int) -> list[Line]:
    """Without labels, title and space; only what is missing may take more than one row."""
    where = Content.styled(folder_name(facts.workspace), "$text-muted")
    rows = [Line(where.truncate(width, ellipsis=True)), *wrap(_model(facts, glyphs, short=True), width)]
    if facts.latest is not None:
        handle, title = facts.latest.handle, one_line(facts.latest.title)
        latest = Content.assemble((handle, "$text-primary"), f" {glyphs.dot} {title}")
        rows.append(Line(latest.truncate(width, ellipsis=True)))
    ways = [Content.assemble(keys[0], "  ", does) for keys, does in _ways(facts)]
    return rows + [Line(way.truncate(width, ellipsis=True)) for way in ways]


def _labelled(label: str, content: Content, width: int) -> list[Line]:
    head = fit(Content.styled(label, "$text-muted"), LABEL_WIDTH)
    return indented(wrap(content, width - LABEL_WIDTH), head, Content(" " * LABEL_WIDTH))


def _model(facts: WelcomeFacts, glyphs: Glyphs, *, short: bool = False) -> Content:
    address = one_line(facts.address)
    match facts.missing:
        case Missing.NOT_KNOWN_YET:
            return Content.styled(f"looking for one {glyphs.ellipsis}", "$text-muted")
        case Missing.SERVER:
            return Content.styled(f"no Ollama answers at {address}", "$text-warning")
        case Missing.MODEL:
            return Content.styled(f"Ollama at {address} has no model yet", "$text-warning")
        case Missing.CONSENT:
            return Content.styled(f"{address} is not this machine; nothing was sent", "$text-warning")
        case _ if short:
            return Content(one_line(facts.model))
        case _:
            where = "in this process" if facts.backend == "embedded" else f"Ollama, {address}"
            return Content.assemble(one_line(facts.model), (f" {glyphs.dot} {where}", "$text-muted"))


def _latest(latest: SessionInfo, glyphs: Glyphs, room: int) -> Content:
    """Handle, title and age in one row; the title gives way."""
    dot = f" {glyphs.dot} "
    when = since(latest.last_activity)
    age = Content.styled(dot + when if when else "", "$text-muted")
    name = Content.assemble((latest.handle, "$text-primary"), dot, one_line(latest.title))
    return Content.assemble(name.truncate(max(room - age.cell_length, 1), ellipsis=True), age)


def _ways(facts: WelcomeFacts) -> list[tuple[tuple[str, ...], Content]]:
    """What can be done now: the keys or the lines to type, and what they do."""
    ways: list[tuple[tuple[str, ...], str]] = []
    if facts.missing is Missing.SERVER:
        ways.append((("ollama serve",), "in another terminal starts it"))
    elif facts.missing is Missing.MODEL:
        ways.append(((facts.pull_key, "/pull"), f"gets one, such as {one_line(facts.suggested)}"))
    elif facts.missing is Missing.CONSENT:
        ways.append((("enter",), "asks you before anything is sent"))
    if facts.missing in (Missing.SERVER, Missing.MODEL) and facts.embedded_possible:
        ways.append(((facts.demo_key,), "the built-in engine, with a small model"))
    if facts.latest is not None:
        ways.append(((facts.sessions_key, "/sessions"), "earlier conversations"))
        if facts.missing is Missing.NOTHING:
            ways.append((("--resume latest",), "the last one, at the next start"))
    elif facts.missing is Missing.NOTHING:
        ways.append(((facts.help_key, "/help"), "keys and commands"))
    shown = [(keys, Content.styled(does, "$text-muted")) for keys, does in ways]
    if not facts.saved:
        shown.append((("--no-save",), Content.styled("nothing of this run is kept", "$text-warning")))
    return shown
