"""What the noise contributes to an expert's marginal likelihood, for noise that is fixed or learned without forgetting.

With determinants left aside, n rows with the sum of squared normalised innovations ``s`` have the log likelihood
``-n/2 log(noise) - s / (2 noise)`` if the noise is fixed, and ``G(shape + n/2, scale + s/2) - G(shape, scale)`` with
``G(a, b) = lgamma(a) - a log(b)`` if it is inverse-gamma. (Both without ``n/2 log(2 pi)``, which all experts share.)
"""

from __future__ import annotations

import numpy as np
from scipy.special import gammaln

from iegp.core.compute.tolerances import STIRLING_FROM
from iegp.typing import Float


def learned_evidence(shape: Float, scale: Float, reference: Float) -> Float:
    """``G(shape, scale) + shape log(reference)``: with a reference near the noise level, a small number.

    G itself grows like the number of rows times its logarithm, and differences of it would lose digits.
    """
    return _stirling_remainder(shape) - shape - shape * np.log(scale / (shape * reference))


def _stirling_remainder(shape: Float) -> Float:
    """``lgamma(a) - a log(a) + a``."""
    few = np.minimum(shape, STIRLING_FROM)
    many = np.maximum(shape, STIRLING_FROM)
    series = 0.5 * np.log(2.0 * np.pi / many) + 1.0 / (12.0 * many) - 1.0 / (360.0 * many**3)
    return np.where(shape < STIRLING_FROM, gammaln(few) - few * np.log(few) + few, series)
