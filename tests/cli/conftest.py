"""A project folder to run in."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.ollama_server import OllamaServer


@pytest.fixture
def project(tmp_path: Path, home: Path, server: OllamaServer, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a home beside it and the scripted server as Ollama."""
    monkeypatch.setenv("OLLAMA_HOST", server.url)
    folder = tmp_path / "a project"
    folder.mkdir()
    return folder.resolve()
