"""What a person says stays with them: private files, silent logs, and no connection but to their model."""

from __future__ import annotations

import os
import re
import secrets
import stat
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from tests.proofs.socket_guard import SocketGuard
from tests.support.emulator import Emulator
from tests.support.machine import COMMAND_LIMIT, Machine
from tests.support.ollama_server import OllamaServer, Turn, end, error, gate, http, say, think
from tests.support.terminal import Key, Terminal, until
from tests.terminal.steps import LEAVING_LIMIT, submit

ROOT = Path(__file__).parents[2]
OWNERS = {False: 0o600, True: 0o700}
WRITTEN_BY_THE_PERSON = {"config.yaml", "local-agent.yaml", "AGENTS.md"}


def loose(*folders: Path, but: frozenset[Path] = frozenset()) -> list[str]:
    """Files and folders whose mode is not the owner's alone."""
    found = []
    for folder in folders:
        for path in sorted(folder.rglob("*")):
            if path in but or path.is_symlink() or path.name in WRITTEN_BY_THE_PERSON:
                continue
            mode = stat.S_IMODE(path.stat().st_mode)
            if mode != OWNERS[path.is_dir()]:
                found.append(f"{path.relative_to(folder)} {mode:o}")
    return found


class Life:
    """A person's machine for a while, with a guard on its sockets and a planted word in all that is said."""

    def __init__(self, folder: Path, server: OllamaServer) -> None:
        self.server = server
        self.machine = Machine.make(folder, server.url)
        address = urlsplit(server.url)
        self.guard = SocketGuard(folder / "guard", (str(address.hostname), int(address.port or 0)))
        self.guard.install()
        self.temporary = self.machine.person / "tmp"
        self.temporary.mkdir(mode=0o700)
        self.words: list[str] = []
        self.said = b""
        self.loose: list[str] = []
        self.machine.variables |= {
            "PYTHONPATH": os.pathsep.join([str(self.guard.folder), str(ROOT)]),
            "TMPDIR": str(self.temporary),
            "VISUAL": f"{sys.executable} {self._editor(folder)}",
        }

    def word(self, channel: str) -> str:
        """A new planted word."""
        self.words.append(f"{channel}{secrets.token_hex(6)}")
        return self.words[-1]

    def run(self, *arguments: str, code: int = 0) -> None:
        """Run a command; what it says beside its output must not quote what was asked."""
        done = self.machine.run(*arguments)
        assert done.returncode == code, done.stderr
        # The title in the farewell is the question's own beginning.
        self.said += re.sub(r"local-agent: Session .*\n", "", done.stderr).encode()
        self.look()

    def look(self) -> None:
        """Keep what is loose now, while side files and locks are there."""
        self.loose += loose(self.machine.person / ".config", self.machine.person / ".cache", self.temporary)

    def leaks(self) -> list[str]:
        """Where a planted word lies outside the database and its copies."""
        places = {"what was said": self.said}
        for path in self.machine.person.rglob("*"):
            if path.is_file() and not path.name.startswith("local-agent.db") and "backups" not in path.parts:
                places[str(path.relative_to(self.machine.person))] = path.read_bytes()
        return [
            f"{word} in {name}"
            for name, data in places.items()
            for word in self.words
            if word.encode() in data
        ]

    def _editor(self, folder: Path) -> Path:
        """An editor that appends a word, and tells how private the file is."""
        script = folder / "editor.py"
        script.write_text(
            "import os, stat, sys\n"
            "os.umask(0o077)\n"
            "path = sys.argv[1]\n"
            "modes = [f'{stat.S_IMODE(os.stat(p).st_mode):o}' for p in (path, os.path.dirname(path))]\n"
            f"open({str(folder / 'edited')!r}, 'w').write(' '.join(modes))\n"
            "open(path, 'a').write(' edited')\n"
        )
        return script


def talk(life: Life, terminal: Terminal) -> None:
    """Turns that end well and badly, an edited prompt, a title, and a draft that stays."""
    word, server = life.word, life.server
    slow = word("slow")
    server.script(
        Turn(think(f"{word('thought')} so"), say(f"{word('reply')} indeed")),
        Turn(error(f"no: {word('refused')}", 500)),
        Turn(say(f"half {word('half')}"), end("abort")),
        Turn(http(502, f"<html><title>{word('page')}</title></html>", content_type="text/html")),
        Turn(say(f"{slow} "), gate("never")),
    )
    terminal.wait_for("llama3.2:3b")
    submit(terminal, word("question"))
    terminal.wait_for("indeed")
    terminal.wait_for(idle)
    life.look()
    for number in range(3):
        submit(terminal, word("again"))
        terminal.wait_for(lambda shown, number=number: shown.text.count("✗ ") > 0 and idle(shown))
        until(lambda number=number: len(server.chats) == number + 2, what="a request")
        terminal.wait_for(idle)
    submit(terminal, f"/rename {word('title')}")
    terminal.wait_for(f"· {life.words[-1]}")
    terminal.send("\x07")
    terminal.wait_for("edited")
    terminal.paste(f"{word('pasted')}\n" * 30)
    terminal.send(Key.ENTER)
    terminal.wait_for(slow)
    terminal.send(Key.ESCAPE)
    terminal.wait_for("interrupted")
    terminal.wait_for(idle)
    terminal.send(word("draft"))
    terminal.wait_for(life.words[-1])
    for key, landmark in ((Key.CTRL_S, "Sessions ·"), (Key.F2, "Database"), (Key.CTRL_O, "Models ·")):
        terminal.send(key)
        terminal.wait_for(landmark)
        terminal.send(Key.ESCAPE)
        terminal.wait_for(idle)
    life.look()
    terminal.send(Key.CTRL_Q)
    assert terminal.wait_exit(LEAVING_LIMIT) == 0


def idle(shown: Emulator) -> bool:
    return "enter send" in shown.text


def whole_life(folder: Path, server: OllamaServer) -> Life:
    """Everything that the program does without being asked for a download."""
    life = Life(folder, server)
    with life.machine.terminal(size=(110, 34)) as terminal:
        talk(life, terminal)
    server.script(f"{life.word('headless')} yes", Turn(error(f"{life.word('denied')} no", 500)))
    life.run("-p", life.word("asked"))
    life.run("-p", life.word("asked"), "--output", "jsonl", code=1)
    with life.machine.terminal("--resume", "latest", size=(110, 34)) as terminal:
        terminal.wait_for(idle)
        terminal.send(Key.CTRL_Q)
        assert terminal.wait_exit(LEAVING_LIMIT) == 0
    for arguments in (("doctor",), ("session", "list"), ("config", "show"), ("logs",), ("db", "backup")):
        life.run(*arguments)
    return life


@pytest.mark.parametrize(
    "umask", [0o777, *(pytest.param(each, marks=pytest.mark.slow) for each in (0o000, 0o022, 0o027))], ids=oct
)
def test_a_whole_life(
    umask: int, tmp_path: Path, server: OllamaServer, proven: Callable[[str], None]
) -> None:
    before = os.umask(umask)
    try:
        life = whole_life(tmp_path, server)
    finally:
        os.umask(before)
    assert life.loose == []
    assert (tmp_path / "edited").read_text() == "600 700"
    assert list(life.temporary.iterdir()) == []
    assert life.leaks() == []
    assert life.guard.reached == {life.guard.allowed_text}
    started = {Path(command[0]).name for command in life.guard.started}
    # What can confine commands is tried once with one that does nothing.
    assert started <= {"git", "bwrap", "sandbox-exec", Path(sys.executable).name}
    files = len(life.machine.files())
    proven(f"privacy, umask {umask:03o}: {files} files private, {len(life.words)} planted words in no log")


def test_the_guard_refuses_and_remembers(tmp_path: Path) -> None:
    guard = SocketGuard(tmp_path / "guard", ("127.0.0.1", 9))
    guard.install()
    code = "import socket; socket.create_connection(('127.0.0.1', 10))"
    environment = {**os.environ, "PYTHONPATH": str(guard.folder)}
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True)
    assert "the guard refuses" in done.stderr
    assert ("127.0.0.1", "10") in guard.reached


EXCEPTIONS = """
import asyncio, gc, logging, sys, threading, warnings
from local_agent.config.logs import start_logging
from local_agent.config.paths import Paths

start_logging(Paths.discover())
word = sys.argv[1]

class Dropped:
    def __del__(self):
        raise ValueError(word)

def fail(text):
    raise ValueError(text)

async def main():
    loop = asyncio.get_running_loop()
    task = asyncio.ensure_future(asyncio.to_thread(fail, word))
    await asyncio.wait({task})
    del task
    loop.call_soon(fail, word)
    await asyncio.sleep(0)
    gc.collect()

asyncio.run(main())
thread = threading.Thread(target=fail, args=(word,))
thread.start()
thread.join()
Dropped()
warnings.warn(word)
logging.getLogger("httpx").warning("sent %s", word)
try:
    fail(word)
except ValueError:
    logging.getLogger("local_agent.test").exception("it failed")
logging.shutdown()
"""


def test_no_exception_is_quoted(home: Path) -> None:
    word = secrets.token_hex(8)
    done = subprocess.run(
        [sys.executable, "-c", EXCEPTIONS, word],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        timeout=COMMAND_LIMIT,
        check=True,
    )
    (log,) = (home / "logs").iterdir()
    written = log.read_bytes()
    assert written.count(b"ValueError, raised in:") == 5
    assert written.count(b"words of a library") == 4
    assert word.encode() not in written + done.stdout + done.stderr
    assert done.stderr == b""


def test_a_home_of_our_name_is_closed_to_others_and_said_to_be_once(
    tmp_path: Path, server: OllamaServer
) -> None:
    machine = Machine.make(tmp_path, server.url)
    real = tmp_path / "disk" / "local-agent"
    real.mkdir(parents=True)
    real.chmod(0o755)
    machine.home.parent.mkdir(parents=True)
    machine.home.symlink_to(real)
    server.script("Yes.", "Yes.")
    said = [machine.run("-p", "hello").stderr for _ in range(2)]
    assert stat.S_IMODE(real.stat().st_mode) == 0o700
    assert [text.count("Others on this machine could look into") for text in said] == [1, 0]
    assert loose(real) == []
