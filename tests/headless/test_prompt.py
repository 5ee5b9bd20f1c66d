"""``-p``: the answer on standard output, everything else on standard error, the session kept."""

from __future__ import annotations

import json
import os
import signal
import subprocess
from pathlib import Path
from typing import Any

import pytest

from local_agent.llm.demo import cached_model
from tests.cli.program import COMMAND, environment, run, sent_messages
from tests.support.model import small_model
from tests.support.ollama_server import (
    OllamaServer,
    Turn,
    done,
    end,
    error,
    gate,
    http,
    say,
    think,
    wait_until,
)


def start(*arguments: str, cwd: Path, stdin: int = subprocess.DEVNULL) -> subprocess.Popen[bytes]:
    """Start the program with pipes for its output."""
    return subprocess.Popen(
        [*COMMAND, *arguments],
        cwd=cwd,
        env=environment(),
        stdin=stdin,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )


def only_session(cwd: Path) -> dict[str, Any]:
    """The one session of a folder, as JSON, with its entries."""
    (listed,) = json.loads(run("session", "list", "--json", cwd=cwd).out)
    document = json.loads(run("session", "show", "--json", listed["handle"], cwd=cwd).out)
    assert isinstance(document, dict)
    return document


def answer_briefly(home: Path) -> None:
    """The smallest model rambles; sixteen tokens show that it answers."""
    home.mkdir(parents=True)
    (home / "config.yaml").write_text("model: {max_output: 16}\nembedded: {threads: 1}\n")


def last_sent(server: OllamaServer) -> str:
    """What the last request asked."""
    return sent_messages(server.chats[-1])[-1][1]


def test_the_answer_is_all_of_standard_output(home: Path, project: Path, server: OllamaServer) -> None:
    server.script(Turn(think("Let me see."), say("**Four**,\nof course.")))
    ran = run("-p", "Two and two?", cwd=project)
    assert (ran.code, ran.out) == (0, "**Four**,\nof course.\n")
    handle = only_session(project)["session"]["handle"]
    assert ran.line == f"Session {handle} · Two and two? (go on with: local-agent --resume {handle})"
    assert only_session(project)["session"]["headless"] is True


def test_a_pipe_gets_the_answer_unchanged(home: Path, project: Path, server: OllamaServer) -> None:
    server.script("tab\there \x1b[31mred\x1b[0m café \U0001f600\n")
    assert run("-p", "x", cwd=project).out == "tab\there \x1b[31mred\x1b[0m café \U0001f600\n"


def test_piped_input_is_joined_to_the_text(home: Path, project: Path, server: OllamaServer) -> None:
    server.script("one", "two", "three")
    assert run("-p", "Review this", stdin="line 1\nline 2\n\n", cwd=project).code == 0
    assert last_sent(server).endswith("Review this\n\nline 1\nline 2")
    assert run("--prompt", "", stdin="only this\n", cwd=project).code == 0
    assert last_sent(server).endswith("only this")
    assert run("-p", "a \udcff b", stdin="", cwd=project).code == 0
    assert last_sent(server).endswith("a \ufffd b")


def test_bytes_that_are_no_text_are_replaced(home: Path, project: Path, server: OllamaServer) -> None:
    server.script("one")
    with start("-p", "x", cwd=project, stdin=subprocess.PIPE) as process:
        process.communicate(b"caf\xe9\x00!", timeout=30)
    assert process.returncode == 0
    assert last_sent(server).endswith("x\n\ncaf\ufffd\x00!")


@pytest.mark.parametrize("stdin", ["", "\n \n"])
def test_nothing_to_ask_is_usage_before_any_network(
    home: Path, project: Path, server: OllamaServer, stdin: str
) -> None:
    refused = run("-p", " ", stdin=stdin, cwd=project)
    assert refused.code == 2
    assert "The prompt is empty." in refused.line
    assert server.log == []
    assert not home.exists()


def test_input_that_nobody_closes_is_told(home: Path, project: Path, server: OllamaServer) -> None:
    server.script("answer")
    with start("-p", "x", cwd=project, stdin=subprocess.PIPE) as process:
        assert process.stderr is not None
        assert b"Reading standard input to its end" in process.stderr.readline()
        out, _ = process.communicate(b"late", timeout=30)
    assert (process.returncode, out) == (0, b"answer\n")
    assert last_sent(server).endswith("x\n\nlate")


def test_too_much_input_is_usage(home: Path, project: Path) -> None:
    refused = run("-p", "x", stdin="y" * (9 << 20), cwd=project)
    assert refused.code == 2
    assert refused.line.startswith("Standard input is over 8 MB.")


def test_the_answer_streams(home: Path, project: Path, server: OllamaServer) -> None:
    server.script(Turn(say("first"), gate("go"), say(" second")))
    with start("-p", "x", cwd=project) as process:
        assert process.stdout is not None
        assert process.stdout.read(5) == b"first"
        server.release("go")
        assert process.stdout.read() == b" second\n"
    assert process.returncode == 0


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 1), (signal.SIGHUP, 1)])
def test_a_signal_stops_the_turn_and_keeps_what_arrived(
    home: Path, project: Path, server: OllamaServer, number: signal.Signals, code: int
) -> None:
    server.script(Turn(say("half an answer"), gate("never")))
    with start("-p", "x", cwd=project) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        assert process.stdout.read(14) == b"half an answer"
        process.send_signal(number)
        assert process.wait(20) == code
        assert process.stdout.read() == b"\n"
        assert b"Traceback" not in process.stderr.read()
    wait_until(lambda: server.chats[0].disconnected)
    entries = only_session(project)["entries"]
    assert (entries[-1]["text"], entries[-1]["status"]) == ("half an answer", "interrupted")


def test_a_reader_that_leaves_stops_the_turn(home: Path, project: Path, server: OllamaServer) -> None:
    server.script(Turn(say("first "), gate("go"), say("second "), gate("never")))
    with start("-p", "x", cwd=project) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        assert process.stdout.read(6) == b"first "
        process.stdout.close()
        server.release("go")
        assert process.wait(20) == 0
        assert process.stderr.read() == b""
    entries = only_session(project)["entries"]
    assert entries[-1]["status"] == "interrupted"
    assert entries[-1]["text"].strip() == "first second"


@pytest.mark.parametrize(
    ("turn", "out", "says"),
    [
        (Turn(http(500, {"error": "boom"})), "", "boom"),
        (Turn(say("half"), end("no_done")), "half\n", "broke off"),
        (Turn(say("half"), error("boom")), "half\n", "boom"),
    ],
)
def test_a_failed_turn_is_code_1_and_a_line(
    home: Path, project: Path, server: OllamaServer, turn: Turn, out: str, says: str
) -> None:
    server.script(turn)
    ran = run("-p", "x", cwd=project)
    assert (ran.code, ran.out) == (1, out)
    failure, session = ran.err.splitlines()
    assert failure.startswith("local-agent: ")
    assert says in failure
    assert "Session " in session


def test_an_empty_reply_is_asked_for_once_more(home: Path, project: Path, server: OllamaServer) -> None:
    server.script(Turn(done("stop")), Turn(done("stop")))
    ran = run("-p", "x", cwd=project)
    assert (ran.code, ran.out) == (1, "")
    again, failure, session = ran.err.splitlines()
    assert again == "local-agent: The model sent an empty reply. It is asked again."
    assert failure.startswith("local-agent: The model sent an empty reply.") and "Session " in session


def test_no_server_is_one_line_and_the_question_is_kept(
    home: Path, project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OLLAMA_HOST", "127.0.0.1:9")
    ran = run("-p", "x", cwd=project)
    assert (ran.code, ran.out) == (1, "")
    assert ran.err.splitlines()[0].startswith("local-agent: No Ollama server answers at 127.0.0.1:9.")
    assert only_session(project)["entries"]


@pytest.mark.parametrize("host", ["h:abc", "::::", "ftp://x", "http://h:99999"])
def test_a_host_that_is_none_is_one_line(
    home: Path, project: Path, monkeypatch: pytest.MonkeyPatch, host: str
) -> None:
    monkeypatch.setenv("OLLAMA_HOST", host)
    refused = run("-p", "x", cwd=project)
    assert refused.code == 2
    assert refused.out == ""
    assert refused.line


def test_a_host_that_is_not_this_machine_needs_a_line_in_the_settings(
    home: Path, project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OLLAMA_HOST", "box.invalid:11434")
    refused = run("-p", "x", cwd=project)
    assert refused.code == 1
    told, _, rest = refused.line.partition(" Allow it with ")
    assert (
        told
        == "box.invalid:11434 is not this machine: your conversation would leave it, so nothing was sent."
    )
    setting, _, file = rest.partition(" in ")
    section, _, value = setting.partition(".")
    Path(file).parent.mkdir(parents=True, exist_ok=True)
    Path(file).write_text(f"{section}:\n  {value}\n")
    allowed = run("-p", "x", cwd=project)
    assert allowed.code == 1
    assert "is not this machine" not in allowed.err
    assert "box.invalid" in allowed.err


def test_nothing_is_kept_with_no_save(home: Path, project: Path, server: OllamaServer) -> None:
    server.script("one", "two")
    ran = run("-p", "x", "--no-save", cwd=project)
    assert (ran.code, ran.out, ran.err) == (0, "one\n", "")
    home.mkdir(parents=True)
    (home / "config.yaml").write_text("sessions:\n  enabled: false\n")
    assert run("-p", "x", cwd=project).out == "two\n"
    assert [file.name for file in home.iterdir()] == ["config.yaml"]


def test_what_cannot_be_saved_is_not_asked(home: Path, project: Path, server: OllamaServer) -> None:
    blocked = home.parents[1] / "file"
    blocked.write_text("")
    ran = run("-p", "x", cwd=project, env={"LOCAL_AGENT_HOME": str(blocked / "home")})
    assert (ran.code, ran.out) == (1, "")
    assert ran.line
    assert server.chats == []


def test_the_model_is_chosen_by_the_flag(home: Path, project: Path, server: OllamaServer) -> None:
    ran = run("-p", "x", "--model", "no-such-model", cwd=project)
    assert ran.code == 1
    assert "no-such-model" in ran.err.splitlines()[0]


def test_a_receipt_as_json(home: Path, project: Path, server: OllamaServer) -> None:
    server.script(Turn(think("Hm."), say("Four.")), Turn(say("Ha"), error("boom")))
    receipt = json.loads(run("-p", "Two and two?", "--output", "json", cwd=project).out)
    session = only_session(project)["session"]
    assert {key: receipt[key] for key in ("handle", "title", "status", "text", "thinking", "error")} == {
        "handle": session["handle"], "title": "Two and two?", "status": "settled",
        "text": "Four.", "thinking": "Hm.", "error": None,
    }  # fmt: skip
    assert receipt["model"] == session["model"]
    assert receipt["usage"]["reply_tokens"] > 0
    assert receipt["window"] > 0

    failed = run("-p", "x", "--output", "json", cwd=project)
    receipt = json.loads(failed.out)
    assert failed.code == 1
    assert (receipt["status"], receipt["text"]) == ("failed", "Ha")
    assert "boom" in receipt["error"]["line"] + receipt["error"]["raw"]


def test_events_as_lines(home: Path, project: Path, server: OllamaServer) -> None:
    server.script(Turn(think("Hm."), say("Fo"), say("ur \U0001f600.\u2028\x85")))
    ran = run("-p", "Two and two?", "--output", "jsonl", cwd=project)
    events = [json.loads(line) for line in ran.out.split("\n")[:-1]]
    assert (ran.code, ran.err) == (0, "")
    names = [event["event"] for event in events]
    assert names[0] == "turn_started"
    assert names[-2:] == ["turn_ended", "receipt"]
    assert {"phase_changed", "thinking_delta", "text_delta", "usage_reported"} <= set(names)
    assert (
        "".join(event["text"] for event in events if event["event"] == "text_delta")
        == "Four \U0001f600.\u2028\x85"
    )
    assert events[0]["question"]["text"] == "Two and two?"
    assert events[-1]["handle"] == events[0]["handle"]


@pytest.mark.parametrize("output", ["json", "jsonl"])
def test_what_fails_before_the_turn_is_a_receipt_too(
    home: Path, project: Path, monkeypatch: pytest.MonkeyPatch, output: str
) -> None:
    monkeypatch.setenv("OLLAMA_HOST", "box.invalid:11434")
    refused = run("-p", "x", "--output", output, cwd=project)
    receipt = json.loads(refused.out)
    assert refused.code == 1
    assert receipt["status"] == "failed"
    assert receipt["error"]["line"] in refused.line


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="the system has no /dev/full")
def test_an_answer_that_cannot_be_written_is_kept(home: Path, project: Path, server: OllamaServer) -> None:
    server.script(Turn(say("first"), gate("never")))
    with Path("/dev/full").open("w") as full:
        ended = subprocess.run(
            [*COMMAND, "-p", "x"], cwd=project, env=environment(), stdin=subprocess.DEVNULL, stdout=full,
            stderr=subprocess.PIPE, text=True, timeout=60, check=False,
        )  # fmt: skip
    assert ended.returncode == 1
    assert (
        "local-agent: Can't write to standard output: No space left on device." in ended.stderr.splitlines()
    )
    assert "Traceback" not in ended.stderr
    entries = only_session(project)["entries"]
    assert entries[-1]["text"] == "first"


def test_a_narrow_encoding_loses_no_answer(home: Path, project: Path, server: OllamaServer) -> None:
    server.script("caf\xe9 \U0001f600")
    ran = run("-p", "x", cwd=project, env={"PYTHONIOENCODING": "ascii", "PYTHONUTF8": "0"})
    assert (ran.code, ran.out) == (0, "caf? ?\n")
    (entry,) = (entry for entry in only_session(project)["entries"] if entry["kind"] == "assistant")
    assert entry["text"] == "caf\xe9 \U0001f600"


def test_a_killed_run_leaves_a_session_that_can_be_read(
    home: Path, project: Path, server: OllamaServer
) -> None:
    server.script(Turn(say("half an answer"), gate("never")))
    with start("-p", "x", cwd=project) as process:
        assert process.stdout is not None
        assert process.stdout.read(14) == b"half an answer"
        os.kill(process.pid, signal.SIGKILL)
    listed = run("session", "list", cwd=project)
    assert (listed.code, len(listed.out.splitlines())) == (0, 1)
    assert run("session", "trash", listed.out[:7], cwd=project).code == 0


@pytest.mark.engine
def test_the_built_in_engine_answers(home: Path, project: Path) -> None:
    model = small_model()
    answer_briefly(home)
    ran = run("-p", "Say hello.", "--gguf", str(model), "--output", "json", cwd=project)
    receipt = json.loads(ran.out)
    assert (ran.code, receipt["status"]) == (0, "settled")
    assert receipt["text"].strip()
    assert only_session(project)["session"]["backend"] == "embedded"


@pytest.mark.engine
def test_the_demo_runs_from_the_cache(home: Path, project: Path) -> None:
    model = small_model()
    answer_briefly(home)
    cache = Path(os.environ["XDG_CACHE_HOME"])
    cache.mkdir()
    (cache / "local-agent").symlink_to(next(p for p in model.parents if cached_model(p) == model))
    ran = run("-p", "Say hello.", "--demo", cwd=project)
    assert ran.code == 0
    assert ran.out.strip()
