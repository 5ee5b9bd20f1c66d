"""The command ``local-agent``: its options, its commands, and the one place where failures become lines."""

from __future__ import annotations

import logging
import sys
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from typing import ClassVar, NoReturn

import click

from local_agent import __version__
from local_agent.cli.help_page import GroupedHelp
from local_agent.cli.prompt import OUTPUTS, ask_once
from local_agent.cli.screen import open_screen
from local_agent.cli.startup import Startup
from local_agent.cli.streams import PROGRAM, drop_output, prepare_streams, say
from local_agent.config.launch import LaunchOptions
from local_agent.domain.errors import LocalAgentError
from local_agent.domain.modes import Mode

COMMANDS = ("session", "execution", "models", "images", "db", "doctor", "config", "logs", "completion")
EXAMPLES = """\
Examples:
  local-agent                             open the screen in this folder
  local-agent --resume latest             go on with the last conversation here
  local-agent --demo                      try it with a small built-in model
  local-agent -p "Explain tail calls"     answer on standard output
  git diff | local-agent -p "Review this" --output json
  local-agent session list --all          what was said where
"""


class _Root(GroupedHelp):
    option_groups: ClassVar = {
        "Conversation": ("resume", "no_save"),
        "Model": ("model", "allow_cloud", "gguf", "demo"),
        "Tools": ("mode", "plan", "auto", "tools"),
        "Without a screen": ("prompt", "image", "output", "skip_approvals", "approve_stdin"),
    }
    command_groups: ClassVar = {
        "Sessions": ("session", "execution", "images"),
        "Models": ("models",),
        "This installation": ("db", "doctor", "config", "logs", "completion"),
    }

    def list_commands(self, ctx: click.Context) -> list[str]:
        """The commands that have a module of their name, then any others."""
        return [*COMMANDS, *super().list_commands(ctx)]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import a command when it is asked for: a start of the screen needs none."""
        if cmd_name not in COMMANDS:
            return super().get_command(ctx, cmd_name)
        command: click.Command = getattr(import_module(f"local_agent.cli.{cmd_name}"), cmd_name)
        return command

    def invoke(self, ctx: click.Context) -> object:
        """Run the command. That nobody reads on is no failure, as in ``local-agent logs | head``."""
        try:
            return super().invoke(ctx)
        except BrokenPipeError:
            drop_output()
            return 0


def _complete_resume(
    context: click.Context, parameter: click.Parameter, incomplete: str
) -> list[click.shell_completion.CompletionItem]:
    from local_agent.cli.handles import complete_handles  # sqlite3: only for the shell's question

    return complete_handles(incomplete, with_latest=True)


@click.group(
    cls=_Root,
    invoke_without_command=True,
    epilog=EXAMPLES,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
@click.option(
    "--resume",
    metavar="HANDLE|latest",
    shell_complete=_complete_resume,
    help="Go on with a session of this folder.",
)
@click.option("--no-save", is_flag=True, help="Keep nothing of this conversation on disk.")
@click.option("--model", metavar="NAME", help="Use this model, such as qwen3:4b.")
@click.option(
    "--allow-cloud", is_flag=True, help="Let this one conversation go to a model that runs elsewhere."
)
@click.option(
    "--gguf",
    metavar="FILE",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="Run this model file in the built-in engine.",
)
@click.option("--demo", is_flag=True, help="Run a small model in the built-in engine (93 MB, fetched once).")
@click.option(
    "--mode",
    type=click.Choice([mode.value for mode in Mode], case_sensitive=False),
    default=None,
    help="How much the model may do by itself.  [default: as tools.mode is set]",
)
@click.option("--plan", is_flag=True, help="The same as --mode PLAN: nothing is changed.")
@click.option("--auto", is_flag=True, help="The same as --mode AUTO: edits run without a question.")
@click.option("--tools", metavar="NAMES", help="The only tools that may be used, such as read,grep,ls.")
@click.option(
    "-p", "--prompt", metavar="TEXT", help="Ask this, print the answer, and leave. Piped input is added."
)
@click.option(
    "--image",
    metavar="FILE",
    multiple=True,
    type=click.Path(path_type=Path),
    help="With -p: a picture that goes along; up to four.",
)
@click.option(
    "--output",
    type=click.Choice(OUTPUTS),
    default=None,
    help="With -p: the answer, one receipt at the end, or every event as a line.  [default: text]",
)
@click.option(
    "--skip-approvals", is_flag=True, help="With -p: do what would be asked. What is refused stays refused."
)
@click.option(
    "--approve-stdin",
    is_flag=True,
    help="With -p: another program answers on standard input, a JSON object a line.",
)
@click.version_option(__version__, "--version", prog_name=PROGRAM, message="%(prog)s %(version)s")
@click.pass_context
def cli(
    context: click.Context,
    resume: str | None,
    no_save: bool,
    model: str | None,
    allow_cloud: bool,
    gguf: Path | None,
    demo: bool,
    mode: str | None,
    plan: bool,
    auto: bool,
    tools: str | None,
    prompt: str | None,
    image: tuple[Path, ...],
    output: str | None,
    skip_approvals: bool,
    approve_stdin: bool,
) -> int | None:
    """Chat with models on your own machine, in a terminal, and never lose a conversation."""
    if context.invoked_subcommand is not None:
        _refuse_options_before_command(context)
        return None
    _refuse_contradictions(context)
    startup = Startup.here()
    options = LaunchOptions(
        workspace=startup.workspace,
        model=model.strip() if model is not None else None,
        allow_cloud=allow_cloud,
        gguf=gguf.resolve() if gguf is not None else None,
        demo=demo,
        save=not no_save,
        headless=prompt is not None,
        mode=Mode.PLAN if plan else Mode.AUTO if auto else Mode(mode.upper()) if mode else None,
        tools=_tool_names(tools),
        skip_approvals=skip_approvals,
    )
    if prompt is not None:
        form = output or OUTPUTS[0]
        return ask_once(startup, options, prompt, image, form, approve_stdin=approve_stdin)
    return open_screen(startup, options, resume)


def _refuse_options_before_command(context: click.Context) -> None:
    for name, value in context.params.items():
        if value not in (None, False, ()):
            raise click.UsageError(
                f"--{name.replace('_', '-')} does not go with the command {context.invoked_subcommand!r}."
            )


def _refuse_contradictions(context: click.Context) -> None:
    given = {name for name, value in context.params.items() if value not in (None, False, ())}
    for one, other in (
        ("resume", "prompt"),
        ("resume", "no_save"),
        ("demo", "gguf"),
        ("demo", "model"),
        ("gguf", "model"),
        ("plan", "auto"),
        ("plan", "mode"),
        ("auto", "mode"),
        ("skip_approvals", "approve_stdin"),
    ):
        if {one, other} <= given:
            one, other = one.replace("_", "-"), other.replace("_", "-")
            raise click.UsageError(f"--{one} does not go with --{other}.")
    for name in ("output", "image", "skip_approvals", "approve_stdin"):
        if name in given and "prompt" not in given:
            raise click.UsageError(f"--{name.replace('_', '-')} needs -p TEXT.")
    if not (context.params["model"] or "x").strip():
        raise click.UsageError("--model needs a name.")


def _tool_names(text: str | None) -> frozenset[str] | None:
    """The names in a list with commas; whether there are such tools is told when they are known."""
    if text is None:
        return None
    names = frozenset(name.strip() for name in text.split(",") if name.strip())
    if not names:
        raise click.UsageError("--tools needs names, such as read,grep,ls.")
    return names


def main(arguments: Sequence[str] | None = None) -> NoReturn:
    """Run the program; every failure is one line on standard error."""
    prepare_streams()
    code = run(arguments)
    try:
        sys.stdout.flush()
    except (OSError, ValueError):
        drop_output()
    sys.exit(code)


def run(arguments: Sequence[str] | None = None) -> int:
    """Run a command line; its exit code."""
    try:
        result = cli.main(
            list(arguments) if arguments is not None else None, prog_name=PROGRAM, standalone_mode=False
        )
    except click.ClickException as error:
        say(_usage_line(error))
        return error.exit_code
    except (click.Abort, KeyboardInterrupt):
        return 130
    except LocalAgentError as error:
        say(str(error))
        return error.exit_code
    except Exception as error:
        # The outermost frame: whatever is not foreseen is logged and told in one line.
        return _unforeseen(error)
    return result if isinstance(result, int) else 0


def _usage_line(error: click.ClickException) -> str:
    command = PROGRAM
    if isinstance(error, click.UsageError) and error.ctx is not None:
        command = error.ctx.command_path
    return f"{error.format_message()} Help: {command} --help"


def _unforeseen(error: Exception) -> int:
    logger = logging.getLogger("local_agent")
    logger.error("unforeseen failure", exc_info=error)
    files = [h.baseFilename for h in logging.getLogger().handlers if isinstance(h, logging.FileHandler)]
    where = f"The log has the details: {files[0]}" if files else "It came before the log was opened."
    say(f"Something went wrong that should not ({type(error).__name__}). {where}")
    return 1
