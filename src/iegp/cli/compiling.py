"""``iegp compile``: compile for this machine what the first calls of models would compile, such as in an image."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np
from rich.console import Console

from iegp.core.compute.tolerances import FEW_ROWS
from iegp.estimators import IEGPLVM, IEGPClassifier, IEGPCountRegressor, IEGPOrdinalClassifier, IEGPRegressor
from iegp.fleet import Fleet
from iegp.labels import Labels
from iegp.typing import Float

# Enough for blocks, after a warm-up that is over.
N_ROWS = 4 * FEW_ROWS + 64
_SMALL: dict[str, Any] = {"n_frequencies": 2, "warmup": 16, "random_state": 0}


def compile_all() -> int:
    """Learn a few rows with every kind of model; say what is done and how long it took. The exit code."""
    say = Console(stderr=True, highlight=False)
    begin = time.perf_counter()
    for number, (name, learn) in enumerate(_KINDS.items()):
        start = time.perf_counter()
        with say.status(f"{number + 1}/{len(_KINDS)} {name}"):
            learn()
        say.print(f"{number + 1}/{len(_KINDS)} {name}: {time.perf_counter() - start:.1f} s")
    say.print(f"All is compiled ({time.perf_counter() - begin:.1f} s); later processes load it in a second.")
    return 0


def _rows() -> tuple[Float, Float]:
    x = np.random.default_rng(0).normal(size=(N_ROWS, 3))
    return x, x[:, 0] + 0.1 * x[:, 1]


def _in_every_way(
    model: IEGPRegressor | IEGPCountRegressor | IEGPClassifier | IEGPOrdinalClassifier, y: Labels
) -> None:
    """Fitted, predicting, and learning a block and a row."""
    x, _ = _rows()
    model.fit(x, y).predict(x)
    model.prequential(x, y)
    model.prequential(x[:1], y[:1])
    model.partial_fit(x[:1], y[:1])


def _numbers() -> None:
    _, y = _rows()
    kinds: list[dict[str, Any]] = [{}, {"weights": "bayes"}, {"delay": 2}]
    for options in kinds:
        _in_every_way(IEGPRegressor(**_SMALL, **options), y)
    _in_every_way(IEGPRegressor(**_SMALL), np.stack([y, -y], axis=1))


def _classes() -> None:
    _, y = _rows()
    for n_classes in (2, 3):
        _in_every_way(IEGPClassifier(**_SMALL), np.argsort(np.argsort(y)) * n_classes // len(y))


def _ordered_classes() -> None:
    _, y = _rows()
    _in_every_way(IEGPOrdinalClassifier(**_SMALL), np.argsort(np.argsort(y)) * 3 // len(y))


def _counts() -> None:
    _, y = _rows()
    _in_every_way(IEGPCountRegressor(**_SMALL), np.floor(np.exp(y)))


def _one_model_per_key() -> None:
    x, y = _rows()
    fleet = Fleet(IEGPRegressor(**_SMALL).fit(x, y))
    fleet.learn(np.arange(len(x)) % 3, x, y)


def _maps() -> None:
    x, _ = _rows()
    IEGPLVM(n_frequencies=2, warmup=32, init="pca", random_state=0).fit(x)


_KINDS: dict[str, Callable[[], None]] = {
    "numbers": _numbers,
    "classes": _classes,
    "ordered classes": _ordered_classes,
    "counts": _counts,
    "one model per key": _one_model_per_key,
    "maps": _maps,
}
