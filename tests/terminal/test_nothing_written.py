"""Who opens the program and leaves has written no row, and no file but the empty database."""

from __future__ import annotations

import signal

import pytest

from tests.support.machine import Machine
from tests.support.terminal import Key, Terminal, until
from tests.terminal.steps import LEAVING_LIMIT, drawn, submit

pytestmark = pytest.mark.terminal


def slash_exit(terminal: Terminal) -> None:
    submit(terminal, "/exit")


def quit_key(terminal: Terminal) -> None:
    terminal.send(Key.CTRL_Q)


def interrupts(terminal: Terminal) -> None:
    terminal.send(Key.CTRL_C)
    terminal.wait_for("again")
    terminal.send(Key.CTRL_C)


def terminated(terminal: Terminal) -> None:
    terminal.signal(signal.SIGTERM)


def window_closed(terminal: Terminal) -> None:
    terminal.hangup()


def opened_views(terminal: Terminal) -> None:
    terminal.send(Key.CTRL_S)
    terminal.wait_for("Sessions")
    terminal.send(Key.ESCAPE)
    terminal.wait_for(lambda shown: "Sessions" not in shown.text)
    terminal.send(Key.CTRL_Q)


@pytest.mark.parametrize(
    "leaving", [slash_exit, quit_key, interrupts, terminated, window_closed, opened_views]
)
def test_open_and_leave(leaving: object, machine: Machine) -> None:
    assert callable(leaving)
    with machine.terminal() as terminal:
        terminal.wait_for(drawn)
        until(machine.database.exists, what="the database")
        terminal.wait_for("llama3.2:3b")
        leaving(terminal)
        terminal.wait_exit(LEAVING_LIMIT)
        if leaving is not window_closed:
            terminal.assert_restored()
            assert terminal.text == "", "nothing was asked: there is nothing to say"
    # Before the tables: looking into a database in WAL mode makes files of its own.
    assert machine.files() == [str(machine.database.relative_to(machine.person))]
    assert machine.filled_tables() == {}


def test_everything_is_private_whatever_the_umask(machine: Machine) -> None:
    with machine.terminal() as terminal:
        terminal.wait_for("llama3.2:3b")
        terminal.send(Key.CTRL_Q)
        terminal.wait_exit(LEAVING_LIMIT)
    assert machine.home.stat().st_mode & 0o777 == 0o700
    assert machine.database.stat().st_mode & 0o777 == 0o600
