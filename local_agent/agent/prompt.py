"""What the program itself says to the model: the system prompt, and what goes with a question."""

from __future__ import annotations

import platform
import stat
from collections.abc import Sequence
from datetime import date
from pathlib import Path

from local_agent.domain.attached import Attached, written
from local_agent.domain.modes import Mode
from local_agent.domain.text import REPLACEMENT, decode, one_line

INSTRUCTIONS_FILE = "AGENTS.md"
INSTRUCTIONS_LIMIT = 16 * 1024
"""Bytes of the instructions file that are sent at most."""

_SAYS = f"\n\nThe folder's {INSTRUCTIONS_FILE} says:\n\n"
_DATE = "Date: "
_WEEKDAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
_SYSTEMS = {"Darwin": "macOS"}

# What to do comes first and where it is comes last: the smallest models lose the thread the other way round.
_ANSWERING = """\
You are a helpful assistant. Answer in the language of the question, in Markdown, briefly and exactly.
You run in a terminal on the person's own computer ({system}), in the folder {folder}.
You can't open files, run commands or use the network."""

# Short, and nothing absolute: a model of four billion parameters keeps a few plain habits at most.
_WORKING = """\
You are a helpful assistant that works with tools. \
Answer in the language of the question, in Markdown, briefly and exactly.
Work step by step:
- Answer without tools what needs none.
- Search and read before you change: read a file right before you edit it.
- Make one small change at a time, then run the tests or checks that the project has.
- When a tool fails, read what it says and try something else.
- A change may be refused: then tell what you would do.
- When it is done, stop calling tools and say in a few lines what you did.
You work on the person's own computer ({system}), in the folder {folder}. Paths are relative to it."""

_MODE = "Mode: "
_MODES = {
    Mode.NORMAL: "the person is asked before anything is changed or run",
    Mode.PLAN: "read and plan only: changes and commands are refused",
    Mode.AUTO: "edits and the project's own commands run without asking",
}


def system_prompt(folder: Path, *, limit: int = INSTRUCTIONS_LIMIT, tools: bool = False) -> str:
    """The system prompt for a workspace; the same bytes for as long as its instructions stay the same.

    At most ``limit`` bytes of the folder's ``AGENTS.md`` are part of it. ``tools``: whether the model is
    offered any.
    """
    system = platform.system()
    role = (_WORKING if tools else _ANSWERING).format(
        system=_SYSTEMS.get(system, system or "unknown system"), folder=one_line(str(folder))
    )
    instructions = read_instructions(folder, limit)
    if not instructions:
        return role
    return f"{role}{_SAYS}{instructions}"


def role_and_instructions(prompt: str) -> tuple[str, str]:
    """The two parts of a system prompt: what the program says, and what the folder's file does."""
    role, _, instructions = prompt.partition(_SAYS)
    return role, instructions


def read_instructions(folder: Path, limit: int = INSTRUCTIONS_LIMIT) -> str:
    """The text of the folder's ``AGENTS.md``; empty when there is none that can be read.

    A link that leads out of the folder is not followed: a cloned project must not choose which of
    the person's other files a model reads.
    """
    path = folder / INSTRUCTIONS_FILE
    try:
        target = path.resolve(strict=True)
        if not target.is_relative_to(folder.resolve()) or not stat.S_ISREG(target.stat().st_mode):
            return ""
        with target.open("rb") as file:
            data = file.read(limit + 1)
    except (OSError, RuntimeError):  # RuntimeError: a loop of links
        return ""
    text = decode(data[:limit].removeprefix(b"\xef\xbb\xbf")).strip()
    if len(data) <= limit:
        return text
    return text.rstrip(REPLACEMENT) + "\n(The rest of the file is left out.)"


def question_context(
    last_date: str,
    mentioned: Sequence[Attached] = (),
    today: date | None = None,
    *,
    mode: Mode | None = None,
    notes: str = "",
) -> str:
    """What goes before a question: date and mode, where it is the first to hear them, and what it mentions.

    ``last_date`` is the ``stated_date`` of an earlier one, ``mode`` None when it was told before, ``notes``
    what ``domain.notes.to_tell`` gives. All of it goes with the question, not with the system prompt, because
    a change there would cost the whole prompt again.
    """
    day = today or date.today()
    stated = f"{_DATE}{day.isoformat()} ({_WEEKDAYS[day.weekday()]})"
    told = _told(mode) if mode is not None else ""
    lines = "\n".join(line for line in ("" if stated == last_date else stated, told) if line)
    parts = (lines, notes, written(mentioned))
    return "\n\n".join(part for part in parts if part)


def stated_date(context: str) -> str:
    """The date that a question's context states; empty when it states none."""
    first = context.partition("\n")[0]
    return first if first.startswith(_DATE) else ""


def stated_mode(context: str) -> Mode | None:
    """The mode that a question's context tells; None when it tells none."""
    for line in context.partition("\n\n")[0].splitlines()[:2]:
        name = line.removeprefix(_MODE).partition(" ")[0]
        if line.startswith(_MODE) and name in list(Mode):
            return Mode(name)
    return None


def with_mode(context: str, mode: Mode) -> str:
    """A context that tells this mode, whatever it told before."""
    lines, _, rest = context.partition("\n\n")
    kept = [line for line in lines.splitlines() if line.startswith(_DATE)]
    head = "\n".join((*kept, _told(mode)))
    if kept or stated_mode(context) is not None:
        return f"{head}\n\n{rest}" if rest else head
    return f"{head}\n\n{context}" if context else head


def _told(mode: Mode) -> str:
    return f"{_MODE}{mode} ({_MODES[mode]})"
