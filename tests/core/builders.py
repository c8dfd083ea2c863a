"""What several tests of the core need: small streams, ensembles of every kind, and their twins among the oracles."""

from __future__ import annotations

import itertools
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from oracles import ensemble as oracle

import iegp
from iegp.core import ensemble as ens
from iegp.core import weights
from iegp.core.ensemble import Ensemble, State
from iegp.core.expert import noise
from iegp.core.features import joined, waves
from iegp.core.predictions import Predictions
from iegp.core.state import layout_of
from iegp.typing import Float

Array = NDArray[np.float64]
NoiseSetting = float | None | tuple[float, float]  # conjugate, fixed, or heavy-tailed (forgetting, degrees of freedom)


def stream(n: int, d: int = 2, n_outputs: int = 1, seed: int = 0, spread: float = 0.3) -> tuple[Array, Array]:
    """Inputs (n, d) and labels (n, D): a smooth function with noise."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, d))
    y = np.sin(x @ rng.normal(size=(d, n_outputs))) + spread * rng.normal(size=(n, n_outputs))
    return x, np.ascontiguousarray(y)


def labels_of_every_kind(x: Array, y: Array) -> dict[str, tuple[type, Array]]:
    """Estimators, each with labels made of the inputs ``x`` (n, d) and the numbers ``y`` (n,)."""
    levels = np.digitize(y, [-0.5, 0.5])
    return {
        "numbers": (iegp.IEGPRegressor, y),
        "two outputs": (iegp.IEGPRegressor, np.column_stack([y, x[:, 0] + y])),
        "classes": (iegp.IEGPClassifier, (y > 0).astype(int)),
        "three classes": (iegp.IEGPClassifier, levels),
        "levels": (iegp.IEGPOrdinalClassifier, levels),
        "counts": (iegp.IEGPCountRegressor, np.floor(np.exp(y)).astype(int)),
    }


def skewed_matrix(n_experts: int, seed: int = 3) -> Array:
    """Transitions that are far from symmetric: a transposed matrix would be caught."""
    return np.random.default_rng(seed).dirichlet(np.full(n_experts, 0.7), size=n_experts)


@dataclass(frozen=True)
class Kind:
    """One kind of ensemble; every field is a row of a test's table."""

    drifts: tuple[float, ...] = (0.0,)
    forgetting: tuple[NoiseSetting, ...] = (None,)
    rule: str = "bayes"
    switch: float | str = 0.05
    rate: float = 0.2
    shutdown: float = 0.0
    n_outputs: int = 1
    n_kernels: int = 3
    n_frequencies: int = 5
    n_columns: int = 2
    prior_ratio: float = 20.0
    seed: int = 0

    def but(self, **changes: Any) -> Kind:
        return replace(self, **changes)

    def __str__(self) -> str:
        default = Kind()
        parts = [f"{k}={v}" for k, v in self.__dict__.items() if v != getattr(default, k)]
        return "-".join(parts).replace(" ", "") or "plain"


def build(kind: Kind) -> Ensemble:
    """The ensemble of a kind: length scales from 0.5 upwards, ratios and noise levels that differ by expert."""
    rng = np.random.default_rng(kind.seed)
    base = rng.normal(size=(kind.n_frequencies, kind.n_columns))
    frequencies = [base / (0.5 * 2.0**k) for k in range(kind.n_kernels)]
    n_beliefs = kind.n_kernels * len(kind.drifts)
    n_experts = n_beliefs * len(kind.forgetting)
    transitions = np.ones((1, 1))
    if kind.rule == "switching":
        switch = skewed_matrix(n_experts) if isinstance(kind.switch, str) else kind.switch
        transitions = weights.transition_matrix(switch, n_experts)
    layout = layout_of([kind.n_frequencies] * kind.n_kernels, len(kind.drifts))
    return Ensemble(
        basis=joined([waves(own) for own in frequencies]),
        layout=layout,
        drift=np.repeat(np.tile(np.array(kind.drifts), kind.n_kernels), layout.n_features),
        prior_ratio=kind.prior_ratio * (1.0 + 0.5 * np.arange(n_beliefs)),
        noise_var=0.1 * (1.0 + 0.3 * np.arange(n_beliefs))[:, None] * (1.0 + np.arange(kind.n_outputs)),
        forgetting=np.array([np.nan if r is None else r[0] if isinstance(r, tuple) else r for r in kind.forgetting]),
        tails=np.array([r[1] if isinstance(r, tuple) else np.nan for r in kind.forgetting]),
        rule=weights.RULES.index(kind.rule),
        transitions=transitions,
        rate=kind.rate,
        shutdown=kind.shutdown,
    )


def arrays_of(ensemble: Ensemble) -> list[Any]:
    """All that an ensemble consists of, those of its layout included."""
    rest = (value for name, value in ensemble._asdict().items() if name not in ("basis", "layout", "lags"))
    return [*ensemble.basis, *ensemble.layout, *ensemble.lags, *rest]


def belief_drifts(ensemble: Ensemble) -> Float:
    """(n_beliefs,): the drift that all features of a belief share."""
    return ensemble.drift[ensemble.layout.features[:-1]]


def start_shape(forgetting: float) -> float:
    """The inverse-gamma shape that the library starts from, said again."""
    return 0.5 / (1.0 - forgetting) if forgetting < 1.0 else 0.5 * noise.START_ROWS


def twins(ensemble: Ensemble) -> list[oracle.Expert]:
    """The oracle's experts, in the order the library promises: kernel, then drift, then noise model."""
    experts = []
    for b, drift in enumerate(belief_drifts(ensemble)):
        for value in ensemble.forgetting:
            learned = not np.isnan(value)
            experts.append(
                oracle.Expert(
                    ensemble.kernel_basis(ensemble.layout.kernel_of[b]).frequencies,
                    float(ensemble.prior_ratio[b]),
                    float(drift),
                    ensemble.noise_var[b],
                    float(value) if learned else None,
                    start_shape(float(value)) if learned else 1.0,
                )
            )
    return experts


def twin_rule(ensemble: Ensemble) -> oracle.Rule:
    if ensemble.rule == weights.BAYES:
        return oracle.Bayes(ensemble.shutdown)
    if ensemble.rule == weights.SWITCHING:
        return oracle.Switching(ensemble.transitions)
    return oracle.Stacking(ensemble.rate)


def learn_in_pieces(
    ensemble: Ensemble, x: Array, y: Array, cuts: list[int], level: float | None = None
) -> tuple[Predictions, State]:
    """A fresh model that meets the rows in calls that end at ``cuts`` (and at the last row)."""
    state = ens.start(ensemble)
    edges = [0, *sorted(cuts), len(x)]
    parts = [
        ens.learn(ensemble, state, np.ascontiguousarray(x[a:b]), np.ascontiguousarray(y[a:b]), level=level)
        for a, b in itertools.pairwise(edges)
        if b > a
    ]
    return Predictions.concatenate(parts), state


def one_by_one(ensemble: Ensemble, x: Array, y: Array, level: float | None = None) -> tuple[Predictions, State]:
    return learn_in_pieces(ensemble, x, y, list(range(1, len(x))), level)


def at_once(ensemble: Ensemble, x: Array, y: Array, level: float | None = None) -> tuple[Predictions, State]:
    return learn_in_pieces(ensemble, x, y, [], level)


def assert_close(actual: Array, wanted: Array, tolerance: float = 1e-8) -> None:
    """Relative to the size of the whole array: a mean that happens to be near zero is not held to its own size."""
    size = float(np.max(np.abs(wanted), where=np.isfinite(wanted), initial=0.0))
    np.testing.assert_allclose(actual, wanted, rtol=tolerance, atol=tolerance * size)


def assert_same_predictions(actual: Predictions, wanted: Predictions, tolerance: float = 1e-8) -> None:
    for name in Predictions._fields:
        assert_close(getattr(actual, name), getattr(wanted, name), tolerance)
