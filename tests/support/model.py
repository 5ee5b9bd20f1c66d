"""The real small model that engine tests run on."""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from local_agent.llm.demo import fetch_now

_REPOSITORY = Path(__file__).parents[2]


def model_cache() -> Path:
    """``LOCAL_AGENT_TEST_CACHE``, or ``.ci/cache`` of the repository."""
    return Path(os.environ.get("LOCAL_AGENT_TEST_CACHE") or _REPOSITORY / ".ci" / "cache")


def small_model() -> Path:
    """Path of SmolLM2-135M-Instruct, fetched on first use; a model that can't be had fails the test."""
    # A thread of its own, because the caller may be running an event loop.
    with ThreadPoolExecutor(1) as thread:
        return thread.submit(fetch_now, model_cache(), lambda _: None).result()
