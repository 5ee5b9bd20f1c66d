"""Programs that only read, with the options that keep it so. An option that is not here is asked about."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum


class Takes(StrEnum):
    """What a program's operands are."""

    PATHS = "paths"
    TEXT = "text"
    """Not opened: names, formats, numbers."""
    WORDS = "words"
    """Printed or thrown away as they are, whatever they look like."""
    PATTERN = "pattern"
    """Text first, unless an option gave it, then paths."""
    PLACES = "places"
    """Paths first, then a language of its own: ``find``."""
    REVISIONS = "revisions"
    """Names of Git, or paths; ``name:path`` is a file in a commit."""


@dataclass(frozen=True, slots=True)
class Reader:
    """A program, or a subcommand of one, that only reads when it is called like this."""

    flags: str = ""
    """Letters that may follow one dash, together."""
    valued: str = ""
    """Letters that take a value, attached or as the next word. A value is never opened."""
    long: frozenset[str] = frozenset()
    """Whole options; ``--x=`` takes a value after the sign, or as the next word."""
    takes: Takes = Takes.PATHS
    most: int = 1_000
    """So many operands; a further one could be written to."""
    least: int = 0
    number: bool = False
    """``-5`` is a count."""
    deep: str = ""
    """An option that makes it read whole folders; ``*``: it always does."""
    hidden: bool = True
    """What it reads in folders includes hidden files."""
    follows: bool = False
    """What it reads in folders includes what links lead to."""
    language: str = ""
    """Of its first operand, which is looked at too: ``sed``, ``jq``, ``date``."""


def options(text: str) -> frozenset[str]:
    return frozenset(text.split())


def _git(text: str = "", **more: object) -> Reader:
    return Reader(**{"takes": Takes.REVISIONS, "long": options(text), **more})  # type: ignore[arg-type]  # fields by name


_DIFF = (
    "--stat --stat= --numstat --shortstat --summary --name-only --name-status --cached --staged --check"
    " --color --color= --no-color --word-diff --word-diff= --diff-filter= --relative --no-ext-diff"
    " --no-textconv --patch --no-patch --unified= --ignore-all-space --ignore-space-change --minimal"
    " --ignore-blank-lines --function-context --find-renames --raw --dirstat --merge-base --exit-code"
    " --quiet"
)
_LOG = (
    f"{_DIFF} --oneline --graph --all --decorate --decorate= --no-decorate --abbrev-commit --pretty="
    " --format= --max-count= --skip= --since= --until= --after= --before= --author= --committer= --grep="
    " --merges --no-merges --first-parent --reverse --follow --date= --branches --tags --remotes"
    " --topo-order --date-order --no-abbrev-commit --left-right --cherry-pick --full-history --no-walk"
    " --count"
)
READERS: Mapping[str, Reader] = {
    "ls": Reader("aAlhrtSRF1dGgiknopqsUvXxCmcuBNQ", long=options("--all --color --color= --human-readable")),
    "cat": Reader("nbsETvAetu", long=options("--number --show-all")),
    "head": Reader("qv", "nc", options("--lines= --bytes="), number=True),
    "tail": Reader("qvr", "nc", options("--lines= --bytes="), number=True),
    "wc": Reader("lwcmL", long=options("--lines --words --bytes --chars")),
    "nl": Reader("p", "bhfdilnsvw"),
    "tac": Reader(),
    "rev": Reader(),
    "fold": Reader("bs", "w"),
    "cut": Reader("sn", "bcdf", options("--delimiter= --fields= --characters= --complement")),
    "paste": Reader("s", "d"),
    "column": Reader("tx", "sco"),
    "tr": Reader("cCdst", takes=Takes.TEXT),
    "sort": Reader(
        "bdfghiMnRrVsuzCc", "kt", options("--reverse --unique --numeric-sort --human-numeric-sort")
    ),
    "uniq": Reader("cdDiu", "fsw", options("--count --repeated --unique"), most=1),
    "comm": Reader("123", most=2),
    "cmp": Reader("bls", most=2),
    "diff": Reader(
        "uqbBwiEpystNra",
        "UC",
        options(
            "--unified --unified= --brief --color --color= --recursive --side-by-side --suppress-common-lines"
        ),
        most=2,
        deep="*",
        follows=True,
    ),
    "grep": Reader(
        "EFGPivwxcLlnqsoHhnbaIr",
        "eABCm",
        options(
            "--extended-regexp --fixed-strings --perl-regexp --ignore-case --invert-match --word-regexp"
            " --count --line-number --files-with-matches --files-without-match --only-matching"
            " --with-filename --no-filename --recursive --color --color= --include= --exclude="
            " --exclude-dir= --regexp= --after-context= --before-context= --context= --max-count= --quiet"
            " --no-messages --text"
        ),
        takes=Takes.PATTERN,
        number=True,
        deep="-r",
    ),
    "rg": Reader(
        "iSsFwxvclnNoHIqUP",
        "eABCmgtTM",
        options(
            "--ignore-case --smart-case --case-sensitive --fixed-strings --word-regexp --line-regexp"
            " --count --invert-match --files-with-matches --files-without-match --line-number"
            " --no-line-number --files --only-matching --no-heading --heading --color= --glob= --type="
            " --type-not= --max-count= --regexp= --after-context= --before-context= --context= --multiline"
            " --pcre2 --no-filename --with-filename --max-depth= --max-columns= --sort= --stats --trim"
            " --column --count-matches --json"
        ),
        takes=Takes.PATTERN,
        deep="*",
        hidden=False,
    ),
    "find": Reader(takes=Takes.PLACES),
    "tree": Reader("adfishDFCnQ", "LIP", options("--dirsfirst --noreport --gitignore --du --prune")),
    "file": Reader("biLk", long=options("--brief --mime --mime-type --mime-encoding")),
    "stat": Reader("xL", "c", options("--format= --printf= --terse"), least=1),
    "du": Reader("shacmkbx", "d", options("--summarize --human-readable --max-depth= --all --total --bytes")),
    "df": Reader("hTiHk", long=options("--human-readable")),
    "pwd": Reader("LP", most=0),
    "basename": Reader(takes=Takes.TEXT),
    "dirname": Reader(takes=Takes.TEXT),
    "realpath": Reader("ems"),
    "readlink": Reader("fen"),
    "md5sum": Reader("bt"),
    "sha1sum": Reader("bt"),
    "sha256sum": Reader("bt"),
    "shasum": Reader("bt", "a"),
    "cksum": Reader(),
    "od": Reader("abcdosxv", "AtNj", most=1),
    "xxd": Reader("beipu", "clsg", most=1),
    "hexdump": Reader("Cbcdovx", "ns"),
    "strings": Reader("a", "nt"),
    "jq": Reader(
        "rcnesSMaCj",
        long=options("--raw-output --compact-output --null-input --slurp --sort-keys --tab --exit-status"),
        takes=Takes.PATTERN,
        least=1,
        language="jq",
    ),
    "sed": Reader("nEr", "e", options("--quiet --silent"), takes=Takes.PATTERN, least=1, language="sed"),
    "echo": Reader(takes=Takes.WORDS),
    "printf": Reader(takes=Takes.TEXT, least=1),
    "true": Reader(takes=Takes.WORDS),
    "false": Reader(takes=Takes.WORDS),
    ":": Reader(takes=Takes.WORDS),
    "seq": Reader("w", "sf", takes=Takes.TEXT, most=3),
    "which": Reader("a", takes=Takes.TEXT),
    "type": Reader("aptP", takes=Takes.TEXT),
    "whoami": Reader(most=0),
    "id": Reader("ungGr", takes=Takes.TEXT, most=1),
    "groups": Reader(most=0),
    "uname": Reader("asrvmpnio", most=0),
    "hostname": Reader(most=0),
    "arch": Reader(most=0),
    "nproc": Reader(most=0),
    "uptime": Reader("p", most=0),
    "free": Reader("hmgkb", most=0),
    "date": Reader(
        "uIR",
        "",
        options("--utc --iso-8601 --iso-8601= --rfc-3339="),
        takes=Takes.TEXT,
        most=1,
        language="date",
    ),
}
"""Programs that only read, with the options that keep it so."""
GIT_READERS: Mapping[str, Reader] = {
    "status": _git(
        "--short --branch --porcelain --porcelain= --long --ignored --untracked-files= --show-stash"
        " --verbose",
        flags="sbvz",
        valued="u",
    ),
    "log": _git(_LOG, flags="pzwbMCimcqsu", valued="nSGLU", number=True),
    "diff": _git(_DIFF, flags="pwbMCzsuqRW", valued="USGl"),
    "show": _git(_LOG, flags="pwbMCzsuqW", valued="USGn", number=True),
    "branch": _git(
        "--list --all --remotes --verbose --show-current --color= --no-color --format= --sort= --contains="
        " --no-contains= --merged= --no-merged=",
        flags="avr",
        most=0,
    ),
    "tag -l": _git("--sort= --format=", flags="n", takes=Takes.TEXT),
    "tag --list": _git("--sort= --format=", flags="n", takes=Takes.TEXT),
    "branch --list": _git("--all --remotes --verbose", flags="avr", takes=Takes.TEXT),
    "tag": _git("--list --sort= --format= --contains= --points-at=", flags="ln", valued="", most=0),
    "remote": _git("--verbose", flags="v", most=0),
    "remote get-url": _git(takes=Takes.TEXT, most=1),
    "stash list": _git(_LOG, flags="p", most=0),
    "stash show": _git(_DIFF, flags="pu", most=1),
    "worktree list": _git("--porcelain --verbose", flags="v", most=0),
    "reflog": _git(_LOG, flags="", valued="n", most=0, number=True),
    "reflog show": _git(_LOG, flags="", valued="n", number=True),
    "blame": _git(
        "--date= --show-email --show-name --porcelain --line-porcelain", flags="wMCestlp", valued="L"
    ),
    "shortlog": _git("--numbered --summary --email --since= --until= --all", flags="nsec", least=1),
    "rev-parse": _git(
        "--short --short= --verify --quiet --abbrev-ref --show-toplevel --show-prefix --is-inside-work-tree"
        " --git-dir --symbolic-full-name --all --branches --tags",
        flags="q",
    ),
    "rev-list": _git(_LOG, valued="n", least=1),
    "describe": _git("--tags --all --always --long --dirty --abbrev= --match= --exact-match --contains"),
    "merge-base": _git("--all --is-ancestor --fork-point --octopus", flags="a", least=1),
    "name-rev": _git("--name-only --tags --always"),
    "ls-files": _git(
        "--cached --deleted --modified --others --ignored --stage --unmerged --exclude-standard --full-name"
        " --exclude= --error-unmatch",
        flags="cdmoisuzvt",
        valued="x",
    ),
    "ls-tree": _git("--name-only --full-name --full-tree --long", flags="rtdlz", least=1),
    "cat-file": _git(flags="pts", least=1),
    "grep": _git(
        "--ignore-case --word-regexp --line-number --name-only --files-with-matches --count --fixed-strings"
        " --extended-regexp --perl-regexp --show-function --heading --break --cached --max-depth=",
        flags="iwnlcFEPGHhLpqv",
        valued="eABC",
        takes=Takes.PATTERN,
    ),
    "count-objects": _git("--verbose --human-readable", flags="vH", most=0),
    "show-ref": _git("--heads --tags --head --hash --verify --quiet", flags="sdq"),
    "for-each-ref": _git("--format= --sort= --count= --contains= --merged="),
    "check-ignore": _git("--verbose --non-matching --no-index --quiet", flags="vnq", takes=Takes.PATHS),
    "version": _git("--build-options", most=0),
}
"""Subcommands of ``git`` that only read, with the options that keep it so."""
FIND_TESTS = options(
    "-name= -iname= -path= -ipath= -wholename= -regex= -iregex= -type= -maxdepth= -mindepth= -size="
    " -mtime= -mmin= -ctime= -cmin= -atime= -amin= -perm= -user= -group= -links= -empty -print -print0 -ls"
    " -prune -quit -not -o -or -a -and -mount -xdev -depth -readable -writable -executable -true -false"
    " -printf= ! ( ) ,"
)
"""What may stand in an expression of ``find``; ``=``: the next word is its value."""
VERSIONS = options(
    "python python3 pip pip3 uv node npm deno bun git ruff mypy black gcc g++ clang make cmake java javac"
    " ruby perl docker tsc rg jq sqlite3 bash"
)
"""Programs that with ``--version`` alone say it without a look at what the project configures."""
