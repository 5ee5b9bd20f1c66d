"""What is said and proposed of a call whose end nobody saw."""

from __future__ import annotations

import hashlib
import os
import shlex
import subprocess
import sys
import time
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from local_agent.agent.recovery import (
    Finding,
    Seen,
    apply_command,
    as_uncertain,
    evidence,
    find,
    seen_by_hand,
)
from local_agent.domain.errors import UsageError
from local_agent.domain.ledger import EventKind, Evidence, Execution, Observation, Pending, Source
from local_agent.domain.tools import FOLDER, Effect
from local_agent.runtime.probes import changed_since, digest_now, look
from local_agent.store.clock import utc_now

NOW = "2026-01-31T14:05:00.000Z"
APPLIED, NOT_APPLIED = Observation.EFFECT_APPLIED, Observation.EFFECT_NOT_APPLIED


def pending(facts: Mapping[str, object], root: str = "/w", tool: str = "write", **more: object) -> Pending:
    execution = Execution(
        "0123456789ab", 1, 1, 2, 0, tool, {}, Effect.EFFECTFUL, EventKind.OUTCOME_UNKNOWN, facts=facts
    )
    return Pending(replace(execution, **more), "a1b2c3d", root)  # type: ignore[arg-type]  # by name


def write_of(**files: tuple[str, str]) -> Pending:
    expected = {f"/w/{name}": before for name, (before, _) in files.items()}
    return pending(
        {"expected": expected, "intended": {f"/w/{name}": after for name, (_, after) in files.items()}}
    )


def text(finding: Finding) -> str:
    return " ".join(finding.lines)


@pytest.mark.parametrize(
    ("now", "observation", "words"),
    [
        ("new", APPLIED, "a holds what it was to hold"),
        ("old", NOT_APPLIED, "a is as it was before"),
        ("other", None, "a is neither as before nor as it was to become"),
        ("", None, "a is not there"),
        (None, None, "a can't be read"),
    ],
)
def test_a_file_says_what_came_of_it(now: str | None, observation: Observation | None, words: str) -> None:
    found = find(write_of(a=("old", "new")), Seen({"/w/a": now}), NOW)
    assert (found.proposal.observation if found.proposal else None) is observation
    assert words in text(found)
    assert ("look yourself" in text(found)) is (observation is None)


def test_a_new_file_that_is_not_there_was_not_written_and_a_removed_one_that_is_gone_was_removed() -> None:
    made = find(write_of(a=("", "new")), Seen({"/w/a": ""}), NOW)
    removed = find(write_of(a=("old", "")), Seen({"/w/a": ""}), NOW)
    assert (made.proposal and made.proposal.observation) is NOT_APPLIED
    assert (removed.proposal and removed.proposal.observation) is APPLIED


def test_files_that_say_different_things_make_no_proposal() -> None:
    found = find(write_of(a=("1", "2"), b=("1", "2")), Seen({"/w/a": "1", "/w/b": "2"}), NOW)
    assert found.proposal is None
    assert "a is as it was before" in text(found)
    assert "b holds what it was to hold" in text(found)


def test_a_file_that_was_to_stay_as_it_is_says_nothing() -> None:
    found = find(write_of(a=("1", "1")), Seen({"/w/a": "1"}), NOW)
    assert found.proposal is None


def test_a_command_that_still_runs_is_not_settled() -> None:
    command = pending({"pid": 4711}, tool="bash")
    found = find(command, Seen(running=True), NOW)
    assert found.proposal is None
    assert "4711" in text(found)
    assert "still runs" in text(found)


@pytest.mark.parametrize(
    ("changed", "observation"),
    [((), NOT_APPLIED), (("src/a.py", "src/"), APPLIED), (None, None)],
)
def test_a_command_is_judged_by_what_changed(
    changed: tuple[str, ...] | None, observation: Observation | None
) -> None:
    found = find(pending({}, tool="bash"), Seen(running=False, changed=changed), NOW)
    assert (found.proposal.observation if found.proposal else None) is observation
    assert "has ended" in text(found)


@pytest.mark.parametrize(
    "facts",
    [{"expected": 1, "intended": []}, {"expected": {"a": 1}, "intended": {"a": None}}, {"pid": "x"}, {}],
)
def test_facts_that_are_none_propose_nothing(facts: Mapping[str, object]) -> None:
    assert (
        find(pending(facts), look([pending(facts).execution], "/nowhere", Path("/"))[0], NOW).proposal is None
    )


def test_a_ledger_that_was_changed_by_hand_proposes_nothing() -> None:
    edited = replace(write_of(a=("1", "2")).execution, readable=False)
    found = find(Pending(edited, "a1b2c3d", "/w"), Seen({"/w/a": "2"}), NOW)
    assert found.proposal is None
    assert "not what the program wrote" in text(found)


def test_only_what_began_to_change_something_is_left_open() -> None:
    begun = replace(pending({}).execution, state=EventKind.STARTED)
    assert as_uncertain(begun).uncertain
    assert not as_uncertain(replace(begun, effect=Effect.READ_ONLY)).uncertain
    assert not as_uncertain(replace(begun, state=EventKind.REQUESTED)).uncertain


def test_files_are_hashed_without_following_links_or_waiting_for_pipes(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"content\r\n")
    (tmp_path / "link").symlink_to("file")
    os.mkfifo(tmp_path / "pipe")
    assert digest_now(tmp_path / "file") == hashlib.sha256(b"content\r\n").hexdigest()
    assert digest_now(tmp_path / "gone") == ""
    assert digest_now(tmp_path / "file" / "below") == ""
    assert digest_now(tmp_path / "link") == hashlib.sha256(b"link to file").hexdigest()
    assert [digest_now(tmp_path / name) for name in ("pipe", "")] == [None, FOLDER]


def test_what_changed_since_is_seen_wherever_it_lies(tmp_path: Path) -> None:
    root, home = tmp_path / "w", tmp_path / "w" / "home"
    for name in ("src/deep/a.py", "build/out", "home/local-agent.db", ".git/index"):
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text("1")
    assert changed_since(root, time.time() + 60, home).since(time.time() + 60) == ()
    assert changed_since(tmp_path / "gone", 0.0, home).since(0.0) is None
    # Files carry the time of the kernel's last tick.
    later = time.time() + 1
    os.utime(root / "build" / "out", (later, later))
    seen = changed_since(root, 0.0, home)
    assert {name for name, _ in seen.times} == {"src/", "src/deep/", "src/deep/a.py", "build/", "build/out"}
    assert seen.since(later - 0.5) == ("build/out",)
    (root / ".git" / "logs").mkdir()
    (root / ".git" / "logs" / "HEAD").write_text("moved")
    os.utime(root / ".git" / "logs" / "HEAD", (later, later))
    assert changed_since(root, 0.0, home).since(later - 0.5) == ("Git's history", "build/out")


def test_a_process_is_known_by_its_start_too() -> None:
    script = """if True:
        from local_agent.store.processes import this_process
        print(this_process().process_start, flush=True)
        input()
    """
    with subprocess.Popen([sys.executable, "-c", script], stdin=-1, stdout=-1, text=True) as process:
        assert process.stdout is not None
        facts = {"pid": process.pid, "process_start": process.stdout.readline().strip()}
        command = pending(facts, tool="bash", started_at=utc_now()).execution
        assert look([command], "/nowhere", Path("/"))[0].running is True
        other = replace(command, facts={**facts, "process_start": "1"})
        assert look([other], "/nowhere", Path("/"))[0].running is False
        process.communicate("\n")
    assert look([command], "/nowhere", Path("/"))[0].running is False


@pytest.mark.parametrize(
    ("reference", "summary", "when", "line"),
    [
        ("", "s", NOW, "--reference is empty."),
        ("r", " \n ", NOW, "--summary is empty."),
        ("r" * 501, "s", NOW, "--reference has 501 characters: 500 at most."),
        ("r", "s", "yesterday", "--observed-at 'yesterday' is no RFC 3339 time."),
        ("r", "s", "2026-01-31T14:05:00", "--observed-at '2026-01-31T14:05:00' is no RFC 3339 time."),
        ("r", "s", "2026-02-31T14:05:00Z", "--observed-at '2026-02-31T14:05:00Z' is no time there ever was."),
        ("r", "s", "9999-01-31T14:05:00Z", "--observed-at '9999-01-31T14:05:00Z' lies ahead."),
    ],
)
def test_bad_evidence_is_refused_in_a_line(reference: str, summary: str, when: str, line: str) -> None:
    with pytest.raises(UsageError) as refused:
        evidence(APPLIED, Source.OPERATOR_OBSERVATION, reference, summary, when)
    assert refused.value.line == line


def test_the_same_moment_is_the_same_evidence() -> None:
    one, other = (
        evidence(APPLIED, Source.EXTERNAL_RECEIPT, " r ", "s", when)
        for when in ("2026-01-31T14:05:00Z", "2026-01-31t16:05:00.000+02:00")
    )
    assert one.digest == other.digest


def test_the_printed_command_says_what_is_proposed() -> None:
    proposed = find(write_of(**{"it's $HOME": ("old", "new")}), Seen({"/w/it's $HOME": "new"}), NOW).proposal
    assert proposed is not None
    words = shlex.split(
        apply_command("a1b2c3d", ["0123456789ab"], proposed, "/a folder").partition(" && ")[2]
    )
    options = dict(zip(words[6::2], words[7::2], strict=True))
    assert words[:6] == ["local-agent", "execution", "recover", "a1b2c3d", "0123456789ab", "--apply"]
    given = evidence(
        options["--observation"], options["--source"], options["--reference"], options["--summary"],
        options["--observed-at"],
    )  # fmt: skip
    assert given == proposed


def test_what_a_person_saw_is_evidence_in_our_words() -> None:
    for observation in Observation:
        found: Evidence = seen_by_hand(observation, NOW)
        assert evidence(*(getattr(found, name) for name in Evidence.__slots__)) == found
