"""Modes held to, answers remembered as they were offered, denials that win."""

from __future__ import annotations

from pathlib import Path

import pytest

from local_agent.config.paths import Paths
from local_agent.domain.approvals import Choice, Verdict
from local_agent.domain.modes import Mode
from local_agent.domain.tools import Intent
from local_agent.policy.authority import IN_PLAN, ProjectAuthority
from tests.policy.calls import bash, edit, move, read, remove, todo, write_outside

NORMAL, PLAN, AUTO = Mode.NORMAL, Mode.PLAN, Mode.AUTO
ALLOW, ASK, REFUSE = Verdict.ALLOW, Verdict.ASK, Verdict.REFUSE


@pytest.fixture
def paths(tmp_path: Path) -> Paths:
    return Paths(home=tmp_path / "home", cache=tmp_path / "cache")


@pytest.fixture
def authority(workspace: Path, paths: Paths) -> ProjectAuthority:
    return ProjectAuthority(workspace, paths, sandbox=False)


def _calls(root: Path) -> dict[str, Intent]:
    return {
        "read": read("README.md"),
        "read outside": read("/etc/hosts", "/etc/hosts"),
        "talk": todo(),
        "edit": edit(root, "src/main.py"),
        "write outside": write_outside("/tmp/x"),
        "move": move(root, "a.txt", "c.txt"),
        "remove": remove(root, "a.txt"),
        "reading command": bash("git status && ls src"),
        "project code": bash("pytest -q"),
        "other command": bash("curl https://example.com"),
        "redirection": bash("echo x > a.txt"),
        "command outside": bash("cat /etc/hosts"),
    }


TABLE = {
    # what: NORMAL, PLAN, AUTO, AUTO with a sandbox
    "read": (ALLOW, ALLOW, ALLOW, ALLOW),
    "read outside": (ASK, REFUSE, ASK, ASK),
    "talk": (ALLOW, ALLOW, ALLOW, ALLOW),
    "edit": (ASK, REFUSE, ALLOW, ALLOW),
    "write outside": (ASK, REFUSE, ASK, ASK),
    "move": (ASK, REFUSE, ASK, ASK),
    "remove": (ASK, REFUSE, ASK, ASK),
    "reading command": (ASK, REFUSE, ALLOW, ALLOW),
    "project code": (ASK, REFUSE, ASK, ALLOW),
    "other command": (ASK, REFUSE, ASK, ASK),
    "redirection": (ASK, REFUSE, ASK, ASK),
    "command outside": (ASK, REFUSE, ASK, ASK),
}


@pytest.mark.parametrize("what", TABLE)
def test_modes_are_held_to(what: str, workspace: Path, paths: Paths) -> None:
    call = _calls(workspace)[what]
    plain = ProjectAuthority(workspace, paths, sandbox=False)
    boxed = ProjectAuthority(workspace, paths, sandbox=True)
    found = [plain.decide(call, mode) for mode in (NORMAL, PLAN, AUTO)] + [boxed.decide(call, AUTO)]
    assert tuple(each.verdict for each in found) == TABLE[what]
    assert [each.confined for each in found] == [False] * 3 + [what in ("reading command", "project code")]
    assert all(each.reason.endswith(".") for each in found if each.verdict is not ALLOW)


@pytest.mark.parametrize("what", TABLE)
def test_without_approvals_what_would_ask_runs_and_refusals_stay(
    what: str, workspace: Path, paths: Paths
) -> None:
    call = _calls(workspace)[what]
    skipping = ProjectAuthority(workspace, paths, sandbox=False, skip_approvals=True)
    expected = tuple(ALLOW if each is ASK else each for each in TABLE[what][:3])
    assert tuple(skipping.decide(call, mode).verdict for mode in (NORMAL, PLAN, AUTO)) == expected


def test_plan_tells_the_model_what_to_do_instead(authority: ProjectAuthority) -> None:
    assert authority.decide(bash("ls"), PLAN).reason == IN_PLAN


def test_project_code_is_asked_about_in_plain_words_once_a_session(authority: ProjectAuthority) -> None:
    question = authority.decide(bash("pytest -q"), AUTO)
    assert question.reason.startswith("It runs project code unconfined: pytest runs code of the project.")
    assert authority.grant(bash("pytest -q"), Choice.SESSION) == (
        "every command that runs project code, unconfined, in AUTO, until this session ends"
    )
    assert authority.decide(bash("make test && npm run build"), AUTO).verdict is ALLOW
    for other in ("python -c 1", "make test > x", "pytest /etc", "make test; rm a.txt"):
        assert authority.decide(bash(other), AUTO).verdict is ASK, other
    assert authority.decide(bash("pytest -q"), NORMAL).verdict is ASK


def test_a_tool_that_is_not_listed_is_refused(workspace: Path, paths: Paths) -> None:
    only = ProjectAuthority(
        workspace, paths, sandbox=False, skip_approvals=True, only_tools=frozenset({"read"})
    )
    assert only.decide(read("a.txt"), AUTO).verdict is ALLOW
    assert only.decide(bash("ls"), AUTO).verdict is REFUSE
    assert only.decide(todo(), AUTO).verdict is REFUSE


def _answered(authority: ProjectAuthority, call: Intent, choice: Choice, mode: Mode = NORMAL) -> str:
    """Ask about a call and answer that."""
    decision = authority.decide(call, mode)
    assert decision.verdict is ASK
    covers = authority.grant(call, choice)
    assert covers == next((offer.covers for offer in decision.offers if offer.choice is choice), "")
    return covers


def test_exactly_this_again_is_nothing_else(authority: ProjectAuthority) -> None:
    _answered(authority, bash("rm -rf build"), Choice.REQUEST)
    assert authority.decide(bash("rm -rf build"), AUTO).verdict is ALLOW
    assert authority.decide(bash("rm -rf  build"), AUTO).verdict is ASK
    assert authority.decide(bash("rm -rf build"), PLAN).verdict is REFUSE


def test_a_prefix_covers_program_and_subcommand_alone(authority: ProjectAuthority) -> None:
    covers = _answered(authority, bash("git commit -m x"), Choice.SESSION)
    assert covers.startswith("every command git commit ..., alone and inside the workspace")
    for same in ("git commit -am 'another one'", "git commit a.txt -m x"):
        assert authority.decide(bash(same), NORMAL).verdict is ALLOW, same
    for other in (
        *("git push", "git -c a=b commit", "git commit -m x && git push", "git commit -m x; ls", "git"),
        *("git commit -m $(id)", "git commit -m x > log", "A=1 git commit -m x", "git commit -F /etc/passwd"),
        *(
            "git commit -m x &",
            "sudo git commit -m x",
            "git commit --template=/etc/passwd",
            "git commit -F.env",
        ),
    ):
        assert authority.decide(bash(other), NORMAL).verdict is ASK, other


@pytest.mark.parametrize(
    "command",
    [
        *("rm a.txt", "python -c 1", "python src/main.py", "bash build.sh", "sudo ls", "env ls", "xargs ls"),
        *(
            "find . -delete",
            "time ls",
            "nohup make",
            "watch ls",
            "ls | wc -l",
            "ls && pwd",
            "ls > x",
            "ls $X",
        ),
        *(
            "A=1 ls",
            "sh -c ls",
            "cat /etc/hosts",
            "cat .env",
            "docker exec x ls",
            "git bisect run x",
            "npx x",
        ),
        *(
            "uv run python x.py",
            "git",
            "git -C src status",
            "git config user.name x",
            "git rebase -x id main",
        ),
        *("git fetch --upload-pack=x", "git branch -D x", "sort -o a.txt b.txt", "curl https://example.com"),
        *(
            "git push --force",
            "git push -f",
            "kubectl exec p -- ls",
            "awk '{print}' a.txt",
            ".venv/bin/python x.py",
        ),
    ],
)
def test_what_does_whatever_it_is_told_has_no_prefix(authority: ProjectAuthority, command: str) -> None:
    offers = authority.decide(bash(command), NORMAL).offers
    assert [offer.choice for offer in offers] == [Choice.REQUEST]


@pytest.mark.parametrize(
    ("command", "prefix"),
    [
        ("pytest -q tests", "pytest"),
        ("npm run build -- --x", "npm run build"),
        ("npm install left-pad", "npm install"),
        ("cargo test --lib", "cargo test"),
        ("docker compose up -d", "docker compose up"),
        ("uv run pytest -q", "uv run pytest"),
        ("git add -A", "git add"),
        ("git status -s", "git status"),
        ("ls -la src", "ls"),
        ("./build.sh --fast", "./build.sh"),
        ("touch src/new.py", "touch"),
        ("make test", "make test"),
    ],
)
def test_a_prefix_is_as_the_command_was_parsed(
    authority: ProjectAuthority, command: str, prefix: str
) -> None:
    offers = {offer.choice: offer.covers for offer in authority.decide(bash(command), NORMAL).offers}
    assert offers[Choice.SESSION].startswith(f"every command {prefix} ...,")
    assert offers[Choice.WORKSPACE].endswith("always in this workspace")


def test_a_grant_for_reading_does_not_cover_the_same_program_writing(authority: ProjectAuthority) -> None:
    _answered(authority, bash("git branch"), Choice.SESSION)
    _answered(authority, bash("sort a.txt"), Choice.SESSION)
    assert authority.decide(bash("git branch -a"), NORMAL).verdict is ALLOW
    assert authority.decide(bash("git branch -D main"), NORMAL).verdict is ASK
    assert authority.decide(bash("sort -o b.txt a.txt"), NORMAL).verdict is ASK


def test_a_tool_on_a_path_is_that_path_alone(workspace: Path, authority: ProjectAuthority) -> None:
    assert _answered(authority, edit(workspace, "src/main.py"), Choice.SESSION).startswith(
        "edit on src/main.py"
    )
    assert authority.decide(edit(workspace, "src/main.py", "other"), NORMAL).verdict is ALLOW
    assert authority.decide(edit(workspace, "src/x.py"), NORMAL).verdict is ASK
    assert authority.decide(remove(workspace, "src/main.py"), NORMAL).verdict is ASK
    offers = authority.decide(move(workspace, "a.txt", "c.txt"), NORMAL).offers
    assert [offer.choice for offer in offers] == [Choice.REQUEST]


def test_a_path_outside_is_granted_exactly_and_never_kept(authority: ProjectAuthority, paths: Paths) -> None:
    offers = authority.decide(read("/etc/hosts", "/etc/hosts"), AUTO).offers
    assert [offer.choice for offer in offers] == [Choice.REQUEST, Choice.SESSION]
    _answered(authority, read("/etc/hosts", "/etc/hosts"), Choice.SESSION, AUTO)
    assert authority.decide(read("/etc/../etc/hosts", "/etc/hosts"), NORMAL).verdict is ALLOW
    assert authority.decide(read("/etc/hosts", "/etc/passwd"), NORMAL).verdict is ASK
    assert authority.decide(write_outside("/etc/hosts"), NORMAL).verdict is ASK
    assert authority.grant(read("/etc/hosts", "/etc/passwd"), Choice.WORKSPACE) == ""
    assert not paths.permissions.exists()


def test_what_is_kept_holds_in_the_next_session_of_this_workspace_alone(
    workspace: Path, paths: Paths, authority: ProjectAuthority, tmp_path: Path
) -> None:
    _answered(authority, bash("npm run build"), Choice.WORKSPACE)
    _answered(authority, bash("git add a.txt"), Choice.SESSION)
    later = ProjectAuthority(workspace, paths, sandbox=False)
    assert later.decide(bash("npm run build -- -v"), NORMAL).verdict is ALLOW
    assert later.decide(bash("git add a.txt"), NORMAL).verdict is ASK
    assert (
        ProjectAuthority(tmp_path, paths, sandbox=False).decide(bash("npm run build"), NORMAL).verdict is ASK
    )
    assert paths.permissions.stat().st_mode & 0o777 == 0o600


def test_rules_are_listed_with_since_when_revoked_and_turned_round(workspace: Path, paths: Paths) -> None:
    authority = ProjectAuthority(workspace, paths, sandbox=False, now=lambda: "2026-05-04T03:02:01.000+00:00")
    _answered(authority, bash("git add a.txt"), Choice.SESSION)
    _answered(authority, bash("npm run build"), Choice.WORKSPACE)
    _answered(authority, bash("rm x"), Choice.REQUEST)
    listed = authority.rules()
    assert [(rule.covers.split(",")[0], rule.kept) for rule in listed] == [
        ("every command git add ...", False),
        ("exactly this again: bash rm x", False),
        ("every command npm run build ...", True),
    ]
    assert {rule.since for rule in listed} == {"2026-05-04T03:02:01.000+00:00"}
    authority.revoke(listed[0])
    denial = authority.deny(listed[2])
    assert denial.kept and not denial.allows
    assert authority.deny(listed[1]).kept is False
    assert authority.decide(bash("git add a.txt"), NORMAL).verdict is ASK
    assert authority.decide(bash("rm x"), NORMAL).verdict is REFUSE
    later = ProjectAuthority(workspace, paths, sandbox=False, skip_approvals=True)
    assert later.decide(bash("npm run build"), AUTO).verdict is REFUSE
    later.revoke(later.rules()[0])
    assert authority.decide(bash("npm run build"), NORMAL).verdict is ASK
    assert authority.decide(bash("rm x"), NORMAL).verdict is REFUSE
    authority.revoke(authority.rules()[0])
    assert authority.decide(bash("rm x"), NORMAL).verdict is ASK


@pytest.mark.parametrize(
    "command",
    [
        *(
            "git push",
            "git push origin main",
            "ls && git push",
            "sudo git push",
            "env A=1 git push",
            "$(git push)",
        ),
        *("A=1 git push", "git -C src push", "git -c a=b push -f", "/usr/bin/git push", "timeout 5 git push"),
        *("bash -c 'git push'", 'sh -c "ls; git push"', "eval 'git push'", "if true; then git push; fi"),
        *(
            "git push $X",
            "(git push)",
            "git push &",
            "echo `git push`",
            "xargs git push",
            "'git' 'push'",
            'g"it" push',
        ),
    ],
)
def test_what_is_forbidden_is_found_wherever_it_stands(workspace: Path, paths: Paths, command: str) -> None:
    paths.home.mkdir()
    paths.permissions.write_text(
        f'{{"workspaces": {{"{workspace}": {{"deny": [{{"command": "git push"}}]}}}}}}'
    )
    skipping = ProjectAuthority(workspace, paths, sandbox=False, skip_approvals=True)
    refused = skipping.decide(bash(command), AUTO)
    assert refused.verdict is REFUSE
    assert refused.reason.startswith("A rule of this workspace forbids every command git push ...")
    for other in ("git status", "git commit -m push", "git log push", "echo git"):
        assert skipping.decide(bash(other), AUTO).verdict is ALLOW, other
