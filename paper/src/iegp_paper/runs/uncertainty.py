"""The paper's 30 points: a function of one input, and the ensemble's uncertainty where there are no points."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from iegp import IEGPRegressor, presets
from iegp.typing import Float
from iegp_paper.runs.support import method_of
from iegp_paper.task import Outcome, Task

NOISE_VAR = 0.01


def fitted_in_two_steps(x: Float, y: Float, **settings: Any) -> IEGPRegressor:
    """Return IE-GP after the points: the paper does not say how it found hyperparameters, here from the points too."""
    model: IEGPRegressor = presets.ie_gp(**settings).warm_up(x, y).partial_fit(x, y)
    return model


def fitted(x: Float, y: Float, **settings: Any) -> IEGPRegressor:
    """Return the default model after the points, as users of scikit-learn give it rows that are all there."""
    return IEGPRegressor(**settings).fit(x, y)


METHODS: dict[str, Callable[..., IEGPRegressor]] = {"IE-GP": fitted_in_two_steps, "iegp default": fitted}


def truth(x: Float) -> Float:
    return np.asarray(np.sin(2.0 * x) + np.sin(3.0 * x))


def run(task: Task) -> Outcome:
    learn: Any = method_of(dict(METHODS), task.method, "the 30 points")
    rng = np.random.default_rng(task.seed)
    x = rng.standard_normal(task.rows or 30)
    y = truth(x) + np.sqrt(NOISE_VAR) * rng.standard_normal(len(x))
    model = learn(x[:, None], y, **task.settings, random_state=task.seed)
    grid = np.linspace(-4.0, 4.0, 161)
    dist = model.predict_dist(grid[:, None])
    lower, upper = dist.interval(0.95)
    width, distance = np.ravel(upper - lower), np.abs(grid[:, None] - x[None, :]).min(axis=1)
    inside, outside = distance < 0.1, distance > 0.5
    covered = (np.ravel(lower) <= truth(grid)) & (truth(grid) <= np.ravel(upper))
    scores = {
        "width near points": float(np.median(width[inside])),
        "width far from points": float(np.median(width[outside])),
        "width ratio": float(np.median(width[inside]) / np.median(width[outside])),
        "covered": float(covered.mean()),
    }
    rounded = {"grid": grid, "mean": np.ravel(dist.mean), "lower": np.ravel(lower), "upper": np.ravel(upper)}
    lines = {name: [float(f"{v:.5g}") for v in values] for name, values in (rounded | {"x": x, "y": y}).items()}
    return Outcome("done", scores, lines)
