"""Confines commands that run code of the project: to the workspace, without the home folder and the network.

``bwrap`` (Linux) and ``sandbox-exec`` (macOS) are used where they work; in containers they often don't.
"""

from __future__ import annotations

import atexit
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from local_agent.domain.text import one_line
from local_agent.domain.tools import ToolFailed

TRIAL_SECONDS = 2
"""A start waits for the trial: what takes longer is not used."""
_REPLACED = ("/tmp", "/var/tmp", "/run")
"""Folders that get an empty one in their place: sockets of services lie there, too."""
_GIT = ".git"
_TOOLCHAINS = (
    *(".pyenv", ".rbenv", ".nvm", ".volta", ".asdf", ".rustup", ".sdkman/candidates", ".local/bin"),
    *(".local/share/uv/python", ".local/share/uv/tools", ".local/share/pipx", ".local/share/mise"),
    *(".cargo/bin", ".cargo/registry", ".bun/bin", ".deno/bin", "go/bin", "go/pkg/mod", ".m2/repository"),
    *("miniconda3", "miniforge3", "anaconda3"),
)
"""Folders of a home that hold programs and libraries, and no secrets: most projects need them to be run."""


@dataclass(frozen=True, slots=True)
class Sandbox:
    """A way to confine commands to one workspace."""

    program: str
    """Absolute path of ``bwrap`` or ``sandbox-exec``."""
    root: Path
    homes: tuple[Path, ...]
    temporary: Path
    """What commands find as their ``TMPDIR``."""

    @classmethod
    def find(cls, root: Path) -> Sandbox | None:
        """What works here, tried once with a command that does nothing. Blocks for some 20 ms.

        None also where the workspace is, or holds, the home folder, which could not be hidden then.
        """
        sandbox = cls._installed(Path(os.path.realpath(root)))
        if sandbox is None or any(home.is_relative_to(sandbox.root) for home in sandbox.homes):
            return None
        nowhere = subprocess.DEVNULL
        try:
            done = subprocess.run(
                sandbox.confined(["/bin/sh", "-c", "true"]),
                cwd=root,
                stdin=nowhere,
                stdout=nowhere,
                stderr=nowhere,
                timeout=TRIAL_SECONDS,
                check=False,
            )
        except (OSError, subprocess.SubprocessError, ToolFailed):
            return None
        return sandbox if done.returncode == 0 else None

    @classmethod
    def _installed(cls, root: Path) -> Sandbox | None:
        if sys.platform != "darwin":
            program = shutil.which("bwrap")
            return cls(program, root, _homes(), Path("/tmp")) if program else None
        program = shutil.which("sandbox-exec")
        if program is None:
            return None
        temporary = Path(os.path.realpath(tempfile.mkdtemp(prefix="local-agent-")))
        atexit.register(shutil.rmtree, temporary, ignore_errors=True)
        return cls(program, root, _homes(), temporary)

    @property
    def toolchains(self) -> list[str]:
        """What of the home can be read all the same."""
        named = [home / name for home in self.homes for name in _TOOLCHAINS]
        active = Path(os.environ.get("VIRTUAL_ENV") or "/")
        holds_more = any(path.is_relative_to(active) for path in (*self.homes, self.root))
        if (active / "pyvenv.cfg").is_file() and not holds_more:
            named.append(active)
        return [str(path) for path in named if path.is_dir()]

    def describe(self) -> str:
        """What is confined, one line."""
        return (
            f"{Path(self.program).name}: only {one_line(str(self.root))} can be written, without its Git "
            "hooks and settings; the home folder is hidden but for toolchains, /tmp is empty, and there is "
            "no network"
        )

    def confined(self, command: Sequence[str]) -> list[str]:
        """The words that run a command confined. Raises ``ToolFailed`` where nothing would be confined."""
        if (self.root / _GIT).is_symlink():
            raise ToolFailed("The workspace's .git is a link, whose hooks a sandbox can't protect.")
        words = seatbelt(self) if Path(self.program).name == "sandbox-exec" else bubblewrap(self)
        return [*words, "/usr/bin/env", f"TMPDIR={self.temporary}", *command]


def bubblewrap(sandbox: Sandbox) -> list[str]:
    """``bwrap`` and its options; what comes later lies over what came before."""
    root, git = str(sandbox.root), sandbox.root / _GIT
    config, hooks = str(git / "config"), str(git / "hooks")
    words = [sandbox.program, "--unshare-all", "--die-with-parent", "--ro-bind", "/", "/"]
    # Started by root it would keep what root may do: uncover what is covered here.
    words += ["--cap-drop", "ALL"]
    words += ["--dev", "/dev", "--proc", "/proc"]
    replaced = dict.fromkeys(os.path.realpath(folder) for folder in [*map(Path, _REPLACED), *sandbox.homes])
    for folder in replaced:
        if os.path.isdir(folder):
            words += ["--tmpfs", folder]
    for folder in sandbox.toolchains:
        words += ["--ro-bind", folder, folder]
    words += ["--bind", root, root]
    if git.is_dir():
        # Mounted by itself it can't be moved away. A hook that is written runs with the person's next commit.
        words += ["--bind", str(git), str(git)]
        for path in (config, str(git / "modules")):
            words += ["--ro-bind-try", path, path]
        if os.path.isdir(hooks):
            words += ["--ro-bind", hooks, hooks]
        else:
            words += ["--tmpfs", hooks, "--remount-ro", hooks]
    elif git.exists():
        words += ["--ro-bind", str(git), str(git)]
    return [*words, "--chdir", root, "--"]


def seatbelt(sandbox: Sandbox) -> list[str]:
    """``sandbox-exec`` with a profile in which later rules win; paths are its parameters."""
    homes = {f"HOME{number}": str(home) for number, home in enumerate(sandbox.homes)}
    tools = {f"TOOLS{number}": folder for number, folder in enumerate(sandbox.toolchains)}
    git = sandbox.root / _GIT
    paths = {
        "ROOT": str(sandbox.root),
        "TEMPORARY": str(sandbox.temporary),
        "GIT": str(git),
        "HOOKS": str(git / "hooks"),
        "CONFIG": str(git / "config"),
        **homes,
        **tools,
    }
    rules = [
        "(version 1)",
        "(allow default)",
        "(deny network*)",
        "(deny file-write*)",
        *(f'(deny file-read-data (subpath (param "{name}")))' for name in homes),
        *(f'(allow file-read-data (subpath (param "{name}")))' for name in tools),
        '(allow file-read* file-write* (subpath (param "ROOT")) (subpath (param "TEMPORARY")))',
        '(allow file-write* (regex #"^/dev/(null|zero|tty|dtracehelper|stdout|stderr|fd/)"))',
        '(deny file-write* (literal (param "GIT")) (literal (param "CONFIG")) (subpath (param "HOOKS")))',
    ]
    given = [f"-D{name}={path}" for name, path in paths.items()]
    return [sandbox.program, *given, "-p", "".join(rules)]


def _homes() -> tuple[Path, ...]:
    """The person's home, as their environment and as the system knows it."""
    import pwd  # not on every system that can show the rest of the program

    named: Iterable[str] = (os.environ.get("HOME", ""), pwd.getpwuid(os.getuid()).pw_dir)
    found = (Path(os.path.realpath(name)) for name in named if name and os.path.isabs(name))
    return tuple(dict.fromkeys(home for home in found if home != Path("/") and home.is_dir()))
