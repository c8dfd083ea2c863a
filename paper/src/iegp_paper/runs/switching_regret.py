"""Average switching regret of SIE-GP when one Gaussian process replaces another halfway, for growing lengths."""

from __future__ import annotations

import math

import numpy as np

from iegp.evaluate.regret import switching_regret as regret_to_best_sequence
from iegp.kernels import RBF
from iegp.typing import Float, Int
from iegp_paper.runs.gaussian_process import exact_gp
from iegp_paper.runs.regret_ensemble import ensemble
from iegp_paper.task import Outcome, Task

# The paper's two processes: magnitude 1, these length scales; noise of variance 1.
SCALES = (0.01, 100.0)
NOISE_VAR = 1.0
SWITCH_PROB = 0.01


def run(task: Task) -> Outcome:
    sizes = [int(size) for size in task.options.get("sizes", (100, 200, 400, 800))]
    spread = float(task.options.get("spread", 1.0))
    n_frequencies = int(task.settings.get("n_frequencies", 50))
    totals = [regret(size, spread, n_frequencies, task.seed) for size in sizes]
    lines: dict[str, list[float]] = {"size": [float(size) for size in sizes]}
    for k, name in enumerate(("total", "total to own rows")):
        lines[name] = [total[k] for total in totals]
        lines[name.replace("total", "average")] = [total[k] / size for total, size in zip(totals, sizes, strict=True)]
    # Of the longest data set.
    return Outcome("done", {key: values[-1] for key, values in lines.items() if key != "size"}, lines)


def regret(n: int, spread: float, n_frequencies: int, seed: int) -> tuple[float, float]:
    """Compute R^SW(T) of (eq:regret_tr) with one switch: each expert's function is the best for *all* rows.

    And regret to the comparator of Theorem 2's proof: each function fitted to the rows of its own half alone.
    """
    rng = np.random.default_rng((seed, n))
    x = spread * rng.standard_normal((n, 1))
    sequence: Int = (np.arange(n) >= n // 2).astype(np.int64)
    y = _sample(x, sequence, rng) + math.sqrt(NOISE_VAR) * rng.standard_normal(n)
    model = ensemble(
        SCALES, n_frequencies=n_frequencies, prior_var=1.0, noise_var=NOISE_VAR, switch_prob=SWITCH_PROB, seed=seed
    )
    losses = -model.prequential(x, y).log_score
    on_all = np.column_stack([exact_gp(RBF(scale)(x), y, NOISE_VAR).losses for scale in SCALES])
    halves = [(scale, sequence == m) for m, scale in enumerate(SCALES)]
    on_own = sum(float(exact_gp(RBF(scale)(x[own]), y[own], NOISE_VAR).losses.sum()) for scale, own in halves)
    return regret_to_best_sequence(losses, on_all, max_switches=1), float(losses.sum()) - on_own


def _sample(x: Float, sequence: Int, rng: np.random.Generator) -> Float:
    """Draw the values of the active process of each row, exactly."""
    values = np.empty(len(x))
    for m, scale in enumerate(SCALES):
        own = sequence == m
        eigenvalues, vectors = np.linalg.eigh(RBF(scale)(x[own]))
        values[own] = vectors @ (np.sqrt(np.maximum(eigenvalues, 0.0)) * rng.standard_normal(int(own.sum())))
    return values
