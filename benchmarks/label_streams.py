"""Streams of classes, counts and ordered classes for ``labels.py``: real ones, and simulated ones with known traits."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from itertools import islice
from typing import Any, Literal, NamedTuple

import numpy as np
from accuracy import extra
from numpy.typing import NDArray
from river.datasets import synth
from statsmodels.datasets import fair, randhie, sunspots

from iegp.datasets import Stream, bike_rentals, drifting, load_arrays, load_dataset, load_embedded
from iegp.datasets.stream import Task
from iegp.typing import Float

DAY = 24


def _stream(name: str, X: Float, y: NDArray[Any], task: Task = "classification") -> Stream:
    return Stream(name, X, y, tuple(f"x{i}" for i in range(X.shape[1])), "y", name, task=task)


# -- classes -----------------------------------------------------------------------------------------------------------


def _drifting_classes(kind: Literal["none", "gradual", "abrupt"]) -> Stream:
    """Two classes: whether the target of a drifting regression stream is above its median."""
    stream = drifting(kind, n=6_000, random_state=1)
    return _stream(f"classes {kind}", stream.X, stream.y > np.median(stream.y))


def _river(name: str, n: int, *generators: Iterable[tuple[dict[Any, Any], Any]]) -> Stream:
    """The first n rows of each generator, one after another: the concept changes where the next begins."""
    rows = [row for generator in generators for row in islice(iter(generator), n)]
    X = np.array([[float(value) for value in x.values()] for x, _ in rows])
    return _stream(name, X, np.array([label for _, label in rows]))


def _hyperplane() -> Stream:
    plane = synth.Hyperplane(seed=1, n_features=10, n_drift_features=5, mag_change=0.01, noise_percentage=0.05)
    return _river("hyperplane", 4_000, plane)


def _centroids() -> Stream:
    clouds = synth.RandomRBFDrift(
        seed_model=1, seed_sample=1, n_classes=4, n_features=8, n_centroids=20, change_speed=0.001, n_drift_centroids=10
    )
    return _river("moving centroids", 4_000, clouds)


def _above_day(stream: Stream, n: int = 5_000) -> Stream:
    """Whether a target is above its mean over the last 24 rows: long runs of one class, as of electricity prices."""
    y = np.asarray(stream.y, dtype=np.float64)[: n + DAY]
    sums = np.cumsum(np.concatenate([[0.0], y]))
    mean = (sums[DAY:-1] - sums[: -DAY - 1]) / DAY
    return _stream(
        f"{stream.name} above its day", np.asarray(stream.X, dtype=np.float64)[DAY : n + DAY], y[DAY:] > mean
    )


def _water_above_day() -> Stream:
    stream = load_embedded("water_flow")
    only_time = _stream("water", stream.X[:, :3], stream.y, "regression")
    return _above_day(only_time)


def _markov(n: int, n_classes: int, stay: float, signal: float, seed: int) -> Stream:
    """Labels that repeat with some probability; one of four columns says a little about them, by ``signal``."""
    rng = np.random.default_rng(seed)
    y = np.zeros(n, dtype=np.int64)
    for t in range(1, n):
        y[t] = y[t - 1] if rng.random() < stay else rng.integers(n_classes)
    X = rng.standard_normal((n, 4))
    X[:, 0] += signal * y
    return _stream(f"Markov {n_classes}", X, y)


def _alternating(n_classes: int) -> Stream:
    """Classes in turn, one label in twenty drawn at random; columns say nothing."""
    rng = np.random.default_rng(0)
    y = np.where(rng.random(3_000) < 0.05, rng.integers(n_classes, size=3_000), np.arange(3_000) % n_classes)
    return _stream(f"in turn {n_classes}", rng.standard_normal((3_000, 3)), y)


def _wandering_odds() -> Stream:
    """Log odds are a function of a column plus a level that wanders."""
    rng = np.random.default_rng(0)
    X, level, y = rng.standard_normal((4_000, 3)), 0.0, np.zeros(4_000, dtype=np.int64)
    for t, x in enumerate(X):
        level = 0.98 * level + 0.4 * rng.standard_normal()
        y[t] = rng.random() < 1.0 / (1.0 + np.exp(-level - 2.0 * np.sin(2.0 * x[0])))
    return _stream("wandering odds", X, y)


def _imbalanced() -> Stream:
    """One label in eighteen is of the rare class."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((6_000, 5))
    odds = 2.0 * X[:, 0] + X[:, 1] ** 2 - 6.0
    return _stream("imbalanced", X, (rng.random(6_000) < 1.0 / (1.0 + np.exp(-odds))).astype(np.int64))


# -- counts ------------------------------------------------------------------------------------------------------------


def _doctor_visits() -> Stream:
    table = randhie.load_pandas().data
    X = table.drop(columns="mdvis").to_numpy(dtype=np.float64)
    return _stream("doctor visits", X, table.mdvis.to_numpy(dtype=np.int64), "counts")


def _discussions() -> Stream:
    """Discussions created in a week on a computing site, from the activity of the seven weeks before."""
    arrays = load_arrays("toms_hardware")
    weeks = np.rint(arrays["X"] * float(arrays["x_scale"])).reshape(len(arrays["X"]), 12, 8)
    X = np.log1p(np.maximum(weeks[:, :, :7].reshape(len(weeks), -1), 0.0))
    return _stream("discussions", X, weeks[:, 0, 7].astype(np.int64), "counts")


def _latent(n: int, seed: int) -> tuple[Float, Float]:
    """Inputs and a draw of the model's own prior: a smooth random function of three columns, variance one."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, 3))
    frequencies, weights = rng.standard_normal((200, 3)), rng.standard_normal(400)
    angles = X @ frequencies.T
    return X, np.asarray(np.concatenate([np.sin(angles), np.cos(angles)], axis=1) @ weights / np.sqrt(200))


def _simulated_counts() -> Stream:
    X, f = _latent(4_000, 1)
    return _stream("simulated counts", X, np.random.default_rng(2).poisson(np.exp(3.0 + f)), "counts")


def _sunspots() -> Stream:
    """Yearly sunspot numbers, rounded; the only column is the year."""
    table = sunspots.load_pandas().data
    return _stream(
        "sunspots", table[["YEAR"]].to_numpy(dtype=np.float64), np.rint(table.SUNACTIVITY).astype(int), "counts"
    )


def _wandering_rate(seed: int, log_rate: float, persistence: float, step: float) -> Stream:
    """The log rate is an autoregression plus a multiple of a column."""
    rng = np.random.default_rng(seed)
    X, level, y = rng.standard_normal((4_000, 3)), 0.0, np.zeros(4_000, dtype=np.int64)
    for t, x in enumerate(X):
        level = persistence * level + step * rng.standard_normal()
        y[t] = rng.poisson(np.exp(log_rate + level + 0.5 * x[0]))
    return _stream("wandering rate", X, y, "counts")


def _chained_counts() -> Stream:
    """The rate follows the last count and the last rate (INGARCH); columns say nothing."""
    rng = np.random.default_rng(1)
    rate, y = 5.0, np.zeros(4_000, dtype=np.int64)
    for t in range(len(y)):
        y[t] = rng.poisson(rate)
        rate = 1.0 + 0.5 * y[t] + 0.4 * rate
    return _stream("chained counts", rng.standard_normal((len(y), 2)), y, "counts")


def _jumping_rate() -> Stream:
    """The log rate jumps every 300 rows."""
    rng = np.random.default_rng(5)
    X, level = rng.standard_normal((3_000, 2)), np.repeat(rng.normal(2.0, 1.0, 10), 300)
    return _stream("jumping rate", X, rng.poisson(np.exp(level + 0.3 * X[:, 0])), "counts")


def _rentals() -> Stream:
    stream = bike_rentals(4_000)
    return _stream("bike rentals", stream.X, np.asarray(stream.y, dtype=np.int64), "counts")


# -- ordered classes ---------------------------------------------------------------------------------------------------


def _happiness() -> Stream:
    table = fair.load_pandas().data
    X = table.drop(columns="rate_marriage").to_numpy(dtype=np.float64)
    return _stream("marriage rating", X, table.rate_marriage.to_numpy(dtype=np.int64), "ordinal")


def _simulated_levels() -> Stream:
    X, f = _latent(4_000, 3)
    noisy = 3.0 * f + np.random.default_rng(4).logistic(size=len(f))
    return _stream("simulated levels", X, np.searchsorted(np.linspace(-6.0, 6.0, 15), noisy), "ordinal")


def _oil_levels() -> Stream:
    """The oil temperature of ETTh1 in five levels, of equally many of its rows each: one follows from the last."""
    stream = extra("etth1", "oil temperature", 0)
    X, y = np.asarray(stream.X[:4_000], dtype=np.float64), stream.y[:4_000]
    return _stream("oil temperature levels", X, np.searchsorted(np.quantile(y, [0.2, 0.4, 0.6, 0.8]), y), "ordinal")


class Source(NamedTuple):
    """A stream, whether the seed shuffles its rows, and how many of them are used."""

    load: Callable[[], Stream]
    is_shuffled: bool = False
    most_rows: int = 10_000


STREAMS: dict[str, Source] = {
    # Rows without an order.
    "banana": Source(partial(load_dataset, "banana"), is_shuffled=True),
    "musk": Source(partial(load_dataset, "musk"), is_shuffled=True),
    "ionosphere": Source(partial(load_dataset, "ionosphere"), is_shuffled=True),
    "oil_flow": Source(partial(load_dataset, "oil_flow"), is_shuffled=True),
    "usps": Source(partial(load_dataset, "usps"), is_shuffled=True, most_rows=3_000),
    "digits": Source(partial(load_embedded, "digits")),
    "breast_cancer": Source(partial(load_embedded, "breast_cancer"), is_shuffled=True),
    "phishing": Source(partial(load_embedded, "phishing"), is_shuffled=True),
    "image_segments": Source(partial(load_embedded, "image_segments"), is_shuffled=True),
    "imbalanced": Source(_imbalanced),
    # Concepts that change.
    "classes still": Source(partial(_drifting_classes, "none")),
    "classes gradual": Source(partial(_drifting_classes, "gradual")),
    "classes abrupt": Source(partial(_drifting_classes, "abrupt")),
    "SEA": Source(lambda: _river("SEA", 1_500, *(synth.SEA(variant=v, seed=1, noise=0.1) for v in (0, 1, 2)))),
    "Agrawal": Source(lambda: _river("Agrawal", 2_000, *(synth.Agrawal(v, seed=1) for v in (0, 3)))),
    "hyperplane": Source(_hyperplane),
    "moving centroids": Source(_centroids),
    "LED": Source(
        lambda: _river("LED", 2_500, synth.LEDDrift(seed=1, noise_percentage=0.1, irrelevant_features=False))
    ),
    # Labels that follow from the last ones.
    "oil above day": Source(lambda: _above_day(extra("etth1", "oil temperature", 0))),
    "CO above day": Source(lambda: _above_day(load_dataset("air_quality"))),
    "energy above day": Source(lambda: _above_day(load_dataset("energy"), 4_000)),
    "water above day": Source(_water_above_day),
    "Markov 2": Source(partial(_markov, 4_000, 2, 0.95, 0.0, 0)),
    "Markov 4": Source(partial(_markov, 3_000, 4, 0.9, 0.5, 1)),
    "in turn 2": Source(partial(_alternating, 2)),
    "in turn 3": Source(partial(_alternating, 3)),
    "wandering odds": Source(_wandering_odds),
    # Counts.
    "solar_flare": Source(partial(load_embedded, "solar_flare"), is_shuffled=True),
    "doctor visits": Source(_doctor_visits, is_shuffled=True, most_rows=6_000),
    "discussions": Source(_discussions, is_shuffled=True, most_rows=6_000),
    "simulated counts": Source(_simulated_counts),
    "bike rentals": Source(_rentals),
    "sunspots": Source(_sunspots),
    "wandering rate": Source(partial(_wandering_rate, 0, 1.5, 0.98, 0.2)),
    "wandering low rate": Source(partial(_wandering_rate, 2, -0.5, 0.95, 0.3)),
    "chained counts": Source(_chained_counts),
    "jumping rate": Source(_jumping_rate),
    # Ordered classes.
    "digits_ink": Source(partial(load_embedded, "digits_ink"), most_rows=6_000),
    "marriage rating": Source(_happiness, is_shuffled=True, most_rows=6_000),
    "simulated levels": Source(_simulated_levels),
    "oil levels": Source(_oil_levels),
}
