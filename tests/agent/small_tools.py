"""A few real tools over a real folder, and rules of a few lines: what the loop is tested with."""

from __future__ import annotations

import asyncio
import hashlib
from collections import defaultdict
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from local_agent.domain.approvals import Choice, Decision, Offer, Verdict
from local_agent.domain.entries import ToolCall
from local_agent.domain.modes import Mode
from local_agent.domain.tools import (
    Action,
    Effect,
    FileChange,
    Intent,
    ResultStatus,
    Surroundings,
    ToolFailed,
    ToolResult,
    ToolSpec,
)
from local_agent.tools.arguments import fitted


def spec(name: str, effect: Effect, *required: str) -> ToolSpec:
    """A tool whose parameters are all text and all needed."""
    properties = {each: {"type": "string"} for each in required}
    schema = {"type": "object", "properties": properties, "required": list(required)}
    return ToolSpec(name, f"Do {name}.", schema, effect, dict.fromkeys(required, "x"))


ACTIONS = {
    "read": Action.READ,
    "write": Action.WRITE,
    "look": Action.READ,
    "run": Action.RUN,
    "bash": Action.RUN,
    "deaf_look": Action.READ,
    "deaf_run": Action.RUN,
    "broken": Action.READ,
    "ask": Action.TALK,
}


@dataclass
class Prepared:
    """A call that is about to run."""

    work: Callable[[Surroundings], Awaitable[ToolResult]]
    facts: Mapping[str, object]
    dropped: list[str]

    async def run(self, around: Surroundings) -> ToolResult:
        return await self.work(around)

    async def drop(self) -> None:
        self.dropped.append(str(self.facts["target"]))


@dataclass
class SmallToolbox:
    """``read`` and ``write`` files; ``look`` and ``run`` last until the test lets them go or a stop comes;
    the deaf ones do not hear a stop; ``broken`` has a fault; ``bash`` knows a few commands."""

    folder: Path
    specs: tuple[ToolSpec, ...] = (
        spec("read", Effect.READ_ONLY, "path"),
        spec("write", Effect.EFFECTFUL, "path", "content"),
        spec("look", Effect.READ_ONLY, "gate"),
        spec("run", Effect.EFFECTFUL, "gate"),
        spec("bash", Effect.EFFECTFUL, "command"),
        spec("deaf_look", Effect.READ_ONLY, "gate"),
        spec("deaf_run", Effect.EFFECTFUL, "gate"),
        spec("broken", Effect.READ_ONLY, "how"),
        spec("ask", Effect.READ_ONLY, "question"),
    )
    gates: dict[str, asyncio.Event] = field(default_factory=lambda: defaultdict(asyncio.Event))
    log: list[str] = field(default_factory=list)
    """What began and what ended, in order."""
    looked_at: list[str] = field(default_factory=list)
    dropped: list[str] = field(default_factory=list)
    failing: set[str] = field(default_factory=set)
    """Commands that fail now."""

    def path(self, name: object) -> Path:
        return self.folder / str(name)

    async def prepare(self, call: ToolCall) -> Intent:
        self.looked_at.append(call.name)
        known = {each.name: each for each in self.specs}
        if call.name not in known:
            raise ToolFailed(f"There is no tool {call.name}. There are: {', '.join(known)}.")
        made = replace(call, arguments=fitted(known[call.name], call))
        target = str(next(iter(made.arguments.values())))
        intent = Intent(made, known[call.name], ACTIONS[call.name], target)
        if call.name == "broken" and target == "prepare":
            raise RuntimeError("a fault in prepare")
        if call.name != "write":
            return intent
        before = self.path(target).read_text() if self.path(target).exists() else ""
        after = str(made.arguments["content"])
        return replace(intent, diff=f"-{before}\n+{after}", expected={target: digest(before)}, plan=after)

    async def narrowed(self, intent: Intent, hunks: frozenset[int]) -> Intent:
        lines = str(intent.plan).splitlines()
        return replace(intent, plan="\n".join(lines[number] for number in sorted(hunks)))

    async def ready(self, intent: Intent, execution_id: str, *, confined: bool) -> Prepared:
        if intent.call.name == "write":
            path = self.path(intent.target)
            if digest(path.read_text() if path.exists() else "") != intent.expected[intent.target]:
                raise ToolFailed(f"{intent.target} has changed meanwhile: read it again.")
        return Prepared(lambda around: self._run(intent, around), {"target": intent.target}, self.dropped)

    async def _run(self, intent: Intent, around: Surroundings) -> ToolResult:
        name, target = intent.call.name, intent.target
        self.log.append(f"{name} {target}")
        match name:
            case "read":
                if not self.path(target).exists():
                    raise ToolFailed(f"{target} does not exist.")
                return ToolResult(ResultStatus.OK, self.path(target).read_text())
            case "write":
                self.path(target).write_text(str(intent.plan))
                change = FileChange(target, "changed", intent.expected[target], digest(str(intent.plan)))
                return ToolResult(ResultStatus.OK, f"Wrote {target}.", diff=intent.diff, changes=(change,))
            case "bash":
                status = ResultStatus.FAILED if target in self.failing else ResultStatus.OK
                status = ResultStatus.UNCERTAIN if target == "lost" else status
                around.progress(f"{target}: output")
                return ToolResult(status, f"{target}: {status}", exit_code=int(target in self.failing))
            case "broken":
                raise RuntimeError("a fault")
            case "ask":
                said = await around.ask(target, ("yes", "no"))
                return ToolResult(ResultStatus.OK, "nobody answers" if said is None else said)
        return await self._last(name, target, around)

    async def _last(self, name: str, target: str, around: Surroundings) -> ToolResult:
        waits = [asyncio.create_task(self.gates[target].wait())]
        if not name.startswith("deaf"):
            waits.append(asyncio.create_task(around.stop.wait()))
        try:
            await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for wait in waits:
                wait.cancel()
        self.log.append(f"{name} {target} ended")
        if self.gates[target].is_set():
            return ToolResult(ResultStatus.OK, f"{target} is over")
        return ToolResult(ResultStatus.CANCELLED, f"{target} was stopped")


@dataclass
class SmallRules:
    """Reads run but for what is called outside; AUTO lets everything run, PLAN nothing else, NORMAL asks."""

    granted: set[str] = field(default_factory=set)

    def decide(self, intent: Intent, mode: Mode) -> Decision:
        harmless = intent.action in (Action.READ, Action.TALK) and not intent.target.startswith("outside")
        if harmless or mode is Mode.AUTO or intent.target in self.granted:
            return Decision(Verdict.ALLOW)
        if mode is Mode.PLAN:
            return Decision(Verdict.REFUSE, "PLAN changes nothing.")
        return Decision(Verdict.ASK, "It changes files.", offers=(Offer(Choice.SESSION, intent.target),))

    def grant(self, intent: Intent, choice: Choice) -> str:
        self.granted.add(intent.target)
        return f"{intent.target} from now on"


def digest(text: str) -> str:
    """SHA-256 of a text; empty for none."""
    return hashlib.sha256(text.encode()).hexdigest() if text else ""
