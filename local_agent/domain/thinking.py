"""How much a model is to think; apart from what is known of models, for settings are read before all else."""

from __future__ import annotations

from typing import Literal

Thinking = bool | Literal["low", "medium", "high"]
"""On, off, or a level for models that think in levels."""
