"""What a model reads of a command: how it ended, what it wrote, and what of that was cut."""

from __future__ import annotations

import asyncio
import shutil
import sys
from itertools import pairwise
from pathlib import Path
from typing import BinaryIO

import pytest

from local_agent.domain.tools import Action, ResultStatus
from local_agent.tools.shell.collecting import Collected
from tests.tools.calling import Around
from tests.tools.shell.shells import Shell, a_sleep, until

PYTHON = sys.executable


def printing(code: str) -> str:
    """A command that runs Python code, which may hold no quotes of its own but single ones."""
    return f'{PYTHON} -c "import sys; {code}"'


@pytest.mark.parametrize(
    ("command", "code", "status", "line"),
    [
        ("true", 0, ResultStatus.OK, "exit code 0 after "),
        ("exit 3", 3, ResultStatus.FAILED, "exit code 3 after "),
        ("no-such-program-here", 127, ResultStatus.FAILED, "exit code 127 after "),
        ("kill -SEGV $$", 139, ResultStatus.FAILED, "exit code 139 (SIGSEGV) after "),
        ("sh -c 'kill -KILL $$'; exit $?", 137, ResultStatus.FAILED, "exit code 137 (SIGKILL) after "),
        ("exit 200", 200, ResultStatus.FAILED, "exit code 200 after "),
    ],
)
async def test_the_exit_code_and_the_time_come_first(
    shell: Shell, command: str, code: int, status: ResultStatus, line: str
) -> None:
    result = await shell.bash(command)

    assert result.text.startswith(line)
    assert (result.exit_code, result.status) == (code, status)
    assert result.summary == line.split(" code")[0] + line.removeprefix("exit code").removesuffix(" after ")


async def test_both_outputs_come_in_their_order_and_nothing_can_be_typed(shell: Shell) -> None:
    result = await shell.bash("echo one; echo two >&2; cat; read line || echo no input; echo three >&2")

    assert result.text.split("\n", 1)[1] == "one\ntwo\nno input\nthree\n"
    assert (result.output, result.size) == ("", None)


async def test_each_command_begins_in_the_workspace(shell: Shell) -> None:
    await shell.bash("mkdir inner && cd inner && touch made")
    result = await shell.bash("pwd; ls inner")

    assert result.text.endswith(f"\n{shell.root}\nmade\n")
    assert "cd does not last" in shell.box.specs[0].description


async def test_the_environment_is_the_persons_for_programs_that_nobody_attends_to(
    shell: Shell, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LOCAL_AGENT_HOME", "/ours")
    monkeypatch.setenv("OLLAMA_API_KEY", "secret")
    monkeypatch.setenv("CI", "true")
    monkeypatch.setenv("PERSONS_OWN", "kept")
    result = await shell.bash("env")
    env = dict(line.split("=", 1) for line in result.text.splitlines() if "=" in line)

    assert env["PERSONS_OWN"] == "kept"
    assert (env["TERM"], env["PAGER"], env["GIT_PAGER"]) == ("dumb", "cat", "cat")
    assert env["GIT_TERMINAL_PROMPT"] == "0"
    assert env.keys().isdisjoint({"LOCAL_AGENT_HOME", "OLLAMA_API_KEY", "CI"})


async def test_a_signal_that_the_program_ignores_is_not_ignored_by_commands(shell: Shell) -> None:
    result = await shell.bash("yes | head -n 1; exit ${PIPESTATUS[0]}")

    assert (result.exit_code, result.text.split("\n", 1)[1]) == (141, "y\n")


async def test_what_python_printed_until_a_stop_is_there(shell: Shell) -> None:
    result = await shell.bash(printing("print('so far'); import time; time.sleep(300)"), timeout=1)

    assert result.text.endswith("\nso far\n")


async def test_a_flood_is_bounded_counted_and_kept_as_far_as_it_can_be(shell: Shell) -> None:
    result = await shell.bash("echo first; yes | head -c 200000000; echo last")

    assert len(result.text.encode()) <= 8_192
    assert result.text.splitlines()[1] == "first"
    assert result.text.splitlines()[-2] == "last"
    assert "of 200,000,011 bytes (100,000,002 lines in all) are left out here" in result.text
    assert "no more than 67,108,864 bytes are kept" in result.text
    assert result.size == 200_000_011
    kept = shell.outputs.get(result.output)
    assert len(kept) == 64 * 1024 * 1024
    assert kept.startswith(b"first\ny\ny\n")


async def test_what_is_left_out_can_be_read_from_where_it_stopped(shell: Shell) -> None:
    result = await shell.bash("seq 20000")
    note = next(line for line in result.text.splitlines() if "left out" in line)
    id = note.split('id="')[1].split('"')[0]
    offset = int(note.split("offset=")[1].split()[0])
    numbers = [line for line in result.text.splitlines()[1:] if line.isdigit()]
    cut = numbers.index(next(b for a, b in pairwise(numbers) if int(b) != int(a) + 1))

    more = await shell.call("bash_output", id=id, offset=offset)

    assert more.text.splitlines()[0].startswith("exit code 0 after ")
    assert int(more.text.splitlines()[1]) == int(numbers[cut - 1]) + 1
    assert more.text.splitlines()[-1].startswith(f"[bytes {offset}-")
    assert numbers[-1] == "20000"


async def test_every_byte_can_be_read_by_going_on(shell: Shell) -> None:
    result = await shell.bash("seq 3000")
    seen, offset, reads = "", 0, 0
    while True:
        part = await shell.call("bash_output", id="000000000001", offset=offset)
        _, *lines, place = part.text.splitlines()
        seen += "".join(f"{line}\n" for line in lines)
        reads += 1
        if "go on with offset=" not in place:
            break
        offset = int(place.rsplit("=", 1)[1].rstrip("]"))

    assert seen == "".join(f"{number}\n" for number in range(1, 3001))
    assert reads > 1
    assert place.endswith(f"of {result.size:,}: the end]")


async def test_a_line_of_ten_megabytes_is_cut_and_its_length_said(shell: Shell) -> None:
    result = await shell.bash(printing("sys.stdout.write('x' * 10_000_000)"))

    assert len(result.text.encode()) <= 8_192
    assert "10,000,000 bytes" in result.text
    assert len(shell.outputs.get(result.output)) == 10_000_000


async def test_binary_output_is_named_and_kept(shell: Shell) -> None:
    result = await shell.bash(printing("sys.stdout.buffer.write(bytes(range(256)) * 100)"))

    assert result.text.endswith("\n(binary output, 25,600 bytes)")
    assert shell.outputs.get(result.output) == bytes(range(256)) * 100


async def test_what_is_no_utf_8_is_replaced_for_the_model_and_kept_as_it_was(shell: Shell) -> None:
    result = await shell.bash(r"printf 'caf\351 is open\n'")

    assert result.text.endswith("\ncaf� is open\n")
    assert shell.outputs.get(result.output) == b"caf\xe9 is open\n"


async def test_colours_and_progress_bars_are_for_the_person_alone(shell: Shell) -> None:
    result = await shell.bash(r"printf '10%%\r50%%\r100%%\n\033[31mred\033[0m \033]0;title\007end\n'")

    assert result.text.split("\n", 1)[1] == "100%\nred end\n"
    assert b"\x1b[31mred" in shell.outputs.get(result.output)


async def test_output_is_passed_on_while_it_comes_but_not_more_often_than_one_can_see(shell: Shell) -> None:
    around = Around()
    go = shell.root / "go"
    running = asyncio.create_task(shell.bash(f"echo first; until test -e {go}; do sleep 0.02; done", around))
    await until(lambda: around.told)
    go.touch()
    await running
    assert around.told == ["first\n"]

    flooded = Around()
    result = await shell.bash("yes | head -c 30000000", flooded)
    seconds = float(result.text.split(" after ")[1].split()[0])
    assert len(flooded.told) <= 9 + 10 * seconds
    assert max(map(len, flooded.told)) <= 33_000


async def test_two_commands_run_at_once(shell: Shell) -> None:
    one = shell.bash("touch a; until test -e b; do sleep 0.02; done; echo saw b", timeout=10)
    other = shell.bash("until test -e a; do sleep 0.02; done; echo saw a; touch b", timeout=10)
    results = await asyncio.gather(one, other)

    assert [result.text.split("\n")[1] for result in results] == ["saw b", "saw a"]


async def test_a_workspace_that_is_gone_is_said_to_be(shell: Shell) -> None:
    shell.root.rmdir()

    said = await shell.failure("bash", command="pwd")

    assert said == f"The workspace is gone: {shell.root} is no folder any more."


@pytest.mark.parametrize(
    ("command", "said"),
    [
        ("", "The command is empty."),
        (" \n", "The command is empty."),
        ("echo \0", "The command holds a NUL character, which no command can."),
        (
            "echo " + "x" * 150_000,
            "The command has 150,005 bytes, 100,000 at most. Write it to a file and run that.",
        ),
    ],
)
async def test_what_can_be_no_command_gets_one_line(shell: Shell, command: str, said: str) -> None:
    assert await shell.failure("bash", command=command) == said


async def test_a_long_command_and_a_strange_one_arrive_as_they_are(shell: Shell) -> None:
    word = 'a\n"ü\\ $HOME `x` ' + "x" * 99_000
    result = await shell.bash(f"printf %s '{word}' | wc -c")

    assert result.text.split("\n")[1].strip() == str(len(word.encode()))


async def test_the_intent_shows_the_command_on_one_line(shell: Shell) -> None:
    from local_agent.domain.entries import ToolCall

    intent = await shell.box.prepare(ToolCall("c", "bash", {"command": "echo a\necho \x1b[31mb"}))

    assert intent.action is Action.RUN
    assert intent.command == "echo a\necho \x1b[31mb"
    assert "\n" not in intent.target and "\x1b" not in intent.target


async def test_without_bash_it_is_sh(shell: Shell, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    programs = tmp_path / "programs"
    programs.mkdir()
    (programs / "echo").symlink_to(shutil.which("echo") or "/bin/echo")
    monkeypatch.setenv("PATH", str(programs))

    assert (await shell.bash("echo ${BASH_VERSION:-none}")).text.endswith("\nnone\n")


async def test_an_output_that_can_not_be_stored_is_said_to_be_lost(shell: Shell) -> None:
    shell.outputs.folder.write_text("a file where the store should be")
    result = await shell.bash("seq 20000")

    assert (result.status, result.output) == (ResultStatus.OK, "")
    assert "[it could not be kept: " in result.text
    assert "\n20000\n" in result.text
    assert len(result.text.encode()) <= 8_192


def always_full() -> BinaryIO:
    return Path("/dev/full").open("wb", buffering=0)


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no disk that is always full")
async def test_a_full_disk_loses_the_middle_and_nothing_else(shell: Shell) -> None:
    output = Collected(spool=always_full)
    for _ in range(100):
        await output.feed(b"0123456789\n" * 1_000)
    await output.feed(b"the end\n")

    assert output.size == 1_100_008
    assert "No space left" in output.lost
    assert output.beginning(100).text.startswith("0123456789\n")
    assert output.end(100).text.endswith("0123456789\nthe end\n")
    output.close()


async def test_a_confined_command_without_a_sandbox_is_not_run(shell: Shell) -> None:
    with pytest.raises(Exception, match="no sandbox"):
        await shell.ready("bash", confined=True, command="touch made")
    assert list(shell.root.iterdir()) == []


async def test_a_small_window_gets_small_results(tmp_path: Path) -> None:
    root = tmp_path / "workspace"
    root.mkdir()
    small = Shell(root, result_bytes=2_048)
    name = a_sleep()
    result = await small.bash(f"seq 20000; printf '%01999d' 7; sleep {name} & exit 137")

    assert len(result.text.encode()) <= 2_048
    assert result.text.startswith("exit code 137 (SIGKILL)")
