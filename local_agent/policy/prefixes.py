"""Which words of a command a wider grant binds: program and subcommand, and of some programs nothing."""

from __future__ import annotations

import os
from collections.abc import Iterator

from local_agent.policy.projects import PROJECTS
from local_agent.policy.readers import options

NO_PREFIX = frozenset(
    options(
        "python python3 python2 pypy pypy3 node deno bun ruby perl php lua tclsh Rscript julia awk gawk"
        " mawk nawk osascript java scala groovy ghci irb ipython sqlite3 psql mysql gdb lldb sh bash zsh"
        " dash ksh fish csh tcsh ash busybox pwsh powershell cmd env sudo doas su xargs find parallel"
        " watch time nohup nice ionice timeout stdbuf setsid exec eval command builtin source . coproc"
        " trap ssh script expect strace ltrace chroot unshare nsenter setarch taskset flock npx bunx uvx"
        " pipx entr rm rmdir unlink shred dd mv truncate mkfs fdisk parted chmod chown chgrp kill pkill"
        " killall shutdown reboot halt systemctl launchctl crontab at batch sed ed ex vi vim nvim nano"
        " emacs less more man tar zip rsync cp ln install tee curl wget nc ncat socat"
    )
)
"""Programs that do whatever their arguments say: no grant covers more of them than one request."""
TRANSPARENT = frozenset({"time", "timeout"})
"""Programs that run the command that follows them as it is, where they have no options."""
NO_SUBPREFIX = frozenset(
    options(
        "exec dlx x foreach bisect config alias filter-branch api shell eval ssh debug cp proxy attach -m"
    )
)
"""Subcommands of any program that do whatever their arguments say."""
DEEPER = frozenset(
    options(
        "run run-script compose stash remote worktree submodule pr issue repo release workflow image"
        " container volume network get apply create delete service stack cache tool pip notes lfs auth"
    )
)
"""Subcommands with a name of their own after them, which belongs to what is granted."""
SUBCOMMANDS = frozenset(
    options(
        "git gh glab hg svn jj docker podman kubectl helm terraform tofu ansible aws gcloud az npm pnpm"
        " yarn bun cargo go uv pip pip3 poetry pdm hatch pipenv conda mamba brew apt apt-get dnf pacman"
        " rustup gem bundle composer mvn gradle gradlew mvnw dotnet swift make gmake just ninja"
        " docker-compose alembic flask django-admin rails mix stack cabal deno nix heroku fly vercel"
        " netlify firebase ruff coverage"
    )
)
"""Programs whose first word is a part of the name of what they do."""
EXECUTING_OPTIONS = tuple(
    options(
        "--upload-pack --receive-pack --exec --ext-diff --open-files-in-pager --config --output --textconv"
        " --extcmd --tool --gpg-program --editor --pager --pre --script-shell --use-compress-program"
        " --checkpoint-action --to-command --rsh --post-file --init-script --eval --privileged --force"
        " --delete --mirror --prune -x -O -c -o -f -exec -toolexec -delete"
    )
)
"""With one of these a command is none of what a grant for its prefix covers."""


def prefix_of(words: tuple[str, ...]) -> tuple[str, ...] | None:
    """The words that a grant binds; None for a program that does whatever its arguments say."""
    name = words[0]
    entry = PROJECTS.get(name)
    if name in NO_PREFIX or name in TRANSPARENT or name == "cd":
        return None
    if os.path.basename(name) != name:
        base = os.path.basename(name).rstrip("0123456789.")
        return None if base in NO_PREFIX or not name.startswith("./") else (name,)
    if name not in SUBCOMMANDS:
        return (name,)
    subcommands = tuple(_leading_words(words[1:]))
    if not subcommands or subcommands[0] in NO_SUBPREFIX:
        return None
    if entry and entry.runs:
        inner = prefix_of(words[2:]) if len(words) > 2 and not words[2].startswith("-") else None
        return (name, words[1], *inner) if inner else None
    if subcommands[0] in DEEPER:
        return (name, *subcommands[:2]) if len(subcommands) > 1 else None
    return (name, subcommands[0])


def _leading_words(words: tuple[str, ...]) -> Iterator[str]:
    for word in words:
        if word.startswith("-"):
            return
        yield word
