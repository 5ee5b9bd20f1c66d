"""The command line itself: what it accepts, what it refuses, and how little it loads."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from local_agent import __version__
from tests.cli.program import COMMAND, ROOT, environment, run

HEAVY = {
    "textual",
    "rich",
    "sqlalchemy",
    "alembic",
    "ollama",
    "httpx",
    "numpy",
    "pydantic",
    "yaml",
    "xllamacpp",
}


def loaded_by(*arguments: str) -> set[str]:
    """The heavy libraries that a run has imported."""
    code = (
        "import sys\n"
        "from local_agent.cli.root import run\n"
        f"run({list(arguments)!r})\n"
        f"sys.stderr.write(','.join({HEAVY!r} & set(sys.modules)))\n"
    )
    ended = subprocess.run(
        [sys.executable, "-c", code],
        env=environment(),
        capture_output=True,
        text=True,
        timeout=30,
        check=True,
    )
    return set(filter(None, ended.stderr.splitlines()[-1].split(","))) if ended.stderr else set()


def test_version_loads_nothing_heavy(home: Path) -> None:
    assert run("--version").out == f"local-agent {__version__}\n"
    assert loaded_by("--version") == set()
    assert loaded_by("--help") == set()
    assert not home.exists()


def test_session_list_loads_no_screen(home: Path) -> None:
    assert loaded_by("-p", "a", "--no-save") >= {"sqlalchemy"}
    assert not loaded_by("session", "list") & {"textual", "rich"}


@pytest.mark.parametrize(
    "arguments",
    [(), ("session",), ("session", "show"), ("session", "list"), ("doctor",), ("logs",), ("completion",)],
)  # fmt: skip
def test_help_is_there_for_everything(home: Path, arguments: tuple[str, ...]) -> None:
    shown = run(*arguments, "--help")
    assert (shown.code, shown.err) == (0, "")
    assert shown.out.startswith(f"Usage: {' '.join(('local-agent', *arguments))} [OPTIONS]")
    assert all(len(line) <= 100 for line in shown.out.splitlines())
    assert run(*arguments, "-h").out == shown.out


def test_the_first_page_has_headings_and_examples(home: Path) -> None:
    page = run("--help").out
    for heading in (
        "Conversation:",
        "Model:",
        "Without a screen:",
        "Sessions:",
        "This installation:",
        "Examples:",
    ):
        assert f"\n{heading}\n" in page
    assert "\n  local-agent --resume latest " in page


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("nonsense",), "No such command 'nonsense'. Help: local-agent --help"),
        (("--nonsense",), "No such option"),
        (("session", "nonsense"), "Help: local-agent session --help"),
        (("session", "show"), "Missing argument 'HANDLE'"),
        (("session", "list", "--limit", "0"), "--limit"),
        (("session", "rename", "a1b2c3d"), "Missing argument 'TITLE...'"),
        (("session", "rename", "a1b2c3d", " "), "The title is empty."),
        (("completion", "tcsh"), "'tcsh' is not one of"),
        (("--output", "json"), "--output needs -p TEXT."),
        (("-p", "x", "--output", "xml"), "'xml' is not one of"),
        (("-p",), "requires an argument"),
        (("-p", "x", "--resume", "latest"), "--resume does not go with --prompt."),
        (("--no-save", "--resume", "latest"), "--resume does not go with --no-save."),
        (("--demo", "--gguf", "pyproject.toml"), "--demo does not go with --gguf."),
        (("--gguf", "nowhere.gguf"), "File 'nowhere.gguf' does not exist."),
        (("--gguf", "."), "is a directory"),
        (("--model", "  "), "--model needs a name."),
        (("--demo", "session", "list"), "--demo does not go with the command 'session'."),
        ((), "The screen needs a terminal for input and output. Without one, ask with: local-agent -p"),
        (("--demo",), "The screen needs a terminal"),
        (("-p", ""), "The prompt is empty."),
        (("-p", " \n"), "The prompt is empty."),
        (("-p", "", "--output", "json"), "The prompt is empty."),
    ],
)  # fmt: skip
def test_usage_is_one_line_and_code_2(home: Path, arguments: tuple[str, ...], says: str) -> None:
    refused = run(*arguments)
    assert refused.code == 2
    assert says in refused.line
    assert refused.out == ""
    assert not home.exists()


@pytest.mark.parametrize("arguments", [(), ("session", "list"), ("-p", "x"), ("config", "show"), ("logs",)])
def test_a_home_that_is_a_file_is_one_line(home: Path, arguments: tuple[str, ...]) -> None:
    home.parent.mkdir(parents=True)
    home.write_text("")
    refused = run(*arguments)
    assert refused.code == 2
    assert "LOCAL_AGENT_HOME is no folder" in refused.line


def test_a_folder_that_is_gone_is_one_line(home: Path, tmp_path: Path) -> None:
    gone = tmp_path / "gone"
    gone.mkdir()
    script = f'cd "{gone}" && rmdir "{gone}" && exec "{sys.executable}" -m local_agent session list'
    ended = subprocess.run(
        ["sh", "-c", script], env=environment(), capture_output=True, text=True, timeout=30, check=False
    )
    assert ended.returncode == 1
    assert ended.stderr == "local-agent: The folder you are in is gone. Change to one that exists.\n"


def test_what_nobody_foresaw_is_one_line_and_in_the_log(home: Path) -> None:
    code = (
        "from local_agent.cli.root import cli, main\n"
        "from local_agent.cli.startup import Startup\n"
        "@cli.command()\n"
        "def stumble():\n"
        "    Startup.here()\n"
        "    raise ValueError('a private sentence')\n"
        "main(['stumble'])\n"
    )
    ended = subprocess.run(
        [sys.executable, "-c", code],
        env=environment(),
        capture_output=True,
        text=True,
        timeout=30,
        check=False,
    )
    log = home / "logs" / "local-agent.log"
    assert ended.returncode == 1
    assert ended.stderr == (
        f"local-agent: Something went wrong that should not (ValueError). The log has the details: {log}\n"
    )
    assert "builtins.ValueError" in log.read_text()
    assert "in stumble" in log.read_text()
    assert "a private sentence" not in log.read_text()
    assert "builtins.ValueError" in run("logs").out


def test_an_output_that_is_closed_early_is_fine(home: Path) -> None:
    with subprocess.Popen(
        [*COMMAND, "config", "show"],
        env=environment(),
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as process:
        assert process.stdout is not None
        process.stdout.close()
        assert process.wait(30) == 0
        assert process.stderr is not None
        assert process.stderr.read() == b""


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="the system has no /dev/full")
def test_an_output_that_is_full_is_one_line(home: Path) -> None:
    for arguments in (["config", "show"], ["config", "show", "--json"], ["session", "list", "--json"]):
        with Path("/dev/full").open("w") as full:
            ended = subprocess.run(
                [*COMMAND, *arguments], env=environment(), cwd=ROOT, stdout=full, stderr=subprocess.PIPE,
                text=True, timeout=30, check=False,
            )  # fmt: skip
        assert ended.returncode == 1
        assert ended.stderr == "local-agent: Can't write to standard output: No space left on device.\n"


def test_closed_streams_are_fine(home: Path) -> None:
    script = f'exec "{sys.executable}" -m local_agent config show <&- >&- 2>&-'
    assert (
        subprocess.run(["sh", "-c", script], env=environment(), cwd=ROOT, timeout=30, check=False).returncode
        == 0
    )
