"""Seasonal lags from warm-up rows: where the autocorrelation of the labels peaks, if the evidence gains by them.

Candidates are the peaks of the autocorrelation of the labels and of their differences. All are compared with the lags
so far by the log evidence of a linear function of the columns and the lags. A series with a season has it twice and
three times over, too, so the shortest is taken of those that gain about as much as the best.
"""

from __future__ import annotations

import numpy as np

from iegp.core.compute.tolerances import (
    FARTHEST_USUAL,
    MANY_ROWS,
    MAX_LAG,
    MOST_SEASONS,
    SEASON_GAIN,
    SEASON_PEAKS,
    SEASON_REPEATS,
    SEASON_SHARE,
    SEASON_SIGNIFICANCE,
)
from iegp.core.fitting import evidence
from iegp.typing import Float


def with_seasons(offsets: tuple[int, ...], delay: int, x: Float, values: Float) -> tuple[int, ...]:
    """The offsets, and those of up to two seasons; from standardised rows (n, d) and the numbers of labels (n, V)."""
    x, values = (np.clip(rows, -FARTHEST_USUAL, FARTHEST_USUAL) for rows in (x, values))
    seasons = _candidates(values) if len(values) >= MANY_ROWS else []
    for _ in range(MOST_SEASONS):
        joined = (_joined(offsets, season, delay) for season in seasons)
        # With a delay lags can reach back farther than the rows that are there: too few are left to judge them by.
        more = [own for own in joined if len(own) > len(offsets) and max(own) <= len(values) - MANY_ROWS]
        if not more:
            break
        # Rows that have all of these labels before them, the same for every candidate.
        first = max(max(own) for own in more)
        # More lags of any kind gain where a level is noisy: a season must gain more than the next labels do.
        newer = [o for o in range(delay + 1, first) if o not in offsets][:2]
        before = max(_log_evidence(own, x, values, first) for own in (offsets, (*offsets, *newer)))
        gains = np.array([_log_evidence(own, x, values, first) - before for own in more])
        if gains.max() < SEASON_GAIN:
            break
        offsets = more[int(np.argmax(gains >= SEASON_SHARE * gains.max()))]
    return offsets


def _joined(offsets: tuple[int, ...], season: int, delay: int) -> tuple[int, ...]:
    """With the label one season back, and the one before it by as much as the newest known one is before the row."""
    known = season * -(-(delay + 1) // season)
    return tuple(sorted({*offsets, *(o for o in (known, known + delay + 1) if o <= MAX_LAG)}))


def _candidates(values: Float) -> list[int]:
    """Lags at peaks of the autocorrelation of labels (n, V) or of their differences, shortest first."""
    n = len(values)
    every = (autocorrelation(series, n // SEASON_REPEATS) for series in (values, np.diff(values, axis=0)))
    return sorted({peak for correlation in every for peak in _peaks(correlation, n)})


def autocorrelation(values: Float, n_lags: int) -> Float:
    """(n_lags + 1,): of the columns of ``values`` (n, V) on average; zero where nothing varies."""
    n = len(values)
    centred = values - values.mean(axis=0)
    spectrum = np.fft.rfft(centred, 2 * n, axis=0)
    products = np.fft.irfft(spectrum * spectrum.conj(), 2 * n, axis=0)[: n_lags + 1].sum(axis=1)
    return np.asarray(products / products[0]) if products[0] > 0.0 else np.zeros(n_lags + 1)


def _peaks(correlation: Float, n: int) -> list[int]:
    """The highest maxima among lags a quarter shorter to a quarter longer, if they stand out from what is before."""
    rise = correlation - np.minimum.accumulate(correlation)
    stands_out = np.minimum(rise, correlation) > SEASON_SIGNIFICANCE / np.sqrt(n)
    peaks = [
        s
        for s in range(2, len(correlation) - 1)
        if stands_out[s] and correlation[s] >= correlation[s - max(s // 4, 1) : s + max(s // 4, 1) + 1].max()
    ]
    return sorted(peaks, key=lambda s: -float(rise[s]))[:SEASON_PEAKS]


def _log_evidence(offsets: tuple[int, ...], x: Float, values: Float, first: int) -> float:
    """Log evidence of a linear function of the columns and the lags, for rows from ``first`` on."""
    n = len(values)
    lags = [values[first - offset : n - offset] for offset in offsets]
    phi = np.concatenate([np.ones((n - first, 1)), x[first:], *lags], axis=1)
    return evidence.fit(evidence.spectrum(phi, values[first:])).log_evidence
