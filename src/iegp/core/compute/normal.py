"""The normal distribution in compiled code: distribution function, its log, and probabilities of intervals."""

from __future__ import annotations

import math

from iegp._compile import compiled

_ROOT_HALF = math.sqrt(0.5)
_LOG_ROOT_TWO_PI = 0.5 * math.log(2.0 * math.pi)
# Beyond this the continued fraction is exact to rounding, and exp(x²) erfc(x) about to overflow.
_FAR = 12.0


@compiled
def normal_cdf(x: float) -> float:
    """Probability of a standard normal value below ``x``."""
    return 0.5 * math.erfc(-x * _ROOT_HALF)


@compiled
def normal_quantile(p: float) -> float:
    """The value below which a standard normal one lies with probability ``p``, to about 1e-12; ``p`` in (0, 1)."""
    tail = min(p, 1.0 - p)
    t = math.sqrt(-2.0 * math.log(tail))  # Abramowitz and Stegun 26.2.23, to three digits; then Halley's method
    x = (2.515517 + t * (0.802853 + t * 0.010328)) / (1.0 + t * (1.432788 + t * (0.189269 + t * 0.001308))) - t
    for _ in range(3):
        step = (normal_cdf(x) - tail) * math.exp(0.5 * x * x + _LOG_ROOT_TWO_PI)
        x -= step / (1.0 + 0.5 * x * step)
    return x if p <= 0.5 else -x


@compiled
def mills_ratio(x: float) -> float:
    """``cdf(x) / pdf(x)``: accurate however far in the lower tail, where both underflow."""
    if x > 37.0:
        return math.inf  # the density has all but vanished
    if x > -_FAR:
        return normal_cdf(x) * math.exp(0.5 * x * x + _LOG_ROOT_TWO_PI)
    fraction = -x
    for k in range(24, 0, -1):
        fraction = -x + k / fraction
    return 1.0 / fraction


@compiled
def log_normal_cdf(x: float) -> float:
    """``log(cdf(x))``, accurate in both tails."""
    if x > 0.0:
        return math.log1p(-normal_cdf(-x))
    if x == -math.inf:
        return -math.inf
    return math.log(mills_ratio(x)) - 0.5 * x * x - _LOG_ROOT_TWO_PI


@compiled
def log_interval(low: float, high: float) -> float:
    """``log(cdf(high) - cdf(low))``; ends may be infinite."""
    if low + high > 0.0:  # a difference of two tails: of the small ones
        low, high = -high, -low
    larger = log_normal_cdf(high)
    if low == -math.inf:
        return larger
    return larger + math.log(max(-math.expm1(log_normal_cdf(low) - larger), 1.0e-300))


@compiled
def interval(low: float, high: float) -> tuple[float, float, float]:
    """``log(cdf(high) - cdf(low))``, its slope and curvature when both ends move to the left.

    Everything is divided by the density at the end that is nearer to the centre, so that nothing underflows.
    """
    sign = 1.0
    if low + high > 0.0:
        low, high, sign = -high, -low, -1.0
    ratio = 0.0 if low == -math.inf else math.exp(0.5 * (high - low) * (high + low))
    outer = 0.0 if ratio == 0.0 else ratio * mills_ratio(low)
    mass = max(mills_ratio(high) - outer, 1.0e-300)
    slope = -(1.0 - ratio) / mass
    bend = high if ratio == 0.0 else high - low * ratio
    # Between 0 and 1 by theory; far in the tail the difference of large squares may stray.
    curvature = min(1.0, max(0.0, bend / mass + slope * slope))
    return log_interval(low, high), sign * slope, curvature
