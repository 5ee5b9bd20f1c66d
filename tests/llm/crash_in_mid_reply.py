"""Child process: the engine aborts (or the process is killed) while it writes a reply."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
import threading
from pathlib import Path

from local_agent.domain.ports import ChatRequest, TextPart
from local_agent.domain.requests import Message
from local_agent.llm.embedded import EmbeddedBackend


async def main(model: Path, marker: Path, how: str) -> None:
    """Stream until text comes, then end as ``how`` says, from another thread as native code would."""
    backend = EmbeddedBackend(model, threads=1, crash_marker=marker)
    request = ChatRequest(backend.model, (Message("user", "Tell a long story."),), 2048, 1000)
    async for part in backend.stream(request):
        if isinstance(part, TextPart):
            sys.stdout.write("writing\n")
            sys.stdout.flush()
            if how == "abort":
                threading.Thread(target=os.abort).start()
            elif how == "kill":
                os.kill(os.getpid(), signal.SIGKILL)
            elif how == "wait":
                await asyncio.to_thread(sys.stdin.readline)
                break
    await backend.close()


asyncio.run(main(Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3]))
