"""One protocol for any model: each row is predicted, then learned, its label so many rows late.

Models are ours, River's, or scikit-learn's with ``partial_fit``, alone or at the end of a pipeline.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import is_classifier
from sklearn.pipeline import Pipeline

from iegp.errors import InputError
from iegp.evaluate.runs import LEVEL, ClassificationRun, PrequentialRun, target_names
from iegp.typing import Float

AnyRun = PrequentialRun | ClassificationRun
# Rows that the transformers of a pipeline are fitted on, if its last step does not say.
_WARMUP = 100


def prequential(
    model: Any, X: Any, y: ArrayLike, *, delay: int = 0, warmup: int | None = None, level: float = LEVEL
) -> AnyRun:
    """Predict each row, then learn it, with any model that learns row by row.

    The transformers of a pipeline are fitted on the first ``warmup`` rows. After that they are frozen, or updated after
    every row where they have ``partial_fit``; the run begins with the next row.

    Parameters
    ----------
    model : estimator, pipeline or River model
        With ``prequential`` (ours), ``partial_fit`` or ``learn_one``; changed by the call. A pipeline of scikit-learn
        ends in an estimator with ``prequential`` or ``partial_fit``.
    X : array-like or data frame (n, d)
        Rows in order of arrival.
    y : array-like (n,)
        Their labels.
    delay : int, default=0
        How many rows late labels come: row t is predicted by a model that has learned rows up to t - 1 - delay. A model
        of ours must have been made with the same ``delay``.
    warmup : int, default=None
        Rows that the transformers of a pipeline are fitted on, and its last step learns, before the first prediction;
        ``None`` is the ``warmup`` of the last step, or 100 if it has none.
    level : float, default=0.95
        Probability of the intervals, for models of ours.

    Returns
    -------
    PrequentialRun or ClassificationRun
        Predictions and scores. Models that predict no distribution have NaN as ``std``, interval and log score.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.linear_model import SGDRegressor
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import StandardScaler
    >>> import iegp
    >>> X = np.random.default_rng(0).normal(50.0, 10.0, size=(400, 1))
    >>> model = make_pipeline(StandardScaler(), SGDRegressor(eta0=0.1, random_state=0))
    >>> run = iegp.prequential(model, X, X[:, 0] - 50.0)
    >>> len(run), run.nmse < 0.2
    (300, True)
    """
    if isinstance(model, Pipeline):
        run = _run_pipeline(model, X, np.asarray(y), delay, warmup, level)
    else:
        run = _run(model, X, np.asarray(y), delay, level)
    return replace(run, targets=target_names(y)) if isinstance(run, PrequentialRun) else run


def _run(model: Any, X: Any, y: NDArray[Any], delay: int, level: float) -> AnyRun:
    if hasattr(model, "prequential"):
        _check_delay(model, delay)
        return _own_run(model, X, y, level)
    run = _loop(_learner(model, y), _rows(model, X), y, delay)
    return replace(run, index=getattr(X, "index", None))


def _loop(learner: _Numbers | _Classes, rows: Iterable[Any], y: NDArray[Any], delay: int) -> AnyRun:
    """Predict every row, then learn the one whose label has come; it is learned as it was when it was predicted."""
    n_blind = 0 if learner.has_learned else min(delay + 1, len(y))
    waiting: deque[Any] = deque()
    predicted = []
    for t, row in enumerate(rows):
        predicted.append(learner.predict(row))
        waiting.append(row)
        if t >= delay:
            learner.learn(waiting.popleft(), y[t - delay])
    return learner.run(predicted, y, n_blind)


def _own_run(model: Any, X: Any, y: NDArray[Any], level: float) -> AnyRun:
    options = {"classes": np.unique(y)} if is_classifier(model) else {"level": level}
    found: AnyRun = model.prequential(X, y, **options)
    return found


def _check_delay(model: Any, delay: int) -> None:
    if model.delay != delay:
        raise InputError(
            f"delay={delay} is not that of the model, delay={model.delay}; make the model with delay={delay}"
        )


def _rows(model: Any, X: Any) -> Iterable[Any]:
    """Rows as the model takes them: dictionaries for River, tables of one row otherwise."""
    if hasattr(model, "learn_one"):
        names = list(getattr(X, "columns", range(np.shape(X)[1])))
        return [dict(zip(names, row, strict=True)) for row in np.asarray(X).tolist()]
    return [_slice(X, t, t + 1) for t in range(len(X))]


def _slice(X: Any, start: int, stop: int) -> Any:
    return X.iloc[start:stop] if hasattr(X, "iloc") else X[start:stop]


# -- models of others ------------------------------------------------------------------------------------------------


def _learner(model: Any, y: NDArray[Any]) -> _Numbers | _Classes:
    if not (hasattr(model, "learn_one") or hasattr(model, "partial_fit")):
        raise InputError(
            f"{type(model).__name__} learns neither row by row (partial_fit) nor as River's models do (learn_one); "
            "pass a model that does"
        )
    if hasattr(_river_step(model), "predict_proba_one") if hasattr(model, "learn_one") else is_classifier(model):
        return _Classes(model, np.unique(y))
    return _Numbers(model)


def _river_step(model: Any) -> Any:
    """The model that predicts: the last step of a pipeline of River, which has the methods of every kind of model."""
    steps = getattr(model, "steps", None)
    return _river_step(list(steps.values())[-1]) if isinstance(steps, Mapping) and steps else model


class _RowByRow:
    """A model of River, or of scikit-learn with these ``arguments`` of ``partial_fit``, that learns single rows."""

    def __init__(self, model: Any, **arguments: Any) -> None:
        self.model, self.arguments, self.has_learned = model, arguments, False

    def learn(self, row: Any, label: Any) -> None:
        self.has_learned = True
        if hasattr(self.model, "learn_one"):
            self.model.learn_one(row, _plain(label))
        else:
            self.model.partial_fit(row, np.array([label]), **self.arguments)


class _Numbers(_RowByRow):
    """A regressor that predicts one number."""

    def predict(self, row: Any) -> Any:
        if not self.has_learned:
            return np.nan
        if hasattr(self.model, "predict_one"):
            return float(self.model.predict_one(row) or 0.0)
        return float(np.asarray(self.model.predict(row)).ravel()[0])

    def run(self, predicted: list[Any], y: NDArray[Any], n_blind: int) -> AnyRun:
        mean, unknown = np.array(predicted, dtype=np.float64), np.full(len(y), np.nan)
        weights, numbers = np.ones((len(y), 1)), y.astype(np.float64)
        return PrequentialRun(mean, unknown, unknown, unknown, unknown, weights, numbers, n_blind=n_blind)


def _plain(label: Any) -> Any:
    """A label of Python's own type; arrays of objects, such as text of pandas, hold those already."""
    return label.item() if isinstance(label, np.generic) else label


class _Classes(_RowByRow):
    """A classifier, with probabilities where it has them."""

    def __init__(self, model: Any, classes: NDArray[Any]) -> None:
        super().__init__(model, classes=classes)
        self.classes = classes

    def predict(self, row: Any) -> Float:
        if not self.has_learned:
            return np.full(len(self.classes), 1.0 / len(self.classes))
        if hasattr(self.model, "predict_proba_one"):
            found = self.model.predict_proba_one(row)
            proba = np.array([found.get(label, 0.0) for label in self.classes.tolist()])
        elif hasattr(self.model, "predict_proba"):
            proba = np.asarray(self.model.predict_proba(row))[0]
        else:
            proba = (self.classes == self.model.predict(row)[0]).astype(np.float64)
        return proba / proba.sum() if proba.sum() > 0.0 else np.full(len(proba), 1.0 / len(proba))

    def run(self, predicted: list[Any], y: NDArray[Any], n_blind: int) -> AnyRun:
        del n_blind
        proba = np.array(predicted)
        with np.errstate(divide="ignore"):
            log_score = np.log(proba[np.arange(len(y)), np.searchsorted(self.classes, y)])
        return ClassificationRun(proba, log_score, np.ones((len(y), 1)), y, self.classes)


# -- pipelines -------------------------------------------------------------------------------------------------------


def _run_pipeline(model: Pipeline, X: Any, y: NDArray[Any], delay: int, warmup: int | None, level: float) -> AnyRun:
    transformers, last = model[:-1], model[-1]
    n = getattr(last, "warmup", _WARMUP) if warmup is None else warmup
    if not 0 < n < len(y):
        raise InputError(
            f"warmup={n} leaves nothing of {len(y)} rows to predict, or nothing to fit the transformers on; pass a "
            f"number between 1 and {len(y) - 1}"
        )
    rest, labels = _slice(X, n, len(y)), y[n:]
    options = {"classes": np.unique(y)} if is_classifier(last) else {}
    last.partial_fit(transformers.fit_transform(_slice(X, 0, n), y[:n]), y[:n], **options)
    run = _run_rest(transformers, last, (rest, labels, delay, level), np.unique(y))
    return replace(run, index=getattr(rest, "index", None), n_before=n)


def _run_rest(transformers: Pipeline, last: Any, rest: tuple[Any, NDArray[Any], int, float], classes: Any) -> AnyRun:
    """The rows after those that everything was fitted on."""
    X, y, delay, level = rest
    updates = any(hasattr(step, "partial_fit") for step in _steps(transformers))
    if hasattr(last, "prequential"):
        _check_delay(last, delay)
        options = {"classes": classes} if is_classifier(last) else {"level": level}
        if not updates:
            return cast(AnyRun, last.prequential(transformers.transform(X), y, **options))
        each = enumerate(_transformed(transformers, X))
        runs = [last.prequential(row, y[t : t + 1], **options) for t, row in each]
        return cast(AnyRun, type(runs[0]).concatenate(runs))
    learner = _learner(last, classes)
    learner.has_learned = True
    return _loop(
        learner, _transformed(transformers, X) if updates else _rows(last, transformers.transform(X)), y, delay
    )


def _transformed(transformers: Pipeline, X: Any) -> Iterator[Any]:
    """Every row transformed; then, before the next, the transformers that can learn from it do."""
    for t in range(len(X)):
        row = _slice(X, t, t + 1)
        yield transformers.transform(row)
        for step in _steps(transformers):
            # A step that follows learns the row as it was predicted.
            after = step.transform(row)
            if hasattr(step, "partial_fit"):
                step.partial_fit(row)
            row = after


def _steps(transformers: Pipeline) -> list[Any]:
    """The steps that do something, also those of pipelines within the pipeline."""
    found: list[Any] = []
    for _, step in transformers.steps:
        if isinstance(step, Pipeline):
            found += _steps(step)
        elif step is not None and not isinstance(step, str):
            found.append(step)
    return found
