"""Regression: scaling and hyperparameters from the first 1,000 rows, then predict-then-learn on the rest."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache, partial
from typing import Any

import numpy as np

from iegp import IEGPRegressor, presets
from iegp.errors import InputError
from iegp.evaluate.metrics import coverage, nmse, running_nmse
from iegp.typing import Float
from iegp_paper import competitors as baselines
from iegp_paper.runs.support import Clock, base_name, method_of, stream_of, thinned
from iegp_paper.task import Outcome, Task

METHODS: dict[str, Callable[..., Any]] = {
    "IE-GP": presets.ie_gp,
    "DIE-GP": presets.die_gp,
    "iegp default": IEGPRegressor,
    "iegp light": presets.light,
    "DOEBE": presets.doebe,
    "HSGP": partial(presets.doebe, kernels=presets.HILBERT),
    "Raker": baselines.Raker,
    "AdaRaker": baselines.AdaRaker,
    "I-SSGPR": baselines.ISSGPR,
    # PyTorch is imported with the method.
    "SSGP": lambda **settings: baselines.SSGP(**settings),
}
INPUTS = ("standardised", "min-max per column", "min-max global")
_COMPILED = ("IE-GP", "DIE-GP", "iegp default", "iegp light", "DOEBE", "HSGP", "Raker", "AdaRaker", "I-SSGPR")


def run(task: Task) -> Outcome:
    make: Any = method_of(dict(METHODS), task.method, "regression")
    stream = stream_of(task.data, task.rows)
    warmup = int(task.options.get("warmup", 1000))
    rehearse(base_name(task.method))
    settings = dict(task.settings)
    x, y, scaling = prepared(stream.X, stream.y, warmup, str(settings.pop("inputs", INPUTS[0])))
    model, clock = make(**scaling | settings, random_state=task.seed), Clock()
    with clock.running():
        model.warm_up(x[:warmup], y[:warmup])
        result = model.prequential(x[warmup:], y[warmup:])
    scored = y[warmup:]
    # In units of the target's standard deviation, so that data sets can be compared.
    loss = -result.log_score - np.log(y[:warmup].std())
    scores = {"nMSE": nmse(scored, result.mean), "seconds": clock.seconds}
    lines: dict[str, Any] = {"nMSE": thinned(running_nmse(scored, result.mean), warmup)}
    if np.isfinite(loss).all():
        scores |= {"pnLL": float(loss.mean()), "coverage": coverage(scored, result.lower, result.upper)}
        lines["pnLL"] = thinned(np.cumsum(loss) / np.arange(1, len(loss) + 1), warmup)
    return Outcome("done", scores, lines)


def prepared(x: Float, y: Float, warmup: int, inputs: str) -> tuple[Float, Float, dict[str, bool]]:
    """Scale inputs as asked; return them with the targets and the arguments that keep a model from scaling again.

    ``standardised`` leaves it to the model, which does it per column by the warm-up rows. The two min-max scalings use
    all rows, as a data set that is distributed in this form has them; targets are then standardised here.
    """
    if inputs not in INPUTS:
        raise InputError(f"inputs={inputs!r} is not a scaling; use one of {', '.join(INPUTS)}")
    if inputs == INPUTS[0]:
        return x, y, {}
    axis = 0 if inputs == "min-max per column" else None
    low, high = x.min(axis=axis), x.max(axis=axis)
    spread = np.where(high > low, high - low, 1.0)
    start = y[:warmup]
    return (x - low) / spread, (y - start.mean()) / start.std(), {"standardize": False}


@lru_cache
def rehearse(method: str) -> None:
    """Compile what the method compiles."""
    if method in _COMPILED:
        rng = np.random.default_rng(0)
        rows = rng.standard_normal((150, 3))
        model = METHODS[method](random_state=0).warm_up(rows[:100], rows[:100, 0])
        model.prequential(rows[100:], rows[100:, 0])
