"""Bytes as people read them."""

from __future__ import annotations


def size_words(size: int) -> str:
    """In decimal units, as model pages give them: ``812 B``, ``93 MB``, ``2.6 GB``."""
    amount = float(size)
    for unit in ("B", "kB", "MB", "GB"):
        if amount < 999.5:
            return f"{amount:.0f} {unit}" if unit in ("B", "kB") or amount >= 10 else f"{amount:.1f} {unit}"
        amount /= 1000
    return f"{amount:.1f} TB"
