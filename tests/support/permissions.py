"""Makes modes of files bind for everybody: root, who would go past them, gives that power up for a while."""

from __future__ import annotations

import ctypes
import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

T = TypeVar("T")

BOUND_BY_MODES = """
import ctypes, os, sys
libc = ctypes.CDLL(None, use_errno=True)
if os.geteuid() == 0 and any(libc.prctl(24, number, 0, 0, 0) for number in (1, 2)):
    sys.exit("root can't be bound by modes here")
os.execv(sys.executable, [sys.executable, *sys.argv[1:]])
"""
"""For ``python -c``: becomes ``python`` with the arguments that follow (24: PR_CAPBSET_DROP)."""

_OVERRIDES = (1 << 1) | (1 << 2)
"""CAP_DAC_OVERRIDE and CAP_DAC_READ_SEARCH."""
_VERSION_3 = 0x20080522


class _Header(ctypes.Structure):
    _fields_ = (("version", ctypes.c_uint32), ("pid", ctypes.c_int))


class _Sets(ctypes.Structure):
    _fields_ = (
        ("effective", ctypes.c_uint32),
        ("permitted", ctypes.c_uint32),
        ("inheritable", ctypes.c_uint32),
    )


def bound_by_modes(work: Callable[[], T]) -> T:
    """Run ``work`` on a thread that, with those it starts, can write nothing without a write bit."""
    with ThreadPoolExecutor(1, initializer=_give_up) as pool:
        return pool.submit(work).result()


def _give_up() -> None:
    """Powers belong to a thread: the others keep theirs."""
    if os.geteuid() != 0:
        return
    libc = ctypes.CDLL(None, use_errno=True)
    header, sets = _Header(_VERSION_3, 0), (_Sets * 2)()
    if libc.capget(ctypes.byref(header), sets):
        raise OSError(ctypes.get_errno(), "root can't be bound by modes here")
    sets[0].effective &= ~_OVERRIDES
    sets[0].permitted &= ~_OVERRIDES
    if libc.capset(ctypes.byref(header), sets):
        raise OSError(ctypes.get_errno(), "root can't be bound by modes here")
