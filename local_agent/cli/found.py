"""What a search found, as lines of text."""

from __future__ import annotations

from collections.abc import Iterator

from local_agent.domain.quoting import quoted
from local_agent.domain.searching import SearchPage, WordQuery
from local_agent.domain.text import one_line
from local_agent.domain.times import local_time


def found_rows(page: SearchPage, *, with_folder: bool) -> Iterator[str]:
    """Two rows a hit: where it was said, and what."""
    for passage in page.passages:
        who = "answered" if passage.is_answer else "asked"
        row = f"{passage.handle}  {local_time(passage.created_at)}  {who:<8}  {one_line(passage.title)}"
        yield row + (f"  {one_line(passage.workspace_root)}" if with_folder else "")
        yield f"    {passage.snippet.text}"


def search_remarks(page: SearchPage, typed: str, *, everywhere: bool) -> Iterator[str]:
    """What the person should know of the search; for a miss, what to try."""
    if page.dropped and page.passages:
        yield f"Not looked for: {', '.join(page.dropped)}."
    if page.partly:
        yield "Nothing says all of these words; this is what says the most of them."
    if page.passages:
        return
    if not WordQuery.of(typed).words:
        yield f"There is no word in {one_line(typed, 60)!r}: type one, or a part of one."
        return
    where = "" if everywhere else " here"
    yield f"Nothing says {one_line(typed, 60)!r}{where}. Try other words, or another language."
    if not everywhere:
        # What is too long to be shown whole, or can't be, is not to be typed from here.
        exact = one_line(typed, 60) == typed
        words = f"-- {quoted(typed)}" if exact else "WORDS"
        yield f"In every folder: local-agent session search --all {words}"
    elif page.newest:
        yield "The newest sessions: local-agent session list --all"
