"""The rules that are kept: ``permissions.json`` in the person's folder, by workspace.

It may be written by hand. What can't be read in it stays as it is; while that could be something forbidden,
the file says so, and whoever asks is to be careful.
"""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from local_agent.config.paths import Paths
from local_agent.config.private_files import private_folder, read_regular, write_private
from local_agent.domain.errors import ConfigError
from local_agent.domain.text import one_line
from local_agent.policy.rules import Keepable, Rule, entry_of, subject_of

MAX_BYTES = 512 * 1024
LOCK_SECONDS = 5.0


@dataclass(frozen=True, slots=True)
class Kept:
    """What the file says of one workspace."""

    rules: tuple[Rule, ...] = ()
    problem: str = ""
    """One sentence, when something that it forbids may not have been understood."""


class RuleFile:
    """The part of the file that is about one workspace."""

    def __init__(self, paths: Paths, root: Path) -> None:
        self._path = paths.permissions
        self._locks = paths.locks
        self._workspace = str(root)
        # One value, because a screen reads in a thread of its own: the file's signature and what it said.
        self._last: tuple[object, Kept] = ((), Kept())

    def read(self) -> Kept:
        """What it says now: another process, or the person, may have changed it."""
        try:
            status = os.lstat(self._path)
            seen: object = (status.st_mtime_ns, status.st_size, status.st_ino)
        except FileNotFoundError:
            seen = None
        except OSError as error:
            return Kept(problem=f"Can't read {self._path}: {error.strerror}.")
        before, kept = self._last
        if seen != before:
            kept = self._parsed()
            self._last = (seen, kept)
        return kept

    def add(self, subject: Keepable, *, allows: bool, since: str) -> None:
        """Keep a rule. Raises ``ConfigError`` when that is not possible; then nothing has changed."""

        def change(lists: dict[str, list[Any]]) -> None:
            if not any(_is(entry, subject) for entry in lists[_side(allows)]):
                lists[_side(allows)].append(entry_of(subject, since))
            if not allows:
                lists["allow"] = [entry for entry in lists["allow"] if not _is(entry, subject)]

        self._change(change)

    def remove(self, subject: Keepable, *, allows: bool) -> None:
        """Forget a rule; one that is gone already is no error. Raises ``ConfigError``."""

        def change(lists: dict[str, list[Any]]) -> None:
            side = _side(allows)
            lists[side] = [entry for entry in lists[side] if not _is(entry, subject)]

        self._change(change)

    def _parsed(self) -> Kept:
        try:
            lists = self._lists(self._content())
        except ConfigError as error:
            return Kept(problem=str(error))
        rules: list[Rule] = []
        problem = ""
        for allows in (False, True):
            for entry in lists[_side(allows)]:
                try:
                    subject = subject_of(entry)
                except ValueError as error:
                    # What can't be read allows nothing; but it may be meant to forbid.
                    problem = problem or ("" if allows else f"{self._path}: {error}, under deny.")
                    continue
                since = entry.get("since", "")
                rules.append(Rule(subject, allows, kept=True, since=since if isinstance(since, str) else ""))
        return Kept(tuple(rules), problem)

    def _content(self) -> dict[str, Any]:
        try:
            data = read_regular(self._path, MAX_BYTES + 1)
            if len(data) > MAX_BYTES:
                raise ValueError(f"over {MAX_BYTES // 1024} KiB")
            content = json.loads(data.decode("utf-8"))
            if not isinstance(content, dict):
                raise ValueError("it is no object")
        except FileNotFoundError:
            return {}
        except OSError as error:
            raise ConfigError(f"Can't read {self._path}: {error.strerror}.") from error
        except (ValueError, RecursionError) as error:
            raise self._damaged(str(error)) from error
        return content

    def _lists(self, content: dict[str, Any]) -> dict[str, list[Any]]:
        workspaces = content.setdefault("workspaces", {})
        mine = workspaces.setdefault(self._workspace, {}) if isinstance(workspaces, dict) else None
        if not isinstance(mine, dict):
            raise self._damaged("workspaces is no object of objects")
        for side in ("allow", "deny"):
            if not isinstance(mine.setdefault(side, []), list):
                raise self._damaged(f"{side} is no list")
        return mine

    def _damaged(self, why: str) -> ConfigError:
        return ConfigError(
            f"{self._path} is damaged: {one_line(why, 120)}.",
            "Mend it, or delete it: it only holds what is allowed and forbidden in workspaces.",
        )

    def _change(self, change: Any) -> None:
        from filelock import FileLock, Timeout  # 37 ms that a start doesn't need

        try:
            private_folder(self._locks)
            with FileLock(self._locks / "permissions.lock", timeout=LOCK_SECONDS, mode=0o600):
                content = self._content()
                lists = self._lists(content)
                change(lists)
                data = json.dumps(content, indent=1).encode()
                if len(data) > MAX_BYTES:
                    raise ConfigError(f"{self._path} is full: it holds at most {MAX_BYTES // 1024} KiB.")
                write_private(self._path, data)
        except Timeout as error:
            raise ConfigError(f"Another process has been changing {self._path} for too long.") from error
        except OSError as error:
            raise ConfigError(f"Can't write {self._path}: {error.strerror}.") from error


def _side(allows: bool) -> str:
    return "allow" if allows else "deny"


def _is(entry: object, subject: Keepable) -> bool:
    try:
        return subject_of(entry) == subject
    except ValueError:
        return False
