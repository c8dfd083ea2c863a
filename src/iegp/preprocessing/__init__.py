"""From columns of records (numbers, categories, times, missing values) to rows of numbers."""

from __future__ import annotations

from typing import TYPE_CHECKING as _TYPE_CHECKING

from iegp._imports import lazy_names as _lazy_names

if _TYPE_CHECKING:
    from iegp.preprocessing.stream_encoder import StreamEncoder

__all__ = ["StreamEncoder"]

# The command does not need scikit-learn to begin.
__getattr__ = _lazy_names(__name__, {"StreamEncoder": "iegp.preprocessing.stream_encoder"})


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
