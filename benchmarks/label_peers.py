"""What models of classes, counts and ordered classes stand beside in ``labels.py``: naive forecasts, LightGBM, River.

Each gives probabilities (n, K) of every row, or means (n,) of counts, from the labels before it. Refitted models start
from the naive prediction. Those of a library that fits all rows so far take the three newest labels as further columns.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from itertools import pairwise
from typing import Any

import numpy as np
from lightgbm import LGBMClassifier, LGBMRegressor
from numpy.typing import NDArray
from river import forest, linear_model, multiclass, preprocessing, tree
from sklearn.linear_model import PoissonRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from statsmodels.miscmodels.ordinal_model import OrderedModel

from iegp.datasets import Stream
from iegp.evaluate.naive import running_frequencies
from iegp.typing import Float

N_LAGS = 3
EVERY = 250
# Share of the class frequencies in forecasts that are otherwise too sure, so that their log loss is finite.
CAUTION = 1e-3


def with_lags(stream: Stream, values: NDArray[Any]) -> Float:
    """The columns and the three values before each row; the first row's value where there are none."""
    lags = [np.concatenate([np.repeat(values[:1], k), values[:-k]]) for k in range(1, N_LAGS + 1)]
    return np.column_stack([stream.X, *lags])


# -- classes -----------------------------------------------------------------------------------------------------------


def last_label(stream: Stream, classes: NDArray[Any]) -> Float:
    """The last label with the probability that labels repeated so far, the others alike."""
    label = np.searchsorted(classes, stream.y)
    repeats = np.concatenate([[0.0], np.cumsum(label[1:] == label[:-1])])
    share = np.concatenate([[0.5], (repeats[:-1] + 1.0) / (np.arange(len(label) - 1) + 2.0)])
    before = np.concatenate([[0], label[:-1]])
    proba = np.repeat((1.0 - share)[:, None] / (len(classes) - 1), len(classes), axis=1)
    proba[np.arange(len(label)), before] = share
    return proba


def repeated(stream: Stream, classes: NDArray[Any]) -> NDArray[Any]:
    """The last label itself, whatever its probability."""
    return np.concatenate([classes[:1], stream.y[:-1]])


def lightgbm(stream: Stream, classes: NDArray[Any]) -> Float:
    """LightGBM on the columns and the three newest labels, fitted anew every 250 rows on all so far."""
    label = np.searchsorted(classes, stream.y)
    X, proba = with_lags(stream, label), running_frequencies(stream.y, classes)
    lag_columns = list(range(stream.X.shape[1], X.shape[1]))
    for first in range(EVERY, len(X), EVERY):
        known = np.unique(label[:first])
        if len(known) > 1:
            model = LGBMClassifier(n_estimators=200, n_jobs=1, verbose=-1, random_state=0)
            model.fit(X[:first], label[:first], categorical_feature=lag_columns)
            rows, ahead = slice(first, first + EVERY), np.zeros((min(EVERY, len(X) - first), len(classes)))
            ahead[:, known] = model.predict_proba(X[rows])
            proba[rows] = (1.0 - CAUTION) * ahead + CAUTION * proba[rows]
    return proba


RIVER: dict[str, Callable[[], Any]] = {
    "River ARF": lambda: forest.ARFClassifier(seed=0),
    "River HAT": lambda: tree.HoeffdingAdaptiveTreeClassifier(seed=0),
    "River logistic": lambda: (
        preprocessing.StandardScaler() | multiclass.OneVsRestClassifier(linear_model.LogisticRegression())
    ),
}


def river(make: Callable[[], Any], stream: Stream, classes: NDArray[Any]) -> Float:
    """A classifier of River, row by row."""
    model = make()
    place = {label: i for i, label in enumerate(classes.tolist())}
    proba = running_frequencies(stream.y, classes)
    for t, (row, label) in enumerate(zip(stream.X.tolist(), stream.y.tolist(), strict=True)):
        x = dict(enumerate(row))
        found = model.predict_proba_one(x)
        total = sum(found.values())
        if total > 0.0:
            proba[t] *= CAUTION
            for own, probability in found.items():
                proba[t, place[own]] += (1.0 - CAUTION) * probability / total
        model.learn_one(x, label)
    return proba


# -- counts ------------------------------------------------------------------------------------------------------------


def last_count(stream: Stream) -> Float:
    return np.concatenate([[0.0], stream.y[:-1]]).astype(np.float64)


def running_mean(stream: Stream) -> Float:
    y = np.asarray(stream.y, dtype=np.float64)
    return np.concatenate([[0.5], (np.cumsum(y)[:-1] + 0.5) / np.arange(1, len(y))])


def lightgbm_counts(stream: Stream) -> Float:
    """LightGBM with a Poisson loss on the columns and the three newest counts, fitted anew every 250 rows."""
    X, mean = with_lags(stream, np.asarray(stream.y, dtype=np.float64)), running_mean(stream)
    for first in range(min(EVERY, len(X) // 3), len(X), EVERY):
        model = LGBMRegressor(objective="poisson", n_estimators=200, n_jobs=1, verbose=-1, random_state=0)
        mean[first : first + EVERY] = model.fit(X[:first], stream.y[:first]).predict(X[first : first + EVERY])
    return np.maximum(mean, 1e-3)


def refits(n: int, first: int) -> list[int]:
    """Rows at which a batch model is fitted again: whenever rows have grown by a tenth."""
    stops = [first]
    while stops[-1] < n:
        stops.append(max(stops[-1] + 1, int(1.1 * stops[-1])))
    return stops


def refitted_poisson(stream: Stream) -> Float:
    """scikit-learn's PoissonRegressor, on the columns alone."""
    y, mean = np.asarray(stream.y, dtype=np.float64), running_mean(stream)
    for begin, end in pairwise(refits(len(y), 50)):
        model = make_pipeline(StandardScaler(), PoissonRegressor(alpha=1e-2, max_iter=1000))
        model.fit(stream.X[:begin], y[:begin])
        mean[begin:end] = np.clip(model.predict(stream.X[begin:end]), 1e-3, 10.0 * y[:begin].max() + 1.0)
    return mean


# -- ordered classes ---------------------------------------------------------------------------------------------------


def linear_ordinal(stream: Stream, classes: NDArray[Any]) -> Float:
    """statsmodels' proportional-odds model, linear in the columns."""
    levels, proba = np.searchsorted(classes, stream.y), running_frequencies(stream.y, classes)
    varies = stream.X[:200].std(axis=0) > 0.0
    X = (stream.X[:, varies] - stream.X[:200, varies].mean(axis=0)) / stream.X[:200, varies].std(axis=0)
    for begin, end in pairwise(refits(len(levels), 200)):
        if len(np.unique(levels[:begin])) < len(classes):
            continue
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            fitted = OrderedModel(levels[:begin], X[:begin], distr="logit").fit(method="bfgs", disp=False)
            ahead = np.maximum(np.asarray(fitted.model.predict(fitted.params, exog=X[begin:end])), 0.0)
        proba[begin:end] = (1.0 - CAUTION) * ahead + CAUTION / len(classes)
    return np.asarray(proba / proba.sum(axis=1, keepdims=True))
