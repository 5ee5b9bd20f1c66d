"""Whether a catalogued program, called with these words, only reads."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from local_agent.domain.text import one_line
from local_agent.policy.reach import Reach, Refusal
from local_agent.policy.readers import FIND_TESTS, GIT_READERS, READERS, Reader, Takes
from local_agent.policy.shell_syntax import Word

_SED_ADDRESS = r"(?:\d+|\$|/[^/\\\n;{}]*/)"
_SED = re.compile(
    rf"(?:{_SED_ADDRESS}(?:,(?:{_SED_ADDRESS}|\+\d+))?)? ?(?:[pdq=]|s/[^/\\\n]*/[^/\\\n]*/[gpI\d]*)"
)
"""One command of ``sed`` that prints, leaves out or replaces. No ``w``, no ``e``, no file."""
_JQ_ELSEWHERE = re.compile(
    r"\b(?:env|ENV|import|include|modulemeta|get_search_list|input_filename|\$__loc__)\b"
)
"""What in a filter of ``jq`` shows more than its input."""


@dataclass(slots=True)
class _Arguments:
    """The words after a program's name, told apart."""

    options: set[str] = field(default_factory=set)
    """As ``-x`` and ``--long``, without their values."""
    values: list[tuple[str, str]] = field(default_factory=list)
    operands: list[Word] = field(default_factory=list)


def find_reader(words: tuple[Word, ...]) -> tuple[Reader, str, tuple[Word, ...]] | None:
    """The entry for a command, the name that it has there, and the words after that name."""
    texts = [word.text for word in words]
    if texts[0] != "git":
        return (reader, texts[0], words[1:]) if (reader := READERS.get(texts[0])) else None
    for length in (2, 1):
        name = " ".join(texts[1 : 1 + length])
        if len(texts) > length and (reader := GIT_READERS.get(name)):
            return reader, f"git {name}", words[1 + length :]
    return None


def only_reads(words: tuple[Word, ...], reach: Reach, *, piped: bool) -> Refusal | None:
    """None when a command only reads what it may; else why that can't be told.

    ``piped``: it gets its input from the command before it.
    """
    found = find_reader(words)
    if found is None:
        shown = one_line(" ".join(word.text for word in words[:2]), 80)
        return Refusal(f"{shown} is not known to only read.")
    reader, name, rest = found
    if name.startswith("git ") and not reach.own_git():
        return Refusal("Git would obey the settings of another repository in this folder.")
    if reader.takes is Takes.WORDS:
        return None
    if reader.takes is Takes.PLACES:
        return _find(rest, reach)
    arguments = _arguments(reader, name, rest)
    if isinstance(arguments, Refusal):
        return arguments
    return (
        _counted(reader, name, arguments)
        or _language(reader, arguments)
        or _opened(reader, arguments, reach)
        or _folders(reader, name, arguments, reach, piped)
    )


def _arguments(reader: Reader, name: str, rest: tuple[Word, ...]) -> _Arguments | Refusal:
    found = _Arguments()
    words = list(rest)
    while words:
        word = words.pop(0)
        if word.text == "--" and not word.glob:
            found.operands += words
            break
        if not word.text.startswith("-") or word.text == "-":
            found.operands.append(word)
        elif word.glob or not _option(reader, word.text, words, found):
            return Refusal(f"The option {one_line(word.text, 80)} of {name} is not known to only read.")
    return found


def _option(reader: Reader, text: str, following: list[Word], found: _Arguments) -> bool:
    """Read one option; its value may be the next word, which is taken then."""
    if text.startswith("--"):
        name, sign, value = text.partition("=")
        if not sign and name in reader.long:
            found.options.add(name)
            return True
        if f"{name}=" not in reader.long:
            return False
        return _valued(found, name, value if sign else None, following)
    if reader.number and text[1:].isdecimal():
        return True
    for place, letter in enumerate(text[1:], 2):
        if letter in reader.valued:
            return _valued(found, f"-{letter}", text[place:] or None, following)
        if letter not in reader.flags:
            return False
        found.options.add(f"-{letter}")
    return True


def _valued(found: _Arguments, name: str, value: str | None, following: list[Word]) -> bool:
    found.options.add(name)
    if value is None:
        if not following or following[0].glob:
            return False
        value = following.pop(0).text
    found.values.append((name, value))
    return True


def _counted(reader: Reader, name: str, arguments: _Arguments) -> Refusal | None:
    count = len(arguments.operands)
    globs = any(word.glob for word in arguments.operands)
    if count > reader.most or (globs and reader.most < READERS["cat"].most):
        return Refusal(f"{name} could write to one of its files.")
    if count < reader.least:
        return Refusal(f"{name} wants more than that.")
    return None


def _given_pattern(arguments: _Arguments) -> bool:
    return bool(arguments.options & {"-e", "--regexp", "--files"})


def _language(reader: Reader, arguments: _Arguments) -> Refusal | None:
    texts = [word.text for word in arguments.operands[:1]]
    match reader.language:
        case "sed":
            scripts = [value for name, value in arguments.values if name == "-e"] or texts
            commands = [part.strip() for script in scripts for part in script.split(";")]
            if not all(_SED.fullmatch(command) for command in commands):
                return Refusal("The script of sed is not one that is known to only print.")
        case "jq":
            if any(_JQ_ELSEWHERE.search(text) for text in texts):
                return Refusal("The filter of jq reads more than its input.")
        case "date":
            if not all(text.startswith("+") for text in texts):
                return Refusal("date could set the clock.")
    return None


def _opened(reader: Reader, arguments: _Arguments, reach: Reach) -> Refusal | None:
    """What of its words may not be opened."""
    # An option's value on one system is a file on another: what is there is looked at all the same.
    loose = [value for _, value in arguments.values]
    files = list(arguments.operands)
    if reader.takes is Takes.TEXT:
        loose, files = [*loose, *(word.text for word in files)], []
        if any(word.glob for word in arguments.operands):
            return Refusal("It has a pattern of file names where it takes none.")
    if reader.takes is Takes.PATTERN and files and not _given_pattern(arguments):
        if files[0].glob:
            return Refusal("Its pattern is not in quotes: the shell could put file names in its place.")
        loose.append(files.pop(0).text)
    for text in (*loose, *sorted(arguments.options)):
        if found := reach.chance(text):
            return found
    for word in files:
        parts = word.text.split(":") if reader in GIT_READERS.values() else [word.text]
        for part in parts:
            if found := reach.glob(part) if word.glob else reach.path(part):
                return found
    return None


def _folders(reader: Reader, name: str, arguments: _Arguments, reach: Reach, piped: bool) -> Refusal | None:
    """What must not be read in the folders that it reads whole."""
    if reader.deep != "*" and not (reader.deep and arguments.options & {reader.deep, "--recursive"}):
        return None
    pattern = reader.takes is Takes.PATTERN and not _given_pattern(arguments)
    places = arguments.operands[pattern:]
    hidden = reader.hidden or bool(arguments.options & {"-g", "--glob"})
    if any(word.glob for word in places):
        places = [Word(".")]
    if not places and name != "diff" and not (piped and name == "rg"):
        places = [Word(".")]
    for word in places:
        if found := reach.tree(word.text, hidden=hidden, follows=reader.follows):
            return found
    return None


def _find(rest: tuple[Word, ...], reach: Reach) -> Refusal | None:
    words = list(rest)
    while words and not words[0].text.startswith(("-", "(", ")", "!", ",")):
        word = words.pop(0)
        if found := reach.glob(word.text) if word.glob else reach.path(word.text):
            return found
    while words:
        word = words.pop(0)
        if word.glob:
            return Refusal("A pattern of find is not in quotes: the shell could put file names in its place.")
        if word.text in FIND_TESTS:
            continue
        if f"{word.text}=" not in FIND_TESTS or not words or words[0].glob:
            return Refusal(f"The test {one_line(word.text, 80)} of find is not known to only read.")
        words.pop(0)
    return None
