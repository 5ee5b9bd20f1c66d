"""Commands in the background: read by id, ended when asked, when their time is up and at the end."""

from __future__ import annotations

import asyncio
import time
from pathlib import Path

from local_agent.domain.ledger import EventKind, Execution, Receipt
from local_agent.domain.tools import Effect, ResultStatus
from local_agent.tools.shell.commands import MOST_JOBS, Cause, Commands
from local_agent.tools.shell.jobs import BashOutput
from tests.tools.calling import Around, box, call, failure
from tests.tools.shell.shells import Shell, a_sleep, asleep, until


async def test_a_job_goes_on_after_its_call_and_its_end_is_told(shell: Shell) -> None:
    name = a_sleep()
    id = await shell.job(f"echo begun; sleep {name}")

    running = await shell.call("bash_output", id=id)
    assert running.text.startswith("running for ")
    assert running.text.endswith("\nbegun\n[bytes 0-6 of 6: the end so far]")
    assert [job.id for job in shell.commands.jobs] == [id]
    assert shell.ended == []

    stopped = await shell.call("bash_stop", id=id)
    assert stopped.text.startswith(f"{id}: stopped after ")
    assert asleep(name) == []
    (ended,) = shell.ended
    assert (ended.id, ended.cause, ended.background) == (id, Cause.STOP, True)
    assert shell.outputs.get(ended.digest) == b"begun\n"
    assert shell.commands.jobs == ()

    again = await shell.call("bash_output", id=id, offset=0)
    assert "stopped after " in again.text and again.text.endswith("\nbegun\n[bytes 0-6 of 6: the end]")
    assert (await shell.call("bash_stop", id=id)).text == stopped.text


async def test_what_a_job_has_written_since_is_read_from_where_the_last_look_ended(shell: Shell) -> None:
    id = await shell.job("echo one; until test -e go; do sleep 0.02; done; echo two; sleep 30")
    first = await shell.call("bash_output", id=id, offset=0)
    assert first.text.endswith("one\n[bytes 0-4 of 4: the end so far]")

    (shell.root / "go").touch()
    await until(lambda: shell.commands.jobs[0].output.size == 8)

    more = await shell.call("bash_output", id=id, offset=4)
    assert more.text.split("\n")[1:] == ["two", "[bytes 4-8 of 8: the end so far]"]
    beyond = await shell.call("bash_output", id=id, offset=99)
    assert beyond.text.endswith("[nothing from offset 99 on: there are 8 bytes]")


async def test_what_ends_at_once_is_no_job(shell: Shell) -> None:
    result = await shell.bash("echo port in use; exit 1", background=True)

    assert (result.status, result.exit_code) == (ResultStatus.FAILED, 1)
    assert result.text.endswith("\nport in use\n")
    assert (shell.commands.jobs, shell.ended) == ((), [])


async def test_a_stop_in_the_first_moment_of_a_job_ends_it(shell: Shell) -> None:
    name, around = a_sleep(), Around()
    around.stop.set()
    result = await shell.bash(f"sleep {name}", around, background=True)

    assert result.status is ResultStatus.CANCELLED
    assert asleep(name) == []


async def test_a_job_ends_by_itself_or_by_its_limit(shell: Shell) -> None:
    by_itself = await shell.job("until test -e go; do sleep 0.02; done; exit 4")
    limited = await shell.job("sleep 300", timeout=1)
    (shell.root / "go").touch()
    await until(lambda: len(shell.ended) == 2)

    ends = {command.id: (command.cause, command.ending) for command in shell.ended}
    cause, ending = ends[by_itself]
    assert cause is Cause.ITSELF and ending is not None and ending.exit_code == 4
    assert ends[limited][0] is Cause.LIMIT
    assert "its time limit" in (await shell.call("bash_output", id=limited)).text


async def test_a_job_has_no_limit_of_its_own(shell: Shell) -> None:
    await shell.job("sleep 300")

    assert shell.commands.jobs[0].limit is None


async def test_closing_ends_all_jobs_within_a_second_and_says_why(shell: Shell) -> None:
    names = [a_sleep() for _ in range(3)]
    for name in names:
        await shell.job(f"trap '' TERM; sleep {name} & sleep {name}; sleep {name}")

    began = time.monotonic()
    await shell.commands.close()

    assert time.monotonic() - began < 3, "it takes 0.1 s; the rest is for a slow machine"
    assert [asleep(name) for name in names] == [[], [], []]
    assert [command.cause for command in shell.ended] == [Cause.EXIT] * 3


async def test_eight_jobs_run_and_a_ninth_is_refused_with_the_way_out(shell: Shell) -> None:
    ids = await asyncio.gather(*(shell.job("sleep 300") for _ in range(MOST_JOBS)))

    said = await shell.failure("bash", command="sleep 300", background=True)
    assert said.startswith("8 commands run in the background. End one with bash_stop: ")
    assert set(said.rstrip(".").split(": ")[1].split(", ")) == set(ids)
    assert (await shell.bash("echo in the foreground")).status is ResultStatus.OK

    await shell.call("bash_stop", id=ids[0])
    await shell.job("sleep 300")


async def test_a_job_that_floods_is_bounded_and_can_be_read_meanwhile(shell: Shell) -> None:
    id = await shell.job("yes 0123456789")
    await until(lambda: shell.commands.jobs[0].output.size > 5_000_000)

    last = await shell.call("bash_output", id=id)
    middle = await shell.call("bash_output", id=id, offset=2_200_000)

    assert len(last.text.encode()) <= 8_192 and len(middle.text.encode()) <= 8_192
    assert set(middle.text.splitlines()[1:-1]) == {"0123456789"}
    assert "go on with offset=" in middle.text


async def test_ids_may_be_shortened_and_a_wrong_one_lists_those_there_are(shell: Shell) -> None:
    assert await shell.failure("bash_output", id="zz") == (
        'No command has the id "zz". No command has run yet.'
    )
    await shell.bash("echo ended")
    job = await shell.job("sleep 300")
    ended = f"{int(job) - 1:012}"

    assert (await shell.call("bash_output", id=f" {job} ")).text.startswith("running for ")
    assert (await shell.call("bash_output", id=job[-12:].upper())).text.startswith("running for ")
    assert await shell.failure("bash_output", id="0") == (
        f'No command has the id "0". There are: {ended}, {job}.'
    )
    assert await shell.failure("bash_stop", id=ended) == (f'No job has the id "{ended}". There are: {job}.')
    assert "\n" not in await shell.failure("bash_output", id="x\ny\x1b[31m")


async def test_a_command_of_an_earlier_life_is_read_from_the_store(tmp_path: Path) -> None:
    root = tmp_path / "workspace"
    root.mkdir()
    earlier = Shell(root)
    result = await earlier.bash("seq 20000")
    receipt = Receipt("ok", exit_code=0, size=result.size, output=result.output)
    run = Execution(
        "abc123abc123", 1, 1, 1, 0, "bash", {}, Effect.EFFECTFUL, EventKind.COMPLETED, receipt=receipt
    )

    async def recorded(id: str) -> Execution | None:
        return run if id == run.id else None

    tools = box(root, tools=[BashOutput(Commands(earlier.outputs, recorded=recorded))])
    read = await call(tools, "bash_output", id=run.id, offset=0)

    assert read.text.startswith("ended before this conversation was opened again, exit code 0\n1\n2\n")
    assert "go on with offset=" in read.text
    assert (await call(tools, "bash_output", id=run.id)).text.splitlines()[-2] == "20000"
    assert await failure(tools, "bash_output", id="nobody") == (
        'No command has the id "nobody". No command has run yet.'
    )
