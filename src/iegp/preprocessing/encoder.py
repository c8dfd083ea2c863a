"""From columns of records to rows of numbers.

Numbers stay as they are, a text column becomes one column of zeros and ones per category, a date five columns. A
category or a column is an input from the row of its first value on. After the first ``n_open`` rows only ``most_late``
more columns are added, so that memory is constant; what comes after these is not used. Gaps are filled with the mean of
the column's values so far. All of it depends on the rows alone, never on how they were cut into batches.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from iegp.preprocessing.time_features import (
    DAY,
    PARTS,
    TREND,
    how_to_write,
    read_time,
    seconds_since_1970,
    time_columns,
)
from iegp.readers import Batch, is_missing
from iegp.storage.schema import LARGEST_COUNT, Field, check_arrays, under
from iegp.typing import Bool, Float, Int

NUMBER, CATEGORY, CLOCK, DATE = "number", "category", "clock", "date"
# A text column with more categories than this among the first rows is a name rather than a property; the rest are none.
MOST_CATEGORIES = 50
# Columns that may be added after the first rows: as many as a text column may have categories.
MOST_LATE = 50


class Column(NamedTuple):
    """One column of the model: a number, a category of a text column, or a part of the time."""

    kind: str
    source: str
    value: str = ""

    @property
    def name(self) -> str:
        return self.source if self.kind == NUMBER else f"{self.source}={self.value}"


class Problem(NamedTuple):
    """Why a record cannot be used."""

    place: int
    """Which record of the batch."""
    column: str | None
    text: str
    reason: str


@dataclass
class Encoder:
    """What is known about the columns so far. ``columns`` are those of the model, in order."""

    time: str | None = None
    n_open: int = 1000
    refuses_gaps: bool = False
    columns: list[Column] = field(default_factory=list)
    sums: Float = field(default_factory=lambda: np.zeros(0))
    counts: Float = field(default_factory=lambda: np.zeros(0))
    origin: float | None = None
    """Time of the first row, in seconds since 1970."""
    newest: float | None = None
    """Time of the newest row so far, in days since the first."""
    origins: dict[str, float] = field(default_factory=dict)
    """First values of the dates beside ``time``, in seconds since 1970, by column."""
    most_late: int = MOST_LATE
    n_late: int = 0
    """Columns that were added after the first ``n_open`` rows."""
    n_filled: dict[str, int] = field(default_factory=dict)
    """Gaps that were filled, by column."""
    n_unknown: dict[str, int] = field(default_factory=dict)
    """Values that were not used, because there were too many categories or late columns before them, by column."""

    # -- growing ---------------------------------------------------------------------------------------------------

    def add(self, columns: list[Column]) -> None:
        """Take columns in after those that are there; the first are the :meth:`first_columns`."""
        self.columns += columns
        self.sums = np.concatenate([self.sums, np.zeros(len(columns))])
        self.counts = np.concatenate([self.counts, np.zeros(len(columns))])

    def begin_with(self, batch: Batch) -> None:
        """Start with the columns that have a value in the first record."""
        self.grow([column for _, column in self._new(batch.part(0, 1))], batch)

    def first_columns(self, batch: Batch, given: bool) -> list[Column]:
        """The columns of the first record; ``given``: a header names them all, so that even empty ones count."""
        clock = [] if self.time is None else [Column(CLOCK, self.time, part) for part in PARTS]
        numbers = [
            Column(NUMBER, name)
            for name, values in self._features(batch).items()
            if values.dtype == np.float64 and (given or not np.isnan(values[0]))
        ]
        categories = [column for _, column in self._new(batch.part(0, 1)) if column.kind == CATEGORY]
        return [*clock, *numbers, *categories]

    def next_growth(self, batch: Batch, is_row: Bool, first_row: int) -> tuple[int, list[Column]]:
        """The first record that brings new columns, and these; ``len(batch)`` and none if there is none.

        ``first_row`` is the number of the batch's first row; late labels among the records have no number.
        """
        if first_row >= self.n_open and not self.takes_late:
            return len(batch), []
        rows_before: Int = np.cumsum(is_row) - is_row
        n_early = int(np.searchsorted(rows_before, self.n_open - first_row))
        n = len(batch) if self.takes_late else n_early
        found = self._new(batch.part(0, n)) if n > 0 else []
        if not found:
            return len(batch), []
        first = min(index for index, _ in found)
        new = [column for index, column in found if index == first]
        return first, new if first < n_early else new[: self.most_late - self.n_late]

    @property
    def takes_late(self) -> bool:
        """Whether columns may be added after the first ``n_open`` rows."""
        return self.n_late < self.most_late

    def grow(self, new: list[Column], batch: Batch, row: int = 0) -> tuple[Float, Float]:
        """Take columns in that ``batch``'s first record, row number ``row``, brings.

        Returns their first values, and what rows before count as. A category starts from zero, which is what the rows
        before had; a number or date is unknown in them.
        """
        self.add(new)
        self.n_late += len(new) if row >= self.n_open else 0
        first = [self._first_value(column, batch.columns[column.source][0]) for column in new]
        past = [0.0 if column.kind == CATEGORY else np.nan for column in new]
        return np.array(first), np.array(past)

    def _first_value(self, column: Column, value: Any) -> float:
        if column.kind == CATEGORY:
            return 0.0
        if column.kind == NUMBER:
            return float(value)
        origin = self.origins.setdefault(column.source, seconds_since_1970(value))
        return float(time_columns([value], origin)[0, PARTS.index(column.value)])

    def learn(self, batch: Batch, first_row: int) -> None:
        """Take in the columns and the means of records, the first of which has this row number."""
        start = 0
        while start < len(batch):
            rest = batch.part(start, len(batch))
            n, new = self.next_growth(rest, np.ones(len(rest), dtype=bool), first_row + start)
            if n == 0:
                self.grow(new, rest, first_row + start)
                continue
            self.filled(self.raw(rest.part(0, n)))
            start += n

    def sort(self, names: Sequence[str]) -> None:
        """Put the columns in the order of their sources, ``names``."""
        order = sorted(range(len(self.columns)), key=lambda place: names.index(self.columns[place].source))
        self.columns = [self.columns[place] for place in order]
        self.sums, self.counts = self.sums[order], self.counts[order]

    def widened(self, x: Float) -> Float:
        """(1, d): a row (d' <= d,) encoded before columns were added, which count as they do for all rows before."""
        wide = np.array([[0.0 if column.kind == CATEGORY else np.nan for column in self.columns]])
        known = ~np.isnan(x)
        wide[0, : len(x)][known] = x[known]
        return wide

    def _features(self, batch: Batch) -> dict[str, NDArray[Any]]:
        return {name: values for name, values in batch.columns.items() if name != self.time}

    def _new(self, batch: Batch) -> list[tuple[int, Column]]:
        """Columns that are not there yet and the record of their first value, in the order in which they come."""
        known = set(self.columns)
        found: list[tuple[int, int, Column]] = []
        for number, (name, values) in enumerate(self._features(batch).items()):
            if values.dtype == np.float64:
                column = Column(NUMBER, name)
                present = np.flatnonzero(~np.isnan(values) & (column not in known))
                if len(present):
                    found.append((int(present[0]), number, column))
                continue
            dates = _first_date(values)
            if dates is not None:
                parts = [Column(DATE, name, part) for part in PARTS]
                found += [(dates, number, column) for column in parts if column not in known]
                continue
            if self.n_categories(name) >= MOST_CATEGORIES:
                continue
            for value, index in _first_places(values).items():
                if Column(CATEGORY, name, value) not in known:
                    found.append((index, number, Column(CATEGORY, name, value)))
        found.sort(key=lambda entry: (entry[0], entry[1]))
        return [(index, column) for index, _, column in found]

    # -- looking ---------------------------------------------------------------------------------------------------

    def problems(self, batch: Batch, is_row: Bool) -> list[Problem]:
        """Records that cannot be encoded, among those that are rows."""
        found = []
        if self.time is not None:
            for index, text in enumerate(_texts(batch, self.time)):
                if is_row[index] and (text is None or read_time(text) is None):
                    found.append(Problem(index, self.time, text or "", f"no time: {how_to_write(text)}"))
        found += self._not_numbers(batch)
        if self.refuses_gaps:
            for name, values in self._features(batch).items():
                reason = "missing, and --missing error refuses gaps"
                found += [Problem(int(i), name, "", reason) for i in np.flatnonzero(is_missing(values) & is_row)]
        return found

    def _not_numbers(self, batch: Batch) -> list[Problem]:
        """Text where the model has learned numbers: another source than the one it has learned from."""
        found = []
        for column in self.columns:
            values = batch.columns.get(column.source)
            if column.kind == NUMBER and values is not None and values.dtype == object:
                places = np.flatnonzero(~is_missing(values))
                found += [Problem(int(i), column.source, str(values[i])[:80], _why_text(values[i])) for i in places]
        return found

    @property
    def kinds(self) -> dict[str, str]:
        """What the columns of the records are, of those that had a value."""
        return {column.source: column.kind for column in self.columns}

    def n_categories(self, name: str) -> int:
        """How many categories of a text column have a column of their own."""
        return sum(column.kind == CATEGORY and column.source == name for column in self.columns)

    def has_features(self, batch: Batch) -> Bool:
        """(n,): whether a record says anything beyond its id and label."""
        present = np.zeros(len(batch), dtype=bool)
        for values in batch.columns.values():
            present |= ~is_missing(values)
        return present

    # -- encoding --------------------------------------------------------------------------------------------------

    def encode(self, batch: Batch) -> Float:
        """Rows (n, d) of records without problems; gaps are filled and remembered."""
        self.count_unknown(batch)
        return self.filled(self.raw(batch))

    def raw(self, batch: Batch) -> Float:
        """Rows (n, d) of records without problems, NaN where a value is missing."""
        n = len(batch)
        x = np.full((n, len(self.columns)), np.nan)
        clock = self._clock(batch) if self.time is not None else np.empty((n, 0))
        categories: dict[str, dict[str | None, int]] = {}
        dates: dict[str, Float] = {}
        for place, column in enumerate(self.columns):
            if column.kind == CLOCK:
                x[:, place] = clock[:, PARTS.index(column.value)]
            elif column.kind == NUMBER:
                values = batch.columns.get(column.source)
                if values is not None and values.dtype == np.float64:
                    x[:, place] = values
            elif column.kind == DATE:
                if column.source not in dates:
                    dates[column.source] = self._dates(batch, column.source)
                x[:, place] = dates[column.source][:, PARTS.index(column.value)]
            else:
                categories.setdefault(column.source, {})[column.value] = place
        for name, places in categories.items():
            x[:, list(places.values())] = 0.0
            for row, text in enumerate(_texts(batch, name)):
                if text in places:
                    x[row, places[text]] = 1.0
        return x

    def _dates(self, batch: Batch, name: str) -> Float:
        """(n, parts): NaN where there is no date."""
        x, values = np.full((len(batch), len(PARTS)), np.nan), batch.columns.get(name)
        if values is not None and values.dtype == object:
            there = np.flatnonzero(~is_missing(values))
            x[there] = time_columns(list(values[there]), self.origins[name])
        return x

    def _clock(self, batch: Batch) -> Float:
        assert self.time is not None
        times = [time for text in _texts(batch, self.time) if isinstance(time := read_time(text or ""), datetime)]
        if self.origin is None and times:
            self.origin = seconds_since_1970(times[0])
        return time_columns(times, self.origin or 0.0)

    def filled(self, x: Float) -> Float:
        """The running mean where a number is missing. Sums run row by row: the same bits however rows are cut."""
        gaps = np.isnan(x)
        running = np.cumsum(np.vstack([self.sums, np.where(gaps, 0.0, x)]), axis=0)
        seen = np.cumsum(np.vstack([self.counts, ~gaps]), axis=0)
        if gaps.any():
            with np.errstate(invalid="ignore"):
                means = running[:-1] / seen[:-1]  # NaN before the first value: the model takes it for the centre
            x = np.where(gaps, means, x)
            for place in np.flatnonzero(gaps.any(axis=0)):
                name = self.columns[place].source
                self.n_filled[name] = self.n_filled.get(name, 0) + int(gaps[:, place].sum())
        self.sums, self.counts = running[-1], seen[-1]
        if self.time is not None and len(x):
            self.newest = max(float(x[:, TREND].max()), -math.inf if self.newest is None else self.newest)
        return x

    def seconds(self, x: Float) -> Float | None:
        """(n,): times of rows (n, d) in seconds since 1970, to the millisecond; None if they have none."""
        return None if self.time is None else np.round(x[:, TREND] * DAY + (self.origin or 0.0), 3)

    def backwards(self, x: Float, in_order: bool) -> Int:
        """Rows (n, d) with a time before that of rows so far; with ``in_order`` also of those before them."""
        if self.time is None or not len(x):
            return np.zeros(0, dtype=np.int64)
        times = x[:, TREND]
        newest = np.full(len(x), -math.inf if self.newest is None else self.newest)
        if in_order:
            newest[1:] = np.maximum(newest[1:], np.maximum.accumulate(times)[:-1])
        return np.flatnonzero(times < newest)

    def count_unknown(self, batch: Batch) -> None:
        """Remember what came too late to be used."""
        known = set(self.columns)
        for name, values in self._features(batch).items():
            if values.dtype == np.float64:
                late = 0 if Column(NUMBER, name) in known else int((~np.isnan(values)).sum())
            else:
                late = sum(
                    text is not None and Column(CATEGORY, name, text) not in known for text in _texts(batch, name)
                )
            if late:
                self.n_unknown[name] = self.n_unknown.get(name, 0) + late

    # -- storing ---------------------------------------------------------------------------------------------------

    def to_config(self) -> dict[str, Any]:
        """Plain data, ready for JSON; the sums are arrays of their own."""
        return {
            "time": self.time,
            "n_open": self.n_open,
            "refuses_gaps": self.refuses_gaps,
            "columns": [list(column) for column in self.columns],
            "origin": self.origin,
            "newest": self.newest,
            "origins": self.origins,
            "most_late": self.most_late,
            "n_late": self.n_late,
            "n_filled": self.n_filled,
            "n_unknown": self.n_unknown,
        }

    def _check(self) -> None:
        """Refuse a stored encoder whose fields are not of the right types."""
        is_good = self.time is None or isinstance(self.time, str)
        is_good &= type(self.refuses_gaps) is bool and _are_counts([self.n_open, self.most_late, self.n_late])
        is_good &= _are_texts(self.origins) and self.n_late <= min(self.most_late, len(self.columns))
        is_good &= {column.source for column in self.columns if column.kind == DATE} <= set(self.origins)
        for moment in (self.origin, self.newest, *self.origins.values()):
            is_good &= moment is None or (isinstance(moment, float) and math.isfinite(moment))
        for tallies in (self.n_filled, self.n_unknown):
            is_good &= _are_texts(tallies) and _are_counts(tallies.values())
        has_clock = any(column.kind == CLOCK for column in self.columns)
        if not is_good or (self.columns and has_clock != (self.time is not None)):
            raise ValueError("an entry of the encoder is not of its kind")

    @classmethod
    def from_config(cls, config: dict[str, Any], sums: Float, counts: Float) -> Encoder:
        """The inverse; an error where parts do not fit. A file that does not say takes no late columns."""
        columns = [Column(*column) for column in config["columns"]]
        kinds = (NUMBER, CATEGORY, CLOCK, DATE)
        if not all(column.kind in kinds and _are_texts(column) for column in columns):
            raise ValueError("a column of the encoder is none")
        if any(column.kind in (CLOCK, DATE) and column.value not in PARTS for column in columns):
            raise ValueError("a part of the time is none")
        encoder = cls(**{"most_late": 0, **config, "columns": columns})
        encoder._check()
        shape = (len(columns),)
        fields = {"sums": Field(shape), "counts": Field(shape, 0.0, LARGEST_COUNT, whole=True)}
        check_arrays(under("encoder.", fields), {"encoder.sums": sums, "encoder.counts": counts})
        encoder.sums, encoder.counts = sums, counts
        return encoder


def _are_texts(values: Iterable[Any]) -> bool:
    return all(isinstance(value, str) for value in values)


def _are_counts(values: Iterable[Any]) -> bool:
    return all(type(value) is int and 0 <= value <= LARGEST_COUNT for value in values)


def _texts(batch: Batch, name: str) -> list[str | None]:
    """A column as text; truth values are written as JSON writes them."""
    values = batch.columns.get(name)
    if values is None or values.dtype == np.float64:
        return [None] * len(batch)
    return [_text(value) for value in values]


def _why_text(value: Any) -> str:
    """What is wrong with text in a column of numbers."""
    advice = "; write 1 for true and 0 for false" if str(value).lower() in ("true", "false") else ""
    return f"text, but the column was one of numbers when the model learned{advice}"


def _first_date(values: NDArray[Any]) -> int | None:
    """The place of the first date of a column of objects, if its first value is one."""
    first = next((place for place, value in enumerate(values) if value is not None), None)
    return first if first is not None and isinstance(values[first], datetime) else None


def _text(value: Any) -> str | None:
    if isinstance(value, bool):
        return "true" if value else "false"
    return None if value is None else str(value)


def _first_places(values: NDArray[Any]) -> dict[str, int]:
    """Every text of a column and the index of its first occurrence."""
    places: dict[str, int] = {}
    for index, value in enumerate(values):
        text = _text(value)
        if text is not None and text not in places:
            places[text] = index
    return places
