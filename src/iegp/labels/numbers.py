"""Labels that are numbers: targets and counts, with exposures and weights of rows."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from iegp.core.compute.tolerances import LARGEST_WEIGHT
from iegp.core.weighted import Weighted
from iegp.errors import InputError, ModelFileError
from iegp.labels.values import NUMBER_KINDS, as_float, as_numbers, require_finite
from iegp.typing import Float


@dataclass(frozen=True)
class NumberLabels:
    """Numbers: one per row, or ``n_outputs`` per row where y has columns (``single_output=False``)."""

    n_outputs: int = 1
    single_output: bool = True

    @classmethod
    def of(cls, y: Float) -> NumberLabels:
        """The codec of a model that starts with these labels, (n,) or (n, D)."""
        return cls(1, True) if y.ndim == 1 else cls(y.shape[1], False)

    def encode(self, y: Iterable[Any]) -> Float:
        """Check labels and give them to the core.

        Parameters
        ----------
        y : sequence of numbers (n,), or array (n, n_outputs)
            An entry that is not a finite number is an error that names its row.

        Returns
        -------
        ndarray (n, n_outputs)
            C-contiguous float64.
        """
        values = as_numbers(y)
        if values.shape[1:] != (() if self.single_output else (self.n_outputs,)):
            before = "one-dimensional" if self.single_output else f"of {self.n_outputs} columns"
            raise InputError(f"y has shape {values.shape}, but the model has learned y {before}; keep its shape")
        columns = np.ascontiguousarray(values.reshape(len(values), self.n_outputs))
        require_finite(columns)
        return columns

    def encode_unchecked(self, y: ArrayLike) -> Float:
        """As :meth:`encode` without checks, for float64 arrays of the right shape."""
        return np.asarray(y).reshape(len(np.asarray(y)), self.n_outputs)

    def to_config(self) -> dict[str, Any]:
        """Plain data, ready for JSON."""
        return {"single_output": self.single_output}

    @classmethod
    def from_config(cls, config: Mapping[str, Any], n_outputs: int) -> NumberLabels:
        """The inverse, for a model of so many outputs."""
        single = config["single_output"]
        if type(single) is not bool or (single and n_outputs != 1):
            raise ModelFileError(f"single_output is {single!r} with {n_outputs} outputs")
        return cls(n_outputs, single)


@dataclass(frozen=True)
class CountLabels:
    """Numbers from zero up, each with an exposure: the time, area or population over which it was counted."""

    has_exposure: bool = False
    """Whether exposures were given when the model started; they are then missed where they are forgotten."""
    allows_negative: bool = False
    """Whether y may be negative: it is then the likelihood that says which numbers are labels."""

    n_outputs = 1
    single_output = True

    def encode(self, y: Iterable[Any], exposure: ArrayLike | None = None) -> Float:
        """Check counts and exposures and give them to the core.

        Parameters
        ----------
        y : sequence of numbers (n,)
            An entry that is negative or not a finite number is an error that names its row.
        exposure : array (n,), number or None
            Positive; one for all rows if not given.

        Returns
        -------
        ndarray (n, 2)
            Counts and exposures.
        """
        self._require_exposure(exposure)
        counts = NumberLabels().encode(y)[:, 0]
        negative = np.flatnonzero(counts < 0.0)
        if len(negative) and not self.allows_negative:
            row = int(negative[0])
            raise InputError(
                f"Negative values in data: y has {counts[row]:g} at row {row}, but a count cannot be negative. For "
                "numbers of either sign use IEGPRegressor (in River RiverRegressor); the model is unchanged."
            )
        return np.column_stack([counts, as_exposure(exposure, len(counts))])

    def encode_unchecked(self, y: ArrayLike, exposure: ArrayLike | None = None) -> Float:
        """As :meth:`encode` without checks of values, for float64 arrays (n,)."""
        self._require_exposure(exposure)
        counts = np.asarray(y, dtype=np.float64)
        return np.column_stack([counts, np.ones(len(counts)) if exposure is None else np.asarray(exposure)])

    def _require_exposure(self, exposure: ArrayLike | None) -> None:
        if exposure is None and self.has_exposure:
            raise InputError(
                "exposure is missing, but this model has learned with exposures; give them for these rows too (1.0 if "
                "that is what they had); the model is unchanged"
            )

    def to_config(self) -> dict[str, Any]:
        """Plain data, ready for JSON."""
        return {"has_exposure": self.has_exposure}

    @classmethod
    def from_config(cls, config: Mapping[str, Any], n_outputs: int) -> CountLabels:
        """The inverse."""
        del n_outputs
        if type(config["has_exposure"]) is not bool:
            raise ModelFileError(f"has_exposure is {config['has_exposure']!r}")
        return cls(config["has_exposure"])


def as_exposure(exposure: ArrayLike | None, n: int) -> Float:
    """Exposures (n,), ones if not given; each must be positive and finite."""
    if exposure is None:
        return np.ones(n)
    shares = _one_per_row(exposure, n, "exposure", "positive number")
    wrong_rows = np.flatnonzero(~(np.isfinite(shares) & (shares > 0.0)))
    if len(wrong_rows):
        row = int(wrong_rows[0])
        raise InputError(
            f"exposure has {shares[row]} at row {row}; it must be a positive finite number, the time or amount over "
            "which the row was counted. Drop rows without exposure; the model is unchanged."
        )
    return shares


def weighted(columns: Float, sample_weight: ArrayLike | None, name: str = "sample_weight") -> Float | Weighted:
    """Labels (n, ...) for the core with the weights of their rows; without these if all count alike.

    Parameters
    ----------
    columns : ndarray (n, ...)
        Encoded labels.
    sample_weight : array-like (n,), number or None
        From 0 to 1e15; anything else is an error that names the value and its row.
    name : str
        What the caller calls it, for messages.

    Returns
    -------
    ndarray or Weighted
        ``columns`` themselves if no weight differs from one.
    """
    if sample_weight is None:
        return columns
    weights = _one_per_row(sample_weight, len(columns), name, "number from 0 up")
    wrong_rows = np.flatnonzero(~((weights >= 0.0) & (weights <= LARGEST_WEIGHT)))
    if len(wrong_rows):
        row = int(wrong_rows[0])
        raise InputError(
            f"{name} has {weights[row]} at row {row}; it must be a finite number, 0 or larger, up to "
            f"{LARGEST_WEIGHT:g}: 0 for a row that is predicted and not learned. The model is unchanged."
        )
    return columns if (weights == 1.0).all() else Weighted(columns, weights)


def _one_per_row(given: ArrayLike, n: int, name: str, wanted: str) -> Float:
    """Numbers (n,); one number stands for all rows."""
    if isinstance(given, np.ma.MaskedArray) and np.ma.is_masked(given):
        row = int(np.flatnonzero(np.ma.getmaskarray(given))[0])
        raise InputError(f"{name} is masked at row {row}; give one {wanted} per row, or drop the row")
    values = np.asarray(given)
    if values.dtype.kind not in NUMBER_KINDS:
        wrong = next((value for value in values.ravel().tolist() if as_float(value) is None), given)
        raise InputError(f"{name} has {wrong!r:.80}, which is not a number; give one {wanted} per row")
    if values.ndim == 0:
        values = np.full(n, values)
    if values.shape != (n,):
        raise InputError(f"there are {n} rows, but {name} has shape {values.shape}; give one number per row")
    return np.ascontiguousarray(values, dtype=np.float64)
