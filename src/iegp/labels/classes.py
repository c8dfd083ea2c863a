"""Labels that are classes: declared or found, ordered or not, and classes that appear later."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from iegp.core.editing.new_class import add_class
from iegp.core.editing.new_level import add_level, mirrored
from iegp.core.model import Online
from iegp.errors import InputError, ModelFileError
from iegp.labels.values import LABEL_KINDS, NUMBER_KINDS, as_labels, has_hash, is_missing
from iegp.typing import Float, Int

Labels = NDArray[Any]


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
        if kind != "object" and np.dtype(kind).kind not in LABEL_KINDS + NUMBER_KINDS:
            raise ModelFileError(f"class labels cannot be of type {kind!r}")
        found = cls(tuple(labels), dtype=kind)
        if found.array.tolist() != labels or len(found.number_of) != len(labels):
            raise ModelFileError("the class labels do not fit their type, or are not all different")
        if len(labels) != n_outputs:
            raise ModelFileError(f"there are {len(labels)} class labels but {n_outputs} classes")
        return found


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


def sorted_labels(labels: Iterable[Any]) -> tuple[Any, ...]:
    """The different labels, sorted."""
    try:
        return tuple(sorted(set(labels)))
    except TypeError as error:
        raise InputError(
            f"labels of mixed types cannot be sorted into classes ({error}); make them all text or all numbers"
        ) from error


def _as_list(classes: Any) -> list[Any] | None:
    """Declared labels as a list; None if they are no list of labels."""
    if isinstance(classes, str | bytes) or not isinstance(classes, Iterable) or getattr(classes, "ndim", 1) != 1:
        return None
    labels = classes.tolist() if isinstance(classes, np.ndarray) else list(classes)
    return labels if all(map(has_hash, labels)) else None


def _type_of(given: Any, labels: list[Any]) -> str:
    """Type of an array of these labels; objects if NumPy would turn numbers among words into text."""
    try:
        array = given if isinstance(given, np.ndarray) else np.asarray(labels)
    except ValueError:
        return "object"
    mixed = array.dtype.kind == "U" and not all(isinstance(label, str) for label in labels)
    return "object" if mixed or array.ndim != 1 or array.dtype.kind == "O" else array.dtype.str


def _shown(label: object) -> str:
    return repr(label.item() if isinstance(label, np.generic) else label)
