"""The spread of a mixture, slowly: one factor on the squared scales of all experts that follows the labels."""

from __future__ import annotations

import numpy as np
from scipy import stats


def distribution_of(dof):
    return stats.norm() if np.isinf(dof) else stats.t(dof)


def cdf(mixture, y, spread):
    """``mixture`` is weights, locations, scales before the spread, and degrees of freedom."""
    weights, loc, scale, dof = mixture
    wide = np.sqrt(spread) * scale
    return sum(w * distribution_of(nu).cdf((y - m) / s) for w, m, s, nu in zip(weights, loc, wide, dof, strict=True))


def asked_for(mixture, y, spread):
    """The spread that a label asks for."""
    return spread * min(stats.norm.ppf(cdf(mixture, y, spread)) ** 2, 25.0)


def log_density(mixture, y, spread):
    weights, loc, scale, dof = mixture
    wide = np.sqrt(spread) * scale
    parts = [w * distribution_of(nu).pdf((y - m) / s) / s for w, m, s, nu in zip(weights, loc, wide, dof, strict=True)]
    return np.log(sum(parts))


def spreads(mixtures, labels, delay=0):
    """The one with which every row is predicted: it knows the labels of rows up to so many before the last."""
    now, asked, used = 1.0, [], []
    for t, (mixture, y) in enumerate(zip(mixtures, labels, strict=True)):
        if t > delay:
            now += 0.001 * (asked[t - delay - 1] - now)
        used.append(now)
        asked.append(asked_for(mixture, y, now))
    return np.array(used)
