"""What is known afterwards of a call whose end nobody recorded, and what is proposed about it.

Pure: what there is to see was looked at before. Nothing is proposed where nothing can be known.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from pathlib import PurePath

from local_agent.domain.errors import UsageError
from local_agent.domain.intended import files_of
from local_agent.domain.ledger import EventKind, Evidence, Execution, Observation, Pending, Source
from local_agent.domain.quoting import quoted
from local_agent.domain.text import one_line
from local_agent.domain.times import local_time
from local_agent.domain.tools import FOLDER, Effect

SET_LIMIT = 100
"""How many are settled at once."""
TEXT_LIMIT = 500
"""Characters of a reference or a summary."""
NAMED = 5
"""How many paths a line names."""
AHEAD = timedelta(minutes=5)
"""How far the clock of whoever observed may be ahead of ours."""

_RFC_3339 = re.compile(r"\d{4}-\d\d-\d\d[Tt ]\d\d:\d\d:\d\d(\.\d+)?([Zz]|[+-]\d\d:\d\d)", re.ASCII)

MEANING: Mapping[Observation, str] = {
    Observation.EFFECT_APPLIED: "it was done",
    Observation.EFFECT_NOT_APPLIED: "it was not done",
    Observation.EFFECT_COMPENSATED: "it was done, and has been put right since",
}
"""Each finding in plain words."""


@dataclass(frozen=True, slots=True)
class Seen:
    """What there was to see when somebody looked."""

    digests: Mapping[str, str | None] = field(default_factory=dict)
    """Of what the ledger names, by absolute path: SHA-256, empty for no file, None for what can't be read."""
    running: bool | None = None
    """Whether its process lives; None where there was none, or nobody can tell."""
    changed: tuple[str, ...] | None = None
    """What in the workspace has changed since it began, relative; None where that was not, or not wholly,
    looked at."""


@dataclass(frozen=True, slots=True)
class Finding:
    """An uncertain execution, what is known of it in plain lines, and the evidence that this makes."""

    pending: Pending
    lines: tuple[str, ...]
    proposal: Evidence | None
    looked_at: str
    """UTC, RFC 3339."""

    @property
    def execution(self) -> Execution:
        """The one that it is about."""
        return self.pending.execution


def left_open(execution: Execution) -> bool:
    """Whether it began to change something and no end is recorded.

    A restore of files, which no entry calls for, is completed or taken back: how far it came can be seen.
    """
    began = execution.state is EventKind.STARTED and execution.effect is not Effect.READ_ONLY
    return began and execution.entry_id != 0


def as_uncertain(execution: Execution) -> Execution:
    """What the ledger will call an execution whose process is gone, once the session is taken up."""
    return replace(execution, state=EventKind.OUTCOME_UNKNOWN) if left_open(execution) else execution


def find(pending: Pending, seen: Seen, now: str) -> Finding:
    """Say what is known of an execution; ``now`` (UTC, RFC 3339) is when it was looked at."""
    execution = pending.execution
    files = files_of(execution)
    lines = [_began(execution)]
    if not execution.readable:
        lines.append("What is stored of it is not what the program wrote, so nothing is made of it.")
        return Finding(pending, tuple(lines), None, now)
    if seen.running is not None:
        lines.append(_process_line(execution, seen.running))
    if files:
        lines += (_file_line(path, *sides, seen, pending.workspace_root) for path, sides in files.items())
    elif seen.changed is not None:
        lines.append(_changes_line(seen.changed))
        lines.append("What a command does outside this folder can't be seen from here.")
    proposal = None
    if not seen.running:
        proposal = (
            _from_files(files, seen, pending.workspace_root, now) if files else _from_changes(seen, now)
        )
    if proposal is None and not seen.running:
        lines.append("What came of it can't be told from here: look yourself.")
    return Finding(pending, tuple(lines), proposal, now)


def _began(execution: Execution) -> str:
    when = f" at {local_time(execution.started_at)}" if execution.started_at else ""
    return f"It began{when}, and nothing is recorded of its end."


def _process_line(execution: Execution, running: bool) -> str:
    if not running:
        return "Its process has ended."
    pid = one_line(str(execution.facts.get("pid", "")), 20)
    return f"Its process ({pid}) still runs: wait for its end, or end it, then look again."


def _file_line(path: str, before: str, after: str, seen: Seen, root: str) -> str:
    now, name = seen.digests.get(path), _shown(path, root)
    if now is None:
        return f"{name} can't be read."
    if now == after:
        there = "is a folder now" if after == FOLDER else "holds what it was to hold"
        return f"{name} {there}." if after else f"{name} is gone, as it was to be."
    if now == before:
        return f"{name} is not there, as before." if not before else f"{name} is as it was before."
    return f"{name} is not there." if not now else f"{name} is neither as before nor as it was to become."


def _changes_line(changed: Sequence[str]) -> str:
    if not changed:
        return "Nothing in this folder has changed since."
    return f"Changed in this folder since: {_listed(changed)}."


def _from_files(files: Mapping[str, tuple[str, str]], seen: Seen, root: str, now: str) -> Evidence | None:
    """Only where all files say the same."""
    held = {path: seen.digests.get(path) for path in files}
    for side, observation, words in (
        (1, Observation.EFFECT_APPLIED, "as it was to become"),
        (0, Observation.EFFECT_NOT_APPLIED, "as it was before"),
    ):
        if all(held[path] == sides[side] for path, sides in files.items()):
            names = [f"{_shown(path, root)} {_digest_words(held[path])}" for path in files]
            which = "the file is" if len(files) == 1 else f"all {len(files)} files are"
            summary = f"By digest {which} {words}."
            return _evidence(observation, Source.WORKSPACE_ARTIFACT, _listed(names, "; "), summary, now)
    return None


def _from_changes(seen: Seen, now: str) -> Evidence | None:
    if seen.changed is None:
        return None
    if seen.changed:
        summary = "Files of the workspace have changed since it began."
        reference = _listed(seen.changed)
        return _evidence(Observation.EFFECT_APPLIED, Source.WORKSPACE_ARTIFACT, reference, summary, now)
    summary = "No file or folder of the workspace, nor Git's history, has changed since it began."
    return _evidence(
        Observation.EFFECT_NOT_APPLIED, Source.VERIFICATION_CHECK, "times of all files", summary, now
    )


def _evidence(observation: Observation, source: Source, reference: str, summary: str, now: str) -> Evidence:
    return Evidence(observation, source, one_line(reference, TEXT_LIMIT), one_line(summary, TEXT_LIMIT), now)


def _digest_words(digest: str | None) -> str:
    if digest == FOLDER:
        return FOLDER
    return f"sha256:{digest[:16]}" if digest else "no file"


def _listed(names: Sequence[str], between: str = ", ") -> str:
    shown = between.join(one_line(name, 80) for name in names[:NAMED])
    return shown if len(names) <= NAMED else f"{shown} and {len(names) - NAMED} more"


def _shown(path: str, root: str) -> str:
    try:
        return one_line(str(PurePath(path).relative_to(root)), 200)
    except ValueError:
        return one_line(path, 200)


def seen_by_hand(observation: Observation, now: str) -> Evidence:
    """What a person says who has looked, in the program's words."""
    words = f"A person looked: {MEANING[observation]}."
    return _evidence(observation, Source.OPERATOR_OBSERVATION, "looked at by hand", words, now)


def evidence(observation: str, source: str, reference: str, summary: str, observed_at: str) -> Evidence:
    """Evidence as a person gives it; the time becomes UTC. Raises ``UsageError``."""
    texts = {"--reference": one_line(reference), "--summary": one_line(summary)}
    for option, text in texts.items():
        if not text:
            raise UsageError(f"{option} is empty.", "Say where it can be seen, and what was found.")
        if len(text) > TEXT_LIMIT:
            raise UsageError(f"{option} has {len(text)} characters: {TEXT_LIMIT} at most.")
    return Evidence(
        Observation(observation),
        Source(source),
        texts["--reference"],
        texts["--summary"],
        _moment(observed_at),
    )


def _moment(text: str) -> str:
    example = "Such as 2026-01-31T14:05:00Z."
    shown = one_line(text, 40)
    if not _RFC_3339.fullmatch(text.strip()):
        raise UsageError(f"--observed-at {shown!r} is no RFC 3339 time.", example)
    try:
        moment = datetime.fromisoformat(text.strip().upper()).astimezone(UTC)
    except (ValueError, OverflowError):
        raise UsageError(f"--observed-at {shown!r} is no time there ever was.", example) from None
    if moment > datetime.now(UTC) + AHEAD:
        raise UsageError(f"--observed-at {shown!r} lies ahead.", "Give the time at which it was observed.")
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def apply_words(handle: str, which: Sequence[str], found: Evidence) -> tuple[str, ...]:
    """The command that settles, word by word: ``which`` is an id, or ``--all`` with ``--set-digest``."""
    return (
        *("local-agent", "execution", "recover", handle, which[0], "--apply", *which[1:]),
        *("--observation", str(found.observation), "--source", str(found.source)),
        *("--reference", found.reference, "--summary", found.summary, "--observed-at", found.observed_at),
    )


def apply_command(handle: str, which: Sequence[str], found: Evidence, folder: str = "") -> str:
    """``apply_words`` for a shell; ``folder`` is the workspace, where that is not the shell's own."""
    command = " ".join(map(quoted, apply_words(handle, which, found)))
    return f"cd {quoted(folder)} && {command}" if folder else command
