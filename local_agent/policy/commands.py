"""What a command line does, as far as that can be told before it runs."""

from __future__ import annotations

import os
import shutil
from dataclasses import dataclass
from enum import IntEnum
from pathlib import Path

from local_agent.domain.text import one_line
from local_agent.policy.prefixes import EXECUTING_OPTIONS, SUBCOMMANDS, TRANSPARENT, prefix_of
from local_agent.policy.projects import PROJECTS, Project
from local_agent.policy.reach import Reach, Refusal
from local_agent.policy.readers import VERSIONS
from local_agent.policy.reading import find_reader, only_reads
from local_agent.policy.shell_syntax import SimpleCommand, Word, every_command, read

MOST_LOOKED_THROUGH = 256 * 1024
"""Characters of a command that are searched for what is forbidden."""


class Kind(IntEnum):
    """What a command is to the rules; of several in one line the greatest counts."""

    READS = 0
    """It only reads, and only what the tools may read too."""
    PROJECT_CODE = 1
    """It runs code that lies in the workspace."""
    ASKS = 2
    """Anything else."""


@dataclass(frozen=True, slots=True)
class Classified:
    """A command line, understood as far as it goes."""

    kind: Kind
    reason: str
    """One sentence."""
    commands: tuple[SimpleCommand, ...] = ()
    """All of it when it is plain; else none."""
    prefix: tuple[str, ...] | None = None
    """The words that a wider grant would bind; None where only this very request can be granted."""
    outside: str = ""
    """A path outside the workspace that it names."""


def classify(command: str, root: Path) -> Classified:
    """Tell what a command line does when it is run in ``root``. Looks at the file system, changes nothing."""
    script = read(command)
    if script.unclear:
        return Classified(Kind.ASKS, f"It has {script.unclear}, so what it does can't be told.")
    top = Path(os.path.realpath(root))
    reach = Reach(top, top)
    kind, reason = Kind.READS, "It only reads, and only in the workspace."
    for place in range(len(script.commands)):
        one = _step(script.commands, place, reach)
        match one:
            case Reach():
                reach = one
            case Refusal():
                covers = None if one.outside or one.secret else _covered(script.commands, top, Kind.ASKS)
                return Classified(Kind.ASKS, one.reason, script.commands, covers, one.outside)
            case str():
                kind, reason = Kind.PROJECT_CODE, one
    return Classified(kind, reason, script.commands, _covered(script.commands, top, kind))


def forbidden_in(command: str, prefix: tuple[str, ...], depth: int = 3) -> bool:
    """Whether a command that begins with these words stands anywhere in a line, as far as it can be told.

    It is found behind wrappers, in substitutions, and in what is handed to a shell; not in variables. What
    is too long to be looked through counts as forbidden.
    """
    if len(command) > MOST_LOOKED_THROUGH:
        return True
    for words in every_command(command):
        if any(_begins(words[place:], prefix) for place in range(len(words))):
            return True
        shells = {"bash", "sh", "zsh", "dash", "eval"} & {os.path.basename(word) for word in words}
        if shells and depth and any(forbidden_in(word, prefix, depth - 1) for word in words[1:]):
            return True
    return False


def named_in(command: str, root: Path) -> tuple[str, ...]:
    """What a command line names in the workspace, relative to it, as far as that can be told."""
    top = os.path.realpath(root)
    commands = list(every_command(command[:MOST_LOOKED_THROUGH].replace("\0", "")))
    folders = [
        top,
        *(os.path.join(top, words[1]) for words in commands if words[0] == "cd" and len(words) > 1),
    ]
    pieces = {piece for words in commands for word in words for piece in (word, word.rpartition("=")[2])}
    found = {
        os.path.realpath(os.path.join(folder, piece)) for folder in folders[:4] for piece in pieces if piece
    }
    return tuple(
        sorted(os.path.relpath(path, top) for path in found if path.startswith(os.path.join(top, "")))
    )


def _begins(words: tuple[str, ...], prefix: tuple[str, ...]) -> bool:
    if words[0] != prefix[0] and os.path.basename(words[0]) != os.path.basename(prefix[0]):
        return False
    rest = words[1:]
    if rest[:1] and rest[0].startswith("-"):
        # Options before the subcommand may have values: it can stand anywhere behind them.
        return all(word in rest for word in prefix[1:])
    return rest[: len(prefix) - 1] == prefix[1:]


def _changed_folder(commands: tuple[SimpleCommand, ...], place: int, reach: Reach) -> Reach | Refusal:
    """Where the commands after ``cd`` run, when that is certain."""
    words = commands[place].words
    certain = all(each.after in ("", "&&") for each in commands[: place + 1])
    after = commands[place + 1].after if place + 1 < len(commands) else "&&"
    if len(words) != 2 or words[1].glob or not certain or after != "&&":
        return Refusal("Where cd leads can't be told.")
    if refused := reach.path(words[1].text):
        return refused
    return reach.into(words[1].text) or Refusal("Where cd leads can't be told.")


def _step(commands: tuple[SimpleCommand, ...], place: int, reach: Reach) -> Reach | str | Refusal | None:
    """What one command of a line does; a ``Reach``: those after it run in another folder."""
    each = commands[place]
    if each.texts[0] == "cd":
        return _changed_folder(commands, place, reach)
    return _classify(each.words, reach, piped=each.after == "|")


def _classify(words: tuple[Word, ...], reach: Reach, *, piped: bool) -> str | Refusal | None:
    """None: it only reads. A sentence: it runs project code. Else why that can't be told."""
    words = _without_transparent(words)
    texts = [word.text for word in words]
    name = texts[0]
    if len(texts) == 2 and texts[1] == "--version" and name in VERSIONS:
        return _from_workspace(name, reach)
    if len(texts) == 3 and texts[:2] == ["command", "-v"]:
        return None
    if "/" not in name and name not in PROJECTS:
        return only_reads(words, reach, piped=piped) or _from_workspace(name, reach)
    return _runs_project(words, reach)


def _without_transparent(words: tuple[Word, ...]) -> tuple[Word, ...]:
    while len(words) > 1 and words[0].text in TRANSPARENT and not words[1].text.startswith("-"):
        skip = 1 + (words[0].text == "timeout")
        if len(words) <= skip or words[skip].text.startswith("-"):
            break
        words = words[skip:]
    return words


def _from_workspace(name: str, reach: Reach) -> str | None:
    """Whether a program by this name is one of the project's own."""
    where = shutil.which(name)
    own = where and Path(os.path.realpath(where)).is_relative_to(reach.root)
    return f"{name} is a program in the workspace: it runs code of the project." if own else None


def _runs_project(words: tuple[Word, ...], reach: Reach) -> str | Refusal:
    """The sentence for a command that runs project code; else why it isn't known to."""
    name = words[0].text
    if "/" in name:
        own = _own_program(name, reach)
        if isinstance(own, Refusal):
            return own
        name = own
    entry = PROJECTS.get(name)
    if entry and (refused := _unfit(entry, name, words[1:], reach)):
        return refused
    for word in words[1:]:
        if "$" in word.text or "`" in word.text:
            return Refusal(f"{one_line(word.text, 80)} could be taken for a command by {name}.")
        if refused := reach.glob(word.text) if word.glob else reach.pieces(word.text):
            return refused
    return f"{one_line(name, 80)} runs code of the project."


def _own_program(name: str, reach: Reach) -> str | Refusal:
    """The name in the catalogue of a program in the workspace, or the path of a script."""
    plain = os.path.normpath(os.path.join(reach.folder, name))
    real = os.path.realpath(plain)
    if refused := reach.path(os.path.dirname(name) or "."):
        return refused
    if Path(real).is_relative_to(reach.root):
        base = os.path.basename(name)
        return base if base in PROJECTS else name
    # Such as a virtual environment's python, a link to the one of the system.
    base = os.path.basename(real).rstrip("0123456789.")
    if base in PROJECTS:
        return base
    return Refusal(f"{one_line(name, 80)} is a link to a program outside the workspace.", outside=real)


def _unfit(entry: Project, name: str, rest: tuple[Word, ...], reach: Reach) -> Refusal | None:
    """Why these words make a program of the catalogue do something else than run project code."""
    texts = [word.text for word in rest]
    shown = one_line(" ".join([name, *texts[:1]]), 80)
    if bad := next((text for text in texts if _is_one_of(text, entry.never)), ""):
        return Refusal(f"{name} with {one_line(bad, 80)} is not known to run code of the project alone.")
    if entry.words and (not texts or texts[0] not in entry.words):
        return Refusal(f"{shown} is not known to only read, or to run code of the project.")
    if entry.runs:
        return _unfit_inner(rest[1:], reach)
    if entry.files:
        return _unfit_file(entry, shown, rest, reach)
    return None


def _unfit_inner(words: tuple[Word, ...], reach: Reach) -> Refusal | None:
    if not words or words[0].text.startswith("-"):
        return Refusal("It is not told which command it runs.")
    inner = _classify(words, reach, piped=True)
    return inner if isinstance(inner, Refusal) else None


def _unfit_file(entry: Project, shown: str, rest: tuple[Word, ...], reach: Reach) -> Refusal | None:
    texts = [word.text for word in rest]
    if texts[:1] == ["-m"] and len(texts) > 1 and texts[1] in entry.modules:
        return None
    if not texts or texts[0].startswith("-") or rest[0].glob:
        return Refusal(f"{shown} runs code that is not a file of the project.")
    return reach.path(texts[0])


def _is_one_of(text: str, options: tuple[str, ...]) -> bool:
    """Whether a word is an option of these, with a value or not, or one of the words."""
    for option in options:
        if option.startswith("--"):
            name = text.partition("=")[0]
            # Many programs take the beginning of a long option for the whole.
            if len(name) > 3 and name.startswith("--") and (option.startswith(name) or name == option):
                return True
        elif text == option or (option.startswith("-") and len(option) == 2 and text.startswith(option)):
            return True
    return False


def _covered(commands: tuple[SimpleCommand, ...], root: Path, kind: Kind) -> tuple[str, ...] | None:
    """The program and subcommand that a grant of this command would bind."""
    if len(commands) > 1 or (kind is Kind.ASKS and find_reader(commands[0].words)):
        # A grant for what only reads must not cover the same program where it does more.
        return None
    reach = Reach(root, root)
    for word in commands[0].words[1:]:
        refused = reach.glob(word.text) if word.glob else reach.pieces(word.text)
        if refused or (kind is Kind.ASKS and _is_one_of(word.text, EXECUTING_OPTIONS)):
            return None
    if any(word.glob for word in commands[0].words[:3]) and commands[0].texts[0] in SUBCOMMANDS:
        return None
    return prefix_of(commands[0].texts)
