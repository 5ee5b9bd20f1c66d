"""The bytes of a real terminal: whatever comes in from outside, none of them are another's commands."""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from local_agent.domain.text import normalise
from tests.proofs.hostile import NASTY, all_at_once, intruders
from tests.support.emulator import Emulator
from tests.support.machine import Machine
from tests.support.ollama_server import HostedServer, ModelSpec, OllamaServer, Turn, error, http, say, think
from tests.support.terminal import Key, Terminal
from tests.terminal.steps import farewell, leave, submit

pytestmark = pytest.mark.terminal

SIZE = (110, 34)
OTHER_MODEL = "other:1b"
FINISHED = "the end of it"
PATH_LIMIT = 60


def file_name(text: str) -> str:
    """A text as the name of a folder, which holds all but slash and NUL."""
    return "api" + text.replace("/", "|").replace("\x00", "")[:PATH_LIMIT] + "end"


def hostile_machine(folder: Path, url: str, text: str) -> Machine:
    """A machine on which everything that has a name is called ``text``."""
    machine = Machine.make(folder, url)
    machine.workspace = machine.person / normalise(file_name(text))
    machine.workspace.mkdir()
    (machine.workspace / "AGENTS.md").write_text(normalise(text))
    machine.variables |= {
        name: normalise(text).replace("\x00", "") for name in ("TERM_PROGRAM", "VISUAL", "USER", "HOSTNAME")
    }
    return machine


def hostile_models(text: str) -> list[ModelSpec]:
    """The first is taken by default; the second one is a name only."""
    text = normalise(text)
    model = ModelSpec(
        f"llama{text[:40]}:3b",
        parameter_size=text,
        quantization=text,
        arch=text[:60],
        show={"capabilities": ["completion", "thinking", text]},
    )
    return [model, ModelSpec(OTHER_MODEL, parameter_size=text, capabilities=("completion", text))]


def typed(text: str) -> str:
    """What can be pasted of a text: an escape would end the paste."""
    return normalise(text).replace("\x1b", "")


def on_main_screen(shown: Emulator) -> bool:
    return any(line.strip().startswith("NORMAL") for line in shown.lines[-1:]) and "❯" in shown.text


def assert_layout(terminal: Terminal) -> None:
    """Header, its rule, the composer and the footer stand where they always do."""
    terminal.wait_for(on_main_screen)
    lines = [*terminal.lines]
    assert lines[0].startswith("  api") or not lines[0], lines[0]
    assert re.fullmatch(r"─{20,}", lines[1].strip()), lines[1]
    assert lines[-1].startswith("  NORMAL"), lines[-1]
    odd = [line for line in lines if line and not line.startswith(("  ", "─"))]
    assert odd == []


def visit(terminal: Terminal, key: str, landmark: str) -> None:
    """Open a screen by key, see it whole, and come back."""
    terminal.send(key)
    terminal.wait_for(landmark)
    close(terminal, landmark)


def close(terminal: Terminal, landmark: str) -> None:
    terminal.send(Key.ESCAPE)
    terminal.wait_for(lambda shown: on_main_screen(shown) and landmark not in shown.text)


def idle(shown: Emulator) -> bool:
    return on_main_screen(shown) and "enter send" in shown.text


def converse(terminal: Terminal, text: str) -> None:
    """Everything that is said, pasted, failed and looked at, with ``text`` in all of it."""
    terminal.wait_for(on_main_screen)
    submit(terminal, "begin")
    terminal.wait_for(FINISHED)
    assert_layout(terminal)
    terminal.send("\x1bc")
    terminal.wait_for("is in the clipboard")
    terminal.paste(typed(text))
    terminal.send(" pasted", Key.ENTER)
    terminal.wait_for("refused (HTTP 500)")
    terminal.wait_for(idle)
    assert_layout(terminal)
    submit(terminal, "once more")
    terminal.wait_for("reach its Ollama server")
    terminal.wait_for(idle)
    terminal.paste("/rename " + re.sub("[\"'\\\\]", "", typed(text)))
    terminal.send(Key.ENTER)
    terminal.wait_for(idle)
    visit(terminal, Key.F1, "Keys")
    visit(terminal, Key.F2, "Database")
    visit(terminal, Key.CTRL_P, "Search for")
    submit(terminal, "/errors")
    terminal.wait_for("Errors ·")
    close(terminal, "Errors ·")
    terminal.send(Key.CTRL_O)
    terminal.wait_for(OTHER_MODEL)
    terminal.paste(typed(text))
    close(terminal, "Models ·")
    terminal.send(Key.CTRL_S)
    terminal.wait_for("3 turns")
    terminal.paste(typed(text))
    close(terminal, "Sessions ·")
    leave(terminal)
    assert farewell(terminal)


def script(server: OllamaServer, text: str, chunking: str) -> None:
    """A reply with thinking, an error in JSON, and an error page of a proxy."""
    text = normalise(text)
    page = f"<html><head><title>{text}</title></head><body>{text}</body></html>"
    server.script(
        Turn(think(text, chunking=chunking), say(f"{text}\n\n```\n```\n\n{FINISHED}", chunking=chunking)),
        Turn(error(text, 500)),
        Turn(http(502, page, content_type="text/html")),
    )


def live(folder: Path, text: str, chunking: str = "chars:61") -> int:
    """A whole life with ``text`` in everything that comes from outside; the bytes that were looked at."""
    with HostedServer(OllamaServer(hostile_models(text))) as server:
        machine = hostile_machine(folder, server.url, text)
        script(server, text, chunking)
        with machine.terminal(size=SIZE) as terminal:
            converse(terminal, text)
            seen = look(terminal, copies=1)
        plant_rows(machine, text)
        with machine.terminal("--resume", "latest", size=SIZE) as terminal:
            terminal.wait_for(
                lambda shown: idle(shown) and ("once more" in shown.text or "(interrupted)" in shown.text)
            )
            assert_layout(terminal)
            visit(terminal, Key.CTRL_S, "Sessions ·")
            leave(terminal)
            seen += look(terminal)
        for arguments in COMMANDS:
            with machine.terminal(*arguments, size=SIZE) as terminal:
                terminal.wait_exit()
                seen += look(terminal)
                assert "Traceback" not in terminal.text
    return seen


COMMANDS = (
    ("session", "list", "--all"),
    ("session", "show", "a1b2c3d"),
    ("session", "list", "--json"),
    ("doctor",),
    ("--resume", "1\x1b[5m\u202e2"),
    ("--model", "x\x1b]0;owned\x07\x9b5m", "-p", "hello"),
)


def look(terminal: Terminal, copies: int = 0) -> int:
    assert intruders(terminal.raw, copies=copies) == []
    return len(terminal.raw)


def plant_rows(machine: Machine, text: str) -> None:
    """What no program of ours would write, put into the rows by hand."""
    text = normalise(text)
    with closing(sqlite3.connect(machine.database)) as database, database:
        database.execute("UPDATE sessions SET handle = 'a1b2c3d', title = ?, model = ?", (text,) * 2)
        database.execute("UPDATE turns SET model = ?, stop_reason = ?", (text, text))
        database.execute("UPDATE error_records SET line = ?, raw = ?, question = ?, model = ?", (text,) * 4)
        database.execute("UPDATE leases SET terminal = ?, host = ?", (text, text))
        columns = "workspace_id, session_id, pid, process_start, machine_id, boot_id, text, queue, updated_at"
        row = "SELECT id, NULL, 1, '', '', '', ?, '[]', 'now' FROM workspaces"
        database.execute(f"INSERT INTO drafts ({columns}) {row}", (text,))


def test_every_string_at_once(tmp_path: Path, proven: Callable[[str], None]) -> None:
    seen = live(tmp_path, all_at_once())
    proven(f"hostile text: {len(NASTY)} strings in one life, {seen:,} bytes of terminal, no intruder")


GROUPS = 8
"""One string can hide what another one does; a life for each of them would take half an hour."""


@pytest.mark.slow
@pytest.mark.parametrize("group", range(GROUPS))
def test_a_few_strings(group: int, tmp_path: Path, proven: Callable[[str], None]) -> None:
    # A row of half flags is as wide as the terminal thinks it is; no two of them agree.
    names = [name for name in list(NASTY)[group::GROUPS] if name != "flags"]
    seen = live(tmp_path, all_at_once(names), chunking=f"chars:{group + 1}")
    proven(f"hostile text, group {group}: {len(names)} strings, {seen:,} bytes of terminal, no intruder")
