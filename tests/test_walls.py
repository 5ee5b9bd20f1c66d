"""Walls that import-linter cannot see: what a start loads, how the tree looks, what the README says."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from local_agent import __version__
from local_agent.config.load import load_settings
from local_agent.config.paths import Paths

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
README = (ROOT / "README.md").read_text()
CI = (ROOT / ".ci" / "run").read_text()
HEAVY = {
    "textual",
    "rich",
    "sqlalchemy",
    "alembic",
    "ollama",
    "httpx",
    "pydantic",
    "yaml",
    "numpy",
    "PIL",
    "xllamacpp",
}
BEFORE_PAINT = {"textual", "rich"}
"""Of the heavy ones, what the program may load before its first paint."""
OURS_BEFORE_PAINT = 74
"""How many of our modules a start loads before its first paint, at most."""
LATER = {
    f"local_agent.{name}"
    for name in (
        "domain.entries",
        "domain.events",
        "domain.models",
        "runtime",
        "tui.commands.palette",
        "tui.screens.dialog",
        "tui.screens.help",
        "tui.screens.models",
        "tui.screens.sessions",
        "tui.conversation.turn_view",
        "tui.widgets.welcome",
    )
}
"""Classes cost time to build: what a key opens, or what has nothing to show yet, comes later."""
VAGUE = {"utils", "util", "helpers", "helper", "common", "misc", "manager", "managers", "stuff", "base"}
TOP_LEVEL = {"pyproject.toml", "README.md", "LICENSE", "local_agent", "migrations", "tests", "screenshots"}


def modules(folder: str) -> list[Path]:
    return sorted((ROOT / folder).rglob("*.py"))


def loaded_by(source: str) -> set[str]:
    """Top-level names of what a fresh interpreter has loaded after running ``source``."""
    report = "import sys; sys.stderr.write(' '.join(sorted({name.split('.')[0] for name in sys.modules})))"
    done = subprocess.run(
        [sys.executable, "-c", f"try:\n    {source}\nexcept SystemExit:\n    pass\n{report}"],
        capture_output=True,
        text=True,
        check=True,
        cwd=ROOT,
    )
    return set(done.stderr.split())


@pytest.mark.parametrize("flag", ["--version", "--help"])
def test_a_word_about_itself_loads_nothing_heavy(flag: str) -> None:
    loaded = loaded_by(f"from local_agent.cli.root import main; main(['{flag}'])")
    assert "local_agent" in loaded
    assert loaded & HEAVY == set()


def test_only_textual_is_loaded_before_the_first_paint() -> None:
    loaded = loaded_by("import local_agent.tui.app, local_agent.tui.screens.chat")
    assert "textual" in loaded
    assert loaded & (HEAVY - BEFORE_PAINT) == set()


def test_a_start_builds_what_it_shows_and_no_more() -> None:
    code = "import sys, local_agent.cli.root, local_agent.tui.app; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=ROOT)
    loaded = set(done.stdout.split())
    ours = {name for name in loaded if name.startswith("local_agent")}
    assert len(ours) <= OURS_BEFORE_PAINT, sorted(ours)
    assert ours & LATER == set()
    assert loaded & {"hashlib", "sqlite3", "markdown_it", "pygments"} == set()


def test_the_top_level_is_as_fixed() -> None:
    listed = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True)
    top = {line.split("/")[0] for line in listed.stdout.splitlines()}
    assert {name for name in top if not name.startswith(".")} == TOP_LEVEL


def test_the_folders_are_the_layers() -> None:
    contract = PROJECT["tool"]["importlinter"]["contracts"][0]
    layers = {name.strip() for line in contract["layers"] for name in line.split("|")}
    folders = {path.name for path in (ROOT / "local_agent").iterdir() if (path / "__init__.py").exists()}
    assert folders == layers
    assert all(f"`{layer}/`" in README for layer in layers), "the README describes every layer"


@pytest.mark.parametrize("folder", ["local_agent", "tests"])
def test_modules_have_a_purpose_and_a_name(folder: str) -> None:
    empty_is_fine = "__init__.py"
    for path in modules(folder):
        tree = ast.parse(path.read_text())
        assert path.stem not in VAGUE, f"{path}: a name that says nothing"
        assert ast.get_docstring(tree) or (path.name == empty_is_fine and not tree.body), (
            f"{path}: no purpose"
        )


def test_no_module_or_class_outgrows_its_concept() -> None:
    for path in modules("local_agent"):
        text = path.read_text()
        assert len(text.splitlines()) <= 350, f"{path} has a second concept in it"
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.ClassDef):
                methods = [
                    part for part in node.body if isinstance(part, ast.FunctionDef | ast.AsyncFunctionDef)
                ]
                length = (node.end_lineno or 0) - node.lineno
                assert length <= 300, f"{path}: {node.name} is {length} lines long"
                assert len(methods) <= 45, f"{path}: {node.name} has {len(methods)} methods"


def test_a_waived_limit_has_its_reason() -> None:
    for path in [*modules("local_agent"), *modules("tests")]:
        for number, line in enumerate(path.read_text().splitlines(), 1):
            if path != Path(__file__) and re.search(r"# (type: ignore|noqa)", line):
                assert re.search(r"# (type: ignore\[[\w, -]+\]|noqa: [\w, ]+?) +(#|-|—) *\S", line), (
                    f"{path}:{number}"
                )


def test_ci_runs_the_readmes_test_command() -> None:
    command = re.search(r"^test_command='(.+)'$", CI, re.MULTILINE)
    extras = re.search(r"^extras='(.+)'$", CI, re.MULTILINE)
    assert command and extras
    assert f"'.[{extras[1]}]' && .venv/bin/{command[1]}\n" in README
    assert set(extras[1].split(",")) <= set(PROJECT["project"]["optional-dependencies"])


def test_what_the_readme_points_at_exists() -> None:
    for target in re.findall(r"\]\(([^)#]+)\)", README):
        assert (ROOT / target).exists(), target
    for path in re.findall(r"`((?:local_agent|tests|migrations|screenshots)/[\w./]+)`", README):
        assert (ROOT / path).exists(), path


def test_the_licence_is_the_one_that_is_named() -> None:
    assert PROJECT["project"]["license"] == "MIT"
    assert (ROOT / "LICENSE").read_text().startswith("MIT License")


def test_the_version_is_said_once() -> None:
    assert PROJECT["project"]["version"] == __version__


def test_the_readmes_settings_are_settings(tmp_path: Path) -> None:
    [example] = re.findall(r"^```yaml\n(.*?)^```", README, re.MULTILINE | re.DOTALL)
    paths = Paths(home=tmp_path, cache=tmp_path)
    paths.config_file.write_text(example)
    loaded = load_settings(paths, tmp_path / "workspace", env={})
    assert "default" not in loaded.origins.values(), "the example names every setting"
