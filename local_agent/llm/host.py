"""Where the Ollama server is: every shape of OLLAMA_HOST becomes one address or one clear line."""

from __future__ import annotations

import ipaddress
import os
import re
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from local_agent.domain.errors import ConfigError
from local_agent.domain.text import one_line

DEFAULT_PORT = 11434
VARIABLE = "OLLAMA_HOST"
_SCHEME_PORTS = {"http": 80, "https": 443}
_LABEL = re.compile(r"[^\W_]([\w-]*\w)?", re.ASCII | re.IGNORECASE)
_EXAMPLE = "Write it as 127.0.0.1:11434 or https://box.example:11434."


@dataclass(frozen=True, slots=True)
class ServerAddress:
    """An address that can be dialled."""

    scheme: str
    host: str
    """A name or an IP address, without brackets."""
    port: int
    path: str = ""
    """Prefix of all paths: empty, or with a leading slash and no trailing one."""

    @property
    def url(self) -> str:
        """Base URL, always with its port."""
        return f"{self.scheme}://{self.display}{self.path}"

    @property
    def display(self) -> str:
        """Host and port, as a person reads them; an IPv6 address in brackets."""
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"

    @property
    def is_loopback(self) -> bool:
        """True for a loopback address and for the name localhost; other names are not looked up."""
        if self.is_name:
            return self.host == "localhost" or self.host.endswith(".localhost")
        return _is_loopback(self.host)

    @property
    def is_name(self) -> bool:
        """True when the host has to be looked up."""
        return _ip(self.host) is None


def parse_host(text: str, source: str = VARIABLE) -> ServerAddress:
    """Read an address as the Ollama tools do; what listens on all addresses is dialled on loopback.

    Raises ``ConfigError`` that names ``source``.
    """
    given = text.strip().strip("\"'").strip()
    scheme, separator, rest = given.partition("://")
    scheme = scheme.lower() if separator else "http"
    if not separator:
        rest = given
        if rest.rstrip("/").lower() == "ollama.com":
            scheme = "https"
    if scheme not in _SCHEME_PORTS:
        raise _nonsense(source, given, f"the scheme {one_line(scheme, 20)} is neither http nor https")
    if "@" in rest:
        # The text may hold a password: it is not repeated.
        raise ConfigError(f"{source} has a user name in it, which is not supported.", _EXAMPLE)
    if re.search(r"[\s?#\\]", rest):
        raise _nonsense(source, given, "an address has no blanks and no ? or #")
    authority, _, path = rest.partition("/")
    default = _SCHEME_PORTS[scheme] if separator or scheme == "https" else DEFAULT_PORT
    try:
        host, port = _split(authority, default)
    except ValueError as error:
        raise _nonsense(source, given, str(error)) from error
    path = path.strip("/")
    return ServerAddress(scheme, _dialled(host), port, f"/{path}" if path else "")


def is_this_machine(host: str) -> bool:
    """Look a name up: True when every address it has is loopback. Blocks; False for unknown names."""
    if _ip(host) is not None:
        return _is_loopback(host)
    try:
        found = socket.getaddrinfo(host, None, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError):
        return False
    return bool(found) and all(_is_loopback(str(place[4][0])) for place in found)


@contextmanager
def without_variable() -> Iterator[None]:
    """Hide OLLAMA_HOST: the client library builds a client at its import and dies on one it can't read."""
    hidden = os.environ.pop(VARIABLE, None)
    try:
        yield
    finally:
        if hidden is not None:
            os.environ[VARIABLE] = hidden


def _split(authority: str, default_port: int) -> tuple[str, int]:
    """Host (empty when there is none) and port; raises ``ValueError`` with a reason."""
    if _ip(authority) is not None:
        return authority, default_port
    if authority.startswith("["):
        host, bracket, after = authority[1:].partition("]")
        if not bracket or _ip(host) is None or (after and not after.startswith(":")):
            raise ValueError("what stands in brackets is no IPv6 address")
        port = after[1:]
    else:
        host, _, port = authority.partition(":")
        if ":" in port:
            raise ValueError("it is no IPv6 address, and has more than one colon")
        if host and _ip(host) is None:
            _check_name(host)
    return host, _port(port) if port else default_port


def _port(text: str) -> int:
    if not (text.isascii() and text.isdigit() and 0 < int(text) < 65_536):
        raise ValueError(f"{one_line(text, 20)!r} is no port from 1 to 65535")
    return int(text)


def _check_name(name: str) -> None:
    try:
        encoded = name.encode("idna").decode("ascii")
    except UnicodeError:
        raise ValueError("the name is not one that can be looked up") from None
    labels = encoded.removesuffix(".").split(".")
    if not all(_LABEL.fullmatch(label) for label in labels):
        raise ValueError("the name is not one that can be looked up")
    if labels[-1].isdigit():
        raise ValueError("it is neither a name nor a whole IP address")


def _dialled(host: str) -> str:
    if not host:
        return "127.0.0.1"
    address = _ip(host)
    if address is None:
        return host.lower().removesuffix(".")
    if address.is_unspecified:
        return "127.0.0.1" if address.version == 4 else "::1"
    return str(address)


def _ip(text: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    try:
        return ipaddress.ip_address(text)
    except ValueError:
        return None


def _is_loopback(text: str) -> bool:
    address = _ip(text)
    if isinstance(address, ipaddress.IPv6Address) and address.ipv4_mapped is not None:
        return address.ipv4_mapped.is_loopback
    return address is not None and address.is_loopback


def _nonsense(source: str, given: str, reason: str) -> ConfigError:
    return ConfigError(f"{source} is no address: {one_line(given, 60)!r} ({reason}).", _EXAMPLE)
