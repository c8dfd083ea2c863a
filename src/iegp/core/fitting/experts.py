"""From settings and warm-up rows to the experts: draw the frequencies, fit length scales, prior and noise."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from iegp.core.compute.threads import one_blas_thread
from iegp.core.compute.tolerances import (
    DEFAULT_NOISE_VAR,
    DEFAULT_PRIOR_VAR,
    GLITCH,
    LEAST_TERM_SHARE,
    MAX_DRIFTING_RATIO,
    MAX_PRIOR_VAR,
    START_LATENT_VAR,
)
from iegp.core.features import Basis, feature_rows, joined, placed, term_of_features
from iegp.core.fitting import evidence, laplace_evidence
from iegp.core.fitting.length_scales import fit_length_scales
from iegp.core.kernels import Draw, Inputs, Kernel, Linear, Stationary, Sum, Term, without_wide_linear
from iegp.core.likelihoods import Likelihood, likelihood_code, named
from iegp.core.likelihoods.sites import INTEGRATIONS, draws
from iegp.core.settings import NoiseSetting, Settings
from iegp.core.state import Ensemble, Layout, layout_of
from iegp.core.weights import RULES, rule_named, transition_matrix
from iegp.typing import Float, Int

# Numbers of kernels and of their terms share one number of a seed.
_TERM_BITS = 20


class Experts(NamedTuple):
    """The experts, and the kernels they ended up with: numbers in place of words, prior variances of terms included."""

    kernels: tuple[Kernel, ...]
    ensemble: Ensemble


class _Fit(NamedTuple):
    """Hyperparameters of the experts of one kernel."""

    prior_ratios: Float
    """(n_terms,): prior variance over the noise variance."""
    noise_var: Float
    """(D,), or ones for the latent functions of labels that are not Gaussian."""
    link: Float
    """(P,) parameters of the likelihood."""


def kernels_for(settings: Settings, inputs: Inputs) -> tuple[Kernel, ...]:
    """The kernels of the settings; where these allow it, without linear terms that would see too many columns."""
    if not settings.leaves_out_linear:
        return settings.kernels
    return tuple(without_wide_linear(kernel, inputs) for kernel in settings.kernels)


def default_experts(settings: Settings, inputs: Inputs, n_outputs: int, y: Float | None = None) -> Experts:
    """Experts that have seen nothing: fitted length scales start at sqrt(d), variances at their defaults.

    ``n_outputs`` is the number of outputs, or of classes where labels are classes. First labels ``y`` settle the
    average rate of counts and the frequencies of ordered classes, if given.
    """
    kernels = tuple(_resolved(kernel, inputs, _typical_length_scales) for kernel in kernels_for(settings, inputs))
    is_gaussian = settings.likelihood == "gaussian"
    fits = []
    for kernel in kernels:
        start = np.full(len(kernel.terms), DEFAULT_PRIOR_VAR if is_gaussian else START_LATENT_VAR)
        if y is not None and not is_gaussian:
            # Two or four rows may lie close together in a column, whose unit is tiny then: a linear function would
            # extrapolate the next one without bounds, and a rate is its exponential.
            start[[isinstance(term, Linear) for term in kernel.terms]] *= LEAST_TERM_SHARE
        given = _given_prior_vars(settings, kernel)
        prior_vars = np.where(np.isnan(given), start / len(given), given)
        if is_gaussian:
            noise_var = DEFAULT_NOISE_VAR if settings.noise_var is None else settings.noise_var
            fits.append(_Fit(prior_vars / noise_var, np.full(n_outputs, noise_var), np.empty(0)))
        else:
            likelihood = named(settings.likelihood)
            known = np.empty((0, likelihood.label_columns)) if y is None else y
            link = likelihood.link_from(known, n_outputs, settings.overdispersion).start
            fits.append(_latent_fit(likelihood, prior_vars, link, n_outputs))
    return _assemble(settings, kernels, fits, inputs)


def fit_experts(settings: Settings, inputs: Inputs, x: Float, y: Float, n_outputs: int) -> Experts:
    """Experts fitted to standardised warm-up rows ``x`` (n, d) and their labels ``y``."""
    with one_blas_thread():
        kernels = _fit_kernels(settings, inputs, x, _targets(settings, y, n_outputs))
        fits = []
        for number, kernel in enumerate(kernels):
            bases = term_bases(settings, kernel, number, inputs)
            phi, term_of = feature_rows(x, joined(bases)), term_of_features(bases)
            fits.append(_fit(settings, kernel, phi, term_of, y, n_outputs))
        return _assemble(settings, kernels, fits, inputs)


def with_other_drifts(settings: Settings, experts: Experts, inputs: Inputs, noise_var: Float) -> Experts:
    """Gaussian experts with the same kernels, features and prior, and the drifts and noise models of ``settings``.

    ``noise_var`` (n_kernels, D) is where the noise starts.
    """
    known = experts.ensemble
    fits = []
    for k, (kernel, level) in enumerate(zip(experts.kernels, noise_var, strict=True)):
        ratio = known.prior_ratio[k * known.n_drifts]
        fits.append(_Fit(ratio * term_shares(kernel), level, np.empty(0)))
    live = _assemble(settings, experts.kernels, fits, inputs).ensemble
    if settings.drift_units == "prior":
        # A share of the prior variance that the experts started with, in units of the noise as it is now.
        before = known.noise_var[:: known.n_drifts].mean(axis=1)
        factor = np.repeat(before / noise_var.mean(axis=1), live.n_drifts)
        live = live._replace(drift=live.drift * np.repeat(factor, live.layout.n_features))
    return Experts(experts.kernels, live._replace(basis=known.basis))


def _given_prior_vars(settings: Settings, kernel: Kernel) -> Float:
    """(n_terms,): prior variances that the user gave, NaN where they are to be found."""
    found = np.nan if settings.prior_var is None else settings.prior_var
    own = [found if term.prior_var is None else term.prior_var for term in kernel.terms]
    return np.array(own, dtype=np.float64)


def _fit(settings: Settings, kernel: Kernel, phi: Float, term_of: Int, y: Float, n_outputs: int) -> _Fit:
    """Maximum evidence: exact for Gaussian labels, Laplace's for others."""
    given = _given_prior_vars(settings, kernel)
    if settings.likelihood == "gaussian":
        search = _gaussian_search(settings, phi, term_of, y)
        exact = search(given)
        if settings.robust:
            bounded = np.isnan(given) & (exact.prior_ratios * exact.noise_var.mean() > MAX_PRIOR_VAR)
            exact = search(np.where(bounded, MAX_PRIOR_VAR, given)) if bounded.any() else exact
        return _Fit(_with_floor(exact.prior_ratios, given), exact.noise_var, np.empty(0))
    likelihood = named(settings.likelihood)
    link = likelihood.link_from(y, n_outputs, settings.overdispersion)
    found = laplace_evidence.fit(y, phi, term_of, link, given)
    return _latent_fit(likelihood, _with_floor(found.prior_vars, given), found.link, n_outputs)


def _gaussian_search(settings: Settings, phi: Float, term_of: Int, y: Float) -> Callable[[Float], evidence.Fit]:
    """The search for hyperparameters of Gaussian labels, by the prior variances that are given: NaN where none is."""
    if term_of.max() > 0:
        rows = evidence.term_rows(phi, y, term_of)
        return lambda given: evidence.fit_terms(rows, given, settings.noise_var)
    spectrum = evidence.spectrum(phi, y)
    return lambda given: evidence.fit(spectrum, None if np.isnan(given[0]) else float(given[0]), settings.noise_var)


def _with_floor(variances: Float, given: Float) -> Float:
    """No term that was searched for falls below a small share of the whole."""
    return np.where(np.isnan(given), np.maximum(variances, LEAST_TERM_SHARE * variances.sum()), variances)


def _latent_fit(likelihood: Likelihood, prior_vars: Float, link: Float, n_outputs: int) -> _Fit:
    """In units of the latent function, as if the noise were one."""
    total = float(prior_vars.sum())
    return _Fit(prior_vars, np.ones(likelihood.n_latents(n_outputs)), likelihood.finished_link(link, total))


def _targets(settings: Settings, y: Float, n_outputs: int) -> Float:
    """Numbers in place of labels, for fitting length scales: a regression on them shows which columns matter.

    Classes become indicators, counts the logs of their rates, ordered classes their place; all standardised.
    """
    if settings.likelihood == "gaussian":
        return y
    targets = named(settings.likelihood).targets(y, n_outputs)
    spread = targets.std(axis=0)
    return np.asarray((targets - targets.mean(axis=0)) / np.where(spread > 0.0, spread, 1.0))


def _fit_kernels(settings: Settings, inputs: Inputs, x: Float, y: Float) -> tuple[Kernel, ...]:
    """Replace words by numbers; terms with the same relative and the same columns share one fit."""
    known: dict[tuple[Stationary, bool, tuple[int, ...]], Float] = {}

    def fitted(term: Stationary, places: Int) -> Float:
        key = term.relative(), term.length_scale == "evidence", tuple(places.tolist())
        if key not in known:
            known[key] = fit_length_scales(key[0], np.ascontiguousarray(x[:, places]), y, shared=key[1])
        return known[key]

    return tuple(_resolved(kernel, inputs, fitted) for kernel in kernels_for(settings, inputs))


def _typical_length_scales(term: Stationary, places: Int) -> Float:
    """Before there are rows to fit to: the typical distance between standardised rows."""
    del term
    return np.full(len(places), np.sqrt(len(places)))


def _resolved(kernel: Kernel, inputs: Inputs, fitted: Callable[[Stationary, Int], Float]) -> Kernel:
    """The kernel with numbers for length scales; ``fitted`` finds those that are words for it."""
    terms: list[Term] = []
    for term in kernel.terms:
        places = term.places(inputs)
        if isinstance(term, Stationary):
            scales = fitted(term, places) if term.is_fitted_to_data else np.ones(len(places))
            term = term.resolved(len(places), scales)
        terms.append(term)
    return terms[0] if len(terms) == 1 else Sum(tuple(terms))


def term_bases(settings: Settings, kernel: Kernel, number: int, inputs: Inputs) -> list[Basis]:
    """Features of each term of kernel ``number``, with numbers for length scales, in standardised inputs."""
    bases = []
    for k, term in enumerate(kernel.terms):
        places = term.places(inputs)
        keys = tuple(inputs.keys[c] for c in places)
        if settings.features == "orthogonal" and inputs.has_numbered_columns:
            keys = tuple(range(len(places)))
        # The first term draws as a kernel of one term does.
        seed = settings.seed, number + (k << _TERM_BITS)
        own = term.basis(Draw(settings.n_frequencies, settings.features, seed, keys, inputs.scale[places]))
        bases.append(placed(own, places, inputs.n_columns))
    return bases


def kernel_basis(settings: Settings, kernel: Kernel, number: int, inputs: Inputs) -> Basis:
    """Features of a kernel, each term times the square root of its share in the prior variance."""
    return _with_shares(kernel, term_bases(settings, kernel, number, inputs))


def _with_shares(kernel: Kernel, bases: list[Basis]) -> Basis:
    roots = np.sqrt(term_shares(kernel))
    return joined(
        [
            basis._replace(amplitudes=root * basis.amplitudes, slopes=root * basis.slopes)
            for root, basis in zip(roots, bases, strict=True)
        ]
    )


def term_shares(kernel: Kernel) -> Float:
    """(n_terms,): shares of the terms in the prior variance of a kernel of experts."""
    if len(kernel.terms) == 1:
        return np.ones(1)
    prior_vars = np.array([term.prior_var for term in kernel.terms], dtype=np.float64)
    return np.asarray(prior_vars / prior_vars.sum())


def layout_for(settings: Settings, kernels: Sequence[Kernel], inputs: Inputs) -> Layout:
    """Where the beliefs of these kernels lie."""
    counts = [
        np.sum([term.n_features(settings.n_frequencies, len(term.places(inputs))) for term in kernel.terms], axis=0)
        for kernel in kernels
    ]
    return layout_of([n[0] for n in counts], len(settings.drift_var), [n[1] for n in counts])


def _with_prior_vars(kernel: Kernel, fit: _Fit) -> Kernel:
    """The terms of a sum with their prior variances; a single term has that of its experts."""
    if len(kernel.terms) == 1:
        return kernel
    prior_vars = fit.prior_ratios * fit.noise_var.mean()
    return Sum(tuple(replace(t, prior_var=float(v)) for t, v in zip(kernel.terms, prior_vars, strict=True)))


def _drifts(settings: Settings, kernel: Kernel, fit: _Fit, term_of: Int) -> Float:
    """(n_drifts, F): random-walk variance of each feature over the noise variance."""
    own = [[d if t.drift_var is None else t.drift_var for t in kernel.terms] for d in settings.drift_var]
    values = np.array(own, dtype=np.float64)
    if settings.drift_units == "prior":
        ratios = values * fit.prior_ratios.sum()
    else:
        # One random walk for all outputs: in units of the standardised target it is as asked for on average over them.
        ratios = values / fit.noise_var.mean() / term_shares(kernel)
    return np.asarray(ratios[:, term_of])


def _assemble(settings: Settings, kernels: tuple[Kernel, ...], fits: list[_Fit], inputs: Inputs) -> Experts:
    """Every kernel with every drift, every such pair with every noise forgetting."""
    kernels = tuple(_with_prior_vars(kernel, fit) for kernel, fit in zip(kernels, fits, strict=True))
    n_drifts, noise_var = len(settings.drift_var), np.stack([fit.noise_var for fit in fits])
    bases = [term_bases(settings, kernel, number, inputs) for number, kernel in enumerate(kernels)]
    drifts = [
        _drifts(settings, kernel, fit, term_of_features(own))
        for kernel, fit, own in zip(kernels, fits, bases, strict=True)
    ]
    prior_ratio = np.repeat([fit.prior_ratios.sum() for fit in fits], n_drifts)
    is_drifting = np.concatenate([own.any(axis=1) for own in drifts])
    noise = np.array([noise_numbers(value) for value in settings.noise_forgetting], dtype=np.float64)
    sharpness = np.ones(len(noise))
    if settings.likelihood != "gaussian":
        # No noise to learn; in place of noise models there are degrees of sharpness.
        sharpness = np.array(settings.sharpness, dtype=np.float64)
        noise = np.full((len(sharpness), 2), np.nan)
    n_latents = noise_var.shape[1]
    switching = rule_named(settings.weights).has_transitions
    n_experts = len(kernels) * n_drifts * len(noise)
    ensemble = Ensemble(
        basis=joined([_with_shares(kernel, own) for kernel, own in zip(kernels, bases, strict=True)]),
        layout=layout_for(settings, kernels, inputs),
        drift=np.concatenate([own.ravel() for own in drifts]),
        prior_ratio=np.where(is_drifting, np.minimum(prior_ratio, MAX_DRIFTING_RATIO), prior_ratio),
        noise_var=np.repeat(noise_var, n_drifts, axis=0),
        forgetting=noise[:, 0].copy(),
        tails=noise[:, 1].copy(),
        transitions=transition_matrix(settings.switch_array(), n_experts) if switching else np.ones((1, 1)),
        link=np.repeat(np.stack([fit.link for fit in fits]), n_drifts, axis=0),
        sharpness=sharpness,
        nodes=draws(settings.integration, n_latents, settings.seed),
        lags=inputs.lags,
        **numbers_of_ensemble(settings),
    )
    return Experts(kernels, ensemble)


def numbers_of_ensemble(settings: Settings) -> dict[str, Any]:
    """Fields of :class:`Ensemble` that are numbers: they follow from the settings alone and are not stored."""
    return {
        "rule": RULES.index(settings.weights),
        "rate": settings.stacking_rate,
        "shutdown": settings.shutdown,
        "likelihood": likelihood_code(settings.likelihood),
        "integration": INTEGRATIONS.index(settings.integration),
        "glitch": _glitch_limit(settings),
        "switch_prob": _one_switch_prob(settings),
        "learns_spread": settings.spread,
    }


def _glitch_limit(settings: Settings) -> float:
    """Standard deviations beyond which a label is a glitch; infinite where every label is learned."""
    return GLITCH if settings.robust and settings.likelihood == "gaussian" else np.inf


def _one_switch_prob(settings: Settings) -> float:
    """Probability of leaving an expert if one holds for all; NaN otherwise."""
    switching = rule_named(settings.weights).has_transitions
    return np.nan if isinstance(settings.switch_prob, tuple) or not switching else float(settings.switch_prob)


def noise_numbers(forgetting: NoiseSetting) -> tuple[float, float]:
    """Forgetting and tails of one noise model, NaN where there is none."""
    if forgetting is None:
        return np.nan, np.nan
    return forgetting if isinstance(forgetting, tuple) else (forgetting, np.nan)
