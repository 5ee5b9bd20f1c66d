"""A machine with a scripted Ollama for every test that runs the program in a terminal."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.machine import Machine
from tests.support.ollama_server import OllamaServer


@pytest.fixture
def machine(tmp_path: Path, server: OllamaServer) -> Machine:
    """A person's machine whose Ollama is the scripted server."""
    return Machine.make(tmp_path, server.url)
