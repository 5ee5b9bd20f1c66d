"""Sessions on the command line: listed, read, renamed, put away, and bound to their folder."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import pytest

from local_agent.cli.stored import whole_path
from local_agent.domain.drafts import Prompt
from local_agent.domain.quoting import quoted
from tests.cli.program import converse, environment, opened, run, sent_messages, shim, stored_session
from tests.support.ollama_server import ModelSpec, OllamaServer, Turn, call, end, http, say


def in_shell(command: str, cwd: Path, path: str) -> tuple[int, str]:
    """Type a command as it was printed; its exit code and standard error."""
    ran = subprocess.run(
        ["bash", "-c", command],
        cwd=cwd,
        env=environment(PATH=path),
        capture_output=True,
        timeout=60,
        check=False,
    )
    return ran.returncode, ran.stderr.decode()


@pytest.fixture
def elsewhere(tmp_path: Path) -> Path:
    folder = tmp_path / "elsewhere"
    folder.mkdir()
    return folder


async def test_list_shows_this_folder_newest_first(
    home: Path, project: Path, elsewhere: Path, server: OllamaServer
) -> None:
    server.script("one", "two", "three")
    first = await stored_session(server.url, project, "First question")
    second = await stored_session(server.url, project, "Second \x1b[31m[red] question")
    other = await stored_session(server.url, elsewhere, "Somewhere else")

    shown = run("session", "list", cwd=project)
    assert [line[:7] for line in shown.out.splitlines()] == [second, first]
    assert "\x1b" not in shown.out
    assert shown.out.splitlines()[1].endswith("1 turn   First question")

    everywhere = run("session", "list", "--all", "--json", cwd=project)
    assert [(row["handle"], row["workspace_root"]) for row in json.loads(everywhere.out)] == [
        (other, str(elsewhere)), (second, str(project)), (first, str(project)),
    ]  # fmt: skip


async def test_list_says_when_there_are_more(home: Path, project: Path, server: OllamaServer) -> None:
    server.script("one", "two")
    await stored_session(server.url, project, "First")
    newest = await stored_session(server.url, project, "Second")
    shown = run("session", "list", "--limit", "1", cwd=project)
    assert [line[:7] for line in shown.out.splitlines()] == [newest]
    assert shown.line == "There are more: local-agent session list --limit 5"


def test_list_of_nothing_makes_nothing(home: Path, project: Path) -> None:
    shown = run("session", "list", cwd=project)
    assert (shown.code, shown.out) == (0, "")
    assert shown.line == "No sessions in this folder. Others: local-agent session list --all"
    assert json.loads(run("session", "list", "--json", cwd=project).out) == []
    assert not home.exists()


async def test_show_prints_what_was_said(
    home: Path, project: Path, elsewhere: Path, server: OllamaServer
) -> None:
    server.script("**Hello** there.", Turn(say("Half an ans"), end("no_done")))
    handle = await stored_session(server.url, project, "Hi \x1b]0;x\x07you", "And?")
    shown = run("session", "show", f" {handle.upper()} ", cwd=elsewhere)
    assert shown.code == 0
    assert shown.out.startswith(f"Session {handle} · Hi ")
    texts = [part.split("\n", 1) for part in shown.out.strip().split("\n\n")[1:]]
    assert [speaker.split(" · ")[0] for speaker, _ in texts][0::2] == ["You", "You"]
    assert texts[1][1] == "  **Hello** there."
    assert texts[3][1].startswith("  Half an ans\n(failed: ")
    assert "\x1b" not in shown.out
    assert "\x07" not in shown.out


async def test_show_as_json_carries_the_next_request(home: Path, project: Path, server: OllamaServer) -> None:
    server.script(
        "First answer.", Turn(say("Half"), end("no_done")), Turn(http(400, {"error": "no"})), "Last answer."
    )
    (project / "AGENTS.md").write_text("Speak like a sailor.\n")
    async with opened(server.url, project) as runtime:
        conversation = await converse(runtime, "One", "Two", "Lost")
        handle = conversation.handle
        await conversation.close()
        document = json.loads(run("session", "show", "--json", handle, cwd=project).out)

        resumed = await runtime.resume(handle)
        async for _ in resumed.ask(Prompt("Three")):
            pass
        await resumed.close()

    sent = sent_messages(server.chats[-1])
    carried = [(message["role"], message["content"]) for message in document["messages"]]
    assert carried == sent[:-1]
    assert "Speak like a sailor." in carried[0][1]
    assert document["session"]["handle"] == handle
    assert [entry["kind"] for entry in document["entries"]] == [
        "question", "assistant", "question", "assistant", "question",
    ]  # fmt: skip
    assert [entry["text"] for entry in document["entries"]][1::2] == ["First answer.", "Half"]
    assert len(document["errors"]) == 2


async def test_calls_and_what_came_of_each_are_told_apart(
    home: Path, project: Path, server: OllamaServer
) -> None:
    (project / "a.txt").write_text("hello\n")
    server.models["qwen3:4b"] = ModelSpec("qwen3:4b", ("completion", "tools"), "qwen3")
    hidden = "no\x1b[31m[red]"
    server.script(Turn(call("read", {"path": "a.txt"}), call("ls", {"path": hidden * 100})), "It says hello.")
    handle = await stored_session(server.url, project, "What is in it?")
    shown = run("session", "show", handle, cwd=project).out
    assert '\n  [call] read {"path": "a.txt"}\n  [call] ls {"path": "no\\u001b[31m[red]no' in shown
    assert "Result of read · " in shown and "Result of ls · " in shown and "\x1b" not in shown
    assert max(len(line) for line in shown.splitlines() if "[call]" in line) < 300


async def test_a_long_session_is_shown_whole(home: Path, project: Path, server: OllamaServer) -> None:
    server.script(*(f"answer {number}" for number in range(7)))
    texts = [f"{kind} {number}" for number in range(7) for kind in ("question", "answer")]
    async with opened(server.url, project) as runtime:
        handle = (await converse(runtime, *texts[0::2])).handle
        for page in (1, 2, 3, 13, 14, 15):
            path = await whole_path(runtime, handle, page)
            assert [entry.text for entry in path.entries] == texts
            assert len(path.turns) == 7


async def test_search_prints_the_words_where_they_stand(
    home: Path, project: Path, elsewhere: Path, server: OllamaServer
) -> None:
    server.script("The database listens on 5544.", "In the \x1b[31morchard.")
    here = await stored_session(server.url, project, "Which port?")
    there = await stored_session(server.url, elsewhere, "Where is it?")

    found = run("session", "search", "it", "DATABASE", cwd=project)
    assert found.code == 0
    row, snippet = found.out.splitlines()
    assert (row[:7], row.endswith("answered  Which port?")) == (here, True)
    assert snippet == "    The database listens on 5544."
    assert found.err == "local-agent: Not looked for: it.\n"
    (passage,) = json.loads(run("session", "search", "database", "--json", cwd=project).out)["passages"]
    assert (passage["question"], passage["answer"]) == ("Which port?", "The database listens on 5544.")

    missed = run("session", "search", "orchard", cwd=project)
    assert (missed.code, missed.out) == (0, "")
    words = missed.err.rpartition(": local-agent ")[2].split()
    everywhere = run(*words, cwd=project)
    assert everywhere.out.startswith(there)
    assert "\x1b" not in everywhere.out


def test_search_of_nothing_makes_nothing(home: Path, project: Path) -> None:
    missed = run("session", "search", "anything", cwd=project)
    assert (missed.code, missed.out) == (0, "")
    assert not home.exists()
    assert run("session", "search", cwd=project).code == 2
    assert "There is no word in '?!'" in run("session", "search", "?!", cwd=project).err


async def test_rename_trash_and_untrash(home: Path, project: Path, server: OllamaServer) -> None:
    server.script("one")
    handle = await stored_session(server.url, project, "First question")

    renamed = run("session", "rename", handle, "A", "better\x1b[31m", "title", cwd=project)
    assert (renamed.code, renamed.line) == (0, f"Session {handle} is now called: A better␛[31m title")
    assert "A better␛[31m title" in run("session", "list", cwd=project).out

    trashed = run("session", "trash", handle, cwd=project)
    assert trashed.code == 0
    assert run("session", "list", cwd=project).out == ""
    assert run("--resume", "latest", cwd=project).code == 1

    assert trashed.line.endswith(f"local-agent session untrash {handle}")
    refused = run("--resume", handle, cwd=project)
    assert refused.code == 1
    assert refused.line.endswith(f"local-agent session untrash {handle}")
    assert run("session", "untrash", handle, cwd=project).code == 0
    assert handle in run("session", "list", cwd=project).out


@pytest.mark.parametrize(
    "command",
    [
        *(
            ("--resume", text)
            for text in ("42", "S42", "a1b2c3", "a1b2c3d4", "g1b2c3d", "../etc", "\x1b[31m", "")
        ),
        ("session", "show", "latest"),
        ("session", "rename", "42", "x"),
        ("session", "trash", "a1b2c3"),
        ("session", "untrash", "S42"),
        ("session", "fork", "latest"),
    ],
)
def test_a_malformed_handle_is_one_line(home: Path, project: Path, command: tuple[str, ...]) -> None:
    refused = run(*command, cwd=project)
    assert refused.code == 2
    assert "is no session handle: a handle is seven hex digits, such as a1b2c3d." in refused.line
    assert not home.exists()


async def test_an_unknown_handle_is_offered_the_closest(
    home: Path, project: Path, server: OllamaServer
) -> None:
    server.script("one")
    handle = await stored_session(server.url, project, "First question")
    last = "0" if handle[-1] != "0" else "1"
    for arguments in (("--resume", handle[:-1] + last), ("session", "show", handle[:-1] + last)):
        refused = run(*arguments, cwd=project)
        assert refused.code == 2
        assert refused.line == f"There is no session {handle[:-1]}{last}. Did you mean {handle}?"
    assert f"Did you mean {handle}?" in run("--resume", handle[:-1], cwd=project).line


async def test_a_handle_of_another_folder_comes_with_the_command_to_run_there(
    home: Path, project: Path, elsewhere: Path, server: OllamaServer, tmp_path: Path
) -> None:
    server.script("one")
    handle = await stored_session(server.url, project, "First question")
    path = shim(tmp_path / "bin")
    for arguments, ends in (
        (("--resume", handle), (2, "The screen needs a terminal")),
        (("session", "rename", handle, "It's 2 o'clock; $HOME"), (0, "is now called: It's 2 o'clock; $HOME")),
        (("session", "fork", handle, "--title", "It's\ta fork"), (0, f"is a fork of {handle}")),
        (("session", "trash", handle), (0, "is in the trash")),
        (("session", "untrash", handle), (0, "is back")),
    ):
        refused = run(*arguments, cwd=elsewhere)
        assert refused.code == 1
        told, _, command = refused.line.partition(" Run it there: ")
        assert told == f"Session {handle} belongs to {project}."
        code, err = in_shell(command, elsewhere, path)
        assert (code, ends[1] in err) == (ends[0], True), err


async def test_a_folder_that_is_gone_can_still_be_read(
    home: Path, project: Path, server: OllamaServer
) -> None:
    server.script("one")
    handle = await stored_session(server.url, project, "First question")
    os.rmdir(project)
    refused = run("--resume", handle)
    assert refused.code == 1
    assert "which is gone." in refused.line
    assert refused.line.endswith(f"Read it with: local-agent session show {handle}")
    assert "First question" in run("session", "show", handle).out


async def test_a_session_that_is_open_elsewhere_is_left_alone(
    home: Path, project: Path, server: OllamaServer
) -> None:
    server.script("one")
    async with opened(server.url, project) as runtime:
        conversation = await converse(runtime, "First question")
        for command in (("rename", "x"), ("trash",), ("untrash",)):
            refused = run("session", command[0], conversation.handle, *command[1:], cwd=project)
            assert refused.code == 1
            assert f"is open in process {os.getpid()}" in refused.line
        assert "First question" in run("session", "show", conversation.handle, cwd=project).out
        await conversation.close()
        assert run("session", "trash", conversation.handle, cwd=project).code == 0


async def test_a_fork_of_a_session_that_is_open_elsewhere(
    home: Path, project: Path, server: OllamaServer
) -> None:
    server.script("one", Turn(say("Half"), end("no_done")))
    async with opened(server.url, project) as runtime:
        conversation = await converse(runtime, "First question", "Second")
        forked = run("session", "fork", conversation.handle, cwd=project)
        assert forked.code == 0
        handle = forked.line.removeprefix("Session ")[:7]
        assert forked.line == (
            f"Session {handle} is a fork of {conversation.handle}. Go on with: local-agent --resume {handle}"
        )
        named = run("session", "fork", handle, "--title", "Another\x1b[31m way", "--json", cwd=project)
        made = json.loads(named.out)
        assert (made["title"], made["forked_from"]) == ("Another␛[31m way", handle)
        assert made["head"] == made["fork_entry"]
        await conversation.close()

    rows = run("session", "list", cwd=project).out.splitlines()
    assert [row[:7] for row in rows] == [made["handle"], handle, conversation.handle]
    assert rows[0].endswith(f"Another␛[31m way  fork of {handle}")
    assert rows[1].endswith(f"First question  fork of {conversation.handle}")
    shown = run("session", "show", made["handle"], cwd=project).out
    assert f"fork of {handle}" in shown
    assert "First question" in shown and "Half\n(failed: " in shown


async def test_what_cannot_be_forked_is_one_line(home: Path, project: Path, server: OllamaServer) -> None:
    server.script(Turn(http(400, {"error": "no"})))
    handle = await stored_session(server.url, project, "First question")
    refused = run("session", "fork", handle, cwd=project)
    assert (refused.code, refused.line) == (
        1,
        f"Session {handle} has no finished answer yet, so there is nothing to fork. "
        "Try again once it has one.",
    )
    assert run("session", "fork", handle, "--title", " ", cwd=project).code == 2
    assert run("session", "trash", handle, cwd=project).code == 0
    assert run("session", "fork", handle, cwd=project).line.startswith(f"Session {handle} is in the trash.")


async def test_latest_is_this_folders_newest_and_none_of_p(
    home: Path, project: Path, elsewhere: Path, server: OllamaServer
) -> None:
    refused = run("--resume", "latest", cwd=project)
    assert (refused.code, refused.line) == (
        1, "No session was saved in this folder yet. Start one with: local-agent",
    )  # fmt: skip
    server.script("one", "two")
    assert run("-p", "by a script", cwd=project).code == 0
    assert run("--resume", "latest", cwd=project).code == 1
    await stored_session(server.url, project, "By a person")
    assert "needs a terminal" in run("--resume", " LATEST ", cwd=project).line
    assert run("--resume", "latest", cwd=elsewhere).code == 1


@pytest.mark.parametrize(
    "content", [b"no database at all, but long enough to be looked at" * 40, b"SQLite format 3\0junk"]
)
def test_a_file_that_is_no_database_is_one_line(home: Path, project: Path, content: bytes) -> None:
    home.mkdir(parents=True)
    (home / "local-agent.db").write_bytes(content)
    for arguments in (("--resume", "latest"), ("--resume", "a1b2c3d"), ("session", "list"), ("-p", "x")):
        refused = run(*arguments, cwd=project)
        assert refused.code == 1, arguments
        assert "local-agent.db" in refused.line
    assert (home / "local-agent.db").read_bytes() == content


@pytest.mark.parametrize(
    "name",
    [
        "plain",
        "two  blanks",
        "it's",
        "-dash",
        "tab\tnew\nline",
        "caf\xe9",
        "\x1b[31m",
        "a\u202eb",
        "$HOME`x`\\",
    ],
)
def test_a_printed_folder_can_be_typed_and_drawn(tmp_path: Path, name: str) -> None:
    folder = tmp_path / name
    folder.mkdir()
    shown = quoted(str(folder))
    assert shown.isprintable()
    there = subprocess.run(
        ["bash", "-c", f"cd {shown} && pwd -P"], capture_output=True, timeout=10, check=True
    )
    assert os.fsdecode(there.stdout).removesuffix("\n") == str(folder.resolve())


def test_a_folder_whose_name_is_no_text_can_be_typed(tmp_path: Path) -> None:
    folder = os.fsencode(tmp_path) + b"/caf\xe9"
    os.mkdir(folder)
    shown = quoted(os.fsdecode(folder))
    there = subprocess.run(
        ["bash", "-c", f"cd {shown} && pwd -P"], capture_output=True, timeout=10, check=True
    )
    assert there.stdout.removesuffix(b"\n") == folder
