"""The log file: private, late, bounded, silent about texts."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from pathlib import Path

import pytest

from local_agent.config.logs import MAX_BYTES, start_logging
from local_agent.config.paths import Paths


@pytest.fixture
def paths(home: Path) -> Iterator[Paths]:
    root = logging.getLogger()
    before, level = list(root.handlers), root.level
    yield Paths.discover()
    for handler in [handler for handler in root.handlers if handler not in before]:
        root.removeHandler(handler)
        handler.close()
    root.setLevel(level)
    logging.captureWarnings(False)


def _fail(secret: str) -> None:
    try:
        raise KeyError(secret)
    except KeyError as error:
        raise RuntimeError(f"about {secret}") from error


def _log_a_failure(secret: str) -> None:
    try:
        _fail(secret)
    except RuntimeError:
        logging.getLogger("local_agent.test").exception("a turn failed")


def test_nothing_exists_before_the_first_line(paths: Paths) -> None:
    start_logging(paths, {})
    assert not paths.home.exists()
    logging.getLogger("local_agent.test").info("first\nsecond \x1b[31m")
    (line,) = paths.log_file.read_text().splitlines()
    assert line.endswith("INFO local_agent.test: first second ␛[31m")
    assert paths.log_file.stat().st_mode & 0o777 == 0o600
    for folder in (paths.logs, paths.home, paths.home.parent):
        assert folder.stat().st_mode & 0o777 == 0o700


def test_a_traceback_keeps_the_words_of_exceptions_to_itself(paths: Paths) -> None:
    start_logging(paths, {})
    _log_a_failure("a private sentence")
    text = paths.log_file.read_text()
    assert "builtins.RuntimeError, raised in:" in text
    assert "builtins.KeyError, raised in:" in text
    assert "in _fail" in text
    assert "a private sentence" not in text


def test_the_detailed_log_tells_all(paths: Paths) -> None:
    start_logging(paths, {"LOCAL_AGENT_LOG": "debug"})
    _log_a_failure("a private sentence")
    logging.getLogger("local_agent.test").debug("small thing")
    text = paths.log_file.read_text()
    assert "RuntimeError: about a private sentence" in text
    assert "small thing" in text


def test_the_log_is_bounded(paths: Paths) -> None:
    start_logging(paths, {})
    logger = logging.getLogger("local_agent.test")
    for _ in range(60):
        logger.info("x" * 100_000)
    files = sorted(paths.logs.iterdir())
    assert [file.name for file in files] == [
        "local-agent.log", "local-agent.log.1", "local-agent.log.2", "local-agent.log.3",
    ]  # fmt: skip
    assert all(file.stat().st_size < MAX_BYTES + 200_000 for file in files)
    assert all(file.stat().st_mode & 0o777 == 0o600 for file in files)


def test_a_log_that_cannot_be_written_disturbs_nobody(
    paths: Paths, capfd: pytest.CaptureFixture[str]
) -> None:
    paths.home.parent.mkdir(parents=True)
    paths.home.write_text("")
    start_logging(paths, {})
    logging.getLogger("local_agent.test").error("lost")
    assert capfd.readouterr().err == ""
