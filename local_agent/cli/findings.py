"""What was found about uncertain calls, for a reader and for a program."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from local_agent.agent.recovery import MEANING, NAMED, Finding, apply_command, seen_by_hand
from local_agent.domain.ledger import Evidence, Observation
from local_agent.domain.text import one_line

_SET_IN = "  "


@dataclass(frozen=True, slots=True)
class Looked:
    """What was looked into of one session."""

    handle: str
    findings: Sequence[Finding]
    digest: str
    """Of the set; empty where one was asked for by its id."""
    more: int
    """How many there are beyond those that are settled at once."""
    folder: str
    """The workspace, where that is not the folder the command runs in; else empty."""

    @property
    def together(self) -> Evidence | None:
        """Evidence for all of them; None where they differ, or one proposes nothing."""
        proposals = [finding.proposal for finding in self.findings]
        observations = {each.observation if each is not None else None for each in proposals}
        if not self.digest or len(proposals) < 2 or len(observations) != 1 or proposals[0] is None:
            return None
        sources = {each.source for each in proposals if each is not None}
        first = proposals[0]
        if len(sources) == 1 and len({each.reference for each in proposals if each is not None}) == 1:
            return first
        ids = ", ".join(finding.execution.id for finding in self.findings[:NAMED])
        ids += " and so on" if len(proposals) > NAMED else ""
        return Evidence(
            first.observation,
            first.source,
            f"what was found of each: {ids}",
            f"Of all {len(proposals)} the same was found.",
            first.observed_at,
        )


def commands(looked: Looked, finding: Finding) -> tuple[str, ...]:
    """What settles one: by what is proposed, else one for each thing that a person may find."""
    choices = [finding.proposal] if finding.proposal is not None else None
    if choices is None:
        choices = [seen_by_hand(each, finding.looked_at) for each in Observation]
    which = [finding.execution.id]
    return tuple(apply_command(looked.handle, which, each, looked.folder) for each in choices if each)


def set_command(looked: Looked) -> str:
    """What settles all of them at once; empty where they have to be settled one by one."""
    evidence = looked.together
    if evidence is None:
        return ""
    return apply_command(looked.handle, ["--all", "--set-digest", looked.digest], evidence, looked.folder)


def as_lines(looked: Looked) -> Iterator[str]:
    """Everything, safe to draw; a blank line between two calls."""
    for number, finding in enumerate(looked.findings):
        if number:
            yield ""
        yield from _finding(looked, finding)
    if looked.digest and looked.findings:
        yield ""
        count = len(looked.findings)
        beyond = f" There are {looked.more} more: settle these first." if looked.more else ""
        yield f"Uncertain: {count}. Set digest: {looked.digest}.{beyond}"
        if command := set_command(looked):
            yield "Settle all of them with:"
            yield f"{_SET_IN}{command}"
        elif count > 1:
            yield "What was found of them differs: settle them one by one."


def _finding(looked: Looked, finding: Finding) -> Iterator[str]:
    execution = finding.execution
    yield one_line(f"{execution.id} {execution.tool} {execution.target}".strip(), 160)
    yield from (f"{_SET_IN}{one_line(line)}" for line in finding.lines)
    proposal = finding.proposal
    if proposal is not None:
        yield f"{_SET_IN}Proposed: {MEANING[proposal.observation]}. {proposal.summary} ({proposal.reference})"
        yield "Settle it with:"
    else:
        yield "Settle it with one of these, once you know:"
    yield from (f"{_SET_IN}{command}" for command in commands(looked, finding))


def document(looked: Looked) -> dict[str, object]:
    """The same for a program."""
    return {
        "handle": looked.handle,
        "uncertain": [
            {
                "execution": finding.execution,
                "known": finding.lines,
                "proposal": finding.proposal,
                "commands": commands(looked, finding),
            }
            for finding in looked.findings
        ],
        "set_digest": looked.digest or None,
        "set_command": set_command(looked) or None,
        "more": looked.more,
    }
