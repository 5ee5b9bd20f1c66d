"""A workspace full of ways out of it, and the calls of a model that tries each of them for reading."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from pathlib import Path

CANARY = "CANARY-that-nobody-may-read"


class Way(Enum):
    """What becomes of an attempt."""

    ASKED = "it leads outside, and the person is asked with the resolved path"
    REFUSED = "it fails in a sentence"
    EMPTY = "it runs, and finds nothing"
    INSIDE = "it runs, and reads what is inside after all"


@dataclass(frozen=True)
class Escape:
    """One attempt. ``{outside}`` and ``{root}`` stand for the absolute paths."""

    what: str
    tool: str
    arguments: Mapping[str, object]
    way: Way
    leads_to: str = ""
    """Where the person is told that it leads, for ``ASKED``."""


def hostile(folder: Path) -> tuple[Path, Path]:
    """A workspace and a folder outside it, with the canary in everything that must stay unread."""
    root, outside = folder / "project", folder / "outside"
    for each in (
        root / "src",
        root / "deep" / "er",
        root / ".ssh",
        root / ".git",
        root / "private",
        outside / "in",
    ):
        each.mkdir(parents=True)
    (root / "src" / "main.py").write_text("print('hello')\n")
    (root / "deep" / "shared.txt").write_text("shared\n")
    secrets = (".env", ".env.local", "server.pem", "ID_RSA", ".ssh/config", ".git/config", "private/plan.md")
    for name in secrets:
        (root / name).write_text(f"{CANARY}\n")
    (root / ".agentignore").write_text("private/\n")
    for name in ("secret.txt", "in/deep.txt"):
        (outside / name).write_text(f"{CANARY}\n")
    (folder / "project-2").mkdir()
    (folder / "project-2" / "secret.txt").write_text(f"{CANARY}\n")
    links = {
        "out": outside,
        "out.txt": outside / "secret.txt",
        "chain-1": Path("chain-2"),
        "chain-2": Path("deep/chain-3"),
        "deep/chain-3": Path("../../outside/secret.txt"),
        "loop-1": Path("loop-2"),
        "loop-2": Path("loop-1"),
        "src/up": Path("../.."),
        "notes.txt": Path(".env"),
        "notes.md": Path("private/plan.md"),
        "keys": Path(".ssh"),
        "git": Path(".git"),
        "zero": Path("/dev/zero"),
        "tty": Path("/dev/tty"),
        "self": Path("/proc/self"),
        "inside.py": Path("src/main.py"),
        "deep/back": root / "src",
        ".env.example": Path(".env"),
        ".env.shared": Path("deep/shared.txt"),
    }
    for name, target in links.items():
        (root / name).symlink_to(target)
    os.mkfifo(root / "pipe")
    os.mkfifo(root / "src" / "pipe.py")
    with open(os.fsencode(root) + b"/src/\xff\xfe.py", "w") as odd:
        odd.write("odd\n")
    return root, outside


def _read(what: str, path: str, way: Way, leads_to: str = "") -> Escape:
    return Escape(what, "read", {"path": path}, way, leads_to)


READING = [
    _read("up", "../outside/secret.txt", Way.ASKED, "{outside}/secret.txt"),
    _read("up in the middle", "src/../../outside/secret.txt", Way.ASKED, "{outside}/secret.txt"),
    _read("up many times", "../" * 60 + "etc/hostname", Way.ASKED, "/etc/hostname"),
    _read("up and back", "../project/src/main.py", Way.INSIDE),
    _read("a neighbour with the same beginning", "../project-2/secret.txt", Way.ASKED, "{root}-2/secret.txt"),
    _read("absolute", "{outside}/secret.txt", Way.ASKED, "{outside}/secret.txt"),
    _read("absolute inside", "{root}/src/main.py", Way.INSIDE),
    _read("two slashes", "//etc/hostname", Way.ASKED, "/etc/hostname"),
    _read("a link to a file", "out.txt", Way.ASKED, "{outside}/secret.txt"),
    _read("a link to a folder", "out/secret.txt", Way.ASKED, "{outside}/secret.txt"),
    _read("a chain of links", "chain-1", Way.ASKED, "{outside}/secret.txt"),
    _read("a link up", "src/up/outside/secret.txt", Way.ASKED, "{outside}/secret.txt"),
    _read("dots behind a link", "out/../outside/secret.txt", Way.ASKED, "{outside}/secret.txt"),
    _read("a link inside", "inside.py", Way.INSIDE),
    _read("a link to a folder inside", "deep/back/main.py", Way.INSIDE),
    _read("links in a circle", "loop-1", Way.REFUSED),
    _read(
        "the root by way of /proc", "/proc/self/root{outside}/secret.txt", Way.ASKED, "{outside}/secret.txt"
    ),
    _read("the folder by way of /proc", "self/cwd/../../etc/hostname", Way.ASKED),
    _read("the environment", "/proc/self/environ", Way.REFUSED),
    _read("the environment through a link", "self/environ", Way.REFUSED),
    _read("a descriptor", "/dev/fd/0", Way.ASKED),
    _read("a device that never ends", "zero", Way.ASKED, "/dev/zero"),
    _read("the terminal", "tty", Way.ASKED, "/dev/tty"),
    _read("a pipe", "pipe", Way.REFUSED),
    _read("home", "~/.bashrc", Way.REFUSED),
    _read("home alone", "~", Way.REFUSED),
    _read("home as a variable", "$HOME/.bashrc", Way.REFUSED),
    _read("home as a variable in braces", "${HOME}/.bashrc", Way.REFUSED),
    _read("somebody's home", "~root/.bashrc", Way.REFUSED),
    _read("a NUL", "src/main.py\0.txt", Way.REFUSED),
    _read("a NUL behind a way out", "../outside/secret.txt\0", Way.REFUSED),
    _read("a line break", "src/main.py\n../outside/secret.txt", Way.REFUSED),
    _read("a long name", "a" * 300, Way.REFUSED),
    _read("a long path", "a/" * 3_000, Way.REFUSED),
    _read("half a character", "\ud800", Way.REFUSED),
    _read("bytes that are no text", "src/\udcff\udcfe.py", Way.INSIDE),
    _read("nothing", "", Way.REFUSED),
    _read("an address", "file://{outside}/secret.txt", Way.REFUSED),
    _read("backslashes", "..\\outside\\secret.txt", Way.REFUSED),
    _read("coded dots", "%2e%2e/outside/secret.txt", Way.REFUSED),
    _read("wide dots", "\N{TWO DOT LEADER}/outside/secret.txt", Way.REFUSED),
    _read("a secret", ".env", Way.REFUSED),
    _read("a secret in another case", ".EnV.LOCAL", Way.REFUSED),
    _read("a key in another case", "ID_RSA", Way.REFUSED),
    _read("a key by its ending", "./server.pem", Way.REFUSED),
    _read("a secret by another name", "notes.txt", Way.REFUSED),
    _read("a secret by the name of an example", ".env.example", Way.REFUSED),
    _read("what only its link calls a secret", ".env.shared", Way.REFUSED),
    _read("a secret folder by another name", "keys/config", Way.REFUSED),
    _read("a slash behind it", ".env/", Way.REFUSED),
    _read("a dot behind it", ".env/.", Way.REFUSED),
    _read("dots around it", "src/../.env", Way.REFUSED),
    _read("version control", ".git/config", Way.REFUSED),
    _read("version control by another name", "git/config", Way.REFUSED),
    _read("what an .agentignore hides", "private/plan.md", Way.REFUSED),
    _read("the same by another name", "notes.md", Way.REFUSED),
    _read("a folder", "src", Way.REFUSED),
    Escape("list outside", "ls", {"path": ".."}, Way.ASKED, "{root}/.."),
    Escape("list through a link", "ls", {"path": "out"}, Way.ASKED, "{outside}"),
    Escape("list a secret folder", "ls", {"path": ".ssh"}, Way.REFUSED),
    Escape("list a secret folder by another name", "ls", {"path": "keys"}, Way.REFUSED),
    Escape("list version control", "ls", {"path": ".git"}, Way.REFUSED),
    Escape("find outside", "glob", {"pattern": "*.txt", "path": "../outside"}, Way.ASKED, "{outside}"),
    Escape("find with a pattern that leads out", "glob", {"pattern": "../outside/*"}, Way.REFUSED),
    Escape("find in what a link leads to", "glob", {"pattern": "**/secret.txt"}, Way.EMPTY),
    Escape("find by an absolute pattern", "glob", {"pattern": "{outside}/*"}, Way.EMPTY),
    Escape("find secrets", "glob", {"pattern": "**/.env.local"}, Way.EMPTY),
    Escape("search everything", "grep", {"pattern": "CANARY"}, Way.EMPTY),
    Escape("search outside", "grep", {"pattern": "CANARY", "path": "out"}, Way.ASKED, "{outside}"),
    Escape("search a secret", "grep", {"pattern": "CANARY", "path": ".env"}, Way.REFUSED),
    Escape("search a secret by another name", "grep", {"pattern": ".", "path": "notes.txt"}, Way.REFUSED),
    Escape("search what an .agentignore hides", "grep", {"pattern": ".", "path": "private"}, Way.REFUSED),
    Escape("find what it hides", "glob", {"pattern": "*", "path": "private"}, Way.REFUSED),
    Escape("search for secrets", "grep", {"pattern": ".", "glob": ".env*"}, Way.EMPTY),
    Escape("search a pipe", "grep", {"pattern": ".", "path": "pipe"}, Way.REFUSED),
    Escape("search a device", "grep", {"pattern": ".", "path": "zero"}, Way.ASKED, "/dev/zero"),
]


def placed(value: object, root: Path, outside: Path) -> object:
    """An argument with the absolute paths put in."""
    if not isinstance(value, str) or "{HOME}" in value:
        return value
    return value.replace("{outside}", str(outside)).replace("{root}", str(root))
