"""Conjugate learning of the noise variance, one inverse-gamma per output, with forgetting (DESIGN, section 3).

With prior and drift given as multiples of the noise variance s, y_t | s, past ~ N(mean_t, s v_t) with v_t free of s.
If s ~ InvGamma(a, b), then y_t ~ Student-t with 2a degrees of freedom, location mean_t and squared scale (b/a) v_t, and
s | y_t ~ InvGamma(a + 1/2, b + (y_t - mean_t)^2 / (2 v_t)). Forgetting multiplies a and b by rho before every row.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import integrate, stats

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Noise:
    shape: float  # a, common to the outputs because it only counts rows
    scale: Array  # b, (D,)


def start(shape: float, noise_var: Array) -> Noise:
    """a0 and b0 = a0 * noise_var0."""
    return Noise(shape, shape * np.asarray(noise_var, dtype=float))


def forget(noise: Noise, rho: float) -> Noise:
    return Noise(rho * noise.shape, rho * noise.scale)


def predictive(noise: Noise, v: float) -> tuple[float, Array]:
    """Degrees of freedom 2a and squared scale (b/a) v, (D,), for a state that has already forgotten."""
    return 2.0 * noise.shape, noise.scale / noise.shape * v


def variance(noise: Noise, v: float) -> Array:
    """Variance of that Student-t: squared scale * dof / (dof - 2), infinite when dof <= 2."""
    dof, scale2 = predictive(noise, v)
    return scale2 * dof / (dof - 2.0) if dof > 2.0 else np.full_like(scale2, math.inf)


def log_density(noise: Noise, mean: Array, v: float, y: Array) -> Array:
    """Log predictive density of every output, (D,), for a state that has already forgotten."""
    dof, scale2 = predictive(noise, v)
    return np.array([stats.t.logpdf(y[d], dof, mean[d], math.sqrt(scale2[d])) for d in range(len(y))])


def learn(noise: Noise, mean: Array, v: float, y: Array) -> Noise:
    """a += 1/2, b += (y - mean)^2 / (2 v)."""
    return Noise(noise.shape + 0.5, noise.scale + (y - mean) ** 2 / (2.0 * v))


def run(mean: Array, v: Array, Y: Array, shape: float, noise_var: Array, rho: float) -> tuple[Array, Noise]:
    """Log predictive densities (n, D) and the last state, from means (n, D) and normalised variances (n,)."""
    noise = start(shape, noise_var)
    scores = np.empty(Y.shape)
    for t in range(len(Y)):
        noise = forget(noise, rho)
        scores[t] = log_density(noise, mean[t], float(v[t]), Y[t])
        noise = learn(noise, mean[t], float(v[t]), Y[t])
    return scores, noise


def log_evidence_by_integration(errors: Array, v: Array, shape: float, scale: float) -> Array:
    """log p(y_1..y_t) for t = 0..n of one output, integrating the noise variance s out numerically (rho = 1).

    Integrand over x = log s: InvGamma(s; a, b) s prod_{tau<=t} N(error_tau; 0, s v_tau). Trapezoidal rule on a range
    outside which the integrand is below e^-60 of its peak: exponentially accurate for such a function. Nothing here
    uses conjugacy.
    """
    grand_scale = scale + float(np.sum(errors**2 / (2.0 * v)))
    x = np.linspace(math.log(scale) - math.log(1e4), math.log(grand_scale) + 60.0 / shape, 40_001)
    log_f = shape * math.log(scale) - math.lgamma(shape) - shape * x - scale * np.exp(-x)
    out = np.empty(len(errors) + 1)
    for t in range(len(errors) + 1):
        if t > 0:
            s_v = np.exp(x) * v[t - 1]
            log_f = log_f - 0.5 * np.log(2.0 * math.pi * s_v) - errors[t - 1] ** 2 / (2.0 * s_v)
        peak = float(np.max(log_f))
        out[t] = peak + math.log(float(integrate.trapezoid(np.exp(log_f - peak), x)))
    return out
