"""Static regret on the paper's synthetic function, against both comparators, for streams of growing length."""

from __future__ import annotations

import math

import numpy as np

from iegp.evaluate.regret import gaussian, rkhs_curve, static_curve
from iegp.kernels import RBF
from iegp_paper.runs.regret_ensemble import ensemble, features_of
from iegp_paper.runs.uncertainty import NOISE_VAR, truth
from iegp_paper.task import Outcome, Task

# The paper's dictionary: variances 10^k, k = -4..6.
SCALES = tuple(10.0 ** (k / 2.0) for k in range(-4, 7))


def run(task: Task) -> Outcome:
    sizes = [int(size) for size in task.options.get("sizes", (100, 200, 400, 800))]
    rng = np.random.default_rng(task.seed)
    # One long stream: its beginnings are the shorter data sets.
    x = 10.0 * rng.standard_normal((sizes[-1], 1))
    y = truth(x[:, 0]) + math.sqrt(NOISE_VAR) * rng.standard_normal(len(x))
    prior = float(task.options.get("prior_var", 1.0))
    model = ensemble(SCALES, n_frequencies=50, prior_var=prior, noise_var=NOISE_VAR, switch_prob=0.0, seed=task.seed)
    losses = -model.prequential(x, y).log_score
    noise = [gaussian(NOISE_VAR)] * len(SCALES)
    fixed = static_curve(losses, features_of(model, x), y, [prior] * len(SCALES), noise, sizes)
    # Cubic in the rows: for the shorter ones.
    longest = int(task.options.get("longest_rkhs", sizes[-1]))
    short = [size for size in sizes if size <= longest]
    grams = [prior * RBF(scale)(x[:longest]) for scale in SCALES]
    rkhs = rkhs_curve(losses[:longest], grams, y[:longest], noise, short)
    scores = {
        "regret": float(fixed.regret[-1]),
        "bound": float(fixed.bound[-1]),
        "regret over bound": float(np.max(fixed.regret / fixed.bound)),
        "growth": growth(sizes, fixed.regret.tolist()),
        "regret to RKHS": float(rkhs.regret[-1]),
        "growth to RKHS": growth(short, rkhs.regret.tolist()),
    }
    lines = {"size": sizes, "regret": fixed.regret.tolist(), "bound": fixed.bound.tolist()}
    return Outcome("done", scores, lines | {"size to RKHS": short, "to RKHS": rkhs.regret.tolist()})


def growth(sizes: list[int], regret: list[float]) -> float:
    """Compute how much faster than log T regret grew over the last three doublings.

    1 is log T, about 2 sqrt T, about 5.5 T."""
    if regret[-1] <= 0.0:
        return 0.0
    expected = math.log(sizes[-1]) / math.log(sizes[-4])
    return regret[-1] / regret[-4] / expected if regret[-4] > 0.0 else math.inf
