"""Child process: fetch the demo model, say each new stage, and die at a named one if told to."""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path

from local_agent.domain.errors import LocalAgentError
from local_agent.llm.demo import DemoProgress, fetch_now


def main(cache: Path, die_at: str) -> int:
    """Exit code 1 with the error's line for a failure."""
    seen = ""

    def show(progress: DemoProgress) -> None:
        nonlocal seen
        if progress.stage.name != seen:
            seen = progress.stage.name
            sys.stdout.write(f"{seen}\n")
            sys.stdout.flush()
        if progress.stage.name == die_at and progress.done > 10**6:
            os.kill(os.getpid(), signal.SIGKILL)

    try:
        sys.stdout.write(f"{fetch_now(cache, show)}\n")
    except LocalAgentError as error:
        sys.stdout.write(f"{error}\n")
        return 1
    return 0


sys.exit(main(Path(sys.argv[1]), sys.argv[2] if len(sys.argv) > 2 else ""))
