"""What every test stands on: a home of its own, a closed network, and one scripted server on request."""

from __future__ import annotations

import ipaddress
import os
import signal
import sys
from collections.abc import Iterator
from pathlib import Path

import hypothesis
import pytest

from tests.support.ollama_server import HostedServer, OllamaServer

# Read by Textual at its import: nothing on screen moves by itself.
os.environ["TEXTUAL_ANIMATIONS"] = "none"

PROVEN = "proven"
"""The property of a test's report that holds what a proof counted."""

hypothesis.settings.register_profile("dev", deadline=None)
hypothesis.settings.register_profile("ci", deadline=None, derandomize=True, print_blob=True)
hypothesis.settings.load_profile("ci" if os.environ.get("CI") else "dev")


def _close_network(event: str, arguments: tuple[object, ...]) -> None:
    """Refuse every connection that leaves this machine; names under ``.invalid`` may be looked up."""
    if event == "socket.connect":
        address = arguments[1]
        host = address[0] if isinstance(address, tuple) else ""
    elif event == "socket.getaddrinfo":
        host = arguments[0]
    else:
        return
    name = host.decode() if isinstance(host, bytes) else str(host or "")
    if name and not _stays_here(name):
        raise RuntimeError(f"a test tried to reach {name!r}: tests use loopback only")


def _stays_here(name: str) -> bool:
    if name == "localhost" or name.endswith((".localhost", ".invalid")):
        return True
    try:
        address = ipaddress.ip_address(name.partition("%")[0])
    except ValueError:
        return False
    return address.is_loopback or address.is_unspecified


def pytest_configure(config: pytest.Config) -> None:
    # A runner started in the background or by nohup ignores these, and every child would inherit that.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.signal(signal.SIGHUP, signal.SIG_DFL)
    sys.addaudithook(_close_network)
    if not config.option.markexpr:
        config.option.markexpr = "not slow"


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    reports = [report for each in terminalreporter.stats.values() for report in each]
    lines = sorted(
        str(value)
        for report in reports
        if getattr(report, "when", "") == "call"
        for name, value in report.user_properties
        if name == PROVEN
    )
    if lines:
        terminalreporter.section("proven", sep="-")
    for line in lines:
        terminalreporter.write_line(line)


@pytest.fixture(scope="session", autouse=True)
def open_umask() -> Iterator[None]:
    """The most permissive umask: a file or folder made without care for its mode shows as such."""
    before = os.umask(0)
    yield
    os.umask(before)


@pytest.fixture(autouse=True)
def clean_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """No variable of the person who runs the tests steers the program under test."""
    for name in list(os.environ):
        if name.startswith(("LOCAL_AGENT_", "OLLAMA_")) and name != "LOCAL_AGENT_TEST_CACHE":
            monkeypatch.delenv(name)
    for name in ("NO_COLOR", "COLORTERM"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty ``LOCAL_AGENT_HOME`` (not made yet) in a person's folder of its own."""
    person = tmp_path / "person"
    person.mkdir(mode=0o700)
    folder = person / ".config" / "local-agent"
    monkeypatch.setenv("HOME", str(person))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(person / ".config"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(person / ".cache"))
    monkeypatch.setenv("XDG_DATA_HOME", str(person / ".local" / "share"))
    monkeypatch.setenv("XDG_STATE_HOME", str(person / ".local" / "state"))
    monkeypatch.setenv("LOCAL_AGENT_HOME", str(folder))
    return folder


@pytest.fixture
def server() -> Iterator[OllamaServer]:
    """The scripted Ollama server, on a thread; a request that nothing was scripted for fails the test."""
    with HostedServer() as running:
        yield running
