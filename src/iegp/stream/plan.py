"""What a run does: which column plays which part, and what labels mean. Stored with the model, never changed."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable
from dataclasses import asdict, dataclass, fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

from iegp.core.likelihoods import named
from iegp.errors import InputError
from iegp.name_suggestions import closest
from iegp.preprocessing.time_features import as_iso, check_time_format
from iegp.readers import Batch, NumberStyle, is_missing, object_array
from iegp.stream.answers import TASKS, column_kinds
from iegp.typing import Float

# Whole numbers with at most so many different values among the first rows are taken for classes.
MOST_WHOLE_CLASSES = 10
# More classes than this are more likely ids, or numbers that are written in another way.
MOST_CLASSES = 50
# A target of which at least so much is numbers is one of numbers; the rest are bad records.
MOSTLY_NUMBERS = 0.9
# Columns of every file of answers; a key column that is called like one of them is written as "key".
ANSWER_COLUMNS = frozenset((*column_kinds(has_classes=False), "late", "duplicate"))
# A whole number that was stored as a float, as a column with gaps is.
_WHOLE_AS_FLOAT = re.compile(r"(-?[0-9]{1,16})\.0+\Z")
# Lists that may be missing.
_OPTIONAL = ("features", "order")
# Fewer labels than this say nothing about how many values there are.
ENOUGH_LABELS = 50


@dataclass(frozen=True)
class Plan:
    """The parts of the columns. ``features`` names the only ones to use, ``ignore`` those not to use."""

    target: str
    task: str
    id: str | None = None
    time: str | None = None
    features: tuple[str, ...] | None = None
    ignore: tuple[str, ...] = ()
    missing: str = "mean"
    max_pending: int = 10_000
    level: float = 0.95
    intervals: str = "exact"
    classes: tuple[str, ...] = ()
    order: tuple[str, ...] | None = None
    key: str | None = None
    """The column of keys, if there is to be one model per key."""
    na_values: tuple[str, ...] = ()
    decimal: str = "."
    thousands: str = ""
    time_format: str | None = None
    """How times are written, in the words of ``strptime``; None: ISO 8601, or seconds since 1970."""
    classes_limit: int = MOST_CLASSES
    """A label that would be one class more is refused."""

    def __post_init__(self) -> None:
        _one_of("task", self.task, TASKS)
        _one_of("missing", self.missing, ("mean", "error"))
        _one_of("intervals", self.intervals, ("exact", "normal"))
        if not 0.0 < self.level < 1.0:
            raise InputError(f"--level {self.level:g} must lie between 0 and 1, as 0.95")
        self.style.check()
        if self.classes_limit < 2:
            raise InputError(f"--classes-limit {self.classes_limit} must be at least 2")
        check_time_format(self.time_format, self.time)
        if self.max_pending < 1:
            raise InputError(f"--max-pending {self.max_pending} must be at least 1")
        if self.order is not None and (self.task != "ordinal" or len(set(self.order)) < 2):
            raise InputError("--order names the labels of an ordinal task from lowest to highest, at least two of them")
        if self.classes and self.task != "classification":
            raise InputError("--classes names the labels of a classification beforehand; this is another task")
        apart = {"--time": (self.time,), "--id": (self.id,), "--key": (self.key,), "--features": self.features or ()}
        for flag, names in apart.items():
            if self.target in names:
                raise InputError(f"{flag} {self.target}: that is the target, which must not be known beforehand")
        for name in {self.target, self.id, self.time, self.key} & set(self.ignore):
            raise InputError(f"--ignore {name}: the column is needed as target, id, time or key; name it once only")
        if self.key is not None:
            self._check_key()

    def _check_key(self) -> None:
        if self.task != "regression":
            raise InputError(
                f"--key {self.key}: one model per key is for regression, and the task is {self.task}. If the target is "
                "a number say --task regression; else give each key a run of its own"
            )
        for flag, names in {"--id": (self.id,), "--time": (self.time,), "--features": self.features or ()}.items():
            if self.key in names:
                raise InputError(
                    f"{flag} {self.key}: the column is the key, which chooses the model and is no part of it; name it "
                    "once only"
                )

    @property
    def key_field(self) -> str | None:
        """What the key is called in a file of answers."""
        return "key" if self.key in ANSWER_COLUMNS else self.key

    @property
    def style(self) -> NumberStyle:
        """How text says numbers and missing values."""
        return NumberStyle(self.na_values, self.decimal, self.thousands)

    @property
    def has_classes(self) -> bool:
        return self.task in ("classification", "ordinal")

    def check_columns(self, names: tuple[str, ...]) -> None:
        """Every column that is named exists."""
        wanted: dict[str, tuple[str | None, ...] | None] = {
            "--target": (self.target,),
            "--id": (self.id,),
            "--time": (self.time,),
            "--key": (self.key,),
            "--features": self.features,
            "--ignore": self.ignore,
        }
        for flag, columns in wanted.items():
            for name in columns or ():
                if name is not None and name not in names:
                    like = closest(name, names)
                    advice = f"{like} " if like.startswith("Did you mean") else ""
                    raise InputError(f"{flag} {name}: there is no such column. {advice}Columns: {_listed(names)}")

    def features_of(self, batch: Batch) -> Batch:
        """The columns that the model may use, and the time."""
        apart = {self.target, self.id, self.key, *self.ignore}
        columns = {
            name: values
            for name, values in batch.columns.items()
            if name == self.time or (name not in apart and (self.features is None or name in self.features))
        }
        if self.time_format is not None and self.time in columns:
            columns[self.time] = object_array([as_iso(value, self.time_format) for value in columns[self.time]])
        return Batch(columns, batch.lines)

    def labels_of(self, batch: Batch) -> NDArray[Any]:
        """(n,): numbers, NaN if unknown, or names of classes, None if unknown."""
        values = batch.columns.get(self.target)
        if values is None:
            return np.full(len(batch), None, dtype=object) if self.has_classes else np.full(len(batch), np.nan)
        if self.has_classes:
            return object_array([label_name(value) for value in values])
        return values if values.dtype == np.float64 else in_style(values, self.style)

    def ids_of(self, batch: Batch) -> tuple[str | None, ...] | None:
        """What the records are called; None if the stream does not say."""
        if self.id is None:
            return None
        values = batch.columns.get(self.id)
        if values is None:
            return (None,) * len(batch)
        return tuple(label_name(value) for value in values)

    def keys_of(self, batch: Batch) -> tuple[str | None, ...] | None:
        """Keys of the records, None where one is missing; None if there is one model for all."""
        if self.key is None:
            return None
        values = batch.columns.get(self.key)
        return (None,) * len(batch) if values is None else tuple(map(key_name, values))

    def label_problems(self, batch: Batch, labels: NDArray[Any]) -> list[tuple[int, str, str]]:
        """Labels that are no labels of this task: index, text, reason."""
        found: list[tuple[int, str, str]] = []
        values = batch.columns.get(self.target)
        if values is None:
            return found
        if not self.has_classes and values.dtype == object:
            lost = np.isnan(labels) & ~is_missing(values)
            found += [(int(i), str(values[i]), f"not a number, but the task is {self.task}") for i in lost.nonzero()[0]]
        if self.task == "count":
            found += [(int(i), f"{labels[i]:g}", "a count cannot be negative") for i in (labels < 0.0).nonzero()[0]]
        if self.task == "ordinal":
            for index, label in enumerate(labels):
                if label is not None and self.order is not None and label not in self.order:
                    found.append((index, label, f"none of the labels in --order {','.join(self.order)}"))
                elif label is not None and self.order is None and np.isnan(_number(label)):
                    reason = "not a number, so its place is not known: name all labels with --order low,middle,high"
                    found.append((index, label, reason))
        return sorted(found)

    def to_config(self) -> dict[str, Any]:
        """Plain data, ready for JSON."""
        return asdict(self)

    @classmethod
    def from_config(cls, config: dict[str, Any]) -> Plan:
        """The inverse; lists come back as tuples."""
        known = {field.name for field in fields(cls)}
        if set(config) != known:
            raise ValueError(f"the plan of the run has other entries than {sorted(known)}")
        arguments: dict[str, Any] = {
            name: tuple(value) if isinstance(value, list) else value for name, value in config.items()
        }
        several = {name: arguments[name] for name in ("features", "ignore", "classes", "order", "na_values")}
        if not all(isinstance(some, tuple) or (some is None and name in _OPTIONAL) for name, some in several.items()):
            raise ValueError(f"an entry of the plan is not of its kind: {several!r:.200}")
        plan = cls(**arguments)
        lists = ((plan.target, plan.task), plan.features or (), plan.ignore, plan.classes, plan.order or ())
        others = (plan.id, plan.time, plan.key, plan.time_format, *plan.na_values)
        names = [name for some in (*lists, others) for name in some if name is not None]
        counts = (plan.max_pending, plan.classes_limit)
        if not all(isinstance(name, str) for name in names) or any(type(count) is not int for count in counts):
            raise ValueError("an entry of the plan is not of its kind")
        return plan


def in_style(values: NDArray[Any], style: NumberStyle) -> Float:
    """(n,): numbers that are written in this style, NaN where there is none."""
    if not style.is_plain:
        values = object_array([style.plain(value) if isinstance(value, str) else value for value in values])
    return np.array([_number(value) for value in values], dtype=np.float64)


_STYLES = {
    "--thousands ,": NumberStyle(thousands=","),
    "--decimal ,": NumberStyle(decimal=","),
    "--decimal , --thousands .": NumberStyle(decimal=",", thousands="."),
    "--thousands ' '": NumberStyle(thousands=" "),
    "--decimal , --thousands ' '": NumberStyle(decimal=",", thousands=" "),
}


def style_hint(values: Iterable[Any]) -> str | None:
    """The flags with which text is read as numbers; None if it has none.

    >>> style_hint(["1,234", "12", "1,000,000"]), style_hint(["1.234,5", "2,25"]), style_hint(["a7", "b8"])
    ('--thousands ,', '--decimal , --thousands .', None)
    """
    texts = [str(value) for value in values if value is not None]
    for flags, style in _STYLES.items():
        if texts and sum(style.plain(text) is not None for text in texts) >= MOSTLY_NUMBERS * len(texts):
            return flags
    return None


def many_classes(labels: NDArray[Any], known: Collection[str], limit: int) -> tuple[int, str] | None:
    """Index of the first label that would be one class more than ``limit``, and what it may be instead."""
    found = set(known)
    # The usual case, answered at once.
    if len(found.union(label for label in labels if label is not None)) <= limit:
        return None
    for index, label in enumerate(labels):
        if label is not None and label not in found:
            if len(found) >= limit:
                return index, _why_many(labels, limit)
            found.add(label)
    return None


def _why_many(labels: NDArray[Any], limit: int) -> str:
    flags = style_hint(labels)
    if flags is not None:
        return f"more than {limit} classes, and they look like numbers: {flags} reads them as such"
    return (
        f"more than {limit} classes; a column of ids cannot be a target, and numbers with units must be cleaned "
        "first; if these are classes, raise --classes-limit"
    )


def find_task(values: NDArray[Any]) -> tuple[str, str]:
    """What kind of label a column holds, by its first values, and why."""
    present = values[~is_missing(values)]
    if not len(present):
        return "regression", "no label has come yet; --task says what they will be"
    if values.dtype == object:
        numbers = np.array([_number(value) for value in present], dtype=np.float64)
        if np.isnan(numbers).mean() > 1.0 - MOSTLY_NUMBERS:
            return "classification", "it is text"
        present = numbers[~np.isnan(numbers)]
    whole = present[present == np.floor(present)]
    kinds = np.unique(whole)
    if len(present) >= ENOUGH_LABELS and len(whole) == len(present) and len(kinds) <= MOST_WHOLE_CLASSES:
        return "classification", f"it has {len(kinds)} different whole numbers; --task says otherwise"
    if len(present) >= ENOUGH_LABELS and len(whole) == len(present) and (present >= 0.0).all():
        return "regression", "it is numeric; if it counts something, say --task count"
    return "regression", "it is numeric"


def label_name(value: Any) -> str | None:
    """A label as text: truth values as JSON writes them, whole numbers without a point."""
    if value is None or value != value:
        return None
    if isinstance(value, bool | np.bool_):
        return "true" if value else "false"
    if isinstance(value, float) and value == int(value) and abs(value) < 2.0**53:
        return str(int(value))
    return str(value)


def key_name(value: Any) -> str | None:
    """A key as text: 7, "7" and 7.0 are the same, whatever format they come in.

    >>> key_name("7.0"), key_name(7), key_name("7.5"), key_name("pump 3"), key_name(None)
    ('7', '7', '7.5', 'pump 3', None)
    >>> key_name("4111111111111111.0"), key_name(4111111111111111.0), key_name(-0.0)
    ('4111111111111111', '4111111111111111', '0')
    """
    name = label_name(value)
    whole = None if name is None else _WHOLE_AS_FLOAT.match(name)
    if whole is not None:
        name = whole[1]
    return "0" if name == "-0" else name


def _number(text: Any) -> float:
    # Python also reads 1_000 and the digits of every script.
    if isinstance(text, bool) or (isinstance(text, str) and (not text.isascii() or "_" in text)):
        return float("nan")
    try:
        return float(text)
    except (TypeError, ValueError):
        return float("nan")


def _one_of(name: str, value: str, choices: tuple[str, ...]) -> None:
    if value not in choices:
        raise InputError(f"--{name} {value} is not known; use one of {', '.join(choices)}")


def _listed(names: tuple[str, ...]) -> str:
    # Spaces around a name, as of "a, b" in a header, would not be seen.
    shown = ", ".join(name if name == name.strip() else repr(name) for name in names[:20])
    return shown if len(names) <= 20 else f"{shown}, ... ({len(names)} in all)"


def task_of(likelihood: str) -> str:
    """The task whose labels a likelihood is for."""
    if likelihood == "gaussian":
        return "regression"
    own = named(likelihood)
    if not own.has_classes:
        return "count"
    return "ordinal" if own.is_ordinal else "classification"
