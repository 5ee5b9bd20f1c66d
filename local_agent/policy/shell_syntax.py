"""What a command line says, read from its syntax tree: plain words and how the commands follow each other.

Only what means the same in every POSIX shell is read as plain. Everything else is *unclear*, with a word for
it: the reader errs to that side. The parser is lenient where a shell is not, so that what it says is checked
by a second reading with ``shlex``: where both differ nothing is plain.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tree_sitter import Node, Parser

MAX_BYTES = 16 * 1024
MAX_COMMANDS = 64
OPERATORS = ("|", "&&", "||", ";")
"""What may stand between plain commands; a line's end is ``;``."""

_SAFE_REDIRECTS = re.compile(r"[12]?>>? ?/dev/null|2>&1|1>&2|>&2|0?< ?/dev/null")
_BARE = re.compile(r"(?:[\w./:=,@%+^~#!*?\[\]-]|\\[^\n\t])*")
"""What an unquoted word is made of; a letter is a letter of any script."""
_LETTERS = bytes(range(0x80)) + b"x" * 0x80
_NAMES = {
    "simple_expansion": "a variable",
    "expansion": "a variable",
    "command_substitution": "a command in a command",
    "process_substitution": "a command in a command",
    "arithmetic_expansion": "arithmetic",
    "brace_expression": "braces",
    "ansi_c_string": "an escaped string",
    "translated_string": "a translated string",
    "variable_assignment": "an assignment",
    "variable_assignments": "an assignment",
    "declaration_command": "an assignment",
    "unset_command": "an assignment",
    "file_redirect": "a redirection",
    "heredoc_redirect": "a here-document",
    "herestring_redirect": "a here-string",
    "redirected_statement": "a redirection",
    "function_definition": "a function",
    "for_statement": "a loop",
    "c_style_for_statement": "a loop",
    "while_statement": "a loop",
    "if_statement": "a condition",
    "case_statement": "a condition",
    "test_command": "a condition",
    "negated_command": "a negation",
    "subshell": "a group of commands",
    "compound_statement": "a group of commands",
    "&": "a command in the background",
    "|&": "the operator |&",
    "ERROR": "something that is no complete command",
}


@dataclass(frozen=True, slots=True)
class Word:
    """One word as the program gets it."""

    text: str
    glob: bool = False
    """The shell replaces it by the names that it matches."""


@dataclass(frozen=True, slots=True)
class SimpleCommand:
    """A program with its arguments."""

    words: tuple[Word, ...]
    after: str = ""
    """The operator before it, one of ``OPERATORS``; empty for the first."""

    @property
    def texts(self) -> tuple[str, ...]:
        """Its words without their quotes."""
        return tuple(word.text for word in self.words)


@dataclass(frozen=True, slots=True)
class Script:
    """A command line. ``commands`` is the whole of it when ``unclear`` is empty."""

    commands: tuple[SimpleCommand, ...] = ()
    unclear: str = ""
    """What in it is not plain, such as ``a variable``."""
    redirected: bool = False
    """Output is thrown away or joined, which writes nothing."""


class _NotPlain(Exception):
    """``str()`` names what is not plain."""


def read(command: str) -> Script:
    """The plain commands of a command line, in order. Never raises; no process is started."""
    if not command.strip():
        return Script(unclear="no command")
    if len(command) > MAX_BYTES:
        return Script(unclear=f"more than {MAX_BYTES // 1024} KiB")
    if any(not char.isprintable() and char not in "\n\t" for char in command):
        return Script(unclear="a control character")
    source = command.encode()
    try:
        found = _Reader(source).read()
    except _NotPlain as error:
        return Script(unclear=str(error))
    if len(found.commands) > MAX_COMMANDS:
        return Script(unclear=f"more than {MAX_COMMANDS} commands")
    if not _shlex_agrees(command, found):
        return Script(unclear="something that shells read in different ways")
    return found


def every_command(command: str) -> Iterator[tuple[str, ...]]:
    """The words of each command at any depth, as far as they can be told; for what is forbidden.

    A word that is not plain stands as it is written. What hides in a variable is not found.
    """
    source = command.encode(errors="replace")
    nodes = [_tree(source)]
    while nodes:
        node = nodes.pop()
        nodes.extend(node.children)
        if node.type == "command":
            words = [child for child in node.children if child.type != "variable_assignment"]
            if words:
                yield tuple(_as_told(word, source) for word in words)


def _as_told(node: Node, source: bytes) -> str:
    try:
        return _Reader(source).word(node).text
    except _NotPlain:
        return source[node.start_byte : node.end_byte].decode()


@lru_cache(maxsize=1)
def _parser() -> Parser:
    import tree_sitter  # with its grammar 15 ms: a start reads no command
    import tree_sitter_bash

    return tree_sitter.Parser(tree_sitter.Language(tree_sitter_bash.language()))


def _tree(source: bytes) -> Node:
    """The tree of a command; its places are bytes of ``source``."""
    # The grammar's C code looks characters beyond Latin-1 up outside of its tables, which can end the
    # process. To a shell they are letters, and so a letter stands for each of their bytes.
    return _parser().parse(source.translate(_LETTERS)).root_node


class _Reader:
    """One walk over one tree. Bytes that no leaf covers must be blanks."""

    def __init__(self, source: bytes) -> None:
        self._source = source
        self._commands: list[SimpleCommand] = []
        self._operator = ""
        self._redirected = False

    def read(self) -> Script:
        root = _tree(self._source)
        if root.has_error:
            raise _NotPlain(_NAMES["ERROR"])
        self._statements(root)
        if not self._commands:
            raise _NotPlain("no command")
        return Script(tuple(self._commands), redirected=self._redirected)

    def _statements(self, node: Node) -> None:
        """Of a program, list or pipeline: the commands and what stands between them."""
        self._only_blanks_between(node)
        for child in node.children:
            match child.type:
                case "list" | "pipeline":
                    self._statements(child)
                case "command":
                    self._command(child)
                case "redirected_statement":
                    self._redirect(child)
                case "comment" if re.search(rb"(?:^|[^\\])[ \t\n;]$|^$", self._source[: child.start_byte]):
                    continue
                case operator if operator in OPERATORS:
                    self._operator = operator
                    continue
                case "\n":
                    continue
                case other:
                    raise _NotPlain(_NAMES.get(other, "a construct of the shell"))
            # Two statements with nothing but a line's end between them follow each other.
            self._operator = ";"

    def _redirect(self, node: Node) -> None:
        self._only_blanks_between(node)
        body, *redirects = node.children
        for each in redirects:
            if each.type != "file_redirect" or not _SAFE_REDIRECTS.fullmatch(self._text(each)):
                raise _NotPlain(_NAMES.get(each.type, "a redirection"))
        self._redirected = True
        if body.type == "command":
            self._command(body)
        elif body.type in ("list", "pipeline"):
            self._statements(body)
        else:
            raise _NotPlain(_NAMES.get(body.type, "a redirection"))

    def _command(self, node: Node) -> None:
        self._only_blanks_between(node)
        words = tuple(self.word(child) for child in node.children)
        if not words[0].text or words[0].glob:
            raise _NotPlain("a program whose name is not plain")
        self._commands.append(SimpleCommand(words, self._operator))

    def word(self, node: Node) -> Word:
        """A word whose value can be told without a shell."""
        match node.type:
            case "command_name" if len(node.children) == 1:
                return self.word(node.children[0])
            case "word" | "number" if not node.children or node.type == "word":
                return self._bare(self._text(node))
            case "raw_string":
                return Word(self._text(node)[1:-1])
            case "string":
                return Word(self._quoted(node))
            case "concatenation":
                return self._joined(node)
        raise _NotPlain(_NAMES.get(node.type, "a construct of the shell"))

    def _bare(self, text: str) -> Word:
        text = text.replace("\\\n", "")
        if text.startswith("~") or "=~" in text or ":~" in text:
            raise _NotPlain("a home folder (~)")
        if not _BARE.fullmatch(text):
            raise _NotPlain("braces" if "{" in text else "a character with a meaning of its own")
        plain = re.sub(r"\\.", "", text)
        return Word(re.sub(r"\\(.)", r"\1", text), any(char in plain for char in "*?["))

    def _quoted(self, node: Node) -> str:
        for child in node.children:
            if child.type not in ('"', "string_content"):
                raise _NotPlain(_NAMES.get(child.type, "a variable"))
        inner = self._text(node)[1:-1]
        if re.search(r"(?<!\\)(?:\\\\)*[$`]", inner):
            raise _NotPlain("a variable")
        return re.sub(r'\\([$`"\\\n])', lambda found: found[1].strip("\n"), inner)

    def _joined(self, node: Node) -> Word:
        """Quoted and unquoted pieces in one word."""
        if any(before.end_byte != after.start_byte for before, after in pairwise(node.children)):
            raise _NotPlain("a construct of the shell")
        pieces = [self.word(child) for child in node.children]
        return Word("".join(piece.text for piece in pieces), any(piece.glob for piece in pieces))

    def _only_blanks_between(self, node: Node) -> None:
        edges = [node.start_byte, *(edge for c in node.children for edge in (c.start_byte, c.end_byte))]
        edges.append(node.end_byte)
        for start, end in zip(edges[::2], edges[1::2], strict=True):
            gap = self._source[start:end]
            blanks = gap.replace(b"\\\n", b"")
            # The parser differs from a shell: there a line that goes on joins words, a line's end parts them.
            if blanks.strip(b" \t" if node.type == "command" else b" \t\n") or (gap and not blanks):
                raise _NotPlain(_NAMES["ERROR"])

    def _text(self, node: Node) -> str:
        return self._source[node.start_byte : node.end_byte].decode()


def _shlex_agrees(command: str, script: Script) -> bool:
    """Whether another reader of words finds the same ones, in the same order."""
    lexer = shlex.shlex(command.replace("\\\n", ""), posix=True, punctuation_chars=True)
    lexer.whitespace_split = True
    lexer.commenters = ""
    try:
        words = list(lexer)
    except ValueError:
        return False
    if "#" in command or script.redirected:
        # Comments and redirections are no words of a command: the rest must be found in order.
        remaining = iter(words)
        return all(text in remaining for each in script.commands for text in each.texts)
    ours = [text for each in script.commands for text in each.texts]
    return [word for word in words if not word or word.strip("();<>|&")] == [
        text for text in ours if not text or text.strip("();<>|&")
    ]
