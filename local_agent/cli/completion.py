"""Completion scripts for the shells."""

from __future__ import annotations

import click
from click.shell_completion import get_completion_class

from local_agent.cli.streams import PROGRAM, write

INSTALL = {
    "bash": 'add to ~/.bashrc:  eval "$(local-agent completion bash)"',
    "zsh": 'add to ~/.zshrc, after compinit:  eval "$(local-agent completion zsh)"',
    "fish": "run once:  local-agent completion fish > ~/.config/fish/completions/local-agent.fish",
}


@click.command(short_help="Print a completion script for bash, zsh or fish.")
@click.argument("shell", type=click.Choice(tuple(INSTALL)))
@click.pass_context
def completion(context: click.Context, shell: str) -> None:
    """Print a completion script. Its first line says where to put it."""
    kind = get_completion_class(shell)
    if kind is None:
        raise click.UsageError(f"No completion for {shell}.")
    script = kind(context.find_root().command, {}, PROGRAM, "_LOCAL_AGENT_COMPLETE").source()
    write(f"# To install, {INSTALL[shell]}\n{script}\n")
