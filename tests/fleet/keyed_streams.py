"""What the tests of sharded fleets share: keyed batches, and how to tell that two fleets are the same, to the bit."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
from history.static_models import stream

from iegp import Fleet, IEGPRegressor
from iegp.kernels import RBF

KEYS = ["a", "b", "c", "d", "e", 1, 2, 3]
COLUMNS = ("keys", "mean", "std", "lower", "upper", "log_score", "weights", "y")


@cache
def template() -> IEGPRegressor:
    model = IEGPRegressor(
        [RBF(0.7), RBF(2.0)], n_frequencies=6, drift_var=(0.0, 1e-3), weights="stacking", warmup=64, random_state=0
    )
    return model.warm_up(*stream(64, seed=99))


def batches(n: int, rows: int = 12) -> list[tuple[Any, ...]]:
    """Batches (keys, X, y, level); later ones bring new keys, some have few keys, some ask for intervals."""
    rng = np.random.default_rng(5)
    made = []
    for number in range(n):
        keys = rng.choice(np.array(KEYS[: 3 + number], dtype=object), size=rows)
        if number % 4 == 3:
            keys[:] = keys[0]
        made.append((list(keys), *stream(rows, seed=number), 0.9 if number % 3 == 0 else None))
    return made


def assert_same_run(got: Any, wanted: Any) -> None:
    for name in COLUMNS:
        np.testing.assert_array_equal(getattr(got, name), getattr(wanted, name))
    assert got.level == wanted.level


def assert_same_fleet(got: Fleet, wanted: Fleet) -> None:
    """The same keys, each with the same bits."""
    assert set(got.keys) == set(wanted.keys)
    assert got.n_samples_seen_ == wanted.n_samples_seen_
    for key in wanted.keys:
        for one, two in zip(got.online(key).state, wanted.online(key).state, strict=True):
            np.testing.assert_array_equal(one, two)
