"""Labels of every kind, to the columns of numbers that the core learns, and back: one codec for all hosts.

scikit-learn, River and the stream command turn what they are given into a sequence of labels; a codec checks it, and
encodes all of it or nothing. A codec is never changed: a class that appears later makes another one, and another model
(:func:`grow`).
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from iegp.core.editing.new_class import add_class
from iegp.core.editing.new_level import add_level, mirrored
from iegp.core.model import Online
from iegp.core.weighted import Weighted
from iegp.errors import InputError, ModelFileError
from iegp.typing import Float, Int

Labels = NDArray[Any]

# Kinds of NumPy types with numbers as values, and with labels as values.
_NUMBERS, _PLAIN = "fiub", "biuU"
# So few that an array of flags takes less time than switching off NumPy's warnings.
_FEW_VALUES = 4096


# -- numbers ---------------------------------------------------------------------------------------------------------


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
        values = _numbers(y)
        if values.shape[1:] != (() if self.single_output else (self.n_outputs,)):
            before = "one-dimensional" if self.single_output else f"of {self.n_outputs} columns"
            raise InputError(f"y has shape {values.shape}, but the model has learned y {before}; keep its shape")
        columns = np.ascontiguousarray(values.reshape(len(values), self.n_outputs))
        _require_finite(columns)
        return columns

    def encode_unchecked(self, y: ArrayLike) -> Float:
        """The same without checks, for float64 arrays of the right shape."""
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
        """The same without checks of values, for float64 arrays (n,)."""
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
    shares = np.asarray(exposure)
    if shares.dtype.kind not in _NUMBERS:
        wrong = next((value for value in shares.ravel().tolist() if as_float(value) is None), shares.ravel()[0])
        raise InputError(f"exposure has {wrong!r:.80}, which is not a number; give one positive number per row")
    if shares.ndim == 0:
        shares = np.full(n, shares)
    if shares.shape != (n,):
        raise InputError(f"there are {n} rows, but exposure has shape {shares.shape}; give one number per row")
    shares = np.ascontiguousarray(shares, dtype=np.float64)
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
        Finite, 0 or larger; anything else is an error that names the value and its row.
    name : str
        What the caller calls it, for messages.

    Returns
    -------
    ndarray or Weighted
        ``columns`` themselves if no weight differs from one.
    """
    if sample_weight is None:
        return columns
    weights, n = np.asarray(sample_weight), len(columns)
    if weights.dtype.kind not in _NUMBERS:
        wrong = next((value for value in weights.ravel().tolist() if as_float(value) is None), sample_weight)
        raise InputError(f"{name} has {wrong!r:.80}, which is not a number; give one number from 0 up per row")
    weights = np.full(n, weights, dtype=np.float64) if weights.ndim == 0 else weights.astype(np.float64)
    if weights.shape != (n,):
        raise InputError(f"there are {n} rows, but {name} has shape {weights.shape}; give one number per row")
    wrong_rows = np.flatnonzero(~(np.isfinite(weights) & (weights >= 0.0)))
    if len(wrong_rows):
        row = int(wrong_rows[0])
        raise InputError(
            f"{name} has {weights[row]} at row {row}; it must be a finite number, 0 or larger: 0 for a row that is "
            "predicted and not learned. The model is unchanged."
        )
    return columns if (weights == 1.0).all() else Weighted(columns, weights)


# -- classes ---------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class ClassLabels:
    """Classes, or ordered levels from lowest to highest; ``classes`` are the labels in the order of their numbers.

    A label that is none of them is new. With ``is_fixed`` it is an error. Else it may become a class (:func:`grow`):
    the last one, or the level where it sorts by ``key``.
    """

    classes: tuple[Any, ...] = ()
    is_ordered: bool = False
    is_fixed: bool = False
    key: Callable[[Any], Any] | None = None
    argument: str = "classes"
    """What the host calls the classes that are named beforehand."""
    dtype: str = "object"
    """Type of arrays of labels."""
    number_of: dict[Hashable, int] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "number_of", {label: number for number, label in enumerate(self.classes)})

    @classmethod
    def declared(cls, classes: Any, argument: str = "classes", **options: Any) -> ClassLabels:
        """Take the classes that a caller names.

        Parameters
        ----------
        classes : sequence of labels
            All different, none missing; anything else is an error.
        argument : str
            What the caller calls them, for messages.
        **options
            Further fields, such as ``is_fixed``.
        """
        labels = _as_list(classes)
        if labels is None:
            shape = np.asarray(classes, dtype=object).shape
            raise InputError(
                f"{argument}={classes!r:.200} is not a list of labels (it has shape {shape}); give one, such as [0, 1]"
            )
        if any(map(is_missing, labels)):
            raise InputError(f"{argument}={labels!r:.200} contains None or NaN, which cannot be a class; leave it out")
        if len(set(labels)) != len(labels):
            raise InputError(f"{argument}={labels!r:.200} names a label twice; name each once")
        return cls(tuple(labels), argument=argument, dtype=_type_of(classes, labels), **options)

    def sorted(self) -> ClassLabels:
        """The same classes in sorted order."""
        return replace(self, classes=sorted_labels(self.classes))

    @property
    def n_outputs(self) -> int:
        """Classes of a model that starts now: with fewer than two labels there is a class that has no name yet."""
        return max(2, len(self.classes))

    def require(self, n_fewest: int) -> None:
        """Refuse too few classes."""
        if not self.classes:
            raise InputError(f"{self.argument} is empty; name all labels that may come, such as [0, 1]")
        if len(self.classes) < n_fewest:
            raise InputError(
                f"there is one class ({_shown(self.classes[0])}), but a classifier needs at least two classes. If "
                f"others may come later, name all of them when the model starts: {self.argument}=[...]"
            )

    # -- encoding --------------------------------------------------------------------------------------------------

    def encode(self, labels: Iterable[Any]) -> Float:
        """Check labels and give their class numbers to the core.

        Parameters
        ----------
        labels : sequence of labels (n,)
            One that is missing or is no class is an error that names its row.

        Returns
        -------
        ndarray (n, 1)
            Class numbers, as float64.
        """
        known = as_labels(labels)
        numbers = [self.number_of.get(label, -1) for label in known]
        if -1 in numbers:
            row = numbers.index(-1)
            raise self.unknown(known[row], row)
        return np.array(numbers, dtype=np.float64).reshape(-1, 1)

    def encode_unchecked(self, numbers: ArrayLike) -> Float:
        """Class numbers as they are, (n,) to (n, 1)."""
        return np.asarray(numbers, dtype=np.float64).reshape(-1, 1)

    def decode(self, numbers: Int | Float) -> Labels:
        """Labels of class numbers, (n,) or (n, 1)."""
        return self.array[np.asarray(numbers).reshape(-1).astype(np.intp)]

    @property
    def array(self) -> Labels:
        """The classes as an array."""
        return np.fromiter(self.classes, dtype=np.dtype(self.dtype), count=len(self.classes))

    def segments(self, labels: Sequence[Any] | Labels) -> Iterator[tuple[int, int, bool]]:
        """Cut labels where one is new: (start, stop, is_new); a new label is a segment of its own."""
        start, new = 0, set[Any]()
        for row, label in enumerate(labels):
            if label in self.number_of or label in new:
                continue
            if row > start:
                yield start, row, False
            yield row, row + 1, True
            new.add(label)
            start = row + 1
        if start < len(labels):
            yield start, len(labels), False

    # -- growing ---------------------------------------------------------------------------------------------------

    def place_of(self, label: Any, row: int = 0) -> int:
        """The number that a new label will have; ``row`` is for messages."""
        if self.is_fixed:
            raise self.unknown(label, row)
        if not self.is_ordered:
            return len(self.classes)
        key = self.key or (lambda own: own)
        try:
            return bisect_left(self.classes, key(label), key=key)
        except (TypeError, ValueError) as error:
            known = repr(self.classes[0]) if self.classes else "numbers"
            raise InputError(
                f"At row {row} y is {label!r:.80}, which cannot be compared with {known:.80}: ordered labels must be "
                "all numbers or all text, or be named from lowest to highest in order; the model is unchanged."
            ) from error

    def with_label(self, label: Any, place: int) -> Self:
        """One class more, of any type, numbered ``place``; those from there on move up by one."""
        return replace(self, classes=(*self.classes[:place], label, *self.classes[place:]), dtype="object")

    def unknown(self, label: Any, row: int = 0) -> InputError:
        """The error for a label that is no class."""
        return InputError(
            f"y has the label {_shown(label):.80} at row {row}, which is none of the classes: "
            f"{self.argument}={self.classes!r:.200}. Name all labels there when the model starts; the model is "
            "unchanged."
        )

    # -- storing ---------------------------------------------------------------------------------------------------

    def to_config(self) -> dict[str, Any]:
        """Plain data, ready for JSON; an error for labels that are neither text nor numbers."""
        labels = list(self.classes)
        if not all(isinstance(label, bool | int | float | str) for label in labels):
            raise InputError(
                f"labels of type {type(labels[0]).__name__} cannot be stored in a model file; use text or numbers as "
                "labels"
            )
        return {"classes": {"labels": labels, "type": self.dtype}}

    @classmethod
    def from_config(cls, config: Mapping[str, Any], n_outputs: int) -> ClassLabels:
        """The inverse, for a model of so many classes."""
        labels, kind = config["classes"]["labels"], config["classes"]["type"]
        if not isinstance(labels, list) or not all(isinstance(label, bool | int | float | str) for label in labels):
            raise ModelFileError("the class labels are not a list of plain values")
        if kind != "object" and np.dtype(kind).kind not in _PLAIN + _NUMBERS:
            raise ModelFileError(f"class labels cannot be of type {kind!r}")
        found = cls(tuple(labels), dtype=kind)
        if found.array.tolist() != labels or len(found.number_of) != len(labels):
            raise ModelFileError("the class labels do not fit their type, or are not all different")
        if len(labels) != n_outputs:
            raise ModelFileError(f"there are {len(labels)} class labels but {n_outputs} classes")
        return found


Codec = NumberLabels | CountLabels | ClassLabels


def grow(model: Online, labels: ClassLabels, label: Any, row: int = 0) -> tuple[Online, ClassLabels]:
    """Add a class or level that appears later.

    A class starts from the prior, and odds between the others stay as they were. A level takes a piece of what lay
    between its neighbours, or the end.

    Parameters
    ----------
    model : Online
        A model of classes or levels; it is not changed.
    labels : ClassLabels
        Its codec, which does not have the label.
    label : hashable
        The new label. It is an error where ``labels`` is fixed, or where its place among levels is not known.
    row : int
        The row at which it appears, for messages.

    Returns
    -------
    model : Online
        It has one class more, unless it had one without a name.
    labels : ClassLabels
        It has the label.
    """
    place = labels.place_of(label, row)
    if len(labels.classes) == model.n_outputs:
        model = add_level(model, place) if labels.is_ordered else add_class(model)
    elif labels.is_ordered and len(labels.classes) == 1 and place == 0:
        # The level without a name was assumed above the only one seen; it is below.
        model = mirrored(model)
    return model, labels.with_label(label, place)


# -- values ----------------------------------------------------------------------------------------------------------


def as_labels(labels: Iterable[Any]) -> list[Any]:
    """Labels as a list; one that is missing, or cannot be a key of a dictionary, is an error that names its row."""
    if isinstance(labels, np.ndarray):
        if labels.dtype.kind in _PLAIN:
            return labels.tolist()  # type: ignore[no-any-return]
        labels = labels.tolist()
    found = list(labels)
    for row, label in enumerate(found):
        if is_missing(label) or (isinstance(label, float) and math.isinf(label)):
            raise _missing(label, f"row {row}")
        if not _has_hash(label):
            raise InputError(
                f"y is {label!r:.80} at row {row}, which cannot be a label; use text, numbers or booleans. The model "
                "is unchanged."
            )
    return found


def sorted_labels(labels: Iterable[Any]) -> tuple[Any, ...]:
    """The different labels, sorted."""
    try:
        return tuple(sorted(set(labels)))
    except TypeError as error:
        raise InputError(
            f"labels of mixed types cannot be sorted into classes ({error}); make them all text or all numbers"
        ) from error


def is_missing(label: Any) -> bool:
    """Whether a label is None, NaN, or pandas' NA."""
    try:
        return label is None or bool(label != label)
    except TypeError:  # pandas' NA answers neither yes nor no
        return True
    except ValueError:  # an array is no label, but it is there
        return False


def as_float(value: Any) -> float | None:
    """A number as a float, infinity if it is too large for one; None if it is text or anything else."""
    try:
        return None if isinstance(value, str | bytes) else float(value)
    except OverflowError:
        return math.inf
    except (TypeError, ValueError):
        return None


def first_not_finite(values: Float) -> tuple[int, int] | None:
    """Row and column of the first entry (n, D) that is NaN or infinite."""
    if values.size == 1 and math.isfinite(values.item()):
        return None  # a single label, without the cost of an array
    if values.size < _FEW_VALUES and np.isfinite(values).all():
        return None
    # The sum of finite numbers is nearly always finite: one pass, no array of flags.
    with np.errstate(all="ignore"):
        if math.isfinite(values.sum()) or np.isfinite(values).all():
            return None
    row, column = np.argwhere(~np.isfinite(values))[0]
    return int(row), int(column)


def _require_finite(columns: Float) -> None:
    found = first_not_finite(columns)
    if found is not None:
        where = f"row {found[0]}" + (f", column {found[1]}" if columns.shape[1] > 1 else "")
        raise _missing(float(columns[found]), where)


def _missing(label: Any, where: str) -> InputError:
    kind = "infinity" if isinstance(label, float) and math.isinf(label) else "NaN"
    return InputError(
        f"Input y contains {kind} at {where}: y is {label!r}, but only a row with a known and finite label can be "
        "learned. Drop the row; the model is unchanged."
    )


def _numbers(y: Iterable[Any]) -> Float:
    """Floats of the same shape; an entry that is not a number is an error that names its row."""
    if not isinstance(y, np.ndarray) or y.dtype.kind not in _NUMBERS:
        y = np.array([_number(value, row) for row, value in enumerate(y)], dtype=np.float64)
    return np.asarray(y, dtype=np.float64)


def _number(value: Any, row: int) -> float:
    number = as_float(value)
    if number is None:
        raise InputError(
            f"y is {value!r:.80} at row {row}, which is not a number. Drop rows without one; the model is unchanged."
        )
    return number


def _as_list(classes: Any) -> list[Any] | None:
    """Declared labels as a list; None if they are no list of labels."""
    if isinstance(classes, str | bytes) or not isinstance(classes, Iterable) or getattr(classes, "ndim", 1) != 1:
        return None
    labels = classes.tolist() if isinstance(classes, np.ndarray) else list(classes)
    return labels if all(map(_has_hash, labels)) else None


def _type_of(given: Any, labels: list[Any]) -> str:
    """Type of an array of these labels; objects if NumPy would turn numbers among words into text."""
    try:
        array = given if isinstance(given, np.ndarray) else np.asarray(labels)
    except ValueError:
        return "object"
    mixed = array.dtype.kind == "U" and not all(isinstance(label, str) for label in labels)
    return "object" if mixed or array.ndim != 1 or array.dtype.kind == "O" else array.dtype.str


def _has_hash(label: Any) -> bool:
    try:
        hash(label)
    except TypeError:
        return False
    return True


def _shown(label: object) -> str:
    return repr(label.item() if isinstance(label, np.generic) else label)
