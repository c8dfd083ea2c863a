"""Two classes: rows shuffled by the seed, hyperparameters from the first 20 %, then predict-then-learn on the rest."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache, partial
from typing import Any

import numpy as np

from iegp import IEGPClassifier, presets
from iegp.evaluate.classification import running_error
from iegp_paper import competitors as baselines
from iegp_paper.runs.support import Clock, base_name, method_of, shuffled, stream_of, thinned
from iegp_paper.task import Outcome, Task

METHODS: dict[str, Callable[..., Any]] = {
    "IE-GP": partial(presets.ie_gp, "classification"),
    "SIE-GP": partial(presets.sie_gp, "classification"),
    "DIE-GP": partial(presets.die_gp, "classification"),
    "iegp default": IEGPClassifier,
    "iegp light": partial(presets.light, "classification"),
    "DOEBE": partial(presets.doebe, "classification"),
    "HSGP": partial(presets.doebe, "classification", kernels=presets.HILBERT),
    "Raker": baselines.RakerClassifier,
    "AdaRaker": baselines.AdaRakerClassifier,
    "SSGP": lambda **settings: baselines.SSGPClassifier(**settings),
    "SSGP batch 20": lambda **settings: baselines.SSGPClassifier(**{"batch_size": 20} | settings),
}


def run(task: Task) -> Outcome:
    make: Any = method_of(dict(METHODS), task.method, "classification")
    rows, labels = shuffled(stream_of(task.data, None), task.seed)
    rows, labels = rows[: task.rows], labels[: task.rows]
    warmup = int(float(task.options.get("warmup_share", 0.2)) * len(rows))
    classes = np.unique(labels)
    rehearse(base_name(task.method))
    model, clock = make(**task.settings, random_state=task.seed), Clock()
    with clock.running():
        model.warm_up(rows[:warmup], labels[:warmup], classes=classes)
        result = model.prequential(rows[warmup:], labels[warmup:])
    scores = {"error": result.error, "log loss": result.log_loss, "seconds": clock.seconds}
    lines = {"error": thinned(running_error(result.y, result.predicted), warmup)}
    return Outcome("done", scores, lines)


@lru_cache
def rehearse(method: str) -> None:
    """Compile what the method compiles."""
    if not method.startswith("SSGP"):
        rows = np.random.default_rng(0).standard_normal((150, 3))
        labels = rows[:, 0] > 0.0
        model = METHODS[method](random_state=0).warm_up(rows[:100], labels[:100], classes=[False, True])
        model.prequential(rows[100:], labels[100:])
