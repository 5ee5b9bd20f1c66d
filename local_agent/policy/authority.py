"""The rules of one conversation: its mode, what was answered in it, and what is kept for its workspace."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from pathlib import Path

from local_agent.config.paths import Paths
from local_agent.domain.approvals import Choice, Decision, Offer, Verdict
from local_agent.domain.ledger import digest_of
from local_agent.domain.modes import Mode
from local_agent.domain.text import one_line
from local_agent.domain.tools import Action, Intent
from local_agent.policy.commands import Classified, Kind, classify, named_in
from local_agent.policy.rule_file import RuleFile
from local_agent.policy.rules import (
    CommandPrefix,
    Considered,
    ExactRequest,
    Keepable,
    OutsidePaths,
    ProjectCode,
    Rule,
    Subject,
    ToolPath,
)

IN_PLAN = (
    "PLAN changes nothing and runs no command. Read and search with the other tools, and describe the change"
    " instead: which files, what in them, and how to check it."
)
_ALLOWED = Decision(Verdict.ALLOW)
_REMEMBERED = 1_000
"""So many questions whose wider answers are still known."""


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="milliseconds")


class ProjectAuthority:
    """``domain.approvals.Authority`` for one workspace. It may block on the disk for some 100 ms."""

    def __init__(
        self,
        root: Path,
        paths: Paths,
        *,
        sandbox: bool,
        skip_approvals: bool = False,
        only_tools: frozenset[str] | None = None,
        now: Callable[[], str] = _now,
    ) -> None:
        """``sandbox``: commands can be confined here. ``only_tools``: no other tool runs; None for all."""
        self._root = Path(os.path.realpath(root))
        self._file = RuleFile(paths, self._root)
        self._sandbox = sandbox
        self._skip_approvals = skip_approvals
        self._only_tools = only_tools
        self._now = now
        self._session: list[Rule] = []
        self._offered: dict[str, dict[Choice, Subject]] = {}

    def decide(self, intent: Intent, mode: Mode) -> Decision:
        """What may be done with a call. Denials win over everything else, a mode's refusal over grants."""
        if self._only_tools is not None and intent.call.name not in self._only_tools:
            return _refused(f"The tool {one_line(intent.call.name, 60)} is not among those allowed here.")
        command = classify(intent.command, self._root) if intent.action is Action.RUN else None
        call = self._considered(intent, mode, command)
        kept = self._file.read()
        rules = [*self._session, *kept.rules]
        if forbidding := next(
            (rule for rule in rules if not rule.allows and rule.subject.forbids(call)), None
        ):
            return _refused(f"A rule of this workspace forbids {forbidding.covers}.")
        decision = self._by_mode(intent, call, command)
        if decision.verdict is Verdict.REFUSE or intent.action is Action.TALK:
            return decision
        if kept.problem and intent.action is not Action.READ:
            # What is forbidden is not known: nothing but the person can allow it.
            reason = f"What is forbidden here is not known: {kept.problem}"
            return _refused(reason) if self._skip_approvals else Decision(Verdict.ASK, reason)
        if decision.verdict is Verdict.ALLOW:
            return decision
        if self._skip_approvals or any(rule.allows and rule.subject.allows(call) for rule in rules):
            return _ALLOWED
        return self._asking(intent, call, decision)

    def grant(self, intent: Intent, choice: Choice) -> str:
        """Remember a wider answer, as it was offered; what it covers from now on.

        Raises ``ConfigError`` when it is to be kept and can't be: then it is not remembered at all.
        """
        offered = self._offered.get(_digest(intent), {})
        subject = offered.get(choice)
        if subject is None:
            return ""
        rule = Rule(subject, allows=True, kept=choice is Choice.WORKSPACE, since=self._now())
        if rule.kept and isinstance(subject, Keepable):
            self._file.add(subject, allows=True, since=rule.since)
        elif subject not in (each.subject for each in self._session if each.allows):
            self._session.append(rule)
        return _covering(rule)

    @property
    def problem(self) -> str:
        """Why it is not known what is forbidden here; empty when all is."""
        return self._file.read().problem

    def rules(self) -> list[Rule]:
        """What is remembered: of this session first, then what is kept; each with since when."""
        return [*self._session, *self._file.read().rules]

    def revoke(self, rule: Rule) -> None:
        """Forget a rule. Raises ``ConfigError`` when a kept one can't be taken out."""
        if rule.kept and isinstance(rule.subject, Keepable):
            self._file.remove(rule.subject, allows=rule.allows)
        self._forget(lambda each: each == rule)

    def deny(self, rule: Rule) -> Rule:
        """Forbid what a rule allows: always where that can be kept, else until this session ends.

        Raises ``ConfigError``; then the rule stands as it did.
        """
        subject = rule.subject
        denial = Rule(subject, allows=False, kept=isinstance(subject, Keepable), since=self._now())
        if isinstance(subject, Keepable):
            self._file.add(subject, allows=False, since=denial.since)
        self._forget(lambda each: each.subject == subject)
        if not denial.kept:
            self._session.append(denial)
        return denial

    def _forget(self, which: Callable[[Rule], bool]) -> None:
        # In place: a screen does this in a thread of its own, and an answer may come in between.
        for rule in filter(which, tuple(self._session)):
            self._session.remove(rule)

    def _considered(self, intent: Intent, mode: Mode, command: Classified | None) -> Considered:
        paths = tuple(map(self._relative, _touched(intent, self._root)))
        return Considered(
            tool=intent.call.name,
            mode=mode,
            digest=_digest(intent),
            paths=() if command else paths or (intent.target,),
            outside=intent.outside,
            command=intent.command,
            prefix=command.prefix if command else None,
            named=named_in(intent.command, self._root) if command else (),
            project_code=command is not None and command.kind is Kind.PROJECT_CODE,
        )

    def _relative(self, path: str) -> str:
        inside = Path(path).is_relative_to(self._root)
        return Path(path).relative_to(self._root).as_posix() if inside else path

    def _by_mode(self, intent: Intent, call: Considered, command: Classified | None) -> Decision:
        """The table of the modes, before anything that was answered."""
        if intent.action is Action.TALK or (intent.action is Action.READ and not call.outside):
            return _ALLOWED
        if call.mode is Mode.PLAN:
            return _refused(
                f"{one_line(call.outside[0], 200)} is outside the workspace: PLAN reads nothing there."
                if intent.action is Action.READ
                else IN_PLAN
            )
        if intent.action is Action.REMEMBER:
            return _ask("It changes what later conversations here are told.")
        if call.outside:
            return _ask(f"{one_line(', '.join(call.outside), 200)} is outside the workspace.")
        if command is not None:
            return self._of_command(call, command)
        if intent.action is Action.WRITE:
            return _ALLOWED if call.mode is Mode.AUTO else _ask("It changes files of the workspace.")
        return _ask("It takes something away from where it is.")

    def _of_command(self, call: Considered, command: Classified) -> Decision:
        if call.mode is not Mode.AUTO or command.kind is Kind.ASKS:
            return _ask(command.reason)
        if self._sandbox:
            return Decision(Verdict.ALLOW, command.reason, confined=True)
        if command.kind is Kind.READS:
            return Decision(Verdict.ALLOW, command.reason)
        return _ask(
            f"It runs project code unconfined: {command.reason} There is no sandbox here to confine it."
        )

    def _asking(self, intent: Intent, call: Considered, decision: Decision) -> Decision:
        offered = _offers(intent, call)
        while len(self._offered) >= _REMEMBERED:
            del self._offered[next(iter(self._offered))]
        self._offered[call.digest] = offered
        offers = tuple(
            Offer(choice, _covering(Rule(subject, allows=True, kept=choice is Choice.WORKSPACE)))
            for choice, subject in offered.items()
        )
        return Decision(Verdict.ASK, decision.reason, offers=offers)


def _offers(intent: Intent, call: Considered) -> dict[Choice, Subject]:
    """What wider answers there are to a question, and what each would cover."""
    offers: dict[Choice, Subject] = {
        Choice.REQUEST: ExactRequest(call.tool, intent.target, call.digest),
    }
    keepable: Keepable | None = None
    if call.outside:
        if not call.command:
            offers[Choice.SESSION] = OutsidePaths(call.tool, call.outside)
        return offers
    if call.command:
        keepable = CommandPrefix(call.prefix) if call.prefix else None
    elif len(call.paths) == 1:
        keepable = ToolPath(call.tool, call.paths[0])
    if call.project_code and call.mode is Mode.AUTO:
        offers[Choice.SESSION] = ProjectCode()
    elif keepable:
        offers[Choice.SESSION] = keepable
    if keepable:
        offers[Choice.WORKSPACE] = keepable
    return offers


def _touched(intent: Intent, root: Path) -> list[str]:
    """Absolute paths that a call is about; for what only looks, the one in its arguments."""
    named = intent.call.arguments.get("path")
    if intent.action is Action.READ and isinstance(named, str) and "\0" not in named:
        return [os.path.realpath(os.path.join(root, named))]
    return sorted({*intent.expected, *intent.intended})


def _digest(intent: Intent) -> str:
    arguments: Mapping[str, object] = intent.call.arguments
    return digest_of([intent.call.name, arguments, intent.outside])


def _covering(rule: Rule) -> str:
    return f"{rule.covers}, {'always in this workspace' if rule.kept else 'until this session ends'}"


def _ask(reason: str) -> Decision:
    return Decision(Verdict.ASK, reason)


def _refused(reason: str) -> Decision:
    return Decision(Verdict.REFUSE, reason)
