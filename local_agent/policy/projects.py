"""Programs that run the code of the project they are called in."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from local_agent.policy.readers import options


@dataclass(frozen=True, slots=True)
class Project:
    """A program that runs the project's own code."""

    words: tuple[str, ...] = ()
    """What its first word must be; empty for anything."""
    never: tuple[str, ...] = ()
    """Words, or beginnings of options, with which it does something else."""
    runs: bool = False
    """The words after the first are a command of their own: ``uv run pytest``."""
    files: bool = False
    """An interpreter: its first word is a file of the workspace, and what follows is for that file."""
    modules: frozenset[str] = field(default_factory=frozenset)
    """What may follow ``-m``."""
    about: str = ""


_RELEASES = ("publish", "deploy", "release", "install", "uninstall", "upload", "push", "login", "ship")
_PYTHON_MODULES = options(
    "pytest unittest mypy ruff black isort flake8 pylint pyright coverage tox nox doctest compileall"
    " py_compile build sphinx json.tool tokenize ast dis"
)
_PYTHON = Project(files=True, modules=_PYTHON_MODULES, about="a file of the workspace, or -m pytest")
_SCRIPTS = Project(
    ("test", "run", "run-script", "t"), never=(*_RELEASES, "--script-shell"), about="test, run NAME"
)
_FILE = Project(files=True, about="a file of the workspace")
_TARGETS = Project(never=("--eval", "-E", *_RELEASES), about="a target")
_TOOL = Project()
PROJECTS: Mapping[str, Project] = {
    **{name: Project(never=("--pdb", "--trace", "--pdbcls")) for name in ("pytest", "py.test")},
    **{name: _PYTHON for name in ("python", "python3")},
    **{name: _SCRIPTS for name in ("npm", "pnpm", "bun")},
    "yarn": Project(("test", "run", "build", "lint"), never=_RELEASES, about="test, run NAME, build, lint"),
    **{name: _TOOL for name in ("ruff", "mypy", "pyright", "flake8", "pylint", "isort", "black", "ty")},
    **{name: _TOOL for name in ("tsc", "eslint", "prettier", "jest", "vitest", "mocha", "biome")},
    **{name: _TOOL for name in ("tox", "nox", "rustfmt", "gofmt", "ctest", "phpunit", "rspec", "shellcheck")},
    "coverage": Project(("run", "report", "html", "xml", "json", "combine"), about="run, report"),
    "uv": Project(("run",), runs=True, about="run with one of these"),
    **{name: Project(("run",), runs=True) for name in ("poetry", "pdm", "hatch", "pipenv")},
    "bundle": Project(("exec",), runs=True),
    "cargo": Project(
        ("test", "build", "check", "clippy", "fmt", "run", "bench", "doc", "nextest"),
        never=("--config", "-Z"),
        about="test, build, check, clippy, fmt, run",
    ),
    "go": Project(
        ("test", "build", "vet", "fmt"),
        never=("-exec", "-toolexec", "--exec", "--toolexec", "-vettool"),
        about="test, build, vet, fmt",
    ),
    **{name: _TARGETS for name in ("make", "gmake", "just")},
    "ninja": Project(never=_RELEASES),
    "mvn": Project(("test", "compile", "verify", "package"), about="test, compile, verify"),
    "gradle": Project(("test", "build", "check"), never=("-I", "--init-script"), about="test, build, check"),
    "gradlew": Project(("test", "build", "check"), never=("-I", "--init-script")),
    "mvnw": Project(("test", "compile", "verify", "package")),
    "dotnet": Project(("test", "build"), about="test, build"),
    "swift": Project(("test", "build"), about="test, build"),
    **{name: _FILE for name in ("node", "ruby", "php", "bash", "sh")},
}
"""Programs that run the project's own code."""
