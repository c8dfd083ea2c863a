"""Range of values that a figure of labels and predictions shows."""

from __future__ import annotations

import numpy as np

from iegp.typing import Bool, Float

# Share of values at each end that may lie outside the range, unless they were predicted.
SHARE_CUT = 0.025
# Labels nearer to the range than this share of it extend it.
REACH = 0.5
MARGIN = 0.04


def label_range(y: Float, mean: Float, lower: Float, upper: Float) -> tuple[float, float]:
    """Return a range that a few glitches, or a few wide intervals, do not stretch.

    It holds all labels inside their intervals, and 95 % of all labels, means and ends of intervals. Other labels extend
    it by up to half at each end; those further off are outside.

    Parameters
    ----------
    y, mean, lower, upper : ndarray (n,)
        Labels, predicted means and ends of the intervals; NaN where there is none.

    Returns
    -------
    tuple of float
        Ends of the range, with a small margin; equal if all values are. (0, 1) without values.
    """
    with np.errstate(invalid="ignore"):
        predicted = y[(lower <= y) & (y <= upper)]
    parts = [predicted, *(_most(values) for values in (y, mean, lower, upper))]
    core = np.concatenate([part[np.isfinite(part)] for part in parts])
    if len(core) == 0:
        return 0.0, 1.0
    low, high = float(core.min()), float(core.max())
    # Each end is multiplied on its own: the difference of two large numbers may be infinite.
    reach = REACH * high - REACH * low
    near = y[(y >= low - reach) & (y <= high + reach)]
    low, high = min(low, float(near.min(initial=low))), max(high, float(near.max(initial=high)))
    margin = MARGIN * high - MARGIN * low
    return low - margin, high + margin


def outside(y: Float, low: float, high: float) -> tuple[Bool, Bool]:
    """Return which labels are below and which above a range.

    Parameters
    ----------
    y : ndarray (n,)
        Labels; a missing one is neither.
    low, high : float
        Ends of the range.

    Returns
    -------
    tuple of ndarray (n,)
        Whether each label is below, and whether it is above.
    """
    with np.errstate(invalid="ignore"):
        return y < low, y > high


def _most(values: Float) -> Float:
    """Return the ends of the central values."""
    known = np.sort(values[np.isfinite(values)])
    last = len(known) - 1
    # Values of the sample, not between two of them: the largest of a few rows may be a glitch.
    places = [int(np.ceil(SHARE_CUT * last)), int(np.floor((1.0 - SHARE_CUT) * last))]
    return known[places] if last >= 2 else known
