"""``models``: the server's models listed, shown, fetched and unloaded from a shell."""

from __future__ import annotations

import json
import signal
import subprocess
from pathlib import Path

import pytest

from tests.cli.program import COMMAND, environment, run, stored_session
from tests.support.ollama_server import ModelSpec, OllamaServer, wait_until
from tests.support.ollama_server.registry import full_name

SMALL = ModelSpec("llama3.2:3b", size=2_000_000_000)
HUGE = ModelSpec("huge:900b", ("completion", "vision"), size=10**15)
CLOUD = ModelSpec("mine", engine="cloud", size=400, remote_model="big", remote_host="https://ollama.com:443")
QWEN = ModelSpec("qwen3:4b", size=1_000)


@pytest.fixture(autouse=True)
def models(server: OllamaServer) -> None:
    server.models = {spec.name: spec for spec in (HUGE, CLOUD, SMALL)}


async def test_the_list_says_what_is_there_and_what_it_is_good_for(
    project: Path, server: OllamaServer
) -> None:
    empty = run("models", "list", cwd=project)
    assert [line.split()[0] for line in empty.out.splitlines()] == ["llama3.2:3b", "mine:latest", "huge:900b"]
    assert not (project.parent / "person" / ".config" / "local-agent").exists()
    server.script("A plant with a trunk and many leaves, as a rule.")
    await stored_session(server.url, project, "What is a tree?")
    listed = run("models", "list", cwd=project)
    assert (listed.code, listed.err) == (0, "")
    small, mine, huge = listed.out.splitlines()
    assert small.split()[:4] == ["llama3.2:3b", "2.0", "GB", "loaded"] and small.endswith("tokens/s")
    assert "not here (cloud)" in mine and "too big" in huge and "vision" in huge
    document = json.loads(run("models", "list", "--json", cwd=project).out)
    assert [(row["model"]["name"], row["fit"]) for row in document] == [
        ("llama3.2:3b", "fits"), ("mine:latest", "unknown"), ("huge:900b", "too_big"),
    ]  # fmt: skip
    assert document[0]["speed"]["turns"] == 1
    shown = run("models", "show", "llama3.2:3b", cwd=project)
    assert "window        " in shown.out and "of 128k" in shown.out
    assert json.loads(run("models", "show", "llama3.2:3b", "--json", cwd=project).out)["model"]["loaded"]
    unloaded = run("models", "unload", "llama3.2:3b", cwd=project)
    assert unloaded.line == "llama3.2:3b is not in memory any more."
    assert not server.memory.is_loaded("llama3.2:3b")


def test_an_empty_server_says_how_to_get_a_model(project: Path, server: OllamaServer) -> None:
    server.models.clear()
    listed = run("models", "list", cwd=project)
    assert (listed.code, listed.out) == (0, "")
    assert "models pull qwen3:4b" in listed.line


def test_a_pull_is_told_in_lines_stopped_and_taken_up_again(project: Path, server: OllamaServer) -> None:
    server.offer(QWEN, gate="half")
    command = [*COMMAND, "models", "pull", "qwen3:4b"]
    with subprocess.Popen(
        command, cwd=project, env=environment(), stderr=subprocess.PIPE, text=True
    ) as going:
        assert going.stderr is not None
        lines = []
        for line in going.stderr:
            lines.append(line.strip())
            if line.endswith("50%\n"):
                going.send_signal(signal.SIGINT)
        assert going.wait(20) == 130
    assert lines[0] == "local-agent: qwen3:4b: pulling manifest"
    assert lines[-1].endswith("It goes on from here with: local-agent models pull qwen3:4b")
    wait_until(lambda: server.log[-1].disconnected)
    server.release("half")
    done = run("models", "pull", "qwen3:4b", cwd=project)
    assert (done.code, done.out) == (0, "")
    assert "success" in done.err and "10%" not in done.err
    assert done.err.splitlines()[-1].endswith("Talk to it with: local-agent --model qwen3:4b")
    assert full_name("qwen3:4b") in server.models


@pytest.mark.parametrize(
    ("arguments", "code", "says"),
    [
        (("pull", "nosuch"), 1, "The library has no model named nosuch."),
        (("pull", "a b"), 2, "a b is no name of a model."),
        (("show", "nosuch"), 1, "no model named nosuch"),
    ],
)
def test_a_refusal_is_the_last_line(
    project: Path, server: OllamaServer, arguments: tuple[str, ...], code: int, says: str
) -> None:
    refused = run("models", *arguments, cwd=project)
    assert refused.code == code
    assert says in refused.err.splitlines()[-1]
    assert "Traceback" not in refused.err


def test_a_server_elsewhere_is_not_asked_without_consent(project: Path) -> None:
    refused = run("models", "list", cwd=project, env={"OLLAMA_HOST": "192.0.2.7"})
    assert refused.code == 1
    assert "192.0.2.7:11434 is not this machine" in refused.line


def test_a_cloud_model_needs_the_flag_each_time(project: Path, server: OllamaServer) -> None:
    refused = run("-p", "Hi", "--model", "gpt-oss:120b-cloud", cwd=project)
    assert refused.code == 1
    assert "would leave your machine" in refused.err and server.chats == []
    server.script("From far away.")
    allowed = run("-p", "Hi", "--model", "gpt-oss:120b-cloud", "--allow-cloud", cwd=project)
    assert (allowed.code, allowed.out) == (0, "From far away.\n")
    assert run("-p", "Hi", "--model", "gpt-oss:120b-cloud", cwd=project).code == 1
    assert len(server.chats) == 1
