"""The dialect of Markdown that models write, and that is drawn."""

from __future__ import annotations

from markdown_it import MarkdownIt

parser = MarkdownIt("commonmark", {"html": False}).enable(["table", "strikethrough"])
