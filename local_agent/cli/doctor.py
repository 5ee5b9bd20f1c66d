"""``doctor``: what is installed, which server answers, which models, how the database is."""

from __future__ import annotations

import asyncio
import importlib.metadata
import platform
import shutil
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

import click

from local_agent import __version__
from local_agent.cli.startup import Startup
from local_agent.cli.streams import say_waiting, write, write_json
from local_agent.config.launch import LaunchOptions
from local_agent.config.load import load_without_files
from local_agent.config.settings import Settings
from local_agent.domain.errors import LocalAgentError
from local_agent.domain.models import ModelInfo, ServerState
from local_agent.domain.text import one_line
from local_agent.headless.consent import not_allowed
from local_agent.headless.jsonl import as_json

LIBRARIES = ("textual", "sqlalchemy", "alembic", "ollama", "xllamacpp")
SHOWN_MODELS = 8


@dataclass(slots=True)
class Report:
    """What was found; ``problems`` are whole sentences with the way out."""

    installed: dict[str, str | None]
    paths: dict[str, str]
    database: Mapping[str, object] = field(default_factory=dict)
    server: ServerState | None = None
    notices: tuple[str, ...] = ()
    problems: list[str] = field(default_factory=list)
    sandbox: str | None = None
    """What confines commands that run project code in AUTO; None for nothing."""
    earlier_contents: str = ""
    """How much is kept of what files held and commands said, and how much may be."""


@click.command(short_help="Check libraries, server, models and database.")
@click.option("--json", "as_document", is_flag=True, help="Print JSON.")
def doctor(as_document: bool) -> int:
    """Check this installation: libraries, server, models, database, paths.

    Exit code 1 when something needs you.
    """
    startup = Startup.here()
    report = asyncio.run(examine(startup))
    if as_document:
        write_json(as_json(report, indent=2) + "\n")
    else:
        for line in lines(report):
            write(line + "\n")
    return 1 if report.problems else 0


async def examine(startup: Startup) -> Report:
    """Look at everything and change nothing: no database is made for it."""
    report = Report(_installed(), _paths(startup))
    try:
        settings = startup.load().settings
    except LocalAgentError as error:
        report.problems.append(str(error))
        settings = load_without_files().settings
    options = LaunchOptions(startup.workspace, save=startup.paths.database.exists())
    try:
        await _examine_runtime(report, options, settings, startup)
    except LocalAgentError as error:
        report.problems.append(str(error))
        if options.save:
            await _examine_server_alone(report, replace(options, save=False), settings, startup)
    return report


async def _examine_server_alone(
    report: Report, options: LaunchOptions, settings: Settings, startup: Startup
) -> None:
    try:
        await _examine_runtime(report, options, settings, startup)
    except LocalAgentError as error:
        if str(error) not in report.problems:
            report.problems.append(str(error))


async def _examine_runtime(
    report: Report, options: LaunchOptions, settings: Settings, startup: Startup
) -> None:
    from local_agent.runtime.runtime import Runtime  # the store's and the server's libraries: 0.5 s

    if options.save:
        settings = replace(settings, sessions=replace(settings.sessions, enabled=True))
    runtime = await Runtime.open(options, settings, startup.paths, on_wait=say_waiting)
    try:
        facts = await runtime.facts()
        report.server, report.notices = facts.state, facts.notices
        sandbox = runtime.workshop.sandbox
        report.sandbox = sandbox.describe() if sandbox is not None else None
        if options.save:
            report.database = facts.database
            report.earlier_contents = facts.earlier_contents
        if runtime.consent_needed is not None:
            report.problems.append(str(not_allowed(runtime.consent_needed, startup.paths.config_file)))
        else:
            _judge_server(report, facts.state)
    finally:
        await runtime.close()


def _judge_server(report: Report, state: ServerState) -> None:
    if not state.reachable:
        problem = state.problem or f"No server answers at {state.address}."
        report.problems.append(f"{problem} Start it with: ollama serve, or try: local-agent --demo")
    elif not any(model.can_chat for model in state.models):
        report.problems.append("There is no model to chat with. Get one, such as: ollama pull qwen3:4b")


def _installed() -> dict[str, str | None]:
    found: dict[str, str | None] = {"local-agent": __version__, "python": platform.python_version()}
    for name in LIBRARIES:
        try:
            found[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            found[name] = None
    found["ollama command"] = shutil.which("ollama")
    found["ripgrep"] = shutil.which("rg")
    return found


def _paths(startup: Startup) -> dict[str, str]:
    paths = startup.paths
    named = {
        "folder": paths.home, "database": paths.database, "settings": paths.config_file,
        "log": paths.log_file, "downloads": paths.cache, "workspace": startup.workspace,
    }  # fmt: skip
    return {name: str(path) for name, path in named.items()}


def lines(report: Report) -> Iterator[str]:
    """One screen for a person."""
    yield "Installed   " + ", ".join(_installed_words(report.installed))
    yield f"Server      {_server_words(report.server)}"
    yield from _model_lines(report.server)
    yield f"Database    {_database_words(report)}"
    for name, path in report.paths.items():
        if name == "database":
            continue
        exists = "" if name == "workspace" or Path(path).exists() else "  (not there yet)"
        yield f"{name.capitalize():<11} {one_line(path)}{exists}"
    if report.earlier_contents:
        yield f"History     {report.earlier_contents}"
    yield f"Sandbox     {one_line(report.sandbox or 'none: commands run with all that you may do')}"
    for notice in report.notices:
        yield f"Note        {one_line(notice)}"
    for problem in report.problems:
        yield f"Problem     {one_line(problem)}"
    if not report.problems:
        yield "All is well."


def _installed_words(installed: Mapping[str, str | None]) -> Iterator[str]:
    for name, version in installed.items():
        yield f"{name} {one_line(version)}" if version else f"no {name}"


def _server_words(state: ServerState | None) -> str:
    if state is None:
        return "not asked"
    answer = (
        f"answers, version {one_line(state.version or '') or 'unknown'}"
        if state.reachable
        else "does not answer"
    )
    return f"{one_line(state.address)} {answer}"


def _model_lines(state: ServerState | None) -> Iterator[str]:
    models = state.models if state is not None else ()
    if not models:
        yield "Models      none"
        return
    for number, model in enumerate(models[:SHOWN_MODELS]):
        yield f"{'Models' if not number else '':<11} {_model_words(model)}"
    if len(models) > SHOWN_MODELS:
        yield f"{'':<11} and {len(models) - SHOWN_MODELS} more"


def _model_words(model: ModelInfo) -> str:
    facts = [one_line(model.parameters), one_line(model.quantization), str(model.location)]
    if model.size:
        facts.insert(0, f"{model.size / 10**9:.1f} GB")
    if model.loaded:
        facts.append("loaded")
    return f"{one_line(model.name)}  ({', '.join(fact for fact in facts if fact)})"


def _database_words(report: Report) -> str:
    path = report.paths["database"]
    facts = {name: value for name, value in report.database.items() if value is not None and name != "path"}
    if not facts:
        return f"{one_line(path)}  ({'not opened' if Path(path).exists() else 'not there yet'})"
    size = facts.pop("size", None)
    words = [f"{size / 10**6:.1f} MB"] if isinstance(size, int) else []
    words += [f"{name.replace('_', ' ')} {one_line(str(value))}" for name, value in facts.items()]
    return f"{one_line(path)}  ({', '.join(words)})"
