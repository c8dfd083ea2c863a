"""Scores of predicted numbers and counts beside those of naive forecasts from the labels alone."""

from __future__ import annotations

import numpy as np
from scipy.special import betainc, gammaincc, gammaln, ndtr

from iegp.evaluate.naive import count_log_score
from iegp.storage.schema import LARGEST_COUNT, LARGEST_FLOAT, Field, take
from iegp.stream.digest.accumulators import FARTHEST, ScoreSums
from iegp.stream.digest.key_moments import Moments, MomentsBefore, delayed
from iegp.typing import Arrays, Bool, Float, Int

# What naive forecasts knew when a row was answered, if its label came late; NaN if it did not.
KNOWN = ("n_labels", "known_n", "known_mean", "known_squares", "known_last")
COLUMNS = ("row", "label", "log_score", "mean", "std", "lower", "upper", "pit", *KNOWN)
# One more where rows have keys: the slot of the row's key.
KEYED_COLUMNS = (*COLUMNS, "slot")
SUMS = (
    *("n", "loss", "naive_loss", "last_loss", "absolute", "naive_absolute", "last_absolute"),
    *("n_log", "log", "naive_log", "bounded", "covered", "width"),
)
# Standardised residuals, with one bin below and one above.
RESIDUAL_EDGES: Float = np.arange(-20, 21) / 4
# Bins of the probability integral transform (PIT): the predicted probability of a value below the label.
PIT_BINS = 20
# Levels of the central intervals for which coverage is counted.
LEVELS: Float = np.arange(5, 100, 5) / 100
# Labels a naive forecast needs before it makes sense: a spread takes two numbers, a rate one count.
NEEDED = {"regression": 2, "count": 1}


_TALLIES = {
    "pit": Field((PIT_BINS,), 0.0, LARGEST_COUNT),
    "inside": Field((len(LEVELS),), 0.0, LARGEST_COUNT),
    "residuals": Field((len(RESIDUAL_EDGES) + 1,), 0, LARGEST_COUNT, np.int64),
}


class NumberScores(ScoreSums):
    """Sums over the labelled rows; ``absorb`` takes blocks with the columns ``COLUMNS``, or ``KEYED_COLUMNS``.

    The first labels are not scored: before them neither the model nor a naive forecast knows the units. Log scores are
    compared from the row on where the labels first differ. With keys the naive forecasts of a row are those of its own
    key, and a key's first label is not scored: there is nothing to compare with.
    """

    def __init__(self, task: str, has_keys: bool = False, delay: int = 0) -> None:
        super().__init__(SUMS, _TALLIES, delay)
        self.task = task
        self.labels, self.scored = Moments(), Moments()
        self.by_key = Moments(0) if has_keys else None

    def absorb(self, block: Float) -> None:
        row, y, log_score, mean, std, lower, upper, pit, *known = block[:, : len(COLUMNS)].T
        slots = None if self.by_key is None else block[:, -1].astype(np.int64)
        of_all, before = self._before(y, slots)
        is_late = ~np.isnan(known[0])
        # Rows that waited for their label may have been predicted before there was any: their mean is NaN.
        scored = (np.where(is_late, known[0], of_all.n) >= NEEDED[self.task]) & ~np.isnan(mean)
        before = MomentsBefore(*(np.where(is_late, then, now) for then, now in zip(known[1:], before, strict=True)))
        if self.by_key is not None:
            scored &= before.n >= 1.0
        self.scored.advance(y[scored])
        naive_log = self._naive_log_score(y, before)
        compared = scored & ~np.isnan(naive_log) & ~np.isnan(log_score)
        log, naive_log = np.where(compared, log_score, 0.0), np.where(compared, naive_log, 0.0)
        errors = [y - mean, y - before.mean, y - before.last]
        # Some likelihoods give no intervals.
        bounded, covered = ~np.isnan(upper - lower), (lower <= y) & (y <= upper)
        columns = [scored, *(error**2 for error in errors), *map(np.abs, errors), compared, log, naive_log]
        columns += [bounded, covered, np.where(bounded, upper - lower, 0.0)]
        self.intervals.add(row[scored].astype(np.int64), np.column_stack(columns)[scored])
        self._tally(y, mean, std, pit, scored)

    def _before(self, y: Float, slots: Int | None) -> tuple[MomentsBefore, MomentsBefore]:
        """What was known before each row: of all labels, and of those of its key if there are keys."""
        place = None
        if self.delay:
            own = np.zeros(len(y), dtype=np.int64) if slots is None else slots
            arrived, self.queue, place = delayed(self.queue, own, y, self.delay)
            y, slots = arrived[:, 1], None if slots is None else arrived[:, 0].astype(np.int64)
        of_all = self.labels.advance(y)
        of_key = of_all if self.by_key is None else self.by_key.advance(y, slots)
        return (of_all, of_key) if place is None else (of_all.at(place), of_key.at(place))

    def known(self, waiting: Float, slot: int | None) -> Float:
        """(len(KNOWN),): what is known to naive forecasts of a key, or of all rows; ``waiting`` is still to come."""
        everything = self.labels.known(waiting[:, 1])
        if self.by_key is None or slot is None:
            return np.concatenate([everything[:1], everything])
        own = waiting[waiting[:, -1] == slot]
        return np.concatenate([everything[:1], self.by_key.known(own[:, 1], slot)])

    @staticmethod
    def known_schema(n: int) -> Field:
        """What :meth:`known` can give for n rows."""
        most, largest = LARGEST_COUNT, LARGEST_FLOAT
        low = np.array([0.0, 0.0, -largest, 0.0, -largest])
        return Field((n, len(KNOWN)), low, np.array([most, most, largest, np.inf, largest]), gaps=True)

    def _naive_log_score(self, y: Float, before: MomentsBefore) -> Float:
        """NaN where the labels so far give no forecast."""
        if self.task == "count":
            seen = np.maximum(before.n, 1.0)
            mean = before.mean + 0.5 / seen
            return count_log_score(y, mean, np.maximum(before.squares / seen - mean, 0.0))
        return _student_log_density(y, before)

    def _tally(self, y: Float, mean: Float, std: Float, pit: Float, scored: Bool) -> None:
        spread = scored & (std > 0.0) & np.isfinite(std)
        y, mean, std, pit = (column[spread] for column in (y, mean, std, pit))
        if self.task == "count":
            low, high = _pit_of_counts(y, mean, std)
        else:
            low = high = _pit_of_numbers(y, mean, std, pit)
        self.tallies["pit"] += _pit_histogram(low, high)
        self.tallies["inside"] += _inside(low, high)
        self.tallies["residuals"] += _counts_in_bins((y - mean) / std, RESIDUAL_EDGES)

    def check(self, waiting: Float) -> None:
        """Refuse stored rows that could not have been waiting."""
        take({"rows waiting": waiting[:, 0]}, "rows waiting", Field((None,), 0.0, FARTHEST - 1.0, whole=True))

    def arrays(self, prefix: str) -> Arrays:
        arrays = super().arrays(prefix)
        for name, moments in self._moments().items():
            arrays |= moments.arrays(f"{prefix}.{name}")
        return arrays

    def load(self, arrays: Arrays, prefix: str) -> None:
        super().load(arrays, prefix)
        for name, moments in self._moments().items():
            moments.load(arrays, f"{prefix}.{name}", None if moments is self.by_key else 1)

    def _moments(self) -> dict[str, Moments]:
        found = {"labels": self.labels, "scored": self.scored}
        return found if self.by_key is None else found | {"by_key": self.by_key}


def _student_log_density(y: Float, before: MomentsBefore) -> Float:
    """Log density of Student's t: a normal with mean and variance estimated from the labels so far.

    A normal with those moments would be far too narrow after two labels that happen to be close.
    """
    count, dof = before.n, before.n - 1.0
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        scale2 = before.squares / dof * (1.0 + 1.0 / count)
        constant = gammaln(0.5 * count) - gammaln(0.5 * dof) - 0.5 * np.log(dof * np.pi * scale2)
        density = constant - 0.5 * count * np.log1p((y - before.mean) ** 2 / (dof * scale2))
    known: Float = np.where((count >= 2.0) & (before.squares > 0.0), density, np.nan)
    return known


def _pit_of_numbers(y: Float, mean: Float, std: Float, pit: Float) -> Float:
    """``pit`` where it was given, and the normal distribution of this mean and std elsewhere."""
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        normal = ndtr((y - mean) / std)
    return np.where(np.isnan(pit), normal, pit)


def _pit_of_counts(y: Float, mean: Float, std: Float) -> tuple[Float, Float]:
    """P(y' < y) and P(y' <= y) under the negative binomial of this mean and std; Poisson if it is no wider than that.

    A count covers all of the values between the two (Czado, Gneiting and Held 2009: the PIT of counts, without drawing
    numbers at random).
    """
    return _count_cdf(y - 1.0, mean, std), _count_cdf(y, mean, std)


def _count_cdf(y: Float, mean: Float, std: Float) -> Float:
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        excess = std**2 - mean
        # A size this large is a Poisson distribution to all digits, and betainc has no trouble below it.
        size = np.clip(mean**2 / np.where(excess > 0.0, excess, np.nan), 1e-8, 1e8)
        at = np.maximum(y, 0.0) + 1.0
        dispersed = betainc(size, at, size / (size + mean))
        poisson = gammaincc(at, mean)
    cdf: Float = np.where(y < 0.0, 0.0, np.where(np.isnan(size), poisson, dispersed))
    return cdf


def _pit_histogram(low: Float, high: Float) -> Float:
    """Rows in each of ``PIT_BINS`` bins; a row that covers low to high is shared out among the bins it touches."""
    edges = np.linspace(0.0, 1.0, PIT_BINS + 1)
    return _mass_between(low, high, edges[:-1], edges[1:])


def _inside(low: Float, high: Float) -> Float:
    """Rows inside the central interval of each of ``LEVELS``."""
    return _mass_between(low, high, 0.5 - 0.5 * LEVELS, 0.5 + 0.5 * LEVELS)


def _mass_between(low: Float, high: Float, start: Float, end: Float) -> Float:
    width = (high - low)[:, None]
    overlap = np.minimum(high[:, None], end) - np.maximum(low[:, None], start)
    # The end with the largest value is included, the others are not.
    point = (low[:, None] >= start) & ((low[:, None] < end) | ((end == end.max()) & (low[:, None] <= end)))
    with np.errstate(divide="ignore", invalid="ignore"):
        share = np.where(width > 0.0, np.clip(overlap / width, 0.0, 1.0), point)
    total: Float = share.sum(axis=0)
    return total


def _counts_in_bins(values: Float, edges: Float) -> Int:
    """Number of values below the first edge, between each two, and from the last up."""
    return np.bincount(np.searchsorted(edges, values, side="right"), minlength=len(edges) + 1).astype(np.int64)
