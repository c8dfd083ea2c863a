"""The Student-t distribution for compiled code; ``dof = inf`` is the Gaussian.

Scalar functions, cheap enough to be called millions of times from other compiled functions. Everything is in units of
the scale (``r = residual / scale``) except in :func:`student_log_kernel`. The distribution function keeps its
*relative* accuracy (about 1e-12) deep into the lower tail; for the upper tail call it with ``-r``. SciPy's ``stdtr``
takes 2.5 to 3.3 times as long, on whole arrays (``python benchmarks/own_code.py student``).
"""

from __future__ import annotations

import math

from iegp._compile import compiled
from iegp.core.compute.tolerances import (
    CENTRE_SQUARE,
    CLOSED_FORM_SQUARE,
    GAUSSIAN_DOF,
    LARGE_ARGUMENT,
    LARGEST_ROOT,
    MANY_DOF,
    ROUNDING,
    STUDENT_MAX_TERMS,
)

HALF_LOG_PI = 0.5 * math.log(math.pi)
HALF_LOG_2PI = 0.5 * math.log(2.0 * math.pi)
_SQRT_HALF = math.sqrt(0.5)

# Taylor coefficients of sqrt((s/2) / sinh(s/2)) in powers of s².
_DENSITY_RATIO = (
    1.0,
    -0.020833333333333333333,
    0.000390625,
    -7.8796709656084656085e-6,
    1.6967665791721781305e-7,
    -3.8050641917219065657e-9,
    8.7483775963154073041e-11,
    -2.0445233594119738176e-12,
    4.8333517979677044083e-14,
)


@compiled
def student_log_normaliser(dof: float) -> float:
    """Compute the log density at the centre for unit scale: the part of the log density that depends on ``dof`` alone.

    O(1). Above 30 degrees of freedom no gamma function is evaluated: the difference of two of them would lose digits.

    >>> round(student_log_normaliser(1.0), 6)  # Cauchy: -log(pi)
    -1.14473
    >>> round(student_log_normaliser(float("inf")), 6)  # Gaussian: -log(2 pi) / 2
    -0.918939
    """
    if dof > GAUSSIAN_DOF:
        return -HALF_LOG_2PI
    if dof < MANY_DOF:
        return math.lgamma(0.5 * (dof + 1.0)) - math.lgamma(0.5 * dof) - 0.5 * math.log(dof) - HALF_LOG_PI
    # Stirling's series of log G(x + 1/2) - log G(x) - log(x) / 2 at x = dof / 2.
    v = 2.0 / dof
    v2 = v * v
    series = -1.0 / 8 + v2 * (1.0 / 192 + v2 * (-1.0 / 640 + v2 * (17.0 / 14336 - v2 * (31.0 / 18432))))
    return v * series - HALF_LOG_2PI


@compiled
def _log1p_square(t: float) -> float:
    """``log(1 + t²)`` for ``t >= 0`` without overflow of the square."""
    if t > LARGE_ARGUMENT:
        return 2.0 * math.log(t)
    return math.log1p(t * t)


@compiled
def student_log_kernel(residual: float, scale: float, dof: float) -> float:
    """Compute the log density without the constant of :func:`student_log_normaliser`, which a caller may keep.

    O(1): two logarithms.

    >>> student_log_kernel(2.0, 1.0, float("inf"))
    -2.0
    """
    r = abs(residual) / scale
    if dof > GAUSSIAN_DOF:
        # Python floats would raise where compiled code overflows; both must say -inf.
        return -0.5 * r * r - math.log(scale) if r < LARGEST_ROOT else -math.inf * r
    return -0.5 * (dof + 1.0) * _log1p_square(r / math.sqrt(dof)) - math.log(scale)


@compiled
def _gaussian_cdf(r: float) -> float:
    return 0.5 * math.erfc(-_SQRT_HALF * r)


@compiled
def _cdf_many_dof(r: float, dof: float, log1p_t2: float) -> float:
    """Compute the distribution function for ``dof >= 30``, expanded around the Gaussian.

    With ``a = dof - 1/2`` and ``z² = a log(1 + r²/dof)`` the density of z is exactly proportional to
    ``phi(z) sqrt((s/2) / sinh(s/2))``, ``s = z²/a``: even in s, so every term gains a factor ``1/a²``. Each power of z
    integrates to a multiple of Phi(z) minus phi(z) times a polynomial; the multiples of Phi sum to one because the
    total mass does.
    """
    a = dof - 0.5
    z2 = a * log1p_t2
    z = -math.sqrt(z2) if r < 0.0 else math.sqrt(z2)
    inv_a2 = 1.0 / (a * a)
    mass, correction = 1.0, 0.0
    poly, moment, power, scaling = 0.0, 1.0, z, 1.0  # integral of v^k phi = moment Phi(z) - phi(z) poly, k = 0
    for j in range(1, len(_DENSITY_RATIO)):
        for k in range(4 * j - 3, 4 * j, 2):
            poly = power + k * poly
            moment *= k
            power *= z2
        scaling *= inv_a2
        factor = _DENSITY_RATIO[j] * scaling
        mass += factor * moment
        correction += factor * poly
        if abs(factor * poly) < ROUNDING * abs(correction):
            break
    density = math.exp(-0.5 * z2 - HALF_LOG_2PI)
    return max(_gaussian_cdf(z) - density * correction / mass, 0.0)


@compiled
def _cdf_series(r: float, dof: float, pdf: float) -> float:
    """Compute the distribution function by two series of positive terms, one for the centre and one for the tail.

    Made for few degrees of freedom, or far out. The series are those of the incomplete beta function; both have the
    density as their common factor.
    """
    r2 = r * r
    share = r2 / (dof + r2)
    b = 0.5 * dof
    term, total = 1.0, 1.0
    if share <= 0.5 and r2 <= CENTRE_SQUARE:
        for k in range(STUDENT_MAX_TERMS):
            term *= share * (b + 0.5 + k) / (1.5 + k)
            total += term
            if term < ROUNDING * total:
                break
        return min(max(0.5 + r * pdf * total, 0.0), 1.0)
    rest = dof / (dof + r2)
    for k in range(STUDENT_MAX_TERMS):
        term *= rest * (b + 0.5 + k) / (b + 1.0 + k)
        total += term
        if term < ROUNDING * total:
            break
    tail = min(abs(r) * pdf * total / dof, 0.5)
    return tail if r < 0.0 else 1.0 - tail


@compiled
def _whole_cdf_pdf(r: float, dof: float, log_normaliser: float) -> tuple[float, float]:
    """Compute distribution function and density for a whole number of degrees of freedom: finite sums.

    Abramowitz and Stegun 26.7.3 and 26.7.4, with the angle ``atan(r / sqrt(dof))``. No logarithm is needed.
    """
    square = dof / (dof + r * r)
    cosine, sine = math.sqrt(square), r / math.sqrt(dof + r * r)
    odd = dof % 2.0
    n_terms = int(0.5 * (dof - 2.0 - odd))
    term, total, power = 1.0, 1.0, 1.0
    for k in range(1, n_terms + 1):
        power *= square
        term *= square * (2.0 * k - 1.0 + odd) / (2.0 * k + odd)
        total += term
    # The density has the power (dof + 1) / 2 of the square.
    if odd == 0.0:
        return 0.5 + 0.5 * sine * total, math.exp(log_normaliser) * power * square * cosine
    if dof == 1.0:
        return 0.5 + math.atan(r) / math.pi, math.exp(log_normaliser) * square
    angle = math.atan(r / math.sqrt(dof))
    return 0.5 + (angle + sine * cosine * total) / math.pi, math.exp(log_normaliser) * power * square * square


@compiled
def student_cdf_pdf(r: float, dof: float, log_normaliser: float) -> tuple[float, float]:
    """Compute distribution function and density at ``r`` for unit scale; ``log_normaliser`` depends on ``dof`` alone.

    They share their expensive parts: about 60 ns for a Gaussian or ``dof >= 30``, 50 to 200 ns below, less for whole
    degrees of freedom.

    >>> cdf, pdf = student_cdf_pdf(1.0, 1.0, student_log_normaliser(1.0))  # Cauchy
    >>> round(cdf, 12), round(pdf * 3.141592653589793, 12)
    (0.75, 0.5)
    """
    if abs(r) > LARGEST_ROOT:
        return (0.0 if r < 0.0 else 1.0), 0.0
    if dof > GAUSSIAN_DOF:
        return _gaussian_cdf(r), math.exp(-0.5 * r * r - HALF_LOG_2PI)
    if dof < MANY_DOF and r * r <= CLOSED_FORM_SQUARE and dof == math.floor(dof):
        return _whole_cdf_pdf(r, dof, log_normaliser)
    log1p_t2 = _log1p_square(abs(r) / math.sqrt(dof))
    pdf = math.exp(log_normaliser - 0.5 * (dof + 1.0) * log1p_t2)
    if dof < MANY_DOF or r * r > dof:  # so far out the tail series is short, and the expansion loses relative accuracy
        return _cdf_series(r, dof, pdf), pdf
    return _cdf_many_dof(r, dof, log1p_t2), pdf
