"""Every shape of OLLAMA_HOST, and the names that lead to this machine or away from it."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from local_agent.domain.errors import ConfigError
from local_agent.llm.host import is_this_machine, parse_host, without_variable

GOOD = [
    # text, url, loopback
    ("", "http://127.0.0.1:11434", True),
    ("   ", "http://127.0.0.1:11434", True),
    ("127.0.0.1", "http://127.0.0.1:11434", True),
    ("127.0.0.1:8080", "http://127.0.0.1:8080", True),
    ("  127.0.0.1:11434 \n", "http://127.0.0.1:11434", True),
    ('"127.0.0.1:11434"', "http://127.0.0.1:11434", True),
    ("' 127.0.0.1 '", "http://127.0.0.1:11434", True),
    (":8080", "http://127.0.0.1:8080", True),
    ("127.0.0.1:", "http://127.0.0.1:11434", True),
    ("0.0.0.0", "http://127.0.0.1:11434", True),
    ("0.0.0.0:9999", "http://127.0.0.1:9999", True),
    ("::", "http://[::1]:11434", True),
    ("[::]:9999", "http://[::1]:9999", True),
    ("::1", "http://[::1]:11434", True),
    ("[::1]", "http://[::1]:11434", True),
    ("[::1]:8080", "http://[::1]:8080", True),
    ("http://[::1]:8080/", "http://[::1]:8080", True),
    ("::ffff:127.0.0.1", "http://[::ffff:7f00:1]:11434", True),
    ("127.8.9.10", "http://127.8.9.10:11434", True),
    ("localhost", "http://localhost:11434", True),
    ("LocalHost.:80", "http://localhost:80", True),
    ("ollama.localhost", "http://ollama.localhost:11434", True),
    ("http://localhost", "http://localhost:80", True),
    ("https://localhost", "https://localhost:443", True),
    ("HTTP://localhost:11434", "http://localhost:11434", True),
    ("192.168.1.5", "http://192.168.1.5:11434", False),
    ("box", "http://box:11434", False),
    ("box.lan:11434/", "http://box.lan:11434", False),
    ("my_box-2.lan", "http://my_box-2.lan:11434", False),
    ("box.lan/ollama/", "http://box.lan:11434/ollama", False),
    ("https://box.lan/a/b", "https://box.lan:443/a/b", False),
    ("https://box.lan:8443", "https://box.lan:8443", False),
    ("bücher.lan", "http://bücher.lan:11434", False),
    ("2001:db8::7", "http://[2001:db8::7]:11434", False),
    ("fe80::1%eth0", "http://[fe80::1%eth0]:11434", False),
    ("localhost.example.com", "http://localhost.example.com:11434", False),
    ("127.0.0.1.example.com", "http://127.0.0.1.example.com:11434", False),
    ("ollama.com", "https://ollama.com:443", False),
    ("http://ollama.com", "http://ollama.com:80", False),
]


@pytest.mark.parametrize(("text", "url", "loopback"), GOOD)
def test_a_shape_gives_its_address(text: str, url: str, loopback: bool) -> None:
    address = parse_host(text)
    assert (address.url, address.is_loopback) == (url, loopback)
    assert parse_host(address.url) == address


BAD = [
    "h:abc",
    "h:99999",
    "h:0",
    "h:-1",
    "h:1:2",
    "h:٣",
    "ftp://box",
    "unix:///var/run/ollama.sock",
    "[::1",
    "[box]:11434",
    "[::1]11434",
    "[]",
    "1.2.3",
    "999.1.1.1",
    "a b",
    "a..b",
    "-a",
    "a/b?c",
    "box#1",
    "x" * 64,
    "¯\\_(ツ)_/¯",
    "\x1b[31mred",
]


@pytest.mark.parametrize("text", BAD)
def test_nonsense_gives_one_clear_line(text: str) -> None:
    with pytest.raises(ConfigError) as caught:
        parse_host(text)
    line = caught.value.line
    assert line.startswith("OLLAMA_HOST ")
    assert line.isprintable()
    assert len(line) < 160
    assert "127.0.0.1:11434" in caught.value.hint


def test_a_password_is_not_repeated() -> None:
    with pytest.raises(ConfigError) as caught:
        parse_host("http://me:hunter2@box", "ollama.host")
    assert "hunter2" not in str(caught.value)
    assert caught.value.line.startswith("ollama.host")


@given(st.text(max_size=60))
def test_any_text_is_an_address_or_a_config_error(text: str) -> None:
    try:
        address = parse_host(text)
    except ConfigError as error:
        assert error.line.isprintable()
    else:
        assert parse_host(address.url) == address


def test_display_is_host_and_port() -> None:
    assert parse_host("https://box.lan/x").display == "box.lan:443"
    assert parse_host("::1").display == "[::1]:11434"


@pytest.mark.parametrize("host", ["127.0.0.1", "::1", "localhost", "::ffff:127.0.0.1"])
def test_these_are_this_machine(host: str) -> None:
    assert is_this_machine(host)


@pytest.mark.parametrize("host", ["10.0.0.1", "2001:db8::1", "nowhere.invalid", "x" * 300, ""])
def test_these_are_not(host: str) -> None:
    assert not is_this_machine(host)


def test_the_variable_is_hidden_and_comes_back(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OLLAMA_HOST", "h:abc")
    with without_variable():
        assert "OLLAMA_HOST" not in os.environ
    assert os.environ["OLLAMA_HOST"] == "h:abc"


@pytest.mark.parametrize("value", ["h:abc", "::1", '"127.0.0.1:11434"', "h:99999"])
def test_the_backend_imports_whatever_the_variable_says(value: str) -> None:
    code = "import local_agent.llm.ollama"
    run = subprocess.run(
        [sys.executable, "-c", code], env={**os.environ, "OLLAMA_HOST": value}, capture_output=True, text=True
    )
    assert run.returncode == 0, run.stderr
