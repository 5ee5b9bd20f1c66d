"""The engine itself: its loopback port, its silence, and what is said where it is missing."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest

from local_agent.llm.engine import Engine
from tests.support.model import small_model

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def engine() -> Iterator[Engine]:
    yield Engine(small_model(), window=512, threads=1)


def status_of(engine: Engine, path: str, body: object = None) -> int:
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(
        engine.listening_address + path, data, {"Content-Type": "application/json"}
    )
    try:
        with urllib.request.urlopen(request, timeout=20) as answer:
            return int(answer.status)
    except urllib.error.HTTPError as error:
        return error.code


@pytest.mark.engine
@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("/v1/chat/completions", {"messages": [{"role": "user", "content": "Hi"}], "max_tokens": 1}),
        ("/completion", {"prompt": "Hi", "n_predict": 1}),
        ("/tokenize", {"content": "Hi"}),
        ("/apply-template", {"messages": [{"role": "user", "content": "Hi"}]}),
        ("/slots", None),
        ("/props", None),
    ],
)
def test_nobody_else_may_use_the_port(engine: Engine, path: str, body: object) -> None:
    assert engine.listening_address.startswith("http://127.0.0.1:")
    assert status_of(engine, path, body) == 401


@pytest.mark.engine
def test_the_program_itself_may(engine: Engine) -> None:
    chunks: list[object] = []
    body = {"messages": [{"role": "user", "content": "Hi"}], "max_tokens": 1, "stream": True}

    def keep(chunk: object) -> bool:
        chunks.append(chunk)
        return False

    engine.chat(body, keep)
    assert chunks


LOAD_BADLY = """
import sys
from pathlib import Path
from local_agent.domain.errors import ModelError
from local_agent.llm.engine import Engine
try:
    Engine(Path(sys.argv[2]), 512)
except ModelError:
    pass
else:
    sys.exit(3)
engine = Engine(Path(sys.argv[1]), 512, threads=1)
body = {"messages": [{"role": "user", "content": "Hi"}], "max_tokens": 3, "stream": True}
engine.chat(body, lambda chunk: False)
"""


@pytest.mark.engine
def test_nothing_is_written_on_the_terminal(tmp_path: Path) -> None:
    damaged = tmp_path / "damaged.gguf"
    damaged.write_bytes(small_model().read_bytes()[: 10**7])
    run = run_child(LOAD_BADLY, str(small_model()), str(damaged))
    assert (run.returncode, run.stdout, run.stderr) == (0, "", "")


@pytest.mark.parametrize(
    ("obstacle", "said"),
    [
        # What the import system itself does for a name that is None, and for a broken library file.
        ("sys.modules['xllamacpp'] = None", "The embedded engine (xllamacpp) is not installed."),
        ("sys.path.insert(0, sys.argv[1])", "is installed but does not start on this machine."),
    ],
)
def test_a_library_that_is_missing_or_broken(tmp_path: Path, obstacle: str, said: str) -> None:
    package = tmp_path / "xllamacpp"
    package.mkdir()
    (package / "__init__.py").write_text("from . import native\n")
    (package / "native.abi3.so").write_bytes(b"not a library")
    run = run_child(
        f"import sys; {obstacle}\n"
        "from pathlib import Path\n"
        "from local_agent.llm.engine import Engine\n"
        "try:\n    Engine(Path('any.gguf'), 512)\n"
        "except Exception as error:\n    sys.stdout.write(str(error))",
        str(tmp_path),
    )
    assert said in run.stdout
    assert "\n" not in run.stdout


def run_child(code: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", code, *arguments],
        env=os.environ | {"PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
