"""Regret of IE-GP and SIE-GP beside the paper's bounds: the tables and the figure of docs/regret.md.

python examples/regret.py [file.png]
"""

from __future__ import annotations

import math
import sys
from pathlib import Path

import numpy as np

from iegp import IEGPRegressor
from iegp.core.features import fourier_rows
from iegp.core.weights import SWITCHING, WeightRule, transition_matrix, weigh_rows
from iegp.evaluate import regret
from iegp.kernels import RBF
from iegp.plots import RegretDisplay
from iegp.typing import Float


def fixed_ensemble(
    scales: list[float],
    n_frequencies: int,
    noise_var: float,
    switch_prob: float = 0.0,
    drift_var: tuple[float, ...] = (0.0,),
) -> IEGPRegressor:
    """Make an ensemble as the lemmas assume it: everything fixed beforehand, without shutdown."""
    return IEGPRegressor(
        [RBF(scale) for scale in scales],
        n_frequencies=n_frequencies,
        features="random",
        drift_var=drift_var,
        weights="switching" if switch_prob else "bayes",
        switch_prob=switch_prob,
        shutdown=0.0,
        prior_var=1.0,
        noise_var=noise_var,
        noise_forgetting=None,
        warmup=0,
        standardize=False,
        random_state=0,
    )


def static(path: Path) -> None:
    """The paper's synthetic stream: y = sin 2x + sin 3x + noise, x of variance 100."""
    rng = np.random.default_rng(0)
    n, noise_var = 12_800, 0.25
    x = 10.0 * rng.standard_normal((n, 1))
    y = np.sin(2 * x[:, 0]) + np.sin(3 * x[:, 0]) + 0.1 * rng.standard_normal(n)
    model = fixed_ensemble([0.1, 0.3, 1.0], 15, noise_var)
    losses = -model.prequential(x, y).log_score
    features = [fourier_rows(x, np.ascontiguousarray(expert.frequencies)) for expert in model.experts_]
    rows = [100 * 2**k for k in range(8)]
    curve = regret.static_curve(losses, features, y, [1.0] * 3, [regret.gaussian(noise_var)] * 3, rows)
    print("\nstatic regret against the best random-feature parameter (n_RF = 15)\n")
    print("| T | regret | Lemma 1 | regret / log T |\n|---|---|---|---|")
    for t, value, bound in zip(rows, curve.regret, curve.bound, strict=True):
        print(f"| {t} | {value:.1f} | {bound:.1f} | {value / math.log(t):.2f} |")
    print(f"\nslope in log T: {np.polyfit(np.log(rows), curve.regret, 1)[0]:.2f}")
    display = RegretDisplay(curve.n_rows, curve.regret, curve.bound).plot(title="static regret under Lemma 1")
    display.ax_.set_xscale("log")
    path.parent.mkdir(parents=True, exist_ok=True)
    figure = display.ax_.get_figure(root=True)
    assert figure is not None
    figure.savefig(path, dpi=110)


def theorem() -> None:
    """Theorem 1 with the errors the features have: the same stream, the best function of each RKHS."""
    rng = np.random.default_rng(0)
    noise_var, scales, n_frequencies = 0.25, [0.1, 0.3, 1.0], 15
    likelihood = regret.gaussian(noise_var)
    print("\nstatic regret against the best function of the RKHSs, and Theorem 1\n")
    print("| T | regret | C | epsilon | Theorem 1 | with the RKHS norm |\n|---|---|---|---|---|---|")
    for n in (100, 200, 400, 800):
        x = 10.0 * rng.standard_normal((n, 1))
        y = np.sin(2 * x[:, 0]) + np.sin(3 * x[:, 0]) + 0.1 * rng.standard_normal(n)
        model = fixed_ensemble(scales, n_frequencies, noise_var)
        losses = -model.prequential(x, y).log_score
        own = [regret.best_function(RBF(scale)(x), y, likelihood) for scale in scales]
        m = regret.best_expert(own)
        best, phi = own[m], fourier_rows(x, np.ascontiguousarray(list(model.experts_)[m].frequencies))
        alpha_norm, epsilon = float(np.abs(best.coefficients).sum()), regret.kernel_error(phi, RBF(scales[m])(x))
        twin = phi @ regret.random_feature_twin(phi, best.coefficients, 1.0)
        loose, tight = (
            regret.theorem1(
                alpha_norm=alpha_norm,
                prior_var=1.0,
                epsilon=epsilon,
                derivative_bound=regret.largest_slope(likelihood, y, best.values, twin),
                n_rows=n,
                n_frequencies=n_frequencies,
                n_experts=len(scales),
                curvature=likelihood.curvature,
                function_norm_squared=norm,
            )
            for norm in (None, 2.0 * best.penalty)
        )
        value = regret.static_regret(losses, own)
        print(f"| {n} | {value:.0f} | {alpha_norm:.0f} | {epsilon:.2f} | {loose:.2g} | {tight:.2g} |")


def three_experts() -> None:
    """Lemma 2: one expert at a time is right, all others are far off."""
    print("\nSIE-GP weights against the best sequence, T = 400, S = 4, q1 = S / (T - 1)\n")
    print("| M | regret | Lemma 2, printed | Lemma 2 |\n|---|---|---|---|")
    n, s = 400, 4
    for m in (2, 3, 10):
        table = np.full((n, m), 1000.0)
        for j, rows in enumerate(np.array_split(np.arange(n), s + 1)):
            table[rows, j % m] = 0.0
        q1 = regret.best_switch_prob(n_rows=n, n_switches=s)
        score, used = np.empty(n), np.empty((n, m))
        start = np.full(m, -math.log(m))
        rule = WeightRule(SWITCHING, transition_matrix(q1, m), 1.0, 0.0)
        weigh_rows(rule, -table, start, used, score)
        printed = regret.printed_lemma2(n_rows=n, n_experts=m, n_switches=s)
        holds = regret.lemma2(n_rows=n, n_experts=m, n_switches=s, switch_prob=q1)
        print(f"| {m} | {-score.sum():.2f} | {printed:.2f} | {holds:.2f} |")


def flip() -> None:
    """Lemma 3: y = +3, then y = -3, two identical experts that learn every row."""
    print("\nidentical experts, y = +3 then -3, noise variance 0.1, against theta = +3 then -3\n")
    print("| T | regret | Lemma 3, printed | what holds | regret with four drifts |\n|---|---|---|---|---|")
    noise_var, drifts = 0.1, (0.0, 1e-3, 1e-1, 1.0)
    for n in (100, 1000, 10_000):
        y = np.where(np.arange(n) < n // 2, 3.0, -3.0)
        run = fixed_ensemble([1.0], 1, noise_var).prequential(np.zeros((n, 1)), y)
        likelihood, phi = regret.gaussian(noise_var), np.tile([0.0, 1.0], (n, 1))
        value = -run.log_score.sum() - likelihood.loss(y, y).sum()
        half = slice(0, n // 2)
        learned = regret.best_parameter(phi[half], y[half], 1.0, likelihood).objective
        excess = float(likelihood.loss(-y[half], y[half]).sum()) - learned
        printed = regret.printed_lemma3(
            theta_norms_squared=[9.0, 9.0],
            prior_vars=[1.0, 1.0],
            n_rows=n,
            n_frequencies=1,
            curvature=likelihood.curvature,
        )
        holds = regret.lemma3(
            theta_norms_squared=[9.0, 9.0],
            prior_vars=[1.0, 1.0],
            segment_ends=[n // 2, n],
            past_excesses=[0.0, excess],
            n_frequencies=1,
            curvature=likelihood.curvature,
        )
        drifting = fixed_ensemble([1.0], 1, noise_var, 1.0 / (n - 1), drifts).prequential(np.zeros((n, 1)), y)
        followed = -drifting.log_score.sum() - likelihood.loss(y, y).sum()
        print(f"| {n} | {value:.0f} | {printed:.1f} | {holds:.0f} | {followed:.0f} |")


def switching(n_draws: int = 5) -> None:
    """The paper's switching stream: half from each of two GPs, length scales 0.01 and 100, noise variance 1."""
    print(f"\naverage switching regret of SIE-GP, length scales 0.01 and 100, mean of {n_draws} draws\n")
    print("| T | own rows only | all rows, any sequence |\n|---|---|---|")
    for n in (100, 200, 400, 800, 1600):
        own, free = np.mean([_switching_draw(n, seed) for seed in range(n_draws)], axis=0)
        print(f"| {n} | {own / n:.3f} | {free / n:.3f} |")


def _switching_draw(n: int, seed: int) -> tuple[float, float]:
    rng = np.random.default_rng(seed)
    x = rng.standard_normal((n, 1))
    grams = [RBF(0.01)(x), RBF(100.0)(x)]
    sequence = (np.arange(n) >= n // 2).astype(np.int64)
    y = rng.standard_normal(n)
    for m, gram in enumerate(grams):
        mine = np.flatnonzero(sequence == m)
        y[mine] += _draw(gram[np.ix_(mine, mine)], rng)
    model = fixed_ensemble([0.01, 100.0], 50, 1.0, 1.0 / (n - 1))
    losses = -model.prequential(x, y).log_score
    likelihood = regret.gaussian(1.0)
    own = regret.functions_on_own_rows(grams, y, sequence, likelihood)
    everywhere = np.stack([regret.best_function(gram, y, likelihood).losses for gram in grams], axis=1)
    return float(losses.sum() - own.losses.sum()), regret.switching_regret(losses, everywhere)


def _draw(gram: Float, rng: np.random.Generator) -> Float:
    values, vectors = np.linalg.eigh(gram)
    return np.asarray(vectors @ (np.sqrt(np.maximum(values, 0.0)) * rng.standard_normal(len(gram))))


if __name__ == "__main__":
    static(Path(sys.argv[1] if len(sys.argv) > 1 else "runs/static_regret.png"))
    theorem()
    three_experts()
    flip()
    switching()
