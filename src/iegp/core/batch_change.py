"""Whether the rows of a fit changed once, suddenly, and in which of its parts.

Predictions across such a change say nothing of those that are made after it. They are told from predictions of a stream
that wanders or changes again and again, whose coming rows are as hard to predict as the past ones were: if there was
one change, all predictions that do not cross it are nearly as good far ahead as for the next row.
"""

from __future__ import annotations

import numpy as np

from iegp.core.compute.tolerances import CHANGED_ERROR, LARGEST_ROOT, MEDIAN_SQUARE, NEAR_ERROR, NOISE_FLOOR
from iegp.typing import Float


def changed_part(errors: list[list[Float]], near: Float) -> int | None:
    """Number of the part in which everything changed; None if there is none, or more than one.

    ``errors[i][j]`` (n_beliefs, n, D) are those of part i + j, predicted at the start of part i; ``near`` (n, D) are
    those of the ensemble one row ahead. Squared errors are compared in units of the latter.
    """
    usual = _level(near)
    levels = {(i, i + j): _least_level(part) / usual for i, own in enumerate(errors) for j, part in enumerate(own)}
    last = errors[-1][0]
    # Of other parts all rows that follow a change are in the part after it.
    after = {(len(errors) - 1, len(errors)): _least_level(last[:, -max(1, last.shape[1] // 4) :]) / usual}
    for part in range(len(errors)):
        rest = [level for (start, end), level in levels.items() if not start <= part <= end]
        across = [level for (start, end), level in (levels | after).items() if start <= part < end]
        if max(rest) <= NEAR_ERROR and max(across) > CHANGED_ERROR:
            return part
    return None


def _least_level(errors: Float) -> float:
    """Squared scale of the errors (n_beliefs, n, D) of the belief that errs least."""
    return min(_level(own) for own in errors)


def _level(errors: Float) -> float:
    """Squared scale of errors (n, D), of which nearly half may be anything: the largest of the outputs."""
    squares = np.square(np.clip(errors, -LARGEST_ROOT, LARGEST_ROOT))
    return max(float(np.median(squares, axis=0).max()) / MEDIAN_SQUARE, NOISE_FLOOR)
