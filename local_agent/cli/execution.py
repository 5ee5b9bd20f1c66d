"""``execution``: calls whose outcome nobody knows, looked into and settled outside the screen."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, TypeVar

import click
from click.shell_completion import CompletionItem

from local_agent.cli.handles import complete_handles, find_here, find_session
from local_agent.cli.startup import Startup
from local_agent.cli.stored import on_store
from local_agent.cli.streams import say, write, write_json
from local_agent.domain.errors import LocalAgentError, UsageError
from local_agent.domain.ledger import Evidence, Execution, Observation, Source, set_digest
from local_agent.domain.text import one_line

if TYPE_CHECKING:
    from local_agent.cli.findings import Looked
    from local_agent.domain.sessions import SessionInfo
    from local_agent.runtime.recovering import Recovering
    from local_agent.runtime.runtime import Runtime
    from local_agent.store.lookup import Found

T = TypeVar("T")

_ID = re.compile(r"[0-9a-f]{12}")
_DIGEST = re.compile(r"[0-9a-f]{64}")


def _complete(context: click.Context, parameter: click.Parameter, incomplete: str) -> list[CompletionItem]:
    return complete_handles(incomplete, with_latest=False)


@click.group()
def execution() -> None:
    """Settle calls whose outcome nobody knows."""


@execution.command()
@click.argument("handle", shell_complete=_complete)
@click.argument("execution_id", required=False, default="")
@click.option("--all", "every", is_flag=True, help="All uncertain calls that the session wrote.")
@click.option("--apply", is_flag=True, help="Write the evidence; without it nothing is written.")
@click.option("--set-digest", metavar="HASH", help="With --all --apply: the set that was looked at.")
@click.option("--observation", type=click.Choice([*map(str, Observation)]), help="What was found.")
@click.option("--source", type=click.Choice([*map(str, Source)]), help="Where it was found.")
@click.option("--reference", metavar="TEXT", help="Where it can be seen again.")
@click.option("--summary", metavar="TEXT", help="What was seen, in a sentence.")
@click.option("--observed-at", metavar="TIME", help="When, such as 2026-01-31T14:05:00Z.")
@click.option("--json", "as_document", is_flag=True, help="Print JSON.")
def recover(
    handle: str,
    execution_id: str,
    every: bool,
    apply: bool,
    set_digest: str | None,
    as_document: bool,
    **given: str | None,
) -> None:
    """Show what is known of an uncertain call, or settle it.

    A call is uncertain when the program ended while it ran. Shown is what files,
    processes and the folder tell now, what that proposes, and the whole command that
    settles it. Nothing is run again; the model is told the outcome.
    """
    key = _key(execution_id, every)
    evidence = _evidence(given, apply)
    digest = _digest(set_digest, wanted=apply and every)
    startup = Startup.here()
    if evidence is None:
        _show(startup, find_session(startup, handle), key, as_document)
        return
    found = find_here(startup, handle, *_words(handle.strip().lower(), key, digest, evidence))
    if key:
        settled = _settle_one(startup, found, key, evidence)
    else:
        settled = _settle_all(startup, found, digest, evidence)
    if as_document:
        _print({"settled": settled, "evidence": evidence})


def _key(execution_id: str, every: bool) -> str:
    """The id in its canonical form; empty for all."""
    key = execution_id.strip().lower()
    if bool(key) is every:
        raise UsageError(
            "Name one execution, or say --all.", "What is there: local-agent execution recover HANDLE --all"
        )
    if key and not _ID.fullmatch(key):
        raise UsageError(
            f"'{one_line(execution_id, 40)}' is no execution: that is twelve hex digits.",
            "See them with: local-agent execution recover HANDLE --all",
        )
    return key


def _evidence(given: dict[str, str | None], apply: bool) -> Evidence | None:
    from local_agent.agent.recovery import evidence

    options = {name: f"--{name.replace('_', '-')}" for name in given}
    if not apply:
        for name, value in given.items():
            if value is not None:
                raise UsageError(f"{options[name]} goes with --apply.", "Without that nothing is written.")
        return None
    if lacking := [options[name] for name, value in given.items() if value is None]:
        raise UsageError(
            f"--apply needs {', '.join(lacking)}.", "Without --apply the whole command is printed."
        )
    return evidence(**{name: value or "" for name, value in given.items()})


def _digest(text: str | None, *, wanted: bool) -> str:
    if not wanted:
        if text is not None:
            raise UsageError("--set-digest goes with --all --apply.")
        return ""
    if text is None or not _DIGEST.fullmatch(text.strip().lower()):
        raise UsageError(
            "--all --apply needs the --set-digest of what was looked at: 64 hex digits.",
            "It is printed by: local-agent execution recover HANDLE --all",
        )
    return text.strip().lower()


def _words(handle: str, key: str, digest: str, evidence: Evidence) -> tuple[str, ...]:
    """The command again, for the folder that it has to be typed in."""
    from local_agent.agent.recovery import apply_words

    return apply_words(handle, (key,) if key else ("--all", "--set-digest", digest), evidence)[1:]


def _show(startup: Startup, found: Found, key: str, as_document: bool) -> None:
    from local_agent.agent.recovery import SET_LIMIT
    from local_agent.cli.findings import Looked, as_lines, document

    folder = "" if found.workspace_root == str(startup.workspace) else found.workspace_root

    async def look(info: SessionInfo, recovering: Recovering) -> Looked | Execution:
        pending = [each for each in await recovering.of_session(info) if key in ("", each.execution.id)]
        if key and not pending:
            return await _known(info, recovering, key)
        findings = await recovering.look_into(pending[:SET_LIMIT])
        digest = "" if key else set_digest(pending[:SET_LIMIT])
        return Looked(found.handle, findings, digest, max(len(pending) - SET_LIMIT, 0), folder)

    looked = _on_session(startup, found.handle, look, only_reads=True)
    if isinstance(looked, Execution):
        if as_document:
            _print({"execution": looked, "uncertain": False})
        else:
            say(_certain_line(looked, found.handle))
    elif as_document:
        _print(document(looked))
    else:
        for line in as_lines(looked):
            write(line + "\n")
        if not looked.findings:
            say(f"Nothing is uncertain in session {found.handle}.")


async def _known(info: SessionInfo, recovering: Recovering, key: str) -> Execution:
    """An execution of the session that is not uncertain. Raises ``UsageError`` where there is none."""
    found = await recovering.execution(key)
    if found is None or found.session_id != info.id:
        raise UsageError(
            f"Session {info.handle} wrote no execution {key}.",
            f"What is uncertain there: local-agent execution recover {info.handle} --all",
        )
    return found


def _certain_line(execution: Execution, handle: str) -> str:
    what = one_line(f"{execution.tool} {execution.target}".strip(), 80)
    if execution.evidence is not None:
        from local_agent.agent.recovery import MEANING

        return f"Execution {execution.id} ({what}) was settled: {MEANING[execution.evidence.observation]}."
    line = f"Execution {execution.id} ({what}) is not uncertain: it is {execution.state}."
    if execution.entry_id or execution.ended:
        return line
    return f"{line} Its files are put back, or left, in the session: local-agent --resume {handle}"


def _settle_one(startup: Startup, found: Found, key: str, evidence: Evidence) -> int:
    async def settle(info: SessionInfo, recovering: Recovering) -> int:
        await _known(info, recovering, key)
        return await recovering.settle(info.handle, [key], evidence)

    settled = _on_session(startup, found.handle, settle)
    if settled:
        say(f"Execution {key} is settled, and the model will be told.")
    else:
        say(f"Execution {key} was settled by the same evidence before: nothing was changed.")
    return settled


def _settle_all(startup: Startup, found: Found, digest: str, evidence: Evidence) -> int:
    from local_agent.agent.recovery import SET_LIMIT

    async def settle(info: SessionInfo, recovering: Recovering) -> tuple[int, int]:
        pending = await recovering.of_session(info)
        if not pending and set_digest(await recovering.settled_by(info, evidence)) == digest:
            return 0, 0
        if set_digest(pending[:SET_LIMIT]) != digest or not pending:
            raise LocalAgentError(
                "What is uncertain has changed since it was looked at: nothing was written.",
                f"Look again: local-agent execution recover {info.handle} --all",
            )
        ids = [each.execution.id for each in pending[:SET_LIMIT]]
        return await recovering.settle(info.handle, ids, evidence, digest), len(pending) - len(ids)

    settled, more = _on_session(startup, found.handle, settle)
    if not settled:
        say("They were settled by the same evidence before: nothing was changed.")
    else:
        rest = f" {more} more: local-agent execution recover {found.handle} --all" if more else ""
        say(f"Settled: {settled}. The model will be told.{rest}")
    return settled


def _on_session(
    startup: Startup,
    handle: str,
    work: Callable[[SessionInfo, Recovering], Awaitable[T]],
    *,
    only_reads: bool = False,
) -> T:
    async def run(runtime: Runtime) -> T:
        conversation = await runtime.view(handle)
        assert conversation.info is not None  # a view is of a stored session
        return await work(conversation.info, conversation.hands.recovering)

    return on_store(startup, run, only_reads=only_reads)


def _print(value: object) -> None:
    from local_agent.headless.jsonl import as_json

    write_json(as_json(value, indent=2) + "\n")
