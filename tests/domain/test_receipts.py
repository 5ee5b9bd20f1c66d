"""Receipts are read as they were written, also those of earlier versions."""

from __future__ import annotations

import json
from dataclasses import asdict

import pytest

from local_agent.domain.changed import changed_files
from local_agent.domain.executions import bounded, receipt_of
from local_agent.domain.ledger import Execution, Receipt
from local_agent.domain.tools import UNKNOWN, Effect, FileChange, Sizes

WHOLE = Receipt("ok", "exit 0", 0, 1.5, sizes=(Sizes(None, 3, True), Sizes(7, None, False)), unscanned="why")


def test_what_is_known_of_files_comes_back() -> None:
    detail = json.loads(json.dumps(asdict(bounded(WHOLE, "text"))))

    assert receipt_of(detail) == bounded(WHOLE, "text")


def test_a_receipt_of_an_earlier_version_knows_nothing_of_files() -> None:
    detail = {name: value for name, value in asdict(WHOLE).items() if name not in ("sizes", "unscanned")}
    receipt = receipt_of(detail)

    assert receipt is not None and (receipt.sizes, receipt.unscanned) == ((), "")


@pytest.mark.parametrize("sizes", [None, 7, "ab", [[1, 2]], [[1, 2, True], ["1", 2, True]], [{}]])
def test_sizes_that_nobody_wrote_are_none(sizes: object) -> None:
    receipt = receipt_of({**asdict(WHOLE), "sizes": sizes})

    assert receipt is not None and receipt.sizes == ()


def test_a_file_that_nobody_read_is_not_as_it_was() -> None:
    def made(change: FileChange, sizes: tuple[Sizes, ...]) -> Execution:
        receipt = Receipt("ok", sizes=sizes)
        return Execution("e", 1, 1, 1, 0, "bash", {}, Effect.EFFECTFUL, receipt=receipt, changes=(change,))

    change = FileChange("a", "changed", UNKNOWN, UNKNOWN)
    noted = made(change, (Sizes(1, 2, False),)), made(change, (Sizes(2, 9, True),))
    (file,) = changed_files(noted)
    assert (file.kind, file.sizes) == ("changed", Sizes(1, 9, False))
    assert [each.sizes for each in changed_files([*noted, made(change, ())])] == [None]
