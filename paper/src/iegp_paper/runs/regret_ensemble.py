"""Ensembles for regret, as the lemmas assume them: everything fixed beforehand, without shutdown."""

from __future__ import annotations

from collections.abc import Sequence

from iegp import IEGPRegressor
from iegp.core.features import fourier_rows
from iegp.kernels import RBF
from iegp.typing import Float


def ensemble(
    scales: Sequence[float], *, n_frequencies: int, prior_var: float, noise_var: float, switch_prob: float, seed: int
) -> IEGPRegressor:
    """Make IE-GP, or SIE-GP with a ``switch_prob``, of RBF kernels with these length scales."""
    return IEGPRegressor(
        [RBF(scale) for scale in scales],
        n_frequencies=n_frequencies,
        features="random",
        drift_var=0.0,
        weights="switching" if switch_prob else "bayes",
        switch_prob=switch_prob,
        shutdown=0.0,
        prior_var=prior_var,
        noise_var=noise_var,
        noise_forgetting=None,
        warmup=0,
        standardize=False,
        random_state=seed,
    )


def features_of(model: IEGPRegressor, x: Float) -> list[Float]:
    """Compute the features (T, F) of each expert."""
    return [fourier_rows(x, expert.frequencies) for expert in model.experts_]
