"""One loaded model in this process: the only module that touches xllamacpp. Everything here blocks."""

from __future__ import annotations

import contextlib
import os
import secrets
from collections.abc import Callable, Mapping
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from local_agent.domain.errors import ModelError, ModelErrorKind

# The engine looks at a stop between batches only: 128 tokens are 0.1 s of a small model.
_BATCH = 128
# Copies of other conversations' prompts; the library's own limit is 8 GiB.
_PROMPT_CACHE_MIB = 512
_READ_AHEAD = 4 << 20


def read_ahead(path: Path, stopping: Callable[[], bool]) -> None:
    """Bring the file into the system's cache, so that loading it is short.

    The library holds the interpreter's lock while it loads: the screen would stand still for as long as
    the disk takes. Reading here leaves it free, and can be stopped. A read error shows when it is loaded.
    """
    buffer = bytearray(_READ_AHEAD)
    with contextlib.suppress(OSError), path.open("rb", buffering=0) as file:
        while not stopping() and file.readinto(buffer):
            pass


class Engine:
    """A GGUF file in memory with a context window of ``window`` tokens."""

    def __init__(self, path: Path, window: int, threads: int | None = None) -> None:
        """Load the model; raises ``ModelError``."""
        self.window = window
        library = _library()
        parameters = library.CommonParams()
        parameters.model.path = str(path)
        parameters.n_ctx = window
        parameters.n_batch = parameters.n_ubatch = _BATCH
        parameters.n_parallel = 1
        parameters.warmup = False
        parameters.cache_ram_mib = _PROMPT_CACHE_MIB
        if threads is not None:
            parameters.cpuparams.n_threads = parameters.cpuparams_batch.n_threads = threads
        # Looking how much of the model fits costs a second load, and tells nothing without a GPU.
        parameters.fit_params = _has_gpu(library)
        # It logs to the terminal, over the screen.
        parameters.verbosity = 0
        # It opens a port on loopback that we don't use: nobody else may either.
        parameters.api_keys = [secrets.token_hex(32)]
        parameters.ui = parameters.endpoint_slots = parameters.endpoint_props = False
        try:
            self._server = library.Server(parameters)
        except RuntimeError as error:
            raise ModelError(
                ModelErrorKind.ENGINE,
                f"The engine could not load {path.name} with a window of {window} tokens.",
                "Try a smaller context window; if that fails too, the file is damaged or of an unknown kind.",
                raw=str(error),
            ) from error

    @property
    def listening_address(self) -> str:
        """The loopback URL that the engine opens by itself."""
        return str(self._server.listening_address)

    def chat(self, body: Mapping[str, object], on_chunk: Callable[[Any], bool]) -> None:
        """Run one completion; ``on_chunk`` must not raise, and stops the engine by returning True."""
        self._server.handle_chat_completions(dict(body), on_chunk)


def library_version() -> str:
    """Version of the engine's library, without loading it; raises ``ModelError`` when it is not there."""
    try:
        return version("xllamacpp")
    except PackageNotFoundError as error:
        raise _not_installed(error) from error


def _has_gpu(library: Any) -> bool:
    kinds = library.ggml_backend_dev_type
    gpus = (kinds.GGML_BACKEND_DEVICE_TYPE_GPU, kinds.GGML_BACKEND_DEVICE_TYPE_IGPU)
    return any(device["type"] in gpus for device in library.get_device_info())


def _library() -> Any:
    # Before it aborts it would start a debugger that writes to the terminal.
    os.environ.setdefault("GGML_NO_BACKTRACE", "1")
    try:
        import xllamacpp
    except ModuleNotFoundError as error:
        raise _not_installed(error) from error
    except ImportError as error:
        raise ModelError(
            ModelErrorKind.ENGINE,
            "The embedded engine (xllamacpp) is installed but does not start on this machine.",
            "Use a build of xllamacpp for this system, or Ollama.",
            raw=str(error),
        ) from error
    return xllamacpp


def _not_installed(error: ImportError) -> ModelError:
    return ModelError(
        ModelErrorKind.ENGINE,
        "The embedded engine (xllamacpp) is not installed.",
        "Install it with: pip install 'local-agent[embedded]'",
        raw=str(error),
    )
