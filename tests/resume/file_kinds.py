"""A small valid file of every kind, how it is loaded, and how it is used: predictions, learning, both at once."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas
from stream_runs import sources
from stream_runs.jobs import absorb, job_of

import iegp
from iegp.adapters import RiverRegressor
from iegp.core.compute.tolerances import MAX_LINEAR_COLUMNS
from iegp.errors import InputError
from iegp.fleet.cluster import checkpoint as shards
from iegp.fleet.keyed_learner import Fleets
from iegp.kernels import HSGP, RBF, Constant, Linear
from iegp.preprocessing.encoder import Problem
from iegp.readers import Batch
from iegp.storage import model_file as modelfile
from iegp.stream import checkpoint
from iegp.stream.answers import Answers
from iegp.stream.checkpoint import RunState
from iegp.stream.job import Job

Answered = dict[str, Any]
RNG = np.random.default_rng(3)
X = RNG.normal(size=(120, 2))
Y = np.sin(2.0 * X[:, 0]) + 0.3 * X[:, 1] + 0.1 * RNG.normal(size=120)
MORE = RNG.normal(size=(9, 2))
SHAPE: dict[str, Any] = {"kernels": [RBF(0.7), RBF(2.0)], "n_frequencies": 3, "warmup": 40, "random_state": 0}


class Kind(NamedTuple):
    """A file, and what can be done with it."""

    file_name: str
    header: dict[str, Any]
    arrays: dict[str, Any]
    load: Callable[[Path], Any]
    use: Callable[[Any], Answered]
    """All numbers that were answered."""


def _stored(path: Path, load: Callable[[Path], Any], use: Callable[[Any], Answered]) -> Kind:
    header, arrays = modelfile.read(path)
    return Kind(path.name, header, arrays, load, use)


def _of_run(run: Any, *names: str) -> Answered:
    return {name: getattr(run, name) for name in names}


def classes(n: int) -> Any:
    return np.digitize(Y, np.quantile(Y, np.arange(1, n) / n))


# -- estimators --------------------------------------------------------------------------------------------------------


def _estimator(model: Any, y: Any, use: Callable[[Any], Answered], n: int = 120) -> Callable[[Path], Kind]:
    def make(folder: Path) -> Kind:
        model.fit(X[:n], y[:n]).save(folder / "model")
        return _stored(folder / "model", iegp.load, use)

    return make


def use_regressor(model: iegp.IEGPRegressor) -> Answered:
    if not model.__sklearn_is_fitted__():
        return {}
    n_outputs = model.model_.n_outputs
    y = Y[:9] if model.single_output_ else np.tile(Y[:9, None], n_outputs)
    mean, std = model.predict(MORE, return_std=True)
    model.partial_fit(MORE[:2], y[:2])
    model.partial_fit(MORE, y)
    run = model.prequential(MORE, y)
    return {"predicted": mean, "predicted std": std} | _of_run(
        run, "mean", "std", "lower", "upper", "log_score", "weights"
    )


def _late_labels(**options: Any) -> Callable[[Path], Kind]:
    """Earlier labels as inputs, labels that come late, intervals that keep their level, a view of the whole batch."""
    kernels = [RBF(0.7) + Linear(), Constant(), HSGP(1.0)]
    return _estimator(iegp.IEGPRegressor(**(SHAPE | {"kernels": kernels} | options)), Y, use_view)


def use_view(model: iegp.IEGPRegressor) -> Answered:
    """The view of many rows in one call, and intervals, beside what every regressor answers."""
    if not model.__sklearn_is_fitted__():
        return {}
    lower, upper = model.predict_interval(MORE)
    mean, std = model.predict(MORE, return_std=True, horizon=2)
    viewed = {"lower of the view": lower, "upper of the view": upper, "next mean": mean, "next std": std}
    changes = [change.strength for change in model.changes_]
    return viewed | {"changes": np.array(changes)} | use_regressor(model)


def _elapsed(folder: Path) -> Kind:
    """Drift per unit of time, with a delay: times of rows that wait."""
    options = SHAPE | {"drift_var": (0.0, 1e-3), "drift_per": "time", "delay": 2}
    model = iegp.IEGPRegressor(**options).fit(X, Y, time=np.arange(120.0) ** 1.1)
    model.save(folder / "model")
    return _stored(folder / "model", iegp.load, use_elapsed)


def use_elapsed(model: iegp.IEGPRegressor) -> Answered:
    if not model.__sklearn_is_fitted__():
        return {}
    clock = model.model_.clock
    if clock is None:
        return use_regressor(model)
    start = 0.0 if np.isnan(clock.newest) else clock.newest
    times = start + np.maximum(1.0, abs(start) * 1e-12) * np.arange(1.0, 10.0)
    mean, std = model.predict(MORE, return_std=True, time=times)
    run = model.prequential(MORE, Y[:9], time=times)
    return {"predicted": mean, "predicted std": std} | _of_run(run, "mean", "std", "lower", "upper", "log_score")


def _weighted(folder: Path) -> Kind:
    model = iegp.IEGPRegressor(**SHAPE, drift_var=(0.0, 1e-3), noise_forgetting=(None, 0.95))
    model.partial_fit(X[:21], Y[:21], sample_weight=np.linspace(0.0, 3.0, 21))
    model.save(folder / "model")
    return _stored(folder / "model", iegp.load, use_weighted)


def use_weighted(model: iegp.IEGPRegressor) -> Answered:
    if model.__sklearn_is_fitted__() and model.single_output_:
        model.partial_fit(X[21:60], Y[21:60], sample_weight=np.linspace(0.0, 3.0, 39))
    return use_regressor(model)


def table(n: int) -> dict[str, Any]:
    """Columns of text, dates and numbers with gaps."""
    days = np.datetime64("2024-03-01") + np.arange(n)
    gaps = np.where(np.arange(n) % 7 == 3, np.nan, np.resize(X[:, 0], n))
    return {"place": np.resize(["north", "south", "east"], n).astype(object), "when": days, "a": gaps}


def _frame(folder: Path) -> Kind:
    model = iegp.IEGPRegressor(**SHAPE).fit(pandas.DataFrame(table(120)), Y)
    model.save(folder / "model")
    return _stored(folder / "model", iegp.load, use_frame)


def use_frame(model: iegp.IEGPRegressor) -> Answered:
    if not model.__sklearn_is_fitted__():
        return {}
    frame = pandas.DataFrame(table(9))
    mean, std = model.predict(frame, return_std=True)
    frame["place"] = "west"
    y = Y[:9] if model.single_output_ else np.tile(Y[:9, None], model.model_.n_outputs)
    run = model.prequential(frame, y)
    return {"predicted": mean, "predicted std": std} | _of_run(run, "mean", "std", "lower", "upper", "log_score")


def _wide(folder: Path) -> Kind:
    """The default model with more columns than its linear terms may see."""
    x = np.random.default_rng(5).normal(size=(69, MAX_LINEAR_COLUMNS + 1))
    model = iegp.IEGPRegressor(n_frequencies=2, warmup=24, random_state=0).fit(x[:60], Y[:60])
    model.save(folder / "model")

    def use(model: iegp.IEGPRegressor) -> Answered:
        return _of_run(model.prequential(x[60:], Y[:9]), "mean", "std", "lower", "upper", "log_score", "weights")

    return _stored(folder / "model", iegp.load, lambda model: use(model) if _takes(model, x.shape[1]) else {})


def _takes(model: Any, n_columns: int) -> bool:
    return bool(model.__sklearn_is_fitted__()) and model.single_output_ and model.n_features_in_ == n_columns


def _late_column(folder: Path) -> Kind:
    """A column that came after the warm-up: linear terms keep those that they had."""
    kernels = [RBF("per-dimension") + Linear(), Constant()]
    river = RiverRegressor(kernels, n_frequencies=3, warmup=40, seed=0, lags=2)
    for row in range(60):
        features = {"a": float(X[row, 0])} | ({"b": float(X[row, 1])} if row > 45 else {})
        river.learn_one(features, float(Y[row]))
    river._estimator.save(folder / "model")
    return _stored(folder / "model", iegp.load, lambda model: use_regressor(model) if _takes(model, 2) else {})


# -- forecasters -------------------------------------------------------------------------------------------------------


def _forecaster(folder: Path) -> Kind:
    model = iegp.IEGPForecaster(3, lags=2, season=5, random_state=0, regressor=iegp.IEGPRegressor(**SHAPE))
    model.fit(Y, X[:, :1], time=86_400.0 * np.arange(120.0)).save(folder / "forecaster")
    return _stored(folder / "forecaster", iegp.IEGPForecaster.load, use_forecaster)


def use_forecaster(model: iegp.IEGPForecaster) -> Answered:
    if not model.__sklearn_is_fitted__():
        return {}
    coming, clock = MORE[: model.horizon, :1], model._clock
    lower, upper = model.predict_interval(X=coming)
    answers = {"mean": model.predict(X=coming), "lower": lower, "upper": upper}
    answers["paths"] = model.sample_paths(4, X=coming)
    times = None if clock is None else clock[0] + 86_400.0 * np.arange(1.0, 10.0)
    run = model.prequential(Y[:9], MORE[:, :1], time=times)
    return answers | {"mean of run": run.mean, "lower of run": run.lower, "upper of run": run.upper}


def _plain_forecaster(folder: Path) -> Kind:
    model = iegp.IEGPForecaster(2, lags=2, random_state=0)
    model.fit(Y[:60], X[:60, :1]).save(folder / "forecaster")
    return _stored(folder / "forecaster", iegp.IEGPForecaster.load, use_forecaster)


# -- classes and counts ------------------------------------------------------------------------------------------------


def use_classifier(model: Any) -> Answered:
    if not model.__sklearn_is_fitted__():
        return {}
    labels = np.resize(model.classes_, 9)
    proba = model.predict_proba(MORE)
    model.partial_fit(MORE[:2], labels[:2])
    model.partial_fit(MORE, labels)
    run = model.prequential(MORE, labels)
    return {"proba": proba, "weights": run.weights, "log_score": run.log_score, "proba of run": run.proba}


def use_counts(model: iegp.IEGPCountRegressor) -> Answered:
    if not model.__sklearn_is_fitted__():
        return {}
    y, exposure = np.arange(9), np.ones(9) if model.labels_.has_exposure else None
    mean = model.predict(MORE, exposure=exposure)
    model.partial_fit(MORE[:2], y[:2], exposure=None if exposure is None else exposure[:2])
    model.partial_fit(MORE, y, exposure=exposure)
    run = model.prequential(MORE, y, exposure=exposure)
    return {"predicted": mean} | _of_run(run, "mean", "std", "lower", "upper", "log_score", "weights")


# -- maps --------------------------------------------------------------------------------------------------------------

WIDE = X @ RNG.normal(size=(2, 5)) + 0.1 * RNG.normal(size=(120, 5))


def _map(n: int, **options: Any) -> Callable[[Path], Kind]:
    def make(folder: Path) -> Kind:
        model = iegp.IEGPLVM(**(SHAPE | {"init": "pca", "n_components": 2, "warmup_iter": 5} | options))
        model.fit(WIDE[:n]).save(folder / "map")
        return _stored(folder / "map", iegp.load, use_map)

    return make


def use_map(model: iegp.IEGPLVM) -> Answered:
    if not model.__sklearn_is_fitted__():
        return {}
    rows = np.resize(WIDE, (9, model.n_features_in_))
    rows[4, 1] = np.nan
    answers = {"positions": model.transform(rows), "scores": model.score_samples(rows)}
    model.partial_fit(rows)
    answers |= {"embedding": model.embedding_, "stitched": model.stitched_embedding_, "weights": model.expert_weights_}
    return answers | {"back": model.inverse_transform(model.embedding_[:3])}


# -- fleets ------------------------------------------------------------------------------------------------------------


def _fleet(dtype: str, template_rows: float | None = None, **options: Any) -> iegp.Fleet:
    model = iegp.IEGPRegressor(**SHAPE, drift_var=(0.0, 1e-3), noise_forgetting=(None, 0.98), **options)
    fleet = iegp.Fleet(model.warm_up(X[:60], Y[:60]), dtype=dtype, template_rows=template_rows)
    fleet.learn([f"k{i % 3}" for i in range(60)], X[60:], Y[60:])
    return fleet


def _fleet_file(dtype: str, **options: Any) -> Callable[[Path], Kind]:
    def make(folder: Path) -> Kind:
        _fleet(dtype, **options).save(folder / "fleet")
        return _stored(folder / "fleet", iegp.Fleet.load, use_fleet)

    return make


def use_fleet(fleet: iegp.Fleet) -> Answered:
    keys = [*fleet.keys[:3], "new"] * 3
    y = Y[:9] if fleet.single_output else Y[:9, None]
    dist = fleet.predict_dist(keys[:9], MORE)
    run = fleet.learn(keys[:9], MORE, y, level=0.9)
    names = ("mean", "std", "lower", "upper", "log_score", "weights")
    return {"predicted": dist.mean, "predicted std": dist.std} | _of_run(run, *names)


def _shard(folder: Path) -> Kind:
    fleet = _fleet("float64")
    run = fleet.learn(["k0", "k1"], MORE[:2], Y[:2])
    answer = {"mean": run.mean, "std": run.std, "weights": run.weights}
    shards.save(folder, 0, shards.Checkpoint(fleet, 4, {3: answer, 4: answer}))
    (path,) = folder.glob("*.answers")
    return _stored(path, lambda path: shards.load(path.parent, 0), lambda _: {})


# -- runs --------------------------------------------------------------------------------------------------------------


def _run(task: str, records: list[dict[str, Any]], **plan: Any) -> Callable[[Path], Kind]:
    """A run in the middle, with rows that wait for their labels unless all come after the same delay."""
    asks = not plan.get("parameters", {}).get("delay")

    def make(folder: Path) -> Kind:
        job = job_of(task, **plan)
        named = [{"id": f"r{i}", **record} for i, record in enumerate(records)]
        absorb(job, [{**record, "y": None} if asks and 90 <= i < 93 else record for i, record in enumerate(named)])
        checkpoint.write(folder / "run", job, RunState(source="in.jsonl", schema={}, config={}))
        again = [_later(record) for record in records[:6]]

        def use(job: Job) -> Answered:
            return use_job(job, again, asks)

        return _stored(folder / "run", lambda path: checkpoint.read(path, by_key=Fleets())[0], use)

    return make


def use_job(job: Job, records: list[dict[str, Any]], asks: bool) -> Answered:
    """Predict, learn, teach a label that came late."""
    late = [{"id": "r91", "y": records[0]["y"]}] if asks else []
    more = [{"id": f"n{i}", **record} for i, record in enumerate(records)]
    answers: list[Answers] = []
    columns = {name: _column([record[name] for record in more]) for name in more[0]}
    batch = Batch(columns, np.arange(len(more)))
    if job.learner is not None and not job.problems(batch):
        answers.append(job.predict(batch))
        job.counters.rows -= len(batch)
    _absorb(job, [*more, *late], answers)
    job.digest.results()
    shown = [answer.predictions for answer in answers if answer.note != "late"]
    return {"answers": np.concatenate([part.ravel() for p in shown for part in (p.mean, p.std, p.proba)])}


def _absorb(job: Job, records: list[dict[str, Any]], answers: list[Answers]) -> None:
    names = dict.fromkeys(name for record in records for name in record)
    columns = {name: _column([record.get(name) for record in records]) for name in names}
    lines = np.arange(len(records))
    job.absorb(Batch(columns, lines), answers.append, _bad)


def _bad(index: int, problem: Problem) -> None:
    raise InputError(f"record {index}: {problem}")


def _column(values: list[Any]) -> Any:
    if any(isinstance(value, str) for value in values):
        array = np.empty(len(values), dtype=object)
        array[:] = values
        return array
    return np.array(values, dtype=np.float64)


def _whole(records: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [record | {"y": float(abs(round(3 * record["y"])))} for record in records]


def _changed(n: int) -> list[dict[str, Any]]:
    """With a level that jumps, so that changes are noticed."""
    return [record | {"y": record["y"] + 5.0 * (i > 2 * n // 3)} for i, record in enumerate(sources.numbers(n))]


def _later(record: dict[str, Any]) -> dict[str, Any]:
    """The same after all others, where records have times."""
    return record | ({"when": record["when"].replace("-03-01", "-03-05")} if "when" in record else {})


LAGGED = {"lags": [3, 4, 9], "conformal": "online", "delay": 2}
LADDER = {"drift_var": (0.0, 1e-3), "noise_forgetting": (None, 0.95, 1.0, (0.75, 5.0))}


def _sorted_rows(folder: Path) -> Kind:
    model = iegp.IEGPRegressor(**SHAPE, weights="stacking").fit(X[np.argsort(X[:, 0])], Y)
    model.save(folder / "sorted_rows.iegp")
    return _stored(folder / "sorted_rows.iegp", iegp.load, use_regressor)


def _sorted_classes(folder: Path) -> Kind:
    model = iegp.IEGPClassifier(**SHAPE, sharpness=(1.0, 2.0)).fit(X, np.sort(classes(3)))
    model.save(folder / "sorted_classes.iegp")
    return _stored(folder / "sorted_classes.iegp", iegp.load, use_classifier)


KINDS: dict[str, Callable[[Path], Kind]] = {
    "static": _estimator(iegp.IEGPRegressor(**SHAPE, drift_var=0.0, weights="bayes", shutdown=1e-16), Y, use_regressor),
    "ladder": _estimator(iegp.IEGPRegressor(**SHAPE, **LADDER, weights="stacking"), Y, use_regressor),
    "switching": _estimator(iegp.IEGPRegressor(**SHAPE, drift_var=(0.0, 1e-2), weights="switching"), Y, use_regressor),
    "two outputs": _estimator(iegp.IEGPRegressor(**SHAPE, drift_var=1e-3), np.stack([Y, -Y], axis=1), use_regressor),
    "warm-up": _estimator(iegp.IEGPRegressor(**SHAPE, **LADDER), Y, use_regressor, n=21),
    "two classes": _estimator(iegp.IEGPClassifier(**SHAPE, sharpness=(1.0, 2.0)), classes(2), use_classifier),
    "three classes": _estimator(
        iegp.IEGPClassifier(**SHAPE, sharpness=(1.0, 2.0), drift_var=(0.0, 1e-2)), classes(3), use_classifier
    ),
    "draws": _estimator(iegp.IEGPClassifier(**SHAPE, integration="monte-carlo"), classes(3), use_classifier),
    "classes in the warm-up": _estimator(iegp.IEGPClassifier(**SHAPE), classes(3), use_classifier, n=21),
    "levels": _estimator(iegp.IEGPOrdinalClassifier(**SHAPE, drift_var=(0.0, 1e-2)), classes(4), use_classifier),
    "counts": _estimator(iegp.IEGPCountRegressor(**SHAPE, drift_var=(0.0, 1e-2)), classes(6), use_counts),
    "late labels": _late_labels(lags=(4, 5, 9), delay=3, conformal="online", conformal_levels=(0.5, 0.95)),
    "late labels in the warm-up": _estimator(iegp.IEGPRegressor(**SHAPE, lags=2, delay=3), Y, use_regressor, n=21),
    "seasons": _late_labels(lags="auto", robust=True),
    "lags of classes": _estimator(iegp.IEGPClassifier(**SHAPE, lags=2, delay=2), classes(3), use_classifier),
    "lags of counts": _estimator(iegp.IEGPCountRegressor(**SHAPE, lags=(1, 3)), classes(6), use_counts),
    "elapsed time": _elapsed,
    "weights of rows": _weighted,
    "frame": _frame,
    "more columns than linear terms see": _wide,
    "late column": _late_column,
    "sorted rows": _sorted_rows,
    "sorted classes": _sorted_classes,
    "exponentiated gradient": _estimator(
        iegp.IEGPRegressor(**SHAPE, weights="exponentiated-gradient", drift_var=(0.0, 1e-3)), Y, use_regressor
    ),
    "DOEBE": _estimator(iegp.presets.doebe(n_frequencies=4, warmup=40, random_state=0), Y, use_regressor),
    "forecaster": _forecaster,
    "forecaster as it comes": _plain_forecaster,
    "map": _map(120),
    "map that forgets": _map(120, forgetting=0.95, max_stored=60, weights="switching", switch_prob=0.1),
    "map in the warm-up": _map(21),
    "fleet": _fleet_file("float64"),
    "fleet in float32": _fleet_file("float32"),
    "fleet of late labels": _fleet_file("float64", lags=2, delay=3, conformal="online", conformal_levels=0.9),
    "fleet from a template": _fleet_file("float64", template_rows=1.5, lags=2),
    "shard": _shard,
    "run": _run("regression", sources.mixed(120), time="when"),
    "run of classes": _run("classification", sources.classes(120)),
    "run of levels": _run("ordinal", _whole(sources.numbers(120))),
    "run of counts": _run("count", _whole(sources.numbers(120))),
    "run of late labels": _run("regression", _changed(120), parameters=LAGGED),
    "run of late labels in the warm-up": _run(
        "regression", sources.numbers(120), parameters={"lags": 2, "warmup": 200}
    ),
    "run in elapsed time": _run(
        "regression", sources.mixed(120), time="when", parameters={"drift_per": "time", "lags": 2}
    ),
    "run by key with lags": _run("regression", sources.keyed(120), key="sensor", parameters={"lags": 2}),
    "run by key": _run("regression", sources.keyed(120), key="sensor"),
    "run by key in the warm-up": _run("regression", sources.keyed(21), key="sensor"),
}
