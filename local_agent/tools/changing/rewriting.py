"""New contents for files: shown as a diff, taken whole or hunk by hunk, and put in place in one step each."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from os import stat_result

from local_agent.domain.sizes import size_words
from local_agent.domain.tools import Action, FileChange, ResultStatus, ToolFailed, ToolResult
from local_agent.objects.store import digest_of
from local_agent.tools.changing.changes import made_folders, mode_at
from local_agent.tools.changing.disk import made, missing_folders, staged, words
from local_agent.tools.changing.endings import NoText, Text, decode
from local_agent.tools.changing.hunks import counted, hunks_between, lines_of, taken, unified
from local_agent.tools.changing.keeping import unkept_data, with_loss
from local_agent.tools.changing.tool import STOPPED, Preview
from local_agent.tools.folder import Folder, Located
from local_agent.tools.paths import outside_of


@dataclass(frozen=True, slots=True)
class Rewrite:
    """One file and what it is to hold."""

    located: Located
    before: Text | None
    """None where no file is."""
    after: Text
    status: stat_result | None = None
    """Of the file that is there."""
    folders: tuple[Located, ...] = ()
    """Folders to be made for it, the topmost first."""

    @property
    def digests(self) -> tuple[str, str]:
        """SHA-256 before and after; empty for no file."""
        return "" if self.before is None else digest_of(self.before.encode()), digest_of(self.after.encode())

    @property
    def sides(self) -> tuple[list[str], list[str]]:
        """The lines before and after."""
        return lines_of("" if self.before is None else self.before.body), lines_of(self.after.body)


Rewrites = tuple[Rewrite, ...]


def text_of(data: bytes, located: Located) -> Text:
    """The text of a file; raises ``ToolFailed`` for what can't be changed as text."""
    try:
        return decode(data)
    except NoText as reason:
        raise ToolFailed(f"{located.shown} {reason}: it can't be changed as text. Use bash.") from reason


def new_file(folder: Folder, located: Located, text: Text) -> Rewrite:
    """A file where none is, with the folders that it needs."""
    return Rewrite(located, None, text, folders=missing_folders(folder, located))


def preview(rewrites: Rewrites) -> Preview[Rewrites]:
    """What they would do. Raises ``ToolFailed`` when that is nothing, or can't be written."""
    changing = tuple(each for each in rewrites if each.before != each.after)
    if not changing:
        names = ", ".join(each.located.shown for each in rewrites)
        raise ToolFailed(f"{names} would stay exactly as it is: there is nothing to do.")
    expected: dict[str, str] = {}
    intended: dict[str, str] = {}
    for each in changing:
        path = str(each.located.absolute)
        try:
            expected[path], intended[path] = each.digests
        except NoText as reason:
            raise ToolFailed(f"The text for {each.located.shown} {reason}.") from reason
    return Preview(
        Action.WRITE,
        _named([each.located.shown for each in changing]),
        changing,
        "".join(diff_of(each) for each in changing),
        outside_of(*(each.located for each in changing)),
        expected,
        intended,
    )


def diff_of(rewrite: Rewrite) -> str:
    """One file's part of a unified diff, with its names."""
    before, after = rewrite.sides
    shown = rewrite.located.shown
    old, new = (shown, shown) if rewrite.located.outside else (f"a/{shown}", f"b/{shown}")
    head = f"--- {'/dev/null' if rewrite.before is None else old}\n+++ {new}\n"
    return head + unified(before, after, hunks_between(before, after))


def narrow(rewrites: Rewrites, hunks: frozenset[int]) -> Preview[Rewrites]:
    """What those hunks alone would do, counted from 0 through all files; raises ``ToolFailed`` for none."""
    narrowed: list[Rewrite] = []
    first = 0
    for each in rewrites:
        before, after = each.sides
        found = hunks_between(before, after)
        chosen = [hunk for number, hunk in enumerate(found, first) if number in hunks]
        first += len(found)
        if len(chosen) == len(found):
            narrowed.append(each)
        elif chosen:
            text = each.after.with_body("".join(taken(before, after, chosen)))
            narrowed.append(replace(each, after=text))
    if not narrowed:
        raise ToolFailed("No part of the change was accepted: nothing was done.")
    return preview(tuple(narrowed))


def carry_out(rewrites: Rewrites, folder: Folder, ended: threading.Event) -> ToolResult:
    """Write all beside their places first, so that a full disk changes nothing, then put them there."""
    if ended.is_set():
        return STOPPED
    folders = tuple(dict.fromkeys(each for rewrite in rewrites for each in rewrite.folders))
    unkept = [_unkept(folder, each) for each in rewrites]
    done: list[Rewrite] = []
    failure = ""
    at = rewrites[0].located
    try:
        with made(folder, folders) as new, ExitStack() as stack:
            puts = []
            for each in rewrites:
                at = each.located
                puts.append(
                    stack.enter_context(staged(folder, at, each.after.encode(), each.digests[0], each.status))
                )
            for each, put in zip(rewrites, puts, strict=True):
                at = each.located
                try:
                    put()
                except (OSError, ToolFailed) as error:
                    if not done:
                        raise
                    failure = words(error, at) if isinstance(error, OSError) else str(error)
                    break
                done.append(each)
                folder.note_read(at, each.digests[1])
    except OSError as error:
        raise ToolFailed(words(error, at)) from error
    changes = made_folders(folder, new) + [_change(folder, each) for each in done]
    result = _result(done, changes, failure, len(rewrites))
    return replace(result, summary=with_loss(result.summary, unkept[: len(done)]))


def _unkept(folder: Folder, rewrite: Rewrite) -> str:
    """Keep what the file holds and what it will hold; why the first can't be, which is what undoing needs."""
    unkept_data(folder, rewrite.located, rewrite.after.encode(), durable=False)
    if rewrite.before is None:
        return ""
    return unkept_data(folder, rewrite.located, rewrite.before.encode())


def _result(done: Sequence[Rewrite], changes: Sequence[FileChange], failure: str, wanted: int) -> ToolResult:
    said = [_said(each) for each in done]
    if failure:
        said.append(f"{failure} {wanted - len(done)} of {wanted} files were not changed.")
    diff = "".join(diff_of(each) for each in done)
    status = ResultStatus.FAILED if failure else ResultStatus.OK
    return ToolResult(status, "\n".join(said), _summary(done), diff=diff, changes=tuple(changes))


def _change(folder: Folder, rewrite: Rewrite) -> FileChange:
    before, after = rewrite.digests
    kind = "changed" if before else "created"
    mode = None if rewrite.status is None else rewrite.status.st_mode
    return FileChange(rewrite.located.relative, kind, before, after, mode, mode_at(folder, rewrite.located))


def _said(rewrite: Rewrite) -> str:
    before, after = rewrite.sides
    shown = rewrite.located.shown
    if rewrite.before is None:
        lines = "1 line" if len(after) == 1 else f"{len(after):,} lines"
        return f"Created {shown} ({lines}, {size_words(len(rewrite.after.encode()))})."
    hunks = hunks_between(before, after)
    come, go = counted(hunks)
    where = ", ".join(f"{hunk[0].new_start + 1:,}" for hunk in hunks[:5]) + ", ..." * (len(hunks) > 5)
    said = f"Changed {shown} at line {where} (+{come:,} -{go:,} lines)."
    if rewrite.status is not None and rewrite.status.st_nlink > 1:
        said += " Its other names (hard links) keep the old content."
    return said


def _summary(done: Sequence[Rewrite]) -> str:
    come, go = map(sum, zip(*(counted(hunks_between(*each.sides)) for each in done), strict=True))
    return f"+{come:,} -{go:,}" + f" in {len(done)} files" * (len(done) > 1)


def _named(names: Sequence[str]) -> str:
    if len(names) <= 3:
        return ", ".join(names)
    return f"{', '.join(names[:2])} and {len(names) - 2} more"
