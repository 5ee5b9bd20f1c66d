"""What an Ollama server's refusals and a connection's failures mean, in one plain line each."""

from __future__ import annotations

import re
import socket
import ssl
from collections.abc import Mapping

import httpx

from local_agent.domain.errors import ModelError, ModelErrorKind
from local_agent.domain.quoting import quoted
from local_agent.domain.text import one_line
from local_agent.llm.error_words import Words, unwrap
from local_agent.llm.host import ServerAddress
from local_agent.llm.wire import malformed

_OVERFLOW = re.compile(r"context (length|size)", re.IGNORECASE)
_TOKENS = re.compile(r"\((\d+) tokens\)")
_MEMORY = re.compile(r"out.of.memory|more system memory|unable to allocate|cudaMalloc", re.IGNORECASE)
_RUNNER = re.compile(
    r"runner has unexpectedly stopped|process has terminated|error was encountered while running",
    re.IGNORECASE,
)
_BAD_CALL = re.compile(
    r"failed to parse (JSON|input)|empty function name|parsing tool call|invalid tool call|XML syntax error"
    r"|incomplete GLM tool call|^tool '.*' not found",
    re.IGNORECASE,
)
_WORDS = 240


class Unanswered(ModelError):
    """The connection was closed before a byte of an answer: the one failure that may be tried again."""


class Explainer:
    """Names failures for one model on one server."""

    def __init__(self, address: ServerAddress, model: str = "") -> None:
        self._address = address
        self._model = model

    def status(self, status: int, words: Words, headers: Mapping[str, str]) -> ModelError:
        """The meaning of an HTTP status that is no success."""
        if 300 <= status < 400:
            return self._redirect(status, headers.get("location", ""))
        if status == 404:
            return self._missing(words)
        if status in (401, 403):
            return self._refused(status, words)
        if status in (429, 503):
            return self._busy(status, words)
        if status in (502, 504):
            return ModelError(
                ModelErrorKind.UNREACHABLE,
                self._said(
                    f"What answers at {self._address.display} can't reach its Ollama server", words, status
                ),
                "Start the server behind it, and try again with /retry.",
                words.text,
            )
        return self._by_words(words.text) or self._other(status, words)

    def in_stream(self, error: object) -> ModelError:
        """The meaning of an error line in a stream that began well."""
        text = unwrap(error)
        return self._by_words(text) or ModelError(
            ModelErrorKind.SERVER,
            self._said("The server broke the reply off with an error", Words(text)),
            "What arrived is kept. Try again with /retry.",
            text,
        )

    def transport(self, error: httpx.HTTPError, *, begun: bool) -> ModelError:
        """The meaning of a connection that failed, before or after its reply had ``begun``."""
        raw = f"{type(error).__name__}: {error}"
        if isinstance(error, httpx.ConnectError | httpx.ConnectTimeout):
            return self._unreachable(error, raw)
        if isinstance(error, httpx.TimeoutException):
            line = f"{self._address.display} has stopped answering."
            return ModelError(ModelErrorKind.SILENT, line, "Try again with /retry.", raw)
        if begun:
            return cut_off(raw)
        if isinstance(error, httpx.RemoteProtocolError) and "without sending" not in str(error):
            return malformed(f"something other than HTTP ({self._address.display})", raw)
        return Unanswered(
            ModelErrorKind.UNREACHABLE,
            f"The server at {self._address.display} closed the connection without an answer.",
            "It may be starting, or short of memory: look at its log, and try again with /retry.",
            raw,
        )

    def _unreachable(self, error: httpx.HTTPError, raw: str) -> ModelError:
        causes = list(_causes(error))
        if any(isinstance(cause, socket.gaierror) for cause in causes):
            line = f"The name {self._address.host} can't be found on this network."
            hint = "Set OLLAMA_HOST or ollama.host to the server's address."
        elif any(isinstance(cause, ssl.SSLError) for cause in causes):
            line = f"No secure connection to {self._address.display} can be made: {one_line(str(error), 120)}"
            hint = "Check its certificate, or whether the address should begin with http://."
        elif isinstance(error, httpx.ConnectTimeout):
            line = f"Nothing answers at {self._address.display} in time."
            hint = "Check OLLAMA_HOST or ollama.host, and whether that machine is on."
        else:
            line = f"No Ollama server answers at {self._address.display}."
            # Without the variable a server listens on its own machine only.
            there = "Start it there with: OLLAMA_HOST=0.0.0.0 ollama serve"
            hint = "Start it with: ollama serve" if self._address.is_loopback else there
        return ModelError(ModelErrorKind.UNREACHABLE, line, hint, raw)

    def _redirect(self, status: int, location: str) -> ModelError:
        where = f" to {one_line(location, 80)}" if location else ""
        return ModelError(
            ModelErrorKind.SERVER,
            f"{self._address.display} redirects{where}; a conversation does not follow redirects.",
            "If you trust that address, set OLLAMA_HOST or ollama.host to it.",
            f"HTTP {status}",
        )

    def _missing(self, words: Words) -> ModelError:
        if not words.is_json:
            return ModelError(
                ModelErrorKind.SERVER,
                f"What answers at {self._address.url} is no Ollama server.",
                "Check OLLAMA_HOST or ollama.host.",
                one_line(words.text, 500),
            )
        return no_model(self._model, words.text)

    def _refused(self, status: int, words: Words) -> ModelError:
        if words.signin_url:
            return ModelError(
                ModelErrorKind.UNAUTHORIZED,
                f"{self._name} runs in Ollama's cloud, and this server is not signed in.",
                f"Sign in with: ollama signin, or open {one_line(words.signin_url, 500)}",
                words.text,
            )
        return ModelError(
            ModelErrorKind.UNAUTHORIZED,
            self._said(f"The server at {self._address.display} refuses this request", words, status),
            "" if words.text else "It may accept only certain host names: set OLLAMA_HOST to its IP address.",
            words.text,
        )

    def _busy(self, status: int, words: Words) -> ModelError:
        return ModelError(
            ModelErrorKind.BUSY,
            self._said("The server takes no more requests for now", words, status),
            "Wait a little, and try again with /retry.",
            words.text,
        )

    def _other(self, status: int, words: Words) -> ModelError:
        if not words.text:
            line = f"The server at {self._address.display} failed (HTTP {status}) and gave no reason."
            return ModelError(ModelErrorKind.SERVER, line, "Look at its log, and try again with /retry.")
        line = self._said("The server refused", words, status)
        return ModelError(ModelErrorKind.SERVER, line, "Try again with /retry.", words.text)

    def _by_words(self, text: str) -> ModelError | None:
        """Failures that only their words tell apart."""
        if "does not support thinking" in text:
            kind, line = ModelErrorKind.NO_THINKING, f"{self._name} can't think aloud."
            return ModelError(kind, line, "Unset model.thinking.", text)
        if "does not support tools" in text:
            kind, line = ModelErrorKind.NO_TOOLS, f"{self._name} can't call tools."
            return ModelError(kind, line, "Choose another model with /model.", text)
        if "does not support chat" in text or "does not support generate" in text:
            line = f"{self._name} is no model to chat with."
            return ModelError(ModelErrorKind.SERVER, line, "Choose another model with /model.", text)
        if "invalid think value" in text or "think must be" in text:
            line = "The server does not know this level of thinking."
            return ModelError(ModelErrorKind.SERVER, line, "Set model.thinking to true or false.", text)
        if text.startswith("option "):
            line = f"The server refuses an option: {one_line(text, _WORDS)}."
            return ModelError(ModelErrorKind.SERVER, line, "Mend it in model.options.", text)
        if _OVERFLOW.search(text):
            return _overflow(text)
        if _MEMORY.search(text):
            line = f"{self._name} does not fit into the server's memory."
            return ModelError(ModelErrorKind.NO_MEMORY, line, _SMALLER, text)
        if _BAD_CALL.search(text):
            line = f"{self._name} wrote a tool call that the server can't read."
            return ModelError(ModelErrorKind.MALFORMED, line, "Try again with /retry.", text)
        if _RUNNER.search(text):
            line = f"The process that runs {self._name} has died, often for lack of memory."
            return ModelError(ModelErrorKind.SERVER, line, _SMALLER, text)
        return None

    @property
    def _name(self) -> str:
        return one_line(self._model, 80) or "The model"

    def _said(self, what: str, words: Words, status: int | None = None) -> str:
        number = f" (HTTP {status})" if status else ""
        said = one_line(words.text, _WORDS)
        return f"{what}{number}: {said}" if said else f"{what}{number}."


_NAME = 200
"""Characters above which a name is no name that a server would know."""
_SMALLER = "Choose a smaller model with /model, or set a smaller ollama.num_ctx."


def no_model(name: str, raw: str = "") -> ModelError:
    """The server does not have this model."""
    return ModelError(
        ModelErrorKind.NO_MODEL,
        f"The server has no model named {one_line(name, 80)}.",
        f"Get it with: ollama pull {quoted(name)}" if len(name) <= _NAME else "",
        raw,
    )


def closed(address: ServerAddress) -> ModelError:
    """The backend was closed, so nothing is sent any more."""
    line = f"The connection to {address.display} is closed."
    return ModelError(ModelErrorKind.UNREACHABLE, line, "Start the program again.")


def cut_off(raw: str = "") -> ModelError:
    """The reply ended before its end."""
    return ModelError(
        ModelErrorKind.CUT_OFF,
        "The reply broke off: the server ended it in the middle.",
        "What arrived is kept. Try again with /retry.",
        raw,
    )


def _overflow(text: str) -> ModelError:
    counts = _TOKENS.findall(text)
    sizes = f" ({int(counts[0]):,} tokens of {int(counts[1]):,})" if len(counts) == 2 else ""
    return ModelError(
        ModelErrorKind.CONTEXT_OVERFLOW,
        f"The conversation is too long for the model's window{sizes}.",
        "Start a new one with /new, or set a larger ollama.num_ctx.",
        text,
    )


def _causes(error: BaseException) -> list[BaseException]:
    found: list[BaseException] = []
    current: BaseException | None = error
    while current is not None and current not in found:
        found.append(current)
        current = current.__cause__ or current.__context__
    return found
