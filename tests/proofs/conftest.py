"""What a proof found is told at the end of the run, so that the numbers can be read without a rerun."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.conftest import PROVEN


@pytest.fixture
def proven(record_property: Callable[[str, object], None]) -> Callable[[str], None]:
    """Tell what a proof counted, in one line: ``proven("200 kills, no settled entry missing")``."""
    return lambda line: record_property(PROVEN, line)
