"""A mixture, one row and one output at a time, from SciPy's distributions, root finder and quadrature.

Slow and obvious on purpose; shares no code with the package. ``weights``, ``loc``, ``scale``, ``dof`` have shape (M,).
"""

from __future__ import annotations

import math

import mpmath
import numpy as np
from scipy import integrate, optimize, stats


def student_cdf(r, dof):
    """40 digits, from the incomplete beta function (SciPy has only eight for dof = 1 and r near 0)."""
    with mpmath.workdps(40):
        r, dof = mpmath.mpf(r), mpmath.mpf(dof)
        if mpmath.isinf(dof):
            return float(mpmath.ncdf(r))
        tail = mpmath.betainc(dof / 2, mpmath.mpf(1) / 2, 0, dof / (dof + r * r), regularized=True) / 2
        return float(tail if r < 0 else 1 - tail)


def student_logpdf(r, dof):
    """40 digits, from the gamma function."""
    with mpmath.workdps(40):
        r, dof = mpmath.mpf(r), mpmath.mpf(dof)
        if mpmath.isinf(dof):
            return float(-r * r / 2 - mpmath.log(2 * mpmath.pi) / 2)
        constant = mpmath.loggamma((dof + 1) / 2) - mpmath.loggamma(dof / 2) - mpmath.log(dof * mpmath.pi) / 2
        return float(constant - (dof + 1) / 2 * mpmath.log1p(r * r / dof))


def component(loc, scale, dof):
    """SciPy's frozen distribution; infinite degrees of freedom are a Gaussian."""
    return stats.norm(loc, scale) if math.isinf(dof) else stats.t(dof, loc, scale)


def components(loc, scale, dof):
    return [component(*one) for one in zip(loc, scale, dof, strict=True)]


def cdf(y, weights, loc, scale, dof):
    return sum(w * c.cdf(y) for w, c in zip(weights, components(loc, scale, dof), strict=True))


def pdf(y, weights, loc, scale, dof):
    return sum(w * c.pdf(y) for w, c in zip(weights, components(loc, scale, dof), strict=True))


def mean(weights, loc):
    return sum(w * mu for w, mu in zip(weights, loc, strict=True))


def var(weights, loc, scale, dof):
    """Second moment minus squared mean."""
    second = sum(w * (c.var() + mu**2) for w, mu, c in zip(weights, loc, components(loc, scale, dof), strict=True))
    return second - mean(weights, loc) ** 2


def joint_logpdf(y, weights, loc, scale, dof):
    """``y`` (D,), the fields (M, D): the definition, term by term."""
    density = 0.0
    for m, weight in enumerate(weights):
        product = weight
        for d in range(len(y)):
            product *= component(loc[m, d], scale[m, d], dof[m, d]).pdf(y[d])
        density += product
    return math.log(density)


def quantile(q, weights, loc, scale, dof):
    """Root between the smallest and the largest of the components' own quantiles."""
    own = [c.ppf(q) for c in components(loc, scale, dof)]
    low, high = min(own), max(own)
    if high - low < 1e-13 * (1 + abs(low)):
        return low
    return optimize.brentq(lambda y: cdf(y, weights, loc, scale, dof) - q, low, high, xtol=1e-14, rtol=1e-14)


def crps(y, weights, loc, scale, dof):
    """The definition: squared difference between the distribution function and the step at ``y``, integrated."""
    frozen = components(loc, scale, dof)

    def below(x):
        return sum(w * c.cdf(x) for w, c in zip(weights, frozen, strict=True)) ** 2

    def above(x):
        return sum(w * c.sf(x) for w, c in zip(weights, frozen, strict=True)) ** 2

    edges = np.sort(np.concatenate([[y], *(loc + k * scale for k in (-8.0, -3.0, 0.0, 3.0, 8.0))]))
    total = 0.0
    for left, right in zip([-np.inf, *edges], [*edges, np.inf], strict=True):
        if right > left:
            total += integrate.quad(below if right <= y else above, left, right, epsabs=1e-13, epsrel=1e-10)[0]
    return total
