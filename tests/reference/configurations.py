"""Results of many small configurations, to be compared before and after a change that must not change them.

``python tests/reference/configurations.py --write FILE.npz`` stores them, ``--compare FILE.npz`` runs everything again
and prints the largest differences; it fails where one exceeds 1e-12 max(1, \\|value\\|) or, with ``--exact``, by a bit.
``--write FILE.npz --thin`` keeps every so many values only: the file beside the test. Bits depend on the processor, the
BLAS and the versions of NumPy, SciPy and Numba, so that ``--exact`` is for two checkouts on one machine.

Everything is asked through public names, imported here and nowhere below, so that this file survives moves of code. The
streams are drawn in this file with NumPy alone.
"""

from __future__ import annotations

import argparse
import csv
import importlib.util
import json
import os
import signal
import sys
import tempfile
import time
from collections.abc import Callable, Iterable
from copy import deepcopy
from fnmatch import fnmatch
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any

# Before NumPy is loaded: sums of several BLAS threads may differ from run to run.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from threadpoolctl import threadpool_limits

import iegp
from iegp import (
    IEGPLVM,
    Fleet,
    IEGPClassifier,
    IEGPCountRegressor,
    IEGPOrdinalClassifier,
    IEGPRegressor,
    RandomFourierFeatures,
    load,
    presets,
)
from iegp.__main__ import main as iegp_main
from iegp.history import fit_history
from iegp.kernels import RBF, Cauchy, Laplace, Matern
from iegp.parallel import ProcessEnsemble

Arrays = dict[str, np.ndarray]

TOLERANCE = 1e-12
# Values of an array that are kept in a thinned file, more or less.
KEPT = 40

CONFIGURATIONS: dict[str, Callable[[], Arrays]] = {}
"""Name of a configuration: the function that runs it."""
NEEDS: dict[str, tuple[str, ...]] = {}
"""Modules without which a configuration cannot run, where they are optional."""


def add(name: str, run: Callable[[], Arrays], *needs: str) -> None:
    CONFIGURATIONS[name] = run
    NEEDS[name] = needs


def configuration(name: str, *needs: str) -> Callable[[Callable[[], Arrays]], Callable[[], Arrays]]:
    """Enter a function into the table."""

    def enter(run: Callable[[], Arrays]) -> Callable[[], Arrays]:
        add(name, run, *needs)
        return run

    return enter


def absent(name: str) -> list[str]:
    """Optional modules that a configuration needs and this Python does not have."""
    return [module for module in NEEDS[name] if importlib.util.find_spec(module) is None]


def results(name: str) -> Arrays:
    """Run one configuration, with a single thread of BLAS."""
    with threadpool_limits(1):
        return {key: np.asarray(values) for key, values in CONFIGURATIONS[name]().items()}


# -- streams -----------------------------------------------------------------------------------------------------------


def smooth(n: int, seed: int = 0, n_outputs: int | None = None) -> tuple[np.ndarray, np.ndarray]:
    """Three columns in different units and a label that changes at two thirds, with a few outliers."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3)) * [1.0, 3.0, 0.5] + [0.0, 2.0, -1.0]
    wave = np.sin(2.0 * X[:, 0]) + 0.2 * X[:, 1] + 0.5 * X[:, 0] * X[:, 2]
    wave[2 * n // 3 :] += 0.8
    y = np.column_stack([wave, 2.0 - wave**2, np.cos(X[:, 1])])[:, : n_outputs or 1]
    y = 4.0 + 2.0 * (y + 0.2 * rng.normal(size=y.shape))
    y[rng.random(n) < 0.02] += 6.0
    return X, y[:, 0] if n_outputs is None else y


def labelled(n: int, n_classes: int, seed: int = 1) -> tuple[np.ndarray, np.ndarray]:
    """Two columns and as many classes, by name, the last of them rare."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 2))
    heights = np.column_stack([np.cos(1.5 * X @ [np.cos(k), np.sin(k)] + k) for k in range(n_classes)])
    heights[:, -1] -= 0.2
    noise = rng.gumbel(size=heights.shape)
    return X, np.array([f"class {k}" for k in range(n_classes)])[np.argmax(4.0 * heights + noise, axis=1)]


def ordered(n: int, seed: int = 2) -> tuple[np.ndarray, np.ndarray]:
    """Two columns and four levels."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 2))
    height = 2.0 * np.sin(X[:, 0]) + X[:, 1] + 0.5 * rng.logistic(size=n)
    return X, np.array(["low", "mid", "high", "top"])[np.searchsorted([-1.0, 0.5, 2.0], height)]


def counted(n: int, seed: int = 3) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Two columns, overdispersed counts, and exposures."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 2))
    exposure = rng.uniform(0.5, 3.0, size=n)
    rate = exposure * np.exp(1.0 + np.sin(X[:, 0]) + 0.3 * X[:, 1]) * rng.gamma(4.0, 0.25, size=n)
    return X, rng.poisson(rate).astype(float), exposure


def folded(n: int, seed: int = 4) -> np.ndarray:
    """Eight columns that are waves of two hidden ones."""
    rng = np.random.default_rng(seed)
    return np.sin(rng.normal(size=(n, 2)) @ rng.normal(size=(2, 8))) + 0.05 * rng.normal(size=(n, 8))


# -- what is recorded --------------------------------------------------------------------------------------------------

RUN_FIELDS = ("mean", "std", "lower", "upper", "log_score", "weights", "pit", "proba")


def recorded(run: Any) -> Arrays:
    """What was predicted of every row before its label was used."""
    return {name: getattr(run, name) for name in RUN_FIELDS if getattr(run, name, None) is not None}


def prefixed(prefix: str, arrays: Arrays) -> Arrays:
    return {f"{prefix}_{name}": values for name, values in arrays.items()}


def joined(runs: Iterable[Any]) -> Arrays:
    """The runs of consecutive calls as one."""
    parts = [recorded(run) for run in runs]
    return {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}


def asked(model: Any, X: np.ndarray, **how: Any) -> Arrays:
    """Predictions of a regressor after learning: of one row and of many."""
    mean, std = model.predict(X, return_std=True, **how)
    lower, upper = model.predict_dist(X, **how).interval(0.8)
    found = {"mean": mean, "std": std, "lower": lower, "upper": upper, "single": model.predict(X[:1], **how)}
    return prefixed("after", found | {"weights": model.expert_weights_})


def asked_classes(model: Any, X: np.ndarray) -> Arrays:
    found = {"proba": model.predict_proba(X), "single": model.predict_proba(X[:1]), "predicted": model.predict(X)}
    return prefixed("after", found | {"weights": model.expert_weights_})


def _length_scales(kernel: Any) -> np.ndarray:
    """Those of all terms; empty where none has one."""
    own = [np.atleast_1d(term.length_scale) for term in kernel.terms if hasattr(term, "length_scale")]
    return np.concatenate([np.empty(0), *own])


def experts(model: Any) -> Arrays:
    """What the warm-up decided."""
    table = model.experts_
    return {
        "length_scales": np.concatenate([_length_scales(expert.kernel) for expert in table]),
        "prior_var": np.array([np.mean(expert.prior_var) for expert in table]),
        "noise_var": np.array([np.mean(expert.noise_var) for expert in table]),
        "frequencies": np.concatenate([expert.frequencies for expert in table[:8]]),
    }


# -- regression --------------------------------------------------------------------------------------------------------

SMALL: dict[str, Any] = {
    "kernels": (RBF(1.0), Matern(2.0), Cauchy(3.0)),
    "n_frequencies": 10,
    "warmup": 60,
    "random_state": 0,
}
FIXED: dict[str, Any] = {"prior_var": 1.5, "noise_var": 0.2, "noise_forgetting": None}
STATIC: dict[str, Any] = {"drift_var": 0.0, "weights": "bayes", "shutdown": 0.0}
DRIFTS = {"static": 0.0, "drifting": 1e-3}
NOISES: dict[str, Any] = {
    "fixed": None,
    "learned": 1.0,
    "forgetting": 0.95,
    "heavy-tailed": [(0.75, 5.0)],
    "all": (None, 1.0, 0.95, (0.75, 5.0), (0.96, 20.0)),
}
KERNELS = {
    "rbf": RBF(1.5),
    "matern-0.5": Matern(2.0, nu=0.5),
    "matern-1.5": Matern(2.0, nu=1.5),
    "matern-2.5": Matern(2.0, nu=2.5),
    "laplace": Laplace(3.0),
    "cauchy": Cauchy(2.0),
}
LENGTH_SCALES: dict[str, Any] = {
    "number": 2.0,
    "per-column": (1.0, 4.0, 2.0),
    "dimension": "dimension",
    "evidence": "evidence",
    "per-dimension": "per-dimension",
}
SWITCHES = ((0.9, 0.05, 0.05), (0.2, 0.7, 0.1), (0.0, 0.5, 0.5))


def regression(n_outputs: int | None = None, **changes: Any) -> Arrays:
    """A fresh model from its first row on, then rows that are learned only, then questions."""
    X, y = smooth(200, n_outputs=n_outputs)
    model = IEGPRegressor(**(SMALL | changes))
    run = model.prequential(X[:150], y[:150])
    model.partial_fit(X[150:180], y[150:180])
    return recorded(run) | asked(model, X[180:])


def papers_regression(preset: Callable[..., Any], **changes: Any) -> Arrays:
    """The paper's protocol: the rows of the warm-up are not learned."""
    X, y = smooth(200)
    model = preset(n_frequencies=10, random_state=0, **changes).warm_up(X[:60], y[:60])
    return recorded(model.prequential(X[60:180], y[60:180])) | asked(model, X[180:]) | experts(model)


def one_kernel(kernel: Any) -> Arrays:
    X, _ = smooth(40)
    found = {"matrix": kernel(X[:10], X[10:20])}
    for features in ("orthogonal", "random"):
        run = regression(kernels=[kernel], features=features, drift_var=(0.0, 1e-3), noise_forgetting=None)
        chosen = {name: run[name] for name in ("mean", "std", "log_score", "weights", "after_mean")}
        found |= prefixed(features, chosen)
    return found


def length_scale(value: Any) -> Arrays:
    X, y = smooth(160)
    kernels = [RBF(value), Matern(value, nu=2.5, stretch=1.5), Laplace(value, stretch=2.0)]
    model = IEGPRegressor(**(SMALL | {"kernels": kernels, "drift_var": 0.0}))
    return recorded(model.prequential(X[:140], y[:140])) | asked(model, X[140:]) | experts(model)


def _add_regressors() -> None:
    for rule in ("bayes", "switching", "stacking"):
        for drift, value in DRIFTS.items():
            add(f"weights/{rule}-{drift}", partial(regression, weights=rule, drift_var=value, **FIXED))
    matrix = {"weights": "switching", "switch_prob": SWITCHES, "drift_var": 0.0} | FIXED
    add("weights/switching-matrix", partial(regression, **matrix))
    for name, rungs in NOISES.items():
        add(f"noise/{name}", partial(regression, noise_forgetting=rungs, drift_var=(0.0, 1e-2)))
    for name, kernel in KERNELS.items():
        add(f"kernel/{name}", partial(one_kernel, kernel))
    for name, word in LENGTH_SCALES.items():
        add(f"length-scale/{name}", partial(length_scale, word))
    add("regressor/several-outputs", partial(regression, 3))
    add("regressor/several-outputs-static", partial(regression, 2, noise_forgetting=None, drift_var=0.0))
    shut = {"weights": "bayes", "shutdown": 1e-3, "noise_forgetting": (None, 0.9)}
    add("regressor/shutdown", partial(regression, **shut, drift_var=(0.0, 1e-2)))
    add("regressor/random-features", partial(regression, features="random"))
    add("regressor/no-standardize", partial(regression, standardize=False))
    add("regressor/warmup-0", partial(regression, standardize=False, warmup=0, **FIXED))
    add("regressor/long-warmup", partial(regression, warmup=1000))
    add("regressor/threads", partial(regression, n_jobs=2))


_add_regressors()


@configuration("regressor/default")
def _() -> Arrays:
    X, y = smooth(110)
    model = IEGPRegressor(random_state=0)
    run = model.prequential(X[:90], y[:90])
    return recorded(run) | asked(model, X[90:]) | experts(model)


@configuration("preset/light")
def _() -> Arrays:
    X, y = smooth(300)
    model = presets.light(random_state=0)
    return recorded(model.prequential(X[:280], y[:280])) | asked(model, X[280:])


for _preset in (presets.ie_gp, presets.die_gp, presets.sie_gp, presets.dsie_gp):
    add(f"preset/{_preset.__name__}-regression", partial(papers_regression, _preset))
add("preset/ie_gp-learned-warmup", partial(papers_regression, presets.ie_gp, learn_warmup=True))

CHUNKS = (1, 1, 2, 5, 6, 7, 1, 33, 8, 64, 3, 29, 1, 13)


@configuration("regressor/chunks")
def _() -> Arrays:
    """Chunks of odd lengths, single rows among them, across the refits of the warm-up."""
    X, y = smooth(sum(CHUNKS) + 40)
    learned, run = IEGPRegressor(**SMALL), IEGPRegressor(**SMALL)
    edges = np.cumsum((0, *CHUNKS))
    runs = []
    for start, stop in pairwise(edges):
        learned.partial_fit(X[start:stop], y[start:stop])
        runs.append(run.prequential(X[start:stop], y[start:stop], level=0.5))
    last = slice(edges[-1], edges[-1] + 20)
    for row in range(last.start, last.stop):
        learned.partial_fit(X[row : row + 1], y[row : row + 1], check_input=False)
    return joined(runs) | asked(learned, X[-20:]) | prefixed("run", asked(run, X[-20:]))


@configuration("regressor/long")
def _() -> Arrays:
    """More rows than are worked on at once."""
    X, y = smooth(2300)
    model = IEGPRegressor((RBF(1.5), Cauchy(2.0)), n_frequencies=5, warmup=60, random_state=0)
    run = model.prequential(X[:2200], y[:2200])
    return recorded(run) | asked(model, X)


@configuration("regressor/distribution")
def _() -> Arrays:
    X, y = smooth(200, n_outputs=2)
    model = IEGPRegressor(**SMALL).fit(X[:160], y[:160])
    dist = model.predict_dist(X[160:])
    lower, upper = dist.interval(0.9)
    found = {"mean": dist.mean, "var": dist.var, "std": dist.std, "lower": lower, "upper": upper}
    found |= {"quantiles": dist.quantile([0.01, 0.1, 0.5, 0.9, 0.99]), "sample": dist.sample(5, 0)}
    found |= {"cdf": dist.cdf(y[160:]), "logpdf": dist.logpdf(y[160:]), "crps": dist.crps(y[160:])}
    gaussian = IEGPRegressor(**(SMALL | {"noise_forgetting": None})).fit(X[:160], y[:160, 0])
    return found | {"gaussian_crps": gaussian.predict_dist(X[160:]).crps(y[160:, 0])}


@configuration("regressor/save-and-load")
def _() -> Arrays:
    X, y = smooth(200)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model"
        found = {}
        for name, rows in (("warming", 40), ("warm", 120)):
            IEGPRegressor(**SMALL).fit(X[:rows], y[:rows]).save(path)
            model = load(path)
            found |= prefixed(name, recorded(model.prequential(X[rows:180], y[rows:180])) | asked(model, X[180:]))
    return found


@configuration("classifier/save-and-load")
def _() -> Arrays:
    X, y = labelled(160, 3)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model"
        IEGPClassifier(**SMALL).fit(X[:100], y[:100]).save(path)
        model = load(path)
    return recorded(model.prequential(X[100:140], y[100:140])) | asked_classes(model, X[140:])


# -- histories ---------------------------------------------------------------------------------------------------------


def history_model(noise: Any) -> IEGPRegressor:
    """A static model after its warm-up."""
    settings = SMALL | STATIC | {"noise_forgetting": noise, "learn_warmup": False}
    return IEGPRegressor(**settings).warm_up(*smooth(60, seed=9))


def merge(noise: Any) -> Arrays:
    """Two copies learn two halves, become one, and some rows are forgotten."""
    X, y = smooth(240)
    one, other = history_model(noise), history_model(noise)
    one.partial_fit(X[:100], y[:100])
    other.partial_fit(X[100:220], y[100:220])
    found = prefixed("merged", asked(one.merge(other), X[220:]))
    since = deepcopy(one)
    left, right = deepcopy(one).partial_fit(X[:30], y[:30]), one.partial_fit(X[220:], y[220:])
    found |= prefixed("since", asked(left.merge(right, since=since), X[220:]))
    return found | prefixed("unlearned", asked(since.unlearn(X[80:120], y[80:120]), X[220:]))


add("history/merge-and-unlearn-fixed", partial(merge, None))
add("history/merge-and-unlearn-learned", partial(merge, 1.0))


@configuration("history/arrays")
def _() -> Arrays:
    X, y = smooth(300, n_outputs=2)
    model = IEGPRegressor(**(SMALL | STATIC | {"noise_forgetting": 1.0}))
    fit_history((X[:280], y[:280]), model, n_workers=1, part_rows=50)
    return asked(model, X[280:]) | experts(model)


@configuration("history/parquet")
def _() -> Arrays:
    X, y = smooth(300)
    model = IEGPRegressor(**(SMALL | STATIC | {"noise_forgetting": None}))
    with tempfile.TemporaryDirectory() as folder:
        for number, start in enumerate((0, 130)):
            write_parquet(Path(folder) / f"{number}.parquet", X[start : start + 130], y[start : start + 130])
        fit_history(folder, model, n_workers=1, target="y", part_rows=40)
    # Its columns have names by now, and these rows have none.
    return asked(model, X[260:], check_input=False) | experts(model)


def write_parquet(path: Path, X: np.ndarray, y: np.ndarray) -> None:
    columns = {f"x{number}": X[:, number] for number in range(X.shape[1])}
    pq.write_table(pa.table(columns | {"y": y}), path, row_group_size=32)


@configuration("history/go-live")
def _() -> Arrays:
    X, y = smooth(240)
    model = history_model(None).partial_fit(X[:120], y[:120])
    live = model.go_live(drift_var=(0.0, 1e-2))
    return recorded(live.prequential(X[120:220], y[120:220])) | asked(live, X[220:])


# -- fleets and large ensembles ----------------------------------------------------------------------------------------

FLEETS: dict[str, dict[str, Any]] = {
    "default": {},
    "static": STATIC | {"noise_forgetting": (None, 1.0)},
    "switching": {"weights": "switching", "drift_var": (0.0, 1e-2), "noise_forgetting": 0.95},
    "drifting": {"weights": "bayes", "drift_var": 1e-3, "noise_forgetting": None},
}


def template(kind: str, n_outputs: int | None = None) -> IEGPRegressor:
    """A model past its warm-up."""
    settings = SMALL | {"robust": False} | FLEETS[kind]
    return IEGPRegressor(**settings).warm_up(*smooth(60, seed=9, n_outputs=n_outputs))


def keys_of(n: int) -> np.ndarray:
    """Keys by name, of which some come late."""
    places = np.random.default_rng(5).integers(0, 7, size=n)
    places[: n // 2] %= 4
    return np.array([f"key {place}" for place in places])


def fleet_calls(fleet: Any, n_outputs: int | None = None, level: float | None = 0.9) -> Arrays:
    """Calls of many rows, of one row, and of one row for each key; then questions, one about an unknown key."""
    X, y = smooth(240, n_outputs=n_outputs)
    keys, edges = keys_of(240), (0, 60, 61, 68, 150, 210)
    runs = [fleet.learn(keys[start:stop], X[start:stop], y[start:stop], level) for start, stop in pairwise(edges)]
    found = joined(runs) | {"plain_mean": fleet.learn("key 0", X[210:220], y[210:220]).mean}
    names = np.array([*keys[220:239], "unknown"])
    mean, std = fleet.predict(names, X[220:], return_std=True)
    found |= {"after_mean": mean, "after_std": std, "after_weights": fleet.expert_weights_}
    found["after_single"] = fleet.predict(names[:1], X[220:221])
    return found | {"after_quantiles": fleet.predict_dist(names, X[220:]).quantile([0.1, 0.6])}


def fleet(kind: str, n_outputs: int | None = None, **how: Any) -> Arrays:
    return fleet_calls(Fleet(template(kind, n_outputs), ["key 3"], **how), n_outputs)


for _kind in FLEETS:
    add(f"fleet/{_kind}", partial(fleet, _kind))
add("fleet/float32", partial(fleet, "default", dtype="float32"))
add("fleet/threads", partial(fleet, "default", n_jobs=2))
add("fleet/several-outputs", partial(fleet, "default", 2))


@configuration("fleet/save-and-load")
def _() -> Arrays:
    X, y = smooth(260)
    first = Fleet(template("default"))
    first.learn(keys_of(240)[:100], X[:100], y[:100])
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "fleet"
        first.save(path)
        loaded = Fleet.load(path)
    one = IEGPRegressor.from_fleet(loaded, "key 2")
    run = one.prequential(X[:20], y[:20])
    return fleet_calls(loaded) | prefixed("one", recorded(run) | asked(one, X[240:]))


def torch_fleet(kind: str, n_outputs: int | None = None, **how: Any) -> Arrays:
    made = iegp.fleet.TorchFleet(template(kind, n_outputs), ["key 3"], device="cpu", **how)
    return fleet_calls(made, n_outputs)


for _kind in FLEETS:
    add(f"torch-fleet/{_kind}", partial(torch_fleet, _kind), "torch")
add("torch-fleet/float32", partial(torch_fleet, "default", dtype="float32"), "torch")
add("torch-fleet/several-outputs", partial(torch_fleet, "default", 2), "torch")


@configuration("torch-ensemble", "torch")
def _() -> Arrays:
    X, y = smooth(200)
    ensemble = iegp.parallel.TorchEnsemble(template("default"), device="cpu")
    runs = [ensemble.learn(X[:100], y[:100], 0.9), ensemble.learn(X[100:101], y[100:101], 0.9)]
    sums = ensemble.gram(X[:50], y[:50])
    found = joined(runs) | {"gram": sums.features.numpy(), "gram_labels": sums.labels.numpy()}
    return found | asked(ensemble, X[180:]) | prefixed("model", asked(ensemble.to_model(), X[180:]))


@configuration("process-ensemble")
def _() -> Arrays:
    X, y = smooth(200)
    with ProcessEnsemble(template("default"), n_workers=2) as ensemble:
        runs = [ensemble.learn(X[:100], y[:100], 0.9), ensemble.learn(X[100:101], y[100:101], 0.9)]
        found = joined(runs) | asked(ensemble, X[180:])
        return found | prefixed("model", asked(ensemble.to_model(), X[180:]))


# -- classes -----------------------------------------------------------------------------------------------------------

LABELS: dict[str, Any] = SMALL | {"n_frequencies": 8, "drift_var": (0.0, 1e-2)}


def classification(n_classes: int = 2, **changes: Any) -> Arrays:
    X, y = labelled(160, n_classes)
    model = IEGPClassifier(**(LABELS | changes))
    run = model.prequential(X[:120], y[:120])
    model.partial_fit(X[120:140], y[120:140])
    return recorded(run) | asked_classes(model, X[140:])


def papers_classification(preset: Callable[..., Any]) -> Arrays:
    X, y = labelled(160, 2)
    model = preset("classification", random_state=0).warm_up(X[:50], y[:50])
    return recorded(model.prequential(X[50:140], y[50:140])) | asked_classes(model, X[140:])


CLASSIFIERS: dict[str, dict[str, Any]] = {
    "two-logit": {},
    "two-probit": {"link": "probit"},
    "two-probit-integration": {"integration": "probit"},
    "two-monte-carlo": {"integration": "monte-carlo"},
    "two-sharpness": {"sharpness": (0.5, 1.0, 2.0, 5.0)},
    "two-no-sharpness": {"sharpness": 1.0},
    "two-fixed": {"prior_var": 2.0, "standardize": False, "warmup": 0},
    "several": {"n_classes": 4},
    "several-probit-integration": {"n_classes": 3, "integration": "probit"},
    "several-monte-carlo": {"n_classes": 3, "integration": "monte-carlo"},
    "several-fitted-kernels": {"n_classes": 3, "kernels": (RBF("per-dimension"), Cauchy("evidence", stretch=2.0))},
    "several-shutdown": {"n_classes": 3, "weights": "bayes", "shutdown": 1e-2},
}
for _name, _settings in CLASSIFIERS.items():
    add(f"classifier/{_name}", partial(classification, **_settings))
for _rule in ("bayes", "switching", "stacking"):
    for _drift, _value in DRIFTS.items():
        add(f"classifier/{_rule}-{_drift}", partial(classification, weights=_rule, drift_var=_value, sharpness=1.0))
for _preset in (presets.ie_gp, presets.die_gp, presets.sie_gp, presets.dsie_gp):
    add(f"preset/{_preset.__name__}-classification", partial(papers_classification, _preset))


@configuration("classifier/default")
def _() -> Arrays:
    X, y = labelled(100, 2)
    model = IEGPClassifier(random_state=0)
    return recorded(model.prequential(X[:80], y[:80])) | asked_classes(model, X[80:])


@configuration("classifier/chunks-and-declared-classes")
def _() -> Arrays:
    """A class that is declared and appears late; chunks of odd lengths."""
    X, y = labelled(sum(CHUNKS) + 20, 3)
    y[:60][y[:60] == "class 2"] = "class 0"
    model, other = IEGPClassifier(**LABELS), IEGPClassifier(**LABELS)
    classes = [f"class {k}" for k in range(3)]
    edges = np.cumsum((0, *CHUNKS))
    runs = []
    for start, stop in pairwise(edges):
        model.partial_fit(X[start:stop], y[start:stop], classes)
        runs.append(other.prequential(X[start:stop], y[start:stop], classes))
    return joined(runs) | asked_classes(model, X[-20:])


# -- counts and levels -------------------------------------------------------------------------------------------------


def counts(with_exposure: bool = False, scaled: float = 1.0, **changes: Any) -> Arrays:
    X, y, exposure = counted(160)
    y = scaled * y
    shares = exposure if with_exposure else np.ones(160)
    given = [(shares[rows],) if with_exposure else () for rows in (slice(0, 120), slice(120, 140), slice(140, 160))]
    model = IEGPCountRegressor(**(LABELS | changes))
    run = model.prequential(X[:120], y[:120], *given[0])
    model.partial_fit(X[120:140], y[120:140], *given[1])
    dist = model.predict_dist(X[140:], *given[2])
    lower, upper = dist.interval(0.8)
    found = {"mean": dist.mean, "std": dist.std, "lower": lower, "upper": upper, "sample": dist.sample(3, 0)}
    found |= {"pmf": dist.pmf(np.round(y[140:])), "cdf": dist.cdf(y[140:]), "quantiles": dist.quantile([0.1, 0.5, 0.9])}
    return recorded(run) | prefixed("after", found | {"weights": model.expert_weights_})


add("counts/plain", counts)
add("counts/exposure", partial(counts, True))
add("counts/poisson", partial(counts, overdispersion=0.0))
add("counts/overdispersion", partial(counts, True, overdispersion=0.3))
add("counts/monte-carlo", partial(counts, True, integration="monte-carlo"))
add("counts/switching", partial(counts, weights="switching"))
add("counts/not-whole", partial(counts, scaled=0.37))
add("counts/large", partial(counts, scaled=50.0))


def levels(**changes: Any) -> Arrays:
    X, y = ordered(160)
    model = IEGPOrdinalClassifier(["low", "mid", "high", "top"], **(LABELS | changes))
    run = model.prequential(X[:120], y[:120])
    model.partial_fit(X[120:140], y[120:140])
    return recorded(run) | asked_classes(model, X[140:])


add("ordinal/logit", levels)
add("ordinal/probit", partial(levels, link="probit"))
add("ordinal/monte-carlo", partial(levels, integration="monte-carlo"))
add("ordinal/probit-integration", partial(levels, integration="probit", weights="bayes", sharpness=1.0))

# -- maps --------------------------------------------------------------------------------------------------------------

# Few iterations: sixty of them, the default, turn differences in the last bit into others that can be seen on the map.
MAP: dict[str, Any] = {
    "kernels": (RBF(0.7), RBF(1.5)),
    "n_frequencies": 10,
    "warmup": 60,
    "warmup_iter": 6,
    "random_state": 0,
}


def latent(gaps: float = 0.0, make: Callable[..., IEGPLVM] = IEGPLVM, **changes: Any) -> Arrays:
    rows = folded(160)
    rows[np.random.default_rng(6).random(rows.shape) < gaps] = np.nan
    model = make(**(MAP | {"init": "pca"} | changes))
    first = model.fit_transform(rows[:100])
    edges = (100, 101, 104, 130, 140)
    later = [model.partial_fit_transform(rows[a:b]) for a, b in pairwise(edges)]
    asked_rows = rows[90:160:2]
    back, std = model.inverse_transform(model.embedding_[:10], return_std=True)
    found = {"first": first, "later": np.concatenate(later), "positions": model.transform(asked_rows)}
    found |= {"single": model.transform(rows[150:151]), "back": back, "back_std": std, "stored": model.stored_rows_}
    found |= {"scores": model.score_samples(asked_rows), "stitched": model.stitched_embedding_}
    return found | {"weights": model.expert_weights_, "noise_var": model.noise_var_, "prior_var": model.prior_var_}


MAPS: dict[str, dict[str, Any]] = {
    "pca": {},
    "more-iterations": {"warmup_iter": 20},
    "tsne": {"init": "tsne"},
    "given-picture": {"init": np.random.default_rng(7).normal(size=(60, 2)), "chain": False},
    "one-component": {"n_components": 1, "features": "orthogonal"},
    "switching": {"weights": "switching"},
    "stacking": {"weights": "stacking"},
    "forgetting": {"forgetting": 0.97},
    "max-stored": {"max_stored": 80},
    "gaps": {"gaps": 0.1},
}
for _name, _settings in MAPS.items():
    add(f"latent/{_name}", partial(latent, **_settings))
add("preset/ie_gplvm", partial(latent, make=presets.ie_gplvm))


@configuration("latent/warm-up-and-save")
def _() -> Arrays:
    """Questions before the warm-up is over, then a file."""
    rows = folded(120)
    model = IEGPLVM(**(MAP | {"init": "pca"})).partial_fit(rows[:40])
    early = model.transform(rows[100:])
    model.partial_fit(rows[40:90])
    with tempfile.TemporaryDirectory() as folder:
        model.save(Path(folder) / "map")
        model = load(Path(folder) / "map")
    return {"early": early, "later": model.partial_fit_transform(rows[90:100]), "late": model.transform(rows[100:])}


@configuration("random-features")
def _() -> Arrays:
    X, _ = smooth(30)
    found = {}
    for name, kernel in (KERNELS | {"dimension": RBF("dimension"), "columns": RBF((1.0, 2.0, 3.0))}).items():
        for method in ("orthogonal", "random"):
            made = RandomFourierFeatures(kernel, n_frequencies=7, features=method, random_state=1)
            found[f"{name}_{method}"] = made.fit_transform(X)
    return found


# -- River -------------------------------------------------------------------------------------------------------------


def river_rows(X: np.ndarray) -> list[dict[str, float]]:
    """Rows by name: one column appears at row 70, and values are missing here and there."""
    gone = np.random.default_rng(8).random(X.shape) < 0.1
    gone[:70, -1] = True
    names = [f"x{number}" for number in range(X.shape[1])]
    return [
        {name: float(value) for name, value, missing in zip(names, row, gaps, strict=True) if not missing}
        for row, gaps in zip(X, gone, strict=True)
    ]


RIVER: dict[str, Any] = {"kernels": (RBF(1.0), Cauchy("evidence")), "n_frequencies": 8, "warmup": 50, "seed": 0}


def described(dist: Any, y: float) -> list[float]:
    return [dist.mu, dist.sigma, dist.cdf(y), dist.quantile(0.2), *dist.interval(0.9), dist.logpdf(y)]


@configuration("river/regressor", "river")
def _() -> Arrays:
    X, y = smooth(140)
    model, found = iegp.adapters.RiverRegressor(**RIVER), []
    for row, label in zip(river_rows(X), y.tolist(), strict=True):
        found.append(described(model.predict_one(row, with_dist=True), label))
        model.learn_one(row, label)
    return {"predicted": np.array(found), "single": np.array([model.predict_one(row) for row in river_rows(X)[-10:]])}


@configuration("river/light", "river")
def _() -> Arrays:
    X, y = smooth(90)
    model, found = iegp.adapters.RiverRegressor.light(seed=0, warmup=40, n_frequencies=10), []
    for row, label in zip(river_rows(X), y.tolist(), strict=True):
        found.append(model.predict_one(row))
        model.learn_one(row, label)
    return {"predicted": np.array(found)}


@configuration("river/frames", "river", "pandas")
def _() -> Arrays:
    """Many rows at a time; the last column appears at row 70."""
    pandas = importlib.import_module("pandas")
    X, y = smooth(140)
    frame, labels = pandas.DataFrame(X, columns=["x0", "x1", "x2"]), pandas.Series(y)
    model, found = iegp.adapters.RiverRegressor(**RIVER), []
    for start in range(0, 140, 35):
        rows = slice(start, start + 35)
        known = frame[rows] if start >= 70 else frame[rows][["x0", "x1"]]
        found.append(model.predict_many(known).to_numpy())
        model.learn_many(known, labels[rows])
    return {"predicted": np.concatenate(found)}


@configuration("river/counts", "river")
def _() -> Arrays:
    X, y, exposure = counted(130)
    model, found = iegp.adapters.RiverCountRegressor(**RIVER), []
    for row, label, share in zip(river_rows(X), y.tolist(), exposure.tolist(), strict=True):
        found.append(described(model.predict_one(row, with_dist=True, exposure=share), label))
        model.learn_one(row, label, exposure=share)
    return {"predicted": np.array(found)}


def river_labels(model: Any, X: np.ndarray, y: Iterable[Any], classes: list[Any]) -> Arrays:
    """Probabilities of the labels, 0 for those that were not seen yet."""
    found = []
    for row, label in zip(river_rows(X), y, strict=True):
        proba = model.predict_proba_one(row)
        found.append([proba.get(name, 0.0) for name in classes])
        model.learn_one(row, label)
    return {"proba": np.array(found), "known": np.array([str(name) for name in model.known_classes])}


@configuration("river/classifier", "river")
def _() -> Arrays:
    """A third and a fourth class appear after the warm-up."""
    X, y = labelled(140, 4)
    y[:60] = np.where(y[:60] < "class 2", y[:60], "class 0")
    y[:90][y[:90] == "class 3"] = "class 1"
    return river_labels(iegp.adapters.RiverClassifier(**RIVER), X, y.tolist(), [f"class {k}" for k in range(4)])


@configuration("river/ordinal", "river")
def _() -> Arrays:
    """A level between others appears late."""
    X, words = ordered(140)
    y = np.array([["low", "mid", "high", "top"].index(word) for word in words])
    y[:70][y[:70] == 2] = 3
    return river_labels(iegp.adapters.RiverOrdinalClassifier(**RIVER), X, y.tolist(), [0, 1, 2, 3])


@configuration("river/latent", "river")
def _() -> Arrays:
    rows = river_rows(folded(120))
    settings = {name: MAP[name] for name in ("kernels", "n_frequencies")} | {"n_components": 1, "warmup": 80}
    model, found = iegp.adapters.RiverIEGPLVM(**settings, init="pca", seed=0), []
    for row in rows:
        found.append([*model.transform_one(row).values(), model.score_one(row)])
        model.learn_one(row)
    return {"positions": np.array(found)}


# -- commands ----------------------------------------------------------------------------------------------------------

CONFIG = """[parameters]
n_frequencies = 6
warmup = 50
drift_var = [0.0, 1e-3]
[[parameters.kernels]]
kernel = "RBF"
length_scale = 1.0
[[parameters.kernels]]
kernel = "Cauchy"
length_scale = "dimension"
"""
Record = dict[str, Any]


def command(*arguments: Any) -> None:
    """``iegp ...`` in this process."""
    words, handler = sys.argv, signal.getsignal(signal.SIGINT)
    sys.argv = ["iegp", *map(str, arguments)]
    try:
        iegp_main()
    except SystemExit as end:
        if end.code:
            raise RuntimeError(f"iegp {' '.join(sys.argv[1:])} ended with {end.code}") from end
    finally:
        sys.argv = words
        signal.signal(signal.SIGINT, handler)


def write_records(path: Path, records: list[Record]) -> Path:
    """As CSV or JSON lines, by the suffix."""
    if path.suffix == ".jsonl":
        path.write_text("".join(json.dumps(record) + "\n" for record in records))
        return path
    names = list(dict.fromkeys(name for record in records for name in record))
    with path.open("w", newline="") as file:
        writer = csv.DictWriter(file, names, lineterminator="\n")
        writer.writeheader()
        writer.writerows(records)
    return path


def answers(path: Path) -> Arrays:
    """Answers of a run as columns, numbers where all that is there are numbers."""
    lines = [flat(json.loads(line)) for line in path.read_text().splitlines()]
    names = dict.fromkeys(name for line in lines for name in line)
    return {name: column([line.get(name) for line in lines]) for name in names}


def flat(record: Record) -> Record:
    """Entries of inner objects and lists with names of their own."""
    plain: Record = {}
    for name, value in record.items():
        inner = dict(enumerate(value)) if isinstance(value, list) else value
        if isinstance(inner, dict):
            plain |= {f"{name}.{key}": entry for key, entry in flat(inner).items()}
        else:
            plain[str(name)] = value
    return plain


def column(values: list[Any]) -> np.ndarray:
    if all(value is None or isinstance(value, int | float) for value in values):
        return np.array([np.nan if value is None else float(value) for value in values])
    return np.array(["" if value is None else str(value) for value in values])


def mixed_records(labels: list[Any]) -> list[Record]:
    """Numbers with gaps, a text, a time and a label."""
    n = len(labels)
    X, _ = smooth(n)
    rng = np.random.default_rng(10)
    places = np.array(["north", "south", "east, or so", 'the "west"'])[rng.integers(0, 4, size=n)]
    gaps = rng.random((n, 2)) < 0.1
    return [
        {
            "a": float(X[i, 0]),
            "b": None if gaps[i, 0] else float(X[i, 1]),
            "place": None if gaps[i, 1] else str(places[i]),
            "when": f"2024-03-{1 + i // 24:02d}T{i % 24:02d}:30:00",
            "y": labels[i],
        }
        for i in range(n)
    ]


def task_labels(task: str, n: int) -> list[Any]:
    """Labels of :func:`mixed_records`; a third class appears late."""
    y = smooth(n)[1]
    if task == "regression":
        return list(y.tolist())
    if task == "count":
        return [int(value) for value in np.maximum(np.round(y), 0)]
    words = np.array(["low", "mid", "high"])[np.searchsorted([3.0, 6.0], y)]
    if task == "classification":
        words[: n // 2][words[: n // 2] == "high"] = "mid"
    return list(words.tolist())


def streamed(task: str, *flags: Any, suffix: str = ".csv") -> Arrays:
    """A run that is stopped and continued, and a prediction with the saved model."""
    with tempfile.TemporaryDirectory() as folder:
        here = Path(folder)
        records = mixed_records(task_labels(task, 180))
        source = write_records(here / f"in{suffix}", records[:150])
        (here / "small.toml").write_text(CONFIG)
        run = ["stream", source, "-t", "y", "--task", task, "--config", here / "small.toml", "--quiet", *flags]
        files = ["--out", here / "out.jsonl", "--save", here / "model"]
        command(*run, *files, "--limit", 110)
        command(*run, *files, "--resume")
        command("predict", here / "model", write_records(here / "ask.csv", records[150:]), "--out", here / "ask.jsonl")
        return answers(here / "out.jsonl") | prefixed("asked", answers(here / "ask.jsonl"))


add("stream/regression", partial(streamed, "regression", "--time", "when"))
add("stream/regression-normal-intervals", partial(streamed, "regression", "--intervals", "normal", "--ignore", "when"))
add("stream/regression-jsonl", partial(streamed, "regression", "--time", "when", "--level", "0.8", suffix=".jsonl"))
add("stream/classification", partial(streamed, "classification", "--time", "when"))
add(
    "stream/classification-declared", partial(streamed, "classification", "--classes", "high,low,mid", "--time", "when")
)
add("stream/count", partial(streamed, "count", "--ignore", "when,place"))
add("stream/ordinal", partial(streamed, "ordinal", "--order", "low,mid,high", "--ignore", "when"))


def streamed_records(records: list[Record], *flags: Any, suffix: str = ".csv") -> Arrays:
    with tempfile.TemporaryDirectory() as folder:
        here = Path(folder)
        source = write_records(here / f"in{suffix}", records)
        (here / "small.toml").write_text(CONFIG)
        options = ["--target", "y", "--config", here / "small.toml", "--quiet", "--out", here / "out.jsonl"]
        command("stream", source, *options, *flags)
        return answers(here / "out.jsonl")


@configuration("stream/key")
def _() -> Arrays:
    records = mixed_records(task_labels("regression", 180))
    keyed = [{**record, "sensor": str(key)} for record, key in zip(records, keys_of(180), strict=True)]
    return streamed_records(keyed, "--key", "sensor", "--time", "when")


def late(labels: list[Any], suffix: str) -> Arrays:
    """Every third row gets its label twenty rows later."""
    records: list[Record] = []
    waiting: dict[int, Any] = {}
    for number, record in enumerate(mixed_records(labels)):
        row = {"id": f"r{number}", **record}
        if number % 3 == 0:
            waiting[number + 20] = {"id": row["id"], "y": row.pop("y")}
        records.append(row)
        if number in waiting:
            records.append(waiting.pop(number))
    return streamed_records(records, "--ignore", "when", suffix=suffix)


for _task in ("regression", "classification"):
    for _suffix in (".csv", ".jsonl"):
        add(f"stream/late-{_task}-{_suffix[1:]}", partial(late, task_labels(_task, 130), _suffix))


def embedded(*flags: Any) -> Arrays:
    """Where the rows lie, by the expert of most weight at the end and by the best of each moment."""
    records = [{f"c{number}": float(value) for number, value in enumerate(row)} for row in folded(120)]
    found: Arrays = {}
    with tempfile.TemporaryDirectory() as folder:
        here = Path(folder)
        source = write_records(here / "in.csv", records)
        for name, more in (("plain", ()), ("stitched", ("--stitched",))):
            command("embed", source, "--out", here / f"{name}.npz", "--quiet", *flags, *more)
            with np.load(here / f"{name}.npz", allow_pickle=True) as file:
                found |= {f"{name}_{key}": file[key] for key in file.files if file[key].dtype.kind in "fiu"}
    return found


# Chosen, of sixty-four such runs, for hardly changing with the last bits.
add("command/embed-line", partial(embedded, "--init", "pca", "--warmup", 100, "--frequencies", 4, "--components", 1))
add("command/embed-plane", partial(embedded, "--init", "pca", "--warmup", 100, "--frequencies", 4))


@configuration("command/fit-history")
def _() -> Arrays:
    """More rows than the warm-up takes."""
    X, y = smooth(1150)
    with tempfile.TemporaryDirectory() as folder:
        here = Path(folder)
        write_parquet(here / "in.parquet", X[:1130], y[:1130])
        command("fit-history", here / "in.parquet", "-t", "y", "--save", here / "model", "--workers", 1, "--quiet")
        return asked(load(here / "model"), X[1130:], check_input=False)


# -- storing and comparing ---------------------------------------------------------------------------------------------

PRIMES = (1, 2, 3, 5, 7, 11, 13, 17, 23, 29, 37, 47, 59, 73, 97, 127, 163, 211, 283, 379, 503, 673, 911, 1213)


def thinned(values: np.ndarray) -> np.ndarray:
    """About ``KEPT`` values of a long array, its last among them: all earlier rows are in that one.

    The stride is a prime, so that no column of a table is always passed over.
    """
    wanted = values.size / KEPT
    stride = next((prime for prime in PRIMES if prime >= wanted), PRIMES[-1])
    kept = np.ascontiguousarray(values.ravel()[::-1][::stride])
    return kept.astype(np.float64) if kept.dtype.kind in "fiub" else kept


def all_results(pattern: str, say: Callable[[str], object]) -> Arrays:
    """Arrays of every configuration that can run here, by ``configuration/array``."""
    found: Arrays = {}
    for name in CONFIGURATIONS:
        if not fnmatch(name, pattern):
            continue
        if absent(name):
            say(f"{name}: skipped, {', '.join(absent(name))} is not installed\n")
            continue
        start = time.process_time()
        found |= {f"{name}/{key}": values for key, values in results(name).items()}
        say(f"{name}: {time.process_time() - start:.2f} s of CPU\n")
    return found


def differences(stored: np.ndarray, found: np.ndarray) -> tuple[float, float]:
    """Largest difference, absolute and relative to max(1, |stored value|); infinite where they cannot be compared."""
    if stored.shape != found.shape or stored.dtype.kind != found.dtype.kind:
        return np.inf, np.inf
    if stored.dtype.kind not in "fiub":
        return (0.0, 0.0) if np.array_equal(stored, found) else (np.inf, np.inf)
    one, two = (np.asarray(values, dtype=np.float64) for values in (stored, found))
    same = (one == two) | (np.isnan(one) & np.isnan(two))
    with np.errstate(invalid="ignore"):
        apart = np.where(same, 0.0, np.abs(one - two))
    apart[np.isnan(apart)] = np.inf
    size = np.where(np.isfinite(one), np.maximum(1.0, np.abs(one)), 1.0)
    return float(apart.max(initial=0.0)), float((apart / size).max(initial=0.0))


def is_equal_to_the_bit(stored: np.ndarray, found: np.ndarray) -> bool:
    if stored.dtype.kind == found.dtype.kind == "U":
        return np.array_equal(stored, found)
    return stored.shape == found.shape and stored.dtype == found.dtype and stored.tobytes() == found.tobytes()


def packed(arrays: Arrays) -> Arrays:
    """Thinned arrays as a few long ones: a thousand short ones would take more room for their names than for values."""
    thin = {name: thinned(values) for name, values in arrays.items()}
    texts = {name: values for name, values in thin.items() if values.dtype.kind == "U"}
    numbers = {name: values for name, values in thin.items() if name not in texts}
    stored: Arrays = {}
    for kind, group in (("numbers", numbers), ("texts", texts)):
        stored[f"{kind}_names"] = np.array(list(group), dtype=str)
        stored[f"{kind}_sizes"] = np.array([values.size for values in group.values()])
        stored[kind] = np.concatenate(list(group.values())) if group else np.zeros(0)
    return stored


def unpacked(stored: Arrays) -> Arrays:
    """The inverse of :func:`packed`, but for what was thinned away."""
    found: Arrays = {}
    for kind in ("numbers", "texts"):
        parts = np.split(stored[kind], np.cumsum(stored[f"{kind}_sizes"])[:-1])
        found |= dict(zip(stored[f"{kind}_names"].tolist(), parts, strict=True))
    return found


def read(path: str | Path) -> tuple[dict[str, Arrays], bool]:
    """Stored arrays by configuration, and whether they are thinned."""
    with np.load(path) as file:
        arrays = {entry: file[entry] for entry in file.files}
    is_thin = "numbers_names" in arrays
    stored: dict[str, Arrays] = {}
    for entry, values in (unpacked(arrays) if is_thin else arrays).items():
        name, key = entry.rsplit("/", 1)
        stored.setdefault(name, {})[key] = values
    return stored, is_thin


def compared(stored: Arrays, found: Arrays) -> list[tuple[str, float, float, bool]]:
    """For every array of a configuration: its name, its differences, and whether it is equal to the bit."""
    rows = []
    for key in sorted(stored.keys() | found.keys()):
        if key not in stored or key not in found:
            rows.append((key, np.inf, np.inf, False))
        else:
            pair = stored[key], found[key]
            rows.append((key, *differences(*pair), is_equal_to_the_bit(*pair)))
    return rows


def write(path: str, pattern: str, thin: bool) -> None:
    arrays = all_results(pattern, sys.stdout.write)
    np.savez_compressed(path, **(packed(arrays) if thin else arrays))


def compare(path: str, pattern: str, exact: bool) -> int:
    """Run everything again; the number of configurations that differ too much."""
    stored, thin = read(path)
    n_wrong = 0
    for name in CONFIGURATIONS | dict.fromkeys(stored):
        if not fnmatch(name, pattern):
            continue
        if name in CONFIGURATIONS and absent(name):
            sys.stdout.write(f"{name}: skipped, {', '.join(absent(name))} is not installed\n")
            continue
        if name not in CONFIGURATIONS or name not in stored:
            sys.stdout.write(f"{name}: not in {'the file' if name in CONFIGURATIONS else 'the table'}\n")
            n_wrong += 1
            continue
        found = results(name)
        rows = compared(stored[name], {key: thinned(values) for key, values in found.items()} if thin else found)
        n_wrong += judge(name, rows, exact)
    return n_wrong


def judge(name: str, rows: list[tuple[str, float, float, bool]], exact: bool) -> bool:
    """Print what was found; whether it is too much."""
    if all(equal for *_, equal in rows):
        sys.stdout.write(f"{name}: equal to the bit\n")
        return False
    key, absolute, relative, _ = max(rows, key=lambda row: (row[2], not row[3]))
    wrong = exact or not relative <= TOLERANCE
    mark = "  <-- DIFFERS" if wrong else ""
    sys.stdout.write(f"{name}: absolute {absolute:.2e}, relative {relative:.2e} ({key}){mark}\n")
    return wrong


def run() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    what = parser.add_mutually_exclusive_group(required=True)
    what.add_argument("--write", metavar="FILE.npz")
    what.add_argument("--compare", metavar="FILE.npz")
    parser.add_argument("--exact", action="store_true", help="differences of a bit count")
    parser.add_argument("--thin", action="store_true", help="store every so many values only")
    parser.add_argument("--only", default="*", metavar="PATTERN", help="configurations whose name matches")
    given = parser.parse_args()
    if given.write:
        write(given.write, given.only, given.thin)
        return 0
    n_wrong = compare(given.compare, given.only, given.exact)
    sys.stdout.write(f"{n_wrong} configurations differ\n" if n_wrong else "No configuration differs\n")
    return 1 if n_wrong else 0


if __name__ == "__main__":
    sys.exit(run())
