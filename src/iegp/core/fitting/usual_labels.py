"""Warm-up rows again without glitches, which spoil hyperparameters: noise that hides a glitch lets it be learned.

Experts that are fitted to all rows say which labels are glitches. Each label is predicted from the other rows by the
kernel that does this best, and compared with what is usual: half of the errors are smaller than their median, however
large a glitch and however much the noise was raised for it.
"""

from __future__ import annotations

import numpy as np

from iegp.core.compute.tolerances import FARTHEST_PREDICTED, MOST_GLITCHES
from iegp.core.expert.sweep import kernel_features
from iegp.core.state import Ensemble
from iegp.core.unusual import usual_rows
from iegp.typing import Bool, Float


def usual_labels(ensemble: Ensemble, x: Float, y: Float) -> tuple[Bool, Float]:
    """Find the usual ones among standardised labels ``y`` (n, D) of rows ``x``, and predict each label.

    Parameters
    ----------
    ensemble : Ensemble
        Experts fitted to these rows.
    x, y : ndarray (n, d), (n, D)
        Rows, their lags included, and labels.

    Returns
    -------
    is_usual : ndarray (n,)
        False for a few glitches.
    means : ndarray (n, D)
        Predictions of the labels from all other rows.
    """
    best, least = (np.zeros_like(y), np.ones(len(y))), np.inf
    for kernel in range(len(ensemble.layout.beliefs) - 1):
        errors, variances = _errors_left_out(ensemble, kernel, x, y)
        size = float(np.median(np.abs(errors).max(axis=1)))
        if size < least:
            best, least = (errors, variances), size
    errors, variances = best
    return usual_rows(errors[None], variances[None], FARTHEST_PREDICTED, MOST_GLITCHES), y - errors


def _errors_left_out(ensemble: Ensemble, kernel: int, x: Float, y: Float) -> tuple[Float, Float]:
    """Errors (n, D) of each label's prediction from the other rows, and variances (n,) in units of the noise.

    These follow from the fit to all rows: an error is that of the fit over one minus the row's leverage.
    """
    belief = ensemble.layout.beliefs[kernel]
    phi = kernel_features(ensemble, kernel, x)
    precision = phi.T @ phi
    precision[np.diag_indices_from(precision)] += 1.0 / ensemble.prior_ratio[belief]
    solved = np.linalg.solve(precision, phi.T)
    rest = np.maximum(1.0 - np.einsum("nf,fn->n", phi, solved), np.finfo(np.float64).eps)
    return (y - phi @ (solved @ y)) / rest[:, None], 1.0 / rest
