"""Inline Markdown tokens as styled text."""

from __future__ import annotations

from collections.abc import Sequence

from markdown_it.token import Token
from textual.content import Content, Span

from local_agent.domain.text import GrowingText
from local_agent.tui.lines import TAB_SIZE

CODE_STYLE = "$text-accent"
LINK_STYLE = "underline"
URL_STYLE = "$text-muted"

_STYLES = {"strong_open": "bold", "em_open": "italic", "s_open": "strike"}


class _Writer:
    """Collects text and the spans over it, as the tokens open and close.

    The source was sanitised, but ``&#x202e;`` became a character only after that.
    """

    def __init__(self) -> None:
        self._growing = GrowingText()
        self.parts: list[str] = []
        self.length = 0
        self.spans: list[Span] = []
        self.open: list[tuple[int, str]] = []

    def text(self, text: str, style: str = "") -> None:
        text = self._growing.feed(text.replace("\t", " " * TAB_SIZE))
        if style and text:
            self.spans.append(Span(self.length, self.length + len(text), style))
        self.parts.append(text)
        self.length += len(text)

    def start(self, style: str) -> None:
        self.open.append((self.length, style))

    def end(self) -> str:
        """Close the innermost style; the text under it."""
        start, style = self.open.pop()
        if self.length > start:
            self.spans.append(Span(start, self.length, style))
        return "".join(self.parts)[start:]


def inline(tokens: Sequence[Token]) -> Content:
    """Emphasis as styles, code as code, links as ``text (url)``."""
    writer = _Writer()
    urls: list[str] = []
    for token in tokens:
        match token.type:
            case "strong_open" | "em_open" | "s_open":
                writer.start(_STYLES[token.type])
            case "strong_close" | "em_close" | "s_close":
                writer.end()
            case "link_open":
                urls.append(str(token.attrs.get("href", "")))
                writer.start(LINK_STYLE)
            case "link_close":
                _end_link(writer, urls.pop())
            case "code_inline":
                writer.text(token.content, CODE_STYLE)
            case "image":
                writer.text(token.content or "image")
                writer.text(f" ({token.attrs.get('src', '')})", URL_STYLE)
            case "softbreak" | "hardbreak":
                writer.text("\n")
            case _:
                writer.text(token.content)
    return Content("".join(writer.parts), writer.spans)


def _end_link(writer: _Writer, url: str) -> None:
    text = writer.end()
    if url and url not in (text, f"mailto:{text}"):
        writer.text(f" ({url})", URL_STYLE)
