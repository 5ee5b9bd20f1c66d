"""``config show``: the effective settings and where each came from."""

from __future__ import annotations

import click

from local_agent.cli.startup import Startup
from local_agent.cli.streams import write, write_json
from local_agent.config.load import LoadedSettings
from local_agent.config.settings import settings_keys
from local_agent.domain.text import one_line
from local_agent.headless.jsonl import as_json


@click.group()
def config() -> None:
    """Look at the settings."""


@config.command()
@click.option("--json", "as_document", is_flag=True, help="Print JSON.")
def show(as_document: bool) -> None:
    """Show every setting, its value, and where the value came from.

    Settings come from config.yaml in your configuration folder, then local-agent.yaml in
    the project, then the environment.
    """
    startup = Startup.here()
    loaded = startup.load()
    if as_document:
        write_json(as_json(_document(loaded), indent=2) + "\n")
        return
    rows = [
        (name, one_line(_shown(loaded.settings.value(name))), loaded.origins[name])
        for name in settings_keys()
    ]
    widths = [max(len(row[column]) for row in rows) for column in (0, 1)]
    for name, value, origin in rows:
        write(f"{name:<{widths[0]}}  {value:<{widths[1]}}  {one_line(origin)}\n")
    write(f"\nYour own file: {one_line(str(startup.paths.config_file))}\n")


def _document(loaded: LoadedSettings) -> dict[str, object]:
    return {
        name: {"value": loaded.settings.value(name), "origin": loaded.origins[name]}
        for name in settings_keys()
    }


def _shown(value: object) -> str:
    return "-" if value is None else as_json(value).strip('"')
