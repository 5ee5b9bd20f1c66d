"""What a confined command can reach: the workspace, and nothing that is anybody else's."""

from __future__ import annotations

import asyncio
import shutil
import socket
import sys
import tempfile
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio

from local_agent.domain.tools import ResultStatus, ToolFailed
from local_agent.tools.shell.sandbox import Sandbox, bubblewrap, seatbelt
from tests.tools.calling import Around
from tests.tools.shell.shells import Shell, a_sleep, asleep, until

HERE = Path(__file__).parent
WORKS = Sandbox.find(HERE) is not None or Sandbox.find(Path("/usr")) is not None
works = pytest.mark.skipif(not WORKS, reason="no sandbox works on this machine")


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home folder with a secret, and a workspace in it that is a Git repository."""
    home = tmp_path.resolve() / "home"
    root = home / "projects" / "app"
    for folder in (home / ".ssh", root / ".git" / "hooks"):
        folder.mkdir(parents=True)
    (home / ".ssh" / "id_ed25519").write_text("secret")
    (root / ".git" / "config").write_text("[core]\n")
    monkeypatch.setenv("HOME", str(home))
    return home


@pytest.fixture
def root(home: Path) -> Path:
    return home / "projects" / "app"


@pytest_asyncio.fixture
async def confined(root: Path) -> AsyncIterator[Shell]:
    found = Sandbox.find(root)
    assert found is not None
    shell = Shell(root, sandbox=found)
    yield shell
    await shell.commands.close()


async def run(shell: Shell, command: str) -> str:
    ready = await shell.ready("bash", confined=True, command=command)
    assert ready.facts["confined"] is True
    return (await ready.run(Around())).text


@works
async def test_the_workspace_can_be_written_and_is_where_commands_begin(confined: Shell) -> None:
    text = await run(confined, "pwd; echo kept > made; ls -a")

    assert text.startswith("exit code 0 after ")
    assert text.split("\n")[1] == str(confined.root)
    assert (confined.root / "made").read_text() == "kept\n"


ESCAPES = {
    "a file beside the workspace": "echo x > ../beside",
    "a file in a hidden home": "echo x > $HOME/.profile",
    "a secret in the home": "cat $HOME/.ssh/id_ed25519",
    "the home as the system knows it": "ls -A ~root/.ssh",
    "a link to a secret": "ln -s $HOME/.ssh/id_ed25519 link; cat link",
    "a hook": "echo x > .git/hooks/pre-commit",
    "a hook by another way": "mv .git/hooks .git/old; mkdir .git/hooks; echo x > .git/hooks/pre-commit",
    "another .git in its place": "mv .git old; mkdir -p .git/hooks; echo x > .git/hooks/pre-commit",
    "Git's settings": "echo x >> .git/config",
    "Git's settings by renaming": "echo x > .git/c; mv .git/c .git/config",
    "removing the hooks": "rm -rf .git/hooks && mkdir .git/hooks && echo x > .git/hooks/pre-commit",
    "the disk": "echo x > /etc/written-by-a-sandboxed-command",
    "mounting": "mount -o remount,rw / && echo x > /etc/written-by-a-sandboxed-command",
    "uncovering the home": "umount $HOME && cat $HOME/.ssh/id_ed25519",
    "uncovering the hooks": "umount .git/hooks && echo x > .git/hooks/pre-commit",
    "an own name space": "unshare -rm sh -c 'umount -l .git/hooks && echo x > .git/hooks/pre-commit'",
    "what others have open": "cat /proc/1/root$HOME/.ssh/id_ed25519",
}


def untouched(home: Path, root: Path) -> bool:
    """True while nothing is there that was not there before."""
    return (
        sorted(path.name for path in home.iterdir()) == [".ssh", "projects"]
        and {path.name for path in root.parent.iterdir()} <= {"app", "outputs"}
        and (root / ".git" / "config").read_text() == "[core]\n"
        and list((root / ".git" / "hooks").iterdir()) == []
        and not Path("/etc/written-by-a-sandboxed-command").exists()
    )


@works
@pytest.mark.parametrize("command", ESCAPES.values(), ids=ESCAPES.keys())
async def test_nothing_else_can_be_written_or_read(confined: Shell, home: Path, command: str) -> None:
    text = await run(confined, f"({command}) && echo got through")

    assert "secret" not in text.split("\n", 1)[1]
    assert untouched(home, confined.root)


@works
async def test_toolchains_in_the_home_can_be_run_but_not_changed(confined: Shell, home: Path) -> None:
    program = home / ".local" / "bin" / "greet"
    program.parent.mkdir(parents=True)
    program.write_text("#!/bin/sh\necho hello\n")
    program.chmod(0o755)
    keys = home / ".local" / "share" / "keyrings"
    keys.mkdir(parents=True)

    text = await run(confined, f"{program}; echo x >> {program} || ls -A $HOME/.local; ls $HOME/.ssh")

    assert text.split("\n")[1] == "hello"
    assert "\nbin\n" in text and "share" not in text
    assert program.read_text() == "#!/bin/sh\necho hello\n"


@works
async def test_a_failure_says_that_it_was_confined(confined: Shell) -> None:
    text = await run(confined, "exit 1")

    assert text.endswith(
        "[it ran in a sandbox: no network, no home folder, only the workspace can be written]"
    )


@works
async def test_there_is_no_network_not_even_to_this_machine(confined: Shell) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        assert (await run(confined, f"echo x > /dev/tcp/127.0.0.1/{port}")).startswith("exit code 1 ")
        server.settimeout(0)
        with pytest.raises(BlockingIOError):
            server.accept()


@works
@pytest.mark.skipif(sys.platform == "darwin", reason="the folder is a private one, under another name")
async def test_tmp_is_its_own(confined: Shell) -> None:
    with tempfile.NamedTemporaryFile(dir="/tmp") as others:
        text = await run(confined, f"cat {others.name} || mktemp && echo x > {others.name}")

        assert text.startswith("exit code 0 ") and "\n/tmp/tmp." in text
        assert others.read() == b""


@works
async def test_a_stop_ends_what_runs_in_it(confined: Shell) -> None:
    name, around = a_sleep(), Around()
    ready = await confined.ready("bash", confined=True, command=f"trap '' TERM; sleep {name} & sleep {name}")
    running = asyncio.create_task(ready.run(around))
    await until(lambda: len(asleep(name)) == 2)

    around.stop.set()
    assert (await running).status is ResultStatus.CANCELLED
    assert asleep(name) == []


@works
async def test_hooks_that_are_not_there_can_not_be_made(confined: Shell) -> None:
    (confined.root / ".git" / "hooks").rmdir()
    await run(confined, "echo x > .git/hooks/pre-commit; mkdir -p .git/hooks; echo x > .git/hooks/pre-commit")

    assert not (confined.root / ".git" / "hooks" / "pre-commit").exists()


@works
async def test_git_works_in_it(confined: Shell) -> None:
    if shutil.which("git") is None:
        pytest.skip("there is no git")
    shutil.rmtree(confined.root / ".git")
    await confined.bash("git init -q; touch file")
    text = await run(
        confined, "git add file && git -c user.name=a -c user.email=b commit -qm one && git log --format=%s"
    )

    assert text.startswith("exit code 0 ") and text.endswith("\none\n")


@works
def test_a_workspace_that_holds_the_home_is_not_confined(home: Path) -> None:
    assert Sandbox.find(home) is None
    assert Sandbox.find(home.parent) is None


def test_where_nothing_is_installed_or_nothing_works_there_is_none(
    root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    programs = tmp_path / "programs"
    programs.mkdir()
    monkeypatch.setenv("PATH", str(programs))
    assert Sandbox.find(root) is None

    for name in ("bwrap", "sandbox-exec"):
        (programs / name).write_text("#!/bin/sh\necho no name spaces in a container >&2\nexit 1\n")
        (programs / name).chmod(0o755)
    assert Sandbox.find(root) is None


def test_a_git_folder_that_is_a_link_is_refused(root: Path) -> None:
    shutil.rmtree(root / ".git")
    (root / ".git").symlink_to(root.parent)
    sandbox = Sandbox("/usr/bin/bwrap", root, (), Path("/tmp"))

    with pytest.raises(ToolFailed, match="is a link"):
        sandbox.confined(["true"])


def pairs(words: list[str], option: str) -> list[str]:
    return [words[at + 1] for at, word in enumerate(words) if word == option]


def test_bubblewraps_words(root: Path, home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("VIRTUAL_ENV", raising=False)
    (home / ".pyenv").mkdir()
    sandbox = Sandbox("/usr/bin/bwrap", root, (home,), Path("/tmp"))
    words = bubblewrap(sandbox)

    assert words[:6] == ["/usr/bin/bwrap", "--unshare-all", "--die-with-parent", "--ro-bind", "/", "/"]
    assert "--share-net" not in words
    assert str(home) in pairs(words, "--tmpfs")
    assert words.index(str(home)) < words.index(str(root)), "the workspace lies over the hidden home"
    assert pairs(words, "--bind") == [str(root), str(root / ".git")]
    assert pairs(words, "--ro-bind-try") == [
        str(root / ".git" / "config"),
        str(root / ".git" / "modules"),
    ]
    assert pairs(words, "--ro-bind")[1:] == [str(home / ".pyenv"), str(root / ".git" / "hooks")]
    assert words.index(str(home)) < words.index(str(home / ".pyenv"))
    assert words[-3:] == ["--chdir", str(root), "--"]
    assert sandbox.confined(["bash", "-c", "x"])[-5:] == ["/usr/bin/env", "TMPDIR=/tmp", "bash", "-c", "x"]

    shutil.rmtree(root / ".git")
    assert pairs(bubblewrap(sandbox), "--bind") == [str(root)]
    (root / ".git").write_text("gitdir: /elsewhere\n")
    assert pairs(bubblewrap(sandbox), "--ro-bind")[2:] == [str(root / ".git")]


def test_seatbelts_words_hold_paths_as_parameters_alone(tmp_path: Path) -> None:
    root = tmp_path / 'a "quoted") (allow default'
    (tmp_path / ".nvm").mkdir()
    sandbox = Sandbox("/usr/bin/sandbox-exec", root, (tmp_path,), tmp_path / "own")
    *words, option, profile = seatbelt(sandbox)

    assert (words[0], option) == ("/usr/bin/sandbox-exec", "-p")
    assert f"-DROOT={root}" in words and f"-DHOME0={tmp_path}" in words
    assert "quoted" not in profile
    rules = profile.replace(")(", ")\n(").split("\n")
    order = [
        "(deny network*)",
        "(deny file-write*)",
        '(deny file-read-data (subpath (param "HOME0")))',
        '(allow file-read-data (subpath (param "TOOLS0")))',
        '(allow file-read* file-write* (subpath (param "ROOT"))',
        '(deny file-write* (literal (param "GIT")) (literal (param "CONFIG")) (subpath (param "HOOKS")))',
    ]
    places = [next(at for at, rule in enumerate(rules) if rule.startswith(start)) for start in order]
    assert places == sorted(places), "the last rule that fits counts"
    assert sandbox.confined(["sh"])[-3:] == ["/usr/bin/env", f"TMPDIR={tmp_path / 'own'}", "sh"]


def test_an_active_environment_can_be_read_unless_it_holds_the_home(
    root: Path, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sandbox = Sandbox("/usr/bin/bwrap", root, (home,), Path("/tmp"))
    environment = home / "env"
    environment.mkdir()
    for folder in (environment, home):
        (folder / "pyvenv.cfg").touch()
    monkeypatch.setenv("VIRTUAL_ENV", str(environment))
    assert sandbox.toolchains == [str(environment)]
    monkeypatch.setenv("VIRTUAL_ENV", str(home))
    assert sandbox.toolchains == []


def test_it_says_what_is_confined(root: Path) -> None:
    said = Sandbox("/usr/bin/bwrap", root, (), Path("/tmp")).describe()

    assert said.startswith(f"bwrap: only {root} can be written")
    assert "no network" in said and "\n" not in said
