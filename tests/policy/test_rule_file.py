"""The file of kept rules: written by hand, by several processes at once, and damaged."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from local_agent.config.paths import Paths
from local_agent.domain.approvals import Choice, Verdict
from local_agent.domain.errors import ConfigError
from local_agent.domain.modes import Mode
from local_agent.policy.authority import ProjectAuthority
from local_agent.policy.rule_file import RuleFile
from local_agent.policy.rules import CommandPrefix, ToolPath
from tests.policy.calls import bash, edit, move, read

ALLOW, ASK, REFUSE = Verdict.ALLOW, Verdict.ASK, Verdict.REFUSE


@pytest.fixture
def paths(tmp_path: Path) -> Paths:
    (tmp_path / "home").mkdir()
    return Paths(home=tmp_path / "home", cache=tmp_path / "cache")


def _written(paths: Paths, root: Path, **sides: Any) -> None:
    paths.permissions.write_text(json.dumps({"workspaces": {str(root): sides}}))


def test_patterns_written_by_hand_allow_and_forbid(workspace: Path, paths: Paths) -> None:
    _written(
        paths,
        workspace,
        allow=[{"tool": "edit", "paths": "src/**"}, {"tool": "edit", "paths": "*.md"}, {"command": "cargo"}],
        deny=[{"tool": "*", "paths": "src/inner"}, {"tool": "read", "path": "a.txt"}, {"tool": "move"}],
    )
    authority = ProjectAuthority(workspace, paths, sandbox=False)
    for call, verdict in (
        (edit(workspace, "src/main.py"), ALLOW),
        (edit(workspace, "docs/guide.md"), ALLOW),
        (edit(workspace, "Makefile"), ASK),
        (edit(workspace, "src/inner/x.py"), REFUSE),
        (edit(workspace, "SRC/Inner/x.py"), REFUSE),
        (move(workspace, "a.txt", "src/a.txt"), REFUSE),
        (read("a.txt"), REFUSE),
        (read("./docs/../a.txt"), REFUSE),
        (read("b.txt"), ALLOW),
        (bash("cat a.txt"), REFUSE),
        (bash("cd src && cat inner/x.py"), REFUSE),
        (bash("dd if=src/inner/x.py"), REFUSE),
        (bash("cat b.txt"), ASK),
        (bash("cargo publish"), ALLOW),
        (bash("cargo publish --config x"), ASK),
    ):
        assert authority.decide(call, Mode.NORMAL).verdict is verdict, call.target


@pytest.mark.parametrize(
    "content",
    [
        *("", "{", "[]", '"x"', '{"workspaces": []}', '{"workspaces": {"ROOT": []}}', "\x00", "{" * 100_000),
        *('{"workspaces": {"ROOT": {"deny": {}}}}', '{"workspaces": {"ROOT": {"deny": ["git push"]}}}'),
        *('{"workspaces": {"ROOT": {"deny": [{"comand": "git push"}]}}}', " " * 600_000),
        *('{"workspaces": {"ROOT": {"deny": [{"command": 5}]}}}', '{"workspaces": {"ROOT": {"deny": [{}]}}}'),
        '{"workspaces": {"ROOT": {"deny": [{"command": "git \\"push"}]}}}',
    ],
    ids=range(15),
)
def test_while_it_is_not_known_what_is_forbidden_only_the_person_allows(
    workspace: Path, paths: Paths, content: str
) -> None:
    paths.permissions.write_text(content.replace("ROOT", str(workspace)))
    authority = ProjectAuthority(workspace, paths, sandbox=True)
    asked = authority.decide(edit(workspace, "a.txt"), Mode.AUTO)
    assert asked.verdict is ASK and not asked.offers
    assert str(paths.permissions) in asked.reason and "\n" not in asked.reason
    assert authority.problem in asked.reason
    assert authority.decide(bash("ls"), Mode.AUTO).verdict is ASK
    assert authority.decide(read("a.txt"), Mode.AUTO).verdict is ALLOW
    skipping = ProjectAuthority(workspace, paths, sandbox=True, skip_approvals=True)
    assert skipping.decide(edit(workspace, "a.txt"), Mode.AUTO).verdict is REFUSE
    paths.permissions.unlink()
    assert authority.decide(edit(workspace, "a.txt"), Mode.AUTO).verdict is ALLOW


def test_a_pipe_a_folder_or_a_link_in_its_place_is_no_obstacle(workspace: Path, paths: Paths) -> None:
    authority = ProjectAuthority(workspace, paths, sandbox=False)
    for make in (os.mkfifo, os.mkdir, lambda path: os.symlink("/etc/passwd", path)):
        make(paths.permissions)
        assert authority.decide(edit(workspace, "a.txt"), Mode.AUTO).verdict is ASK
        with pytest.raises(ConfigError):
            RuleFile(paths, workspace).add(ToolPath("edit", "a"), allows=True, since="")
        paths.permissions.rmdir() if paths.permissions.is_dir() else paths.permissions.unlink()


def test_what_is_not_understood_is_kept_when_the_program_writes(workspace: Path, paths: Paths) -> None:
    strange = {"tool": "edit", "unless": "friday"}
    content = {
        "note": "mine",
        "workspaces": {
            "/other": {"allow": [{"command": "make x"}]},
            str(workspace): {"allow": [strange], "x": 1},
        },
    }
    paths.permissions.write_text(json.dumps(content))
    file = RuleFile(paths, workspace)
    assert file.read() == RuleFile(paths, workspace).read() and not file.read().problem
    file.add(CommandPrefix(("git", "add")), allows=True, since="2026")
    file.add(CommandPrefix(("git", "add")), allows=True, since="2027")
    assert [(rule.subject, rule.since) for rule in file.read().rules] == [
        (CommandPrefix(("git", "add")), "2026")
    ]
    file.add(CommandPrefix(("git", "add")), allows=False, since="2028")
    written = json.loads(paths.permissions.read_text())
    assert written["note"] == "mine" and written["workspaces"]["/other"] == content["workspaces"]["/other"]
    assert written["workspaces"][str(workspace)] == {
        "allow": [strange],
        "x": 1,
        "deny": [{"command": "git add", "since": "2028"}],
    }


def test_names_with_marks_of_patterns_and_bytes_of_no_text_stay_exact(paths: Paths, tmp_path: Path) -> None:
    root = tmp_path / os.fsdecode(b"w\xff [x]*")
    root.mkdir()
    authority = ProjectAuthority(root, paths, sandbox=False)
    call = edit(root, "app/[id]*.tsx")
    authority.decide(call, Mode.NORMAL)
    authority.grant(call, Choice.WORKSPACE)
    later = ProjectAuthority(root, paths, sandbox=False)
    assert later.decide(call, Mode.NORMAL).verdict is ALLOW
    assert later.decide(edit(root, "app/i.tsx"), Mode.NORMAL).verdict is ASK


def test_what_cannot_be_kept_is_not_granted(workspace: Path, paths: Paths) -> None:
    paths.locks.write_text("no folder")
    authority = ProjectAuthority(workspace, paths, sandbox=False)
    authority.decide(bash("make test"), Mode.NORMAL)
    with pytest.raises(ConfigError, match="Can't write"):
        authority.grant(bash("make test"), Choice.WORKSPACE)
    assert authority.rules() == []
    assert authority.decide(bash("make test"), Mode.NORMAL).verdict is ASK


_ADDS_TEN = """
import sys
from pathlib import Path
from local_agent.config.paths import Paths
from local_agent.policy.rule_file import RuleFile
from local_agent.policy.rules import CommandPrefix
home, root, name = sys.argv[1:]
file = RuleFile(Paths(Path(home), Path(home)), Path(root))
for number in range(10):
    file.add(CommandPrefix((name, str(number))), allows=True, since="")
"""


def test_processes_that_write_at_once_lose_nothing(workspace: Path, paths: Paths) -> None:
    workers = [
        subprocess.Popen([sys.executable, "-c", _ADDS_TEN, str(paths.home), str(workspace), name])
        for name in ("a", "b", "c")
    ]
    assert [worker.wait(60) for worker in workers] == [0, 0, 0]
    kept = RuleFile(paths, workspace).read()
    assert len(kept.rules) == 30 and not kept.problem
    assert [path.name for path in paths.home.iterdir() if path.name.startswith(".")] == []


def test_a_tool_can_be_forbidden_as_a_whole(workspace: Path, paths: Paths) -> None:
    _written(paths, workspace, deny=[{"tool": "bash"}, {"command": "./build.sh"}])
    authority = ProjectAuthority(workspace, paths, sandbox=False, skip_approvals=True)
    assert authority.decide(bash("ls"), Mode.AUTO).verdict is REFUSE
    assert authority.decide(edit(workspace, "a.txt"), Mode.AUTO).verdict is ALLOW
    _written(paths, workspace, deny=[{"command": "./build.sh"}])
    for command in ("./build.sh", "bash build.sh", f"{workspace}/build.sh -x", "x" + " " * 300_000):
        assert authority.decide(bash(command), Mode.AUTO).verdict is REFUSE
    assert authority.decide(bash("ls"), Mode.AUTO).verdict is ALLOW
