"""config, doctor, logs and completion."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

from local_agent.config.settings import settings_keys
from tests.cli.program import COMMAND, environment, run, shim, stored_session
from tests.support.ollama_server import OllamaServer


def test_config_show_names_every_value_and_its_origin(
    home: Path, project: Path, server: OllamaServer
) -> None:
    home.mkdir(parents=True)
    (home / "config.yaml").write_text(
        "# mine\nollama:\n  keep_alive: 10m\nmodel:\n  options: {temperature: 0.2}\n"
    )
    (project / "local-agent.yaml").write_text("ui: {glyphs: ascii}\n")
    rows = [
        line.split(maxsplit=2)
        for line in run("config", "show", cwd=project).out.split("\n\n")[0].splitlines()
    ]
    assert [row[0] for row in rows] == list(settings_keys())
    shown = {row[0]: row[1:] for row in rows}
    assert shown["ollama.keep_alive"] == ["10m", f"{home / 'config.yaml'}, line 3"]
    assert shown["ollama.host"] == [server.url, "environment, OLLAMA_HOST"]
    assert shown["ui.glyphs"] == ["ascii", f"{project / 'local-agent.yaml'}, line 1"]
    assert shown["sessions.enabled"] == ["true", "default"]

    document = json.loads(run("config", "show", "--json", cwd=project).out)
    assert list(document) == list(settings_keys())
    assert document["model.options"] == {
        "value": {"temperature": 0.2}, "origin": f"{home / 'config.yaml'}, line 5",
    }  # fmt: skip
    assert document["privacy.allowed_hosts"] == {"value": [], "origin": "default"}


@pytest.mark.parametrize("arguments", [("config", "show"), ("-p", "x"), ()])
def test_a_bad_setting_is_one_line_before_anything_else(
    home: Path, project: Path, server: OllamaServer, arguments: tuple[str, ...]
) -> None:
    (project / "local-agent.yaml").write_text("ollama:\n  host: evil.example\n")
    refused = run(*arguments, cwd=project)
    assert refused.code == 2
    assert refused.line == (
        f"{project / 'local-agent.yaml'}, line 2: ollama.host can't be set by a project. "
        "Put this in your own config.yaml."
    )
    assert server.log == []


def test_doctor_is_one_screen(home: Path, project: Path, server: OllamaServer) -> None:
    shown = run("doctor", cwd=project)
    assert (shown.code, shown.err) == (0, "")
    assert len(shown.out.splitlines()) <= 24
    for said in (server.url, "answers, version", "llama3.2:3b", "xllamacpp 20", str(home), "All is well."):
        assert said in shown.out
    assert not home.exists()


async def test_doctor_as_json(home: Path, project: Path, server: OllamaServer) -> None:
    server.script("one")
    await stored_session(server.url, project, "Hi")
    report = json.loads(run("doctor", "--json", cwd=project).out)
    assert report["server"]["reachable"] is True
    assert [model["name"] for model in report["server"]["models"]] == ["llama3.2:3b"]
    assert report["database"]["path"] == str(home / "local-agent.db")
    assert report["earlier_contents"] == "0 objects, 0 MiB, at most 1,024 MiB"
    assert report["installed"]["sqlalchemy"]
    assert report["problems"] == []


def test_doctor_names_what_is_wrong(home: Path, project: Path, server: OllamaServer) -> None:
    home.mkdir(parents=True)
    (home / "local-agent.db").write_bytes(b"no database " * 200)
    (home / "config.yaml").write_text("ollama:\n  nmu_ctx: 3\n")
    ill = run("doctor", cwd=project)
    assert (ill.code, ill.err) == (1, "")
    problems = [line for line in ill.out.splitlines() if line.startswith("Problem ")]
    assert len(problems) == 2
    assert "line 2: unknown key ollama.nmu_ctx" in problems[0]
    assert "local-agent.db" in problems[1]


def test_doctor_without_a_server_says_how_to_get_one(home: Path, project: Path) -> None:
    ill = run("doctor", cwd=project, env={"OLLAMA_HOST": "127.0.0.1:9"})
    assert ill.code == 1
    assert "does not answer" in ill.out
    assert "local-agent --demo" in ill.out


def test_doctor_asks_no_foreign_host(home: Path, project: Path) -> None:
    ill = run("doctor", cwd=project, env={"OLLAMA_HOST": "box.invalid"})
    assert ill.code == 1
    assert "privacy.allowed_hosts: [box.invalid" in ill.out


def test_logs_of_nothing(home: Path) -> None:
    shown = run("logs")
    assert (shown.code, shown.out) == (0, "")
    assert shown.line == f"Nothing was logged yet: {home / 'logs' / 'local-agent.log'}"
    assert not home.exists()


def test_logs_shows_the_end(home: Path) -> None:
    (home / "logs").mkdir(parents=True)
    (home / "logs" / "local-agent.log").write_bytes(
        b"".join(b"line %d \x1b[31m\xff\n" % n for n in range(150))
    )
    assert run("logs").out.splitlines() == [f"line {n} ␛[31m�" for n in range(50, 150)]
    assert run("logs", "-n", "1").out == "line 149 ␛[31m�\n"
    assert run("logs", "-n", "0").out == ""


def test_logs_follows_through_a_rotation(home: Path) -> None:
    log = home / "logs" / "local-agent.log"
    with subprocess.Popen(
        [*COMMAND, "logs", "-f"], env=environment(), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        assert "Nothing was logged yet" in process.stderr.readline()
        log.parent.mkdir(parents=True)
        for number in range(3):
            with log.open("a") as file:
                file.write(f"line {number}\n")
            assert process.stdout.readline() == f"line {number}\n"
        log.rename(log.with_name("local-agent.log.1"))
        log.write_text("a new file\n")
        assert process.stdout.readline() == "a new file\n"
        process.send_signal(2)
        assert process.wait(20) == 130
        assert process.stderr.read().strip() == ""


@pytest.mark.parametrize(
    ("shell", "variables", "offers"),
    [
        ("bash", {"COMP_WORDS": "local-agent ses", "COMP_CWORD": "1"}, "plain,session"),
        ("bash", {"COMP_WORDS": "local-agent session un", "COMP_CWORD": "2"}, "plain,untrash"),
        ("bash", {"COMP_WORDS": "local-agent --output js", "COMP_CWORD": "2"}, "plain,json\nplain,jsonl"),
        ("zsh", {"COMP_WORDS": "local-agent --resume l", "COMP_CWORD": "2"}, "plain\nlatest\n_"),
        ("fish", {"COMP_WORDS": "local-agent comp", "COMP_CWORD": "comp"}, "completion"),
    ],
)
def test_completion_answers_the_shells(
    home: Path, shell: str, variables: dict[str, str], offers: str
) -> None:
    answer = run(env={"_LOCAL_AGENT_COMPLETE": f"{shell}_complete", **variables})
    assert (answer.code, answer.err) == (0, "")
    assert offers in answer.out
    assert not home.exists()


async def test_completion_knows_the_handles(home: Path, project: Path, server: OllamaServer) -> None:
    server.script("one")
    handle = await stored_session(server.url, project, "Hi")
    for words in (f"local-agent --resume {handle[:3]}", f"local-agent session show {handle[:3]}"):
        variables = {"COMP_WORDS": words, "COMP_CWORD": str(len(words.split()) - 1)}
        answer = run(env={"_LOCAL_AGENT_COMPLETE": "bash_complete", **variables})
        assert answer.out == f"plain,{handle}\n"
    (home / "local-agent.db").write_bytes(b"no database " * 200)
    assert run(env={"_LOCAL_AGENT_COMPLETE": "bash_complete", **variables}).code == 0


def test_the_bash_script_completes_in_bash(home: Path, tmp_path: Path) -> None:
    script = (
        'eval "$(local-agent completion bash)"\n'
        "COMP_WORDS=(local-agent session t) COMP_CWORD=2\n"
        "_local_agent_completion local-agent\n"
        'echo "${COMPREPLY[@]}"\n'
        "complete -p local-agent\n"
    )
    ended = subprocess.run(
        ["bash", "--norc", "-c", script], env=environment(PATH=shim(tmp_path / "bin")), capture_output=True,
        text=True, timeout=60, check=True,
    )  # fmt: skip
    offered, registered = ended.stdout.splitlines()
    assert offered == "trash"
    assert "_local_agent_completion" in registered


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_the_script_says_how_to_install_it(home: Path, shell: str) -> None:
    script = run("completion", shell)
    assert (script.code, script.err) == (0, "")
    assert script.out.startswith("# To install, ")
    assert f"local-agent completion {shell}" in script.out.splitlines()[0]
    assert f"_LOCAL_AGENT_COMPLETE={shell}_complete" in script.out
