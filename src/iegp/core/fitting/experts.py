"""From settings and warm-up rows to the experts: draw the frequencies, fit length scales, prior and noise."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from iegp.core.compute.threads import one_blas_thread
from iegp.core.compute.tolerances import DEFAULT_NOISE_VAR, DEFAULT_PRIOR_VAR, START_LATENT_VAR
from iegp.core.features import feature_rows
from iegp.core.fitting import evidence, laplace_evidence
from iegp.core.fitting.length_scales import fit_length_scales
from iegp.core.frequencies import draw_frequencies
from iegp.core.kernels import Kernel
from iegp.core.likelihoods import Likelihood, likelihood_code, named
from iegp.core.likelihoods.sites import INTEGRATIONS, draws
from iegp.core.settings import Rung, Settings
from iegp.core.state import Ensemble, layout_of
from iegp.core.weights import RULES, transition_matrix
from iegp.typing import Float


class Experts(NamedTuple):
    """The experts, and the kernels they ended up with (numbers in place of words)."""

    kernels: tuple[Kernel, ...]
    ensemble: Ensemble


class _Fit(NamedTuple):
    """Hyperparameters of the experts of one kernel."""

    prior_ratio: float
    noise_var: Float
    """(D,), or ones for the latent functions of labels that are not Gaussian."""
    link: Float
    """(P,) parameters of the likelihood."""


def default_experts(settings: Settings, keys: Sequence[int], n_outputs: int, y: Float | None = None) -> Experts:
    """Experts that have seen nothing: fitted length scales start at sqrt(d), variances at their defaults.

    ``keys`` are those of the columns, for drawing frequencies. ``n_outputs`` is the number of outputs, or of classes
    where labels are classes. First labels ``y`` settle the average rate of counts and the frequencies of ordered
    classes, if given.
    """
    n_columns = len(keys)
    typical = np.full(n_columns, np.sqrt(n_columns))
    kernels = tuple(kernel.resolved(n_columns, typical) for kernel in settings.kernels)
    if settings.likelihood == "gaussian":
        prior_var = DEFAULT_PRIOR_VAR if settings.prior_var is None else settings.prior_var
        noise_var = DEFAULT_NOISE_VAR if settings.noise_var is None else settings.noise_var
        fit = _Fit(prior_var / noise_var, np.full(n_outputs, noise_var), np.empty(0))
    else:
        likelihood = named(settings.likelihood)
        known = np.empty((0, likelihood.label_columns)) if y is None else y
        link = likelihood.link_from(known, n_outputs, settings.overdispersion).start
        prior_var = START_LATENT_VAR if settings.prior_var is None else settings.prior_var
        fit = _latent_fit(likelihood, prior_var, link, n_outputs)
    return Experts(kernels, _assemble(settings, kernels, [fit] * len(kernels), keys))


def fit_experts(settings: Settings, keys: Sequence[int], x: Float, y: Float, n_outputs: int) -> Experts:
    """Experts fitted to standardised warm-up rows ``x`` (n, d) and their labels ``y``."""
    with one_blas_thread():
        kernels = _fit_kernels(settings, x, _targets(settings, y, n_outputs))
        fits = []
        for number, kernel in enumerate(kernels):
            phi = feature_rows(x, expert_frequencies(settings, kernel, number, keys))
            fits.append(_fit(settings, phi, y, n_outputs))
        return Experts(kernels, _assemble(settings, kernels, fits, keys))


def with_other_ladders(settings: Settings, experts: Experts, keys: Sequence[int], noise_var: Float) -> Experts:
    """Gaussian experts with the same kernels, frequencies and prior, and the drifts and noise models of ``settings``.

    ``noise_var`` (n_kernels, D) is where the noise starts.
    """
    known = experts.ensemble
    ratios = known.prior_ratio[:: known.n_drifts]
    fits = [_Fit(float(ratio), level, np.empty(0)) for ratio, level in zip(ratios, noise_var, strict=True)]
    ensemble = _assemble(settings, experts.kernels, fits, keys)
    return Experts(experts.kernels, ensemble._replace(frequencies=known.frequencies))


def _fit(settings: Settings, phi: Float, y: Float, n_outputs: int) -> _Fit:
    """Maximum evidence: exact for Gaussian labels, Laplace's for others."""
    if settings.likelihood == "gaussian":
        exact = evidence.fit(evidence.spectrum(phi, y), settings.prior_var, settings.noise_var)
        return _Fit(exact.prior_ratio, exact.noise_var, np.empty(0))
    likelihood = named(settings.likelihood)
    link = likelihood.link_from(y, n_outputs, settings.overdispersion)
    found = laplace_evidence.fit(y, phi, link, settings.prior_var)
    return _latent_fit(likelihood, found.prior_var, found.link, n_outputs)


def _latent_fit(likelihood: Likelihood, prior_var: float, link: Float, n_outputs: int) -> _Fit:
    """In units of the latent function, as if the noise were one."""
    return _Fit(prior_var, np.ones(likelihood.n_latents(n_outputs)), likelihood.finished_link(link, prior_var))


def _targets(settings: Settings, y: Float, n_outputs: int) -> Float:
    """Numbers in place of labels, for fitting length scales: a regression on them shows which columns matter.

    Classes become indicators, counts the logs of their rates, ordered classes their place; all standardised.
    """
    if settings.likelihood == "gaussian":
        return y
    targets = named(settings.likelihood).targets(y, n_outputs)
    spread = targets.std(axis=0)
    return np.asarray((targets - targets.mean(axis=0)) / np.where(spread > 0.0, spread, 1.0))


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


def expert_frequencies(settings: Settings, kernel: Kernel, number: int, keys: Sequence[int]) -> Float:
    """Frequencies of kernel ``number``, with numbers for length scales, in standardised inputs."""
    n_columns = len(keys)
    seed = settings.seed, number
    base = draw_frequencies(kernel, settings.n_frequencies, n_columns, settings.features, seed, keys)
    return np.ascontiguousarray(base / kernel.scales(n_columns))


def _assemble(settings: Settings, kernels: tuple[Kernel, ...], fits: list[_Fit], keys: Sequence[int]) -> Ensemble:
    """Every kernel with every drift, every such pair with every noise forgetting."""
    drifts = np.array(settings.drift_var)
    noise_var = np.stack([fit.noise_var for fit in fits])
    # One random walk for all outputs: in units of the standardised target it is as asked for on average over them.
    drift_ratio = drifts[None, :] / noise_var.mean(axis=1, keepdims=True)
    noise = np.array([noise_numbers(value) for value in settings.noise_forgetting])
    sharpness = np.ones(len(noise))
    if settings.likelihood != "gaussian":
        # No noise to learn; in place of noise models there are degrees of sharpness.
        sharpness = np.array(settings.sharpness)
        noise = np.full((len(sharpness), 2), np.nan)
    n_experts = drift_ratio.size * len(noise)
    link = np.repeat(np.stack([fit.link for fit in fits]), len(drifts), axis=0)
    n_latents = noise_var.shape[1]
    switching = settings.weights == "switching"
    frequencies = [expert_frequencies(settings, kernel, i, keys) for i, kernel in enumerate(kernels)]
    return Ensemble(
        frequencies=np.concatenate(frequencies),
        layout=layout_of([len(own) for own in frequencies], len(drifts)),
        drift_ratio=drift_ratio.ravel(),
        prior_ratio=np.repeat([fit.prior_ratio for fit in fits], len(drifts)),
        noise_var=np.repeat(noise_var, len(drifts), axis=0),
        forgetting=noise[:, 0].copy(),
        tails=noise[:, 1].copy(),
        rule=RULES.index(settings.weights),
        transitions=transition_matrix(settings.switch_array(), n_experts) if switching else np.ones((1, 1)),
        rate=settings.stacking_rate,
        shutdown=settings.shutdown,
        likelihood=likelihood_code(settings.likelihood),
        integration=INTEGRATIONS.index(settings.integration),
        link=link,
        sharpness=sharpness,
        nodes=draws(settings.integration, n_latents, settings.seed),
    )


def noise_numbers(forgetting: Rung) -> tuple[float, float]:
    """Forgetting and tails of one noise model, NaN where there is none."""
    if forgetting is None:
        return np.nan, np.nan
    return forgetting if isinstance(forgetting, tuple) else (forgetting, np.nan)
