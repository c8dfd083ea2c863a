"""Average switching regret of SIE-GP when one Gaussian process replaces another halfway, for growing lengths."""

from __future__ import annotations

import math

import numpy as np

from iegp.evaluate.regret import best_function, functions_on_own_rows, gaussian
from iegp.evaluate.regret import switching_regret as regret_to_best_sequence
from iegp.kernels import RBF
from iegp.typing import Float, Int
from iegp_paper.runs.regret_ensemble import ensemble
from iegp_paper.runs.static_regret import growth
from iegp_paper.task import Outcome, Task

# The paper's two processes: magnitude 1, these length scales; noise of variance 1.
SCALES = (0.01, 100.0)
NOISE_VAR = 1.0
SWITCH_PROB = 0.01


def run(task: Task) -> Outcome:
    sizes = [int(size) for size in task.options.get("sizes", (100, 200, 400, 800))]
    spread = float(task.options.get("spread", 1.0))
    totals = [regret(size, spread, task.seed) for size in sizes]
    to_best, to_own = ([total[k] for total in totals] for k in (0, 1))
    average = [total / size for total, size in zip(to_best, sizes, strict=True)]
    average_own = [total / size for total, size in zip(to_own, sizes, strict=True)]
    scores = {
        "average regret": average[-1],
        "average left": average[-1] / max(average),
        "growth": growth(sizes, to_best),
        "average to own rows": average_own[-1],
        "left to own rows": average_own[-1] / max(average_own),
    }
    return Outcome("done", scores, {"size": sizes, "average": average, "average to own rows": average_own})


def regret(n: int, spread: float, seed: int) -> tuple[float, float]:
    """Compute R^SW(T) of (eq:regret_tr) with one switch: each expert's function is the best for *all* rows.

    And regret to the comparator of Theorem 2's proof: each function fitted to the rows of its own half alone.
    """
    rng = np.random.default_rng((seed, n))
    x = spread * rng.standard_normal((n, 1))
    sequence: Int = (np.arange(n) >= n // 2).astype(np.int64)
    y = _sample(x, sequence, rng) + math.sqrt(NOISE_VAR) * rng.standard_normal(n)
    settings = {"n_frequencies": 50, "prior_var": 1.0, "noise_var": NOISE_VAR, "switch_prob": SWITCH_PROB}
    model = ensemble(SCALES, **settings, seed=seed)  # type: ignore[arg-type]
    losses = -model.prequential(x, y).log_score
    grams = [RBF(scale)(x) for scale in SCALES]
    likelihood = gaussian(NOISE_VAR)
    on_all = np.column_stack([best_function(gram, y, likelihood).losses for gram in grams])
    on_own = functions_on_own_rows(grams, y, sequence, likelihood)
    return regret_to_best_sequence(losses, on_all, max_switches=1), float(losses.sum() - on_own.losses.sum())


def _sample(x: Float, sequence: Int, rng: np.random.Generator) -> Float:
    """Draw the values of the active process of each row, exactly."""
    values = np.empty(len(x))
    for m, scale in enumerate(SCALES):
        own = sequence == m
        eigenvalues, vectors = np.linalg.eigh(RBF(scale)(x[own]))
        values[own] = vectors @ (np.sqrt(np.maximum(eigenvalues, 0.0)) * rng.standard_normal(int(own.sum())))
    return values
