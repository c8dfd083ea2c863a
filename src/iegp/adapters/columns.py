"""From dictionaries and data frames to rows of numbers: the column of each feature.

Features are identified by name and may appear and vanish. A feature that a row does not have is a gap (NaN), for which
the core uses the centre of its column.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from iegp.core.column_keys import FIRST_NAMED, column_key
from iegp.errors import InputError
from iegp.labels import NUMBER_KINDS, as_float
from iegp.typing import Float

if TYPE_CHECKING:
    import pandas as pd


class _NoFeature:
    """The only column of a model whose first row had no features: a name that no feature has."""

    def __repr__(self) -> str:
        return "no feature"


class Columns:
    """The features in the order of their columns. Immutable: :meth:`with_names` makes a new object."""

    def __init__(self, names: tuple[Hashable, ...] = ()) -> None:
        self.names = names
        self._places = {name: place for place, name in enumerate(names)}

    @property
    def keys(self) -> tuple[int, ...]:
        """Identifiers of the columns in the core."""
        return tuple(column_key(name) for name in self.names)

    def with_names(self, new: Iterable[Hashable]) -> Columns:
        """Add columns; those of one row are sorted, because the order of a dictionary has no meaning."""
        return Columns((*self.names, *sorted(new, key=_sorted_by)) or (_NoFeature(),))

    def read_row(self, x: Mapping[Hashable, Any]) -> tuple[Float, list[Hashable]]:
        """A dictionary as a row (1, d), and the features that have no column yet. Every value is checked."""
        if isinstance(x, dict) and len(x) == len(self.names):
            # Fast path, for a row with the same features as the rows before.
            try:
                values = np.array([[x[name] for name in self.names]])
            except (KeyError, ValueError):
                return self._read_slowly(x)
            if values.dtype.kind in NUMBER_KINDS and values.ndim == 2 and math.isfinite(values.sum()):
                return values.astype(np.float64, copy=False), []
        return self._read_slowly(x)

    def _read_slowly(self, x: Mapping[Hashable, Any]) -> tuple[Float, list[Hashable]]:
        if not isinstance(x, Mapping):
            raise InputError(
                f"x is {x!r:.80}, but a row is a dictionary from features to numbers, such as {{'a': 1.0}}"
            )
        row, new = np.full((1, len(self.names)), np.nan), []
        for name, value in x.items():
            number = _number(value, f"feature {name!r}")
            place = self._places.get(name)
            if place is None:
                new.append(name)
            else:
                row[0, place] = number
        return row, new

    def read_frame(self, X: pd.DataFrame) -> tuple[Float, list[Hashable]]:
        """A data frame as rows (n, d), and the features that have no column yet. Every value is checked."""
        if not hasattr(X, "iloc"):
            raise InputError(f"X is a {type(X).__name__}; pass a pandas.DataFrame, or dictionaries one by one")
        names = list(X.columns)
        if len(set(names)) != len(names):
            twice = next(name for name in names if names.count(name) > 1)
            raise InputError(f"X has two columns called {twice!r}; rename one, or drop it. The model is unchanged.")
        rows, new = np.full((len(X), len(self.names)), np.nan), []
        for j, name in enumerate(names):
            column = _numbers(X.iloc[:, j].to_numpy(), f"feature {name!r}")
            place = self._places.get(name)
            if place is None:
                new.append(name)
            else:
                rows[:, place] = column
        return rows, new


def _sorted_by(name: Hashable) -> tuple[bool, int, str]:
    """Numbers by size, then all other names by their text."""
    key = column_key(name)
    return (False, key, "") if key < FIRST_NAMED else (True, 0, str(name))


def _numbers(values: Any, name: str) -> Float:
    """A column of a data frame as finite numbers."""
    if values.dtype.kind in NUMBER_KINDS and np.isfinite(values).all():
        return np.asarray(values, dtype=np.float64)
    return np.array([_number(value, f"{name} of row {row}") for row, value in enumerate(values)], dtype=np.float64)


def _number(value: Any, name: str) -> float:
    """A finite number, or an error that names the feature and suggests a remedy."""
    number = as_float(value)
    if number is None:
        raise InputError(
            f"{name} is {value!r:.80}, which is not a number. Encode text first (for example with "
            "river.preprocessing.OneHotEncoder) or leave the feature out (river.compose.Discard). The model is "
            "unchanged."
        )
    if math.isnan(number):
        raise InputError(
            f"{name} is NaN. Leave a feature that is missing out of the row, and it counts as the centre of its "
            "column; or fill it in (for example with river.preprocessing.StatImputer). The model is unchanged."
        )
    if math.isinf(number):
        raise InputError(f"{name} is infinite. Clip it, or leave it out of the row; the model is unchanged.")
    return number
