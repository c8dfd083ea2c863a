"""From settings and warm-up rows to the experts: draw the frequencies, fit length scales, prior and noise."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from iegp.core import evidence
from iegp.core.ensemble import Ensemble
from iegp.core.features import feature_rows
from iegp.core.kernels import Kernel
from iegp.core.length_scales import fit_length_scales
from iegp.core.sampling import draw_frequencies
from iegp.core.settings import Rung, Settings
from iegp.core.threads import one_blas_thread
from iegp.core.weights import RULES, transition_matrix
from iegp.typing import Float

# Before there are enough rows for evidence: all of the target is signal, with a tenth of noise.
DEFAULT_PRIOR_VAR = 1.0
DEFAULT_NOISE_VAR = 0.1


class Experts(NamedTuple):
    """The experts, and the kernels they ended up with (numbers in place of words)."""

    kernels: tuple[Kernel, ...]
    ensemble: Ensemble


def default_experts(settings: Settings, n_columns: int, n_outputs: int) -> Experts:
    """Experts that have seen nothing: fitted length scales start at sqrt(d), variances at their defaults."""
    typical = np.full(n_columns, np.sqrt(n_columns))
    kernels = tuple(kernel.resolved(n_columns, typical) for kernel in settings.kernels)
    prior_var = DEFAULT_PRIOR_VAR if settings.prior_var is None else settings.prior_var
    noise_var = DEFAULT_NOISE_VAR if settings.noise_var is None else settings.noise_var
    fit = evidence.Fit(prior_var / noise_var, np.full(n_outputs, noise_var), np.nan)
    return Experts(kernels, _assemble(settings, kernels, [fit] * len(kernels), n_columns))


def fit_experts(settings: Settings, x: Float, y: Float) -> Experts:
    """Experts fitted to standardised warm-up rows ``x`` (n, d), ``y`` (n, D)."""
    n_columns = x.shape[1]
    with one_blas_thread():
        kernels = _fit_kernels(settings, x, y)
        fits = []
        for number, kernel in enumerate(kernels):
            phi = feature_rows(x, _frequencies(settings, kernel, number, n_columns))
            fits.append(evidence.fit(evidence.spectrum(phi, y), settings.prior_var, settings.noise_var))
        return Experts(kernels, _assemble(settings, kernels, fits, n_columns))


def _fit_kernels(settings: Settings, x: Float, y: Float) -> tuple[Kernel, ...]:
    """Replace words by numbers; kernels with the same relative share one fit."""
    n_columns = x.shape[1]
    known: dict[tuple[Kernel, bool], Float] = {}
    kernels = []
    for kernel in settings.kernels:
        key = kernel.relative(), kernel.length_scale == "evidence"
        if kernel.is_fitted_to_data and key not in known:
            known[key] = fit_length_scales(key[0], x, y, shared=key[1])
        kernels.append(kernel.resolved(n_columns, known.get(key, np.ones(n_columns))))
    return tuple(kernels)


def _frequencies(settings: Settings, kernel: Kernel, number: int, n_columns: int) -> Float:
    seed = settings.seed, number
    base = draw_frequencies(kernel, settings.n_frequencies, n_columns, settings.features, seed)
    return np.ascontiguousarray(base / kernel.scales(n_columns))


def _assemble(settings: Settings, kernels: tuple[Kernel, ...], fits: list[evidence.Fit], n_columns: int) -> Ensemble:
    """Every kernel with every drift, every such pair with every noise forgetting."""
    drifts = np.array(settings.drift_var)
    noise_var = np.stack([fit.noise_var for fit in fits])
    # One random walk for all outputs: in units of the standardised target it is as asked for on average over them.
    drift_ratio = drifts[None, :] / noise_var.mean(axis=1, keepdims=True)
    rungs = np.array([_rung(value) for value in settings.noise_forgetting])
    n_experts = drift_ratio.size * len(rungs)
    switching = settings.weights == "switching"
    return Ensemble(
        frequencies=np.stack([_frequencies(settings, kernel, i, n_columns) for i, kernel in enumerate(kernels)]),
        drift_ratio=drift_ratio.ravel(),
        prior_ratio=np.repeat([fit.prior_ratio for fit in fits], len(drifts)),
        noise_var=np.repeat(noise_var, len(drifts), axis=0),
        forgetting=rungs[:, 0].copy(),
        tails=rungs[:, 1].copy(),
        rule=RULES.index(settings.weights),
        transitions=transition_matrix(settings.switch_array(), n_experts) if switching else np.ones((1, 1)),
        rate=settings.stacking_rate,
        shutdown=settings.shutdown,
    )


def _rung(forgetting: Rung) -> tuple[float, float]:
    """Forgetting and tails of one rung of the noise ladder, NaN where there is none."""
    if forgetting is None:
        return np.nan, np.nan
    return forgetting if isinstance(forgetting, tuple) else (forgetting, np.nan)
