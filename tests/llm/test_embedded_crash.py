"""A native crash in mid-reply, in a real process, and what the next start says of it."""

from __future__ import annotations

import os
import signal
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from local_agent.llm.crash import engine_crash_report, engine_marker
from tests.support.model import small_model

CHILD = Path(__file__).with_name("crash_in_mid_reply.py")
MODEL = "SmolLM2-135M-Instruct.Q4_1"


def start(marker: Path, how: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, str(CHILD), str(small_model()), str(marker), how],
        env=os.environ | {"PYTHONPATH": str(CHILD.parents[2])},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


@pytest.mark.engine
@pytest.mark.parametrize(
    ("how", "code", "sentence"),
    [
        ("abort", -signal.SIGABRT, f"The engine crashed while running {MODEL} (Aborted)."),
        ("kill", -signal.SIGKILL, f"The program was killed while the engine was running {MODEL}."),
    ],
)
def test_the_next_start_says_what_happened_once(tmp_path: Path, how: str, code: int, sentence: str) -> None:
    marker = tmp_path / "engine.json"
    with start(marker, how) as child:
        out, err = child.communicate(timeout=60)
    assert (child.returncode, out.strip()) == (code, "writing")
    assert err == "", "nothing may draw over the screen"

    report = engine_crash_report(marker)
    assert report is not None and report.startswith(sentence)
    assert engine_crash_report(marker) is None
    assert list(tmp_path.iterdir()) == []


@pytest.mark.engine
def test_a_process_that_still_works_has_not_crashed(tmp_path: Path) -> None:
    marker = tmp_path / "engine.json"
    with start(marker, "wait") as child:
        assert child.stdout is not None
        assert child.stdout.readline().strip() == "writing"
        (kept,) = tmp_path.iterdir()
        assert stat.S_IMODE(kept.stat().st_mode) == 0o600
        assert engine_crash_report(marker) is None
        assert kept.exists()
        child.communicate("\n", timeout=60)
    assert child.returncode == 0
    assert list(tmp_path.iterdir()) == []


def test_work_that_ends_leaves_no_marker(tmp_path: Path) -> None:
    marker = tmp_path / "engine.json"
    with engine_marker(marker, MODEL):
        assert len(list(tmp_path.iterdir())) == 1
    with pytest.raises(ValueError), engine_marker(marker, MODEL):
        raise ValueError
    assert list(tmp_path.iterdir()) == []
    assert engine_crash_report(marker) is None


def test_a_damaged_marker_is_told_in_general_words(tmp_path: Path) -> None:
    (tmp_path / "engine-1.json").write_bytes(b"\xff{not json")
    report = engine_crash_report(tmp_path / "engine.json")
    assert report is not None and "running a model" in report


def test_without_a_folder_the_engine_works_unmarked(tmp_path: Path) -> None:
    with engine_marker(tmp_path / "gone" / "engine.json", MODEL):
        assert engine_crash_report(tmp_path / "gone" / "engine.json") is None
