"""Static regret on the paper's synthetic function, against both comparators, for data sets of growing length."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from iegp.evaluate.regret import gaussian, static_curve
from iegp.kernels import RBF
from iegp.typing import Float
from iegp_paper.runs.gaussian_process import ensemble_loss, exact_gp
from iegp_paper.runs.regret_ensemble import ensemble, features_of
from iegp_paper.runs.uncertainty import NOISE_VAR, truth
from iegp_paper.task import Outcome, Task

# The paper's dictionary: variances 10^k, k = -4..6.
SCALES = tuple(10.0 ** (k / 2.0) for k in range(-4, 7))


def run(task: Task) -> Outcome:
    sizes = [int(size) for size in task.options.get("sizes", (100, 200, 400, 800))]
    # Cubic in the rows: for the shorter ones.
    longest = int(task.options.get("longest_rkhs", sizes[-1]))
    prior = float(task.options.get("prior_var", 1.0))
    n_frequencies = int(task.settings.get("n_frequencies", 50))
    found = [regrets(size, size <= longest, prior, n_frequencies, task.seed) for size in sizes]
    lines: dict[str, Any] = {"size": sizes, "size to RKHS": [size for size in sizes if size <= longest]}
    lines |= {key: [own[key] for own in found if key in own] for key in found[0]}
    ratios = [own["regret"] / own["bound"] for own in found]
    # Of the longest data set that has them.
    scores = {key: values[-1] for key, values in lines.items() if not key.startswith("size")}
    return Outcome("done", scores | {"regret over bound": max(ratios)}, lines)


def regrets(n: int, with_rkhs: bool, prior: float, n_frequencies: int, seed: int) -> dict[str, float]:
    """Compute regret on a data set of n rows of its own.

    Against the best random-feature parameter, with the right-hand side of Lemma 1; against the best function of the
    RKHSs, and its two parts: what random features lose to exact GPs, and what exact GPs lose to that function.
    """
    rng = np.random.default_rng((seed, n))
    x = 10.0 * rng.standard_normal((n, 1))
    y = truth(x[:, 0]) + math.sqrt(NOISE_VAR) * rng.standard_normal(n)
    model = ensemble(
        SCALES, n_frequencies=n_frequencies, prior_var=prior, noise_var=NOISE_VAR, switch_prob=0.0, seed=seed
    )
    losses = -model.prequential(x, y).log_score
    noise = [gaussian(NOISE_VAR)] * len(SCALES)
    fixed = static_curve(losses, features_of(model, x), y, [prior] * len(SCALES), noise, [n])
    found = {"regret": float(fixed.regret[0]), "bound": float(fixed.bound[0])}
    return found | (_to_rkhs(float(losses.sum()), x, y, prior) if with_rkhs else {})


def _to_rkhs(online: float, x: Float, y: Float, prior: float) -> dict[str, float]:
    experts = [exact_gp(prior * RBF(scale)(x), y, NOISE_VAR) for scale in SCALES]
    best = float(min(experts, key=lambda own: own.objective).losses.sum())
    exact = ensemble_loss(experts)
    return {"to RKHS": online - best, "features": online - exact, "comparator": exact - best}
