"""Inline Markdown tokens as styled text."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache

from markdown_it.token import Token
from textual.content import Content, Span
from textual.style import Style

from local_agent.domain.text import GrowingText, one_line
from local_agent.tui.device.browser import host_of
from local_agent.tui.look.lines import TAB_SIZE, standing_for

CODE_STYLE = "$text-accent"
LINK_STYLE = "underline"
URL_STYLE = "$text-muted"
URL_LIMIT = 60
"""Characters of an address that are drawn behind a link's text; of a longer one only its host is."""
HREF = "href"
"""Where the style of a link's characters has its address, among its meta."""

_URL = re.compile(r"https?://[^\s<>\"`|]*[^\s<>\"`|.,;:!?'()\[\]{}*_~]")
_BREAK = re.compile(r"<br ?/?>", re.IGNORECASE)
_STYLES = {"strong_open": "bold", "em_open": "italic", "s_open": "strike"}


class _Writer:
    """Collects text and the spans over it, as the tokens open and close.

    The source was sanitised, but ``&#x202e;`` became a character only after that.
    """

    def __init__(self) -> None:
        self._growing = GrowingText()
        self.urls: list[str] = []
        """Of the links that are open."""
        self.parts: list[str] = []
        self.length = 0
        self.spans: list[Span] = []
        self.open: list[tuple[int, str]] = []

    def text(self, text: str, style: str = "") -> None:
        # Finished each time: what waits for the piece behind it would come out of its style, or never.
        text = self._growing.feed(text.replace("\t", " " * TAB_SIZE)) + self._growing.finish()
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

    def words(self, text: str) -> None:
        """Text in which bare addresses are links, and ``<br>`` breaks the line, as cells of tables do it."""
        if "<" in text:
            text = _BREAK.sub("\n", text)
        end = 0
        for found in _URL.finditer(text) if not self.urls and "://" in text else ():
            url = found.group()
            if text[found.end() : found.end() + 1] == ")" and url.count("(") > url.count(")"):
                url += ")"
            self.text(text[end : found.start()])
            self.start_link(url)
            self.text(url)
            self.end_link()
            end = found.start() + len(url)
        self.text(text[end:])

    def start_link(self, url: str) -> None:
        """What follows is the text of a link."""
        self.urls.append(one_line(url))
        self.start(LINK_STYLE)

    def end_link(self) -> None:
        """The link's text is over: its address follows where the text is another one."""
        start, url = self.open[-1][0], self.urls.pop()
        text = self.end()
        if url and url not in (text, f"mailto:{text}"):
            self.text(" (", URL_STYLE)
            begin = self.length
            self.text(_shown(url), URL_STYLE)
            if self.parts[-1] != url:
                self.spans.extend(standing_for(url, begin, self.length))
            self.text(")", URL_STYLE)
        if url and self.length > start:
            self.spans.append(Span(start, self.length, _leads_to(url)))


def inline(tokens: Sequence[Token]) -> Content:
    """Emphasis as styles, code as code, links as ``text (address)``."""
    writer = _Writer()
    for token in tokens:
        match token.type:
            case "strong_open" | "em_open" | "s_open":
                writer.start(_STYLES[token.type])
            case "strong_close" | "em_close" | "s_close":
                writer.end()
            case "link_open":
                writer.start_link(str(token.attrs.get("href", "")))
            case "link_close":
                writer.end_link()
            case "code_inline":
                writer.text(token.content, CODE_STYLE)
            case "image":
                writer.start_link(str(token.attrs.get("src", "")))
                writer.text(token.content or "image")
                writer.end_link()
            case "softbreak" | "hardbreak":
                writer.text("\n")
            case _:
                writer.words(token.content)
    return Content("".join(writer.parts), writer.spans)


def link_at(content: Content, offset: int) -> str:
    """The address that a character of a row leads to; empty when it is no part of a link."""
    return next((url for start, end, url in links(content) if start <= offset < end), "")


def links(content: Content) -> list[tuple[int, int, str]]:
    """Where the links of a row begin and end, and their addresses."""
    found = []
    for start, end, style in content.spans:
        url = style.meta.get(HREF) if isinstance(style, Style) else None
        if isinstance(url, str):
            found.append((start, end, url))
    return sorted(found)


def _shown(url: str) -> str:
    """As much of an address as says where it leads."""
    if len(url) <= URL_LIMIT:
        return url
    host = host_of(url)
    return f"{one_line(host, URL_LIMIT)}/..." if host else one_line(url, URL_LIMIT)


@lru_cache(maxsize=256)
def _leads_to(url: str) -> Style:
    return Style.from_meta({HREF: url})
