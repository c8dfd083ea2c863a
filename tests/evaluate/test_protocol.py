"""Any model under one protocol: predictions of a loop written by hand, transformers that see no later row."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from river import dummy, linear_model, preprocessing, tree
from sklearn.compose import ColumnTransformer
from sklearn.linear_model import Ridge, SGDClassifier, SGDRegressor
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import QuantileTransformer, StandardScaler
from sklearn.tree import DecisionTreeRegressor

import iegp
from iegp.errors import InputError
from iegp.kernels import RBF

RNG = np.random.default_rng(3)
X = RNG.normal(5.0, 2.0, size=(120, 2))
Y = X[:, 0] - 0.5 * X[:, 1] + 0.1 * RNG.normal(size=120)
CLASSES = np.where(np.median(Y) < Y, "high", "low")


def small(**changes):
    return iegp.IEGPRegressor([RBF(1.0)], n_frequencies=6, warmup=30, random_state=0, **changes)


@pytest.mark.parametrize("delay", [0, 4])
def test_a_model_of_scikit_learn_is_run_as_a_loop_would(delay):
    def scaled():
        return SGDRegressor(random_state=0, eta0=1e-4)

    run, loop, wanted = iegp.prequential(scaled(), X, Y, delay=delay), scaled(), []
    for t in range(len(X)):
        wanted.append(loop.predict(X[t : t + 1])[0] if t > delay else np.nan)
        if t >= delay:
            loop.partial_fit(X[t - delay : t - delay + 1], Y[t - delay : t - delay + 1])
    assert_array_equal(run.mean, wanted)
    assert run.n_blind == delay + 1
    assert "no uncertainty" in repr(run)


def scaled_river():
    return preprocessing.StandardScaler() | linear_model.LinearRegression()


@pytest.mark.parametrize("make", [tree.HoeffdingTreeRegressor, scaled_river])
def test_a_model_of_river_is_run_as_a_loop_would(make):
    run, loop, wanted = iegp.prequential(make(), X, Y), make(), []
    for row, label in zip(X.tolist(), Y, strict=True):
        wanted.append(loop.predict_one(dict(enumerate(row))))
        loop.learn_one(dict(enumerate(row)), label)
    assert_allclose(run.mean[1:], wanted[1:])


@pytest.mark.parametrize(
    "model",
    [
        SGDClassifier(loss="log_loss", random_state=0),
        linear_model.LogisticRegression(),
        preprocessing.StandardScaler() | linear_model.LogisticRegression(),
    ],
)
def test_classifiers_give_probabilities(model):
    labels = CLASSES == "high" if hasattr(model, "learn_one") else CLASSES
    run = iegp.prequential(model, X, labels)
    assert_allclose(run.proba.sum(axis=1), 1.0)
    assert run.error < 0.4


@pytest.mark.parametrize(
    "labels",
    [CLASSES, pd.Series(CLASSES), pd.Series(CLASSES, dtype=object), list(CLASSES), pd.Series(CLASSES == "high")],
)
@pytest.mark.parametrize("make", [dummy.NoChangeClassifier, lambda: SGDClassifier(loss="log_loss", random_state=0)])
def test_labels_of_classes_may_be_text_of_any_container(make, labels):
    run = iegp.prequential(make(), X, labels)
    wanted = iegp.prequential(make(), X, np.asarray(labels).astype(str))
    assert_array_equal(run.predicted.astype(str), wanted.predicted)


def test_a_comparison_of_a_classifier_of_river_on_text_of_pandas():
    found = iegp.compare({"last": dummy.NoChangeClassifier()}, {"text": (X, pd.Series(CLASSES))}, warmup=50)
    assert "last" in str(found)


def test_our_models_are_run_as_they_run_themselves():
    assert_array_equal(iegp.prequential(small(), X, Y).mean, small().prequential(X, Y).mean)
    with pytest.raises(InputError, match="delay=3"):
        iegp.prequential(small(), X, Y, delay=3)


def test_transformers_are_fitted_on_the_first_rows_and_frozen():
    frame = pd.DataFrame(X, index=range(1000, 1120), columns=["a", "b"])
    run = iegp.prequential(make_pipeline(QuantileTransformer(n_quantiles=20), small()), frame, Y)
    scaler, model = QuantileTransformer(n_quantiles=20).fit(frame[:30]), small()
    model.partial_fit(scaler.transform(frame[:30]), Y[:30])
    assert_allclose(run.mean, model.prequential(scaler.transform(frame[30:]), Y[30:]).mean)
    assert (len(run), run.n_before, run.to_frame().index[0]) == (90, 30, 1030)


def test_transformers_that_learn_row_by_row_are_updated_after_each_row():
    run = iegp.prequential(make_pipeline(StandardScaler(), SGDRegressor(random_state=0)), X, Y, warmup=40, delay=2)
    scaler, loop, rows, wanted = StandardScaler().fit(X[:40]), SGDRegressor(random_state=0), [], []
    loop.partial_fit(scaler.transform(X[:40]), Y[:40])
    for t in range(40, len(X)):
        rows.append(scaler.transform(X[t : t + 1]))
        wanted.append(loop.predict(rows[-1])[0])
        if t - 40 >= 2:
            loop.partial_fit(rows[t - 42], Y[t - 2 : t - 1])
        scaler.partial_fit(X[t : t + 1])
    assert_allclose(run.mean, wanted)


def test_steps_that_do_nothing_and_pipelines_within_a_pipeline():
    def run(*steps):
        last = SGDRegressor(random_state=0, eta0=1e-3)
        return iegp.prequential(Pipeline([*steps, ("last", last)]), X, Y, warmup=40).mean

    scaler, nothing = ("scaler", StandardScaler()), ("nothing", "passthrough")
    inner = ("inner", Pipeline([nothing, ("scaler", StandardScaler())]))
    assert_array_equal(run(nothing, scaler), run(scaler))
    assert_array_equal(run(inner), run(scaler))
    frozen = ("frozen", ColumnTransformer([("scaler", StandardScaler(), [0, 1])]))
    assert np.abs(run(frozen) - run(scaler)).max() > 1e-6


def test_updates_are_row_by_row_where_a_model_of_ours_takes_blocks():
    """A transformer that is updated row by row gives every row what it knew before it."""
    seen = []

    class Noted(StandardScaler):
        def partial_fit(self, X, y=None, sample_weight=None):
            seen.append(len(X))
            return super().partial_fit(X, y, sample_weight)

    run = iegp.prequential(make_pipeline(Noted(), small()), X, Y, warmup=40)
    assert seen[-80:] == [1] * 80
    scaler, model, means = StandardScaler().fit(X[:40]), small(), []
    model.partial_fit(scaler.transform(X[:40]), Y[:40])
    for t in range(40, 120):
        means.append(model.prequential(scaler.transform(X[t : t + 1]), Y[t : t + 1]).mean[0])
        scaler.partial_fit(X[t : t + 1])
    assert_allclose(run.mean, means)


def test_frames_of_text_are_run_by_models_of_ours():
    rows = pd.DataFrame({"a": X[:, 0], "level": np.where(X[:, 1] > 5.0, "high", "low")})
    run = iegp.prequential(make_pipeline("passthrough", small()), rows, Y)
    assert_array_equal(run.mean, small().prequential(rows, Y).mean[30:])


@pytest.mark.parametrize("last", [small(), SGDRegressor(random_state=0, eta0=1e-3)], ids=["ours", "theirs"])
def test_no_prediction_depends_on_later_rows(last):
    one = iegp.prequential(make_pipeline(StandardScaler(), last), X, Y, warmup=40)
    changed, labels = X.copy(), Y.copy()
    changed[81:], labels[80:] = -3.0, 99.0
    two = iegp.prequential(make_pipeline(StandardScaler(), type(last)(**last.get_params())), changed, labels, warmup=40)
    fresh = iegp.prequential(make_pipeline(StandardScaler(), type(last)(**last.get_params())), X, Y, warmup=40)
    assert_allclose(two.mean[:41], fresh.mean[:41], atol=1e-8)
    assert len(one) == len(two)


def test_models_that_cannot_learn_row_by_row_are_refused():
    with pytest.raises(InputError, match="DecisionTreeRegressor"):
        iegp.prequential(DecisionTreeRegressor(), X, Y)
    with pytest.raises(InputError, match="warmup=120"):
        iegp.prequential(make_pipeline(StandardScaler(), SGDRegressor()), X, Y, warmup=120)


def test_a_comparison_has_a_row_for_each_run(tmp_path, capsys):
    models = {
        "ours": small(),
        "linear": make_pipeline(StandardScaler(), SGDRegressor()),
        "tree": tree.HoeffdingTreeRegressor(),
        "made": lambda seed: SGDRegressor(random_state=seed, eta0=1e-4),
    }
    streams = {"plain": (X, Y), "late": (X, Y)}
    found = iegp.compare(models, streams, delay={"late": 5}, seeds=[1, 2, 3], warmup=40)
    assert len(found.rows) == 4 * 2 * 3
    assert (found.models, found.streams) == (list(models), list(streams))
    assert len(capsys.readouterr().err.splitlines()) == 24
    late = small(delay=5).set_params(random_state=2).prequential(X, Y)
    error = np.mean((late.y[40:] - late.mean[40:]) ** 2) / np.var(Y[40:])
    assert found.values("ours", "late", "nmse")[1] == pytest.approx(error)
    pair = found.paired("ours", "tree", "rmse")[0]
    assert pair["lower"] < pair["difference"] < pair["upper"]
    assert {type(value) for value in pair.values()} == {str, float}
    found.to_csv(tmp_path / "scores.csv")
    assert len(pd.read_csv(tmp_path / "scores.csv")) == len(found.to_frame()) == 24
    assert "plain" in repr(found)
    found.plot("rmse").savefig(tmp_path / "figure.png")
    with pytest.raises(InputError, match="'speed'"):
        found.values("ours", "plain", "speed")
    with pytest.raises(InputError, match="warmup=120"):
        iegp.compare(models, streams, warmup=120)


@pytest.mark.parametrize(
    ("models", "streams", "seeds", "message"),
    [
        ([SGDRegressor()], {"a": (X, Y)}, 1, "models is a list; name each of them"),
        ({}, {"a": (X, Y)}, 1, "models is empty"),
        ({"a": SGDRegressor()}, [(X, Y)], 1, "streams is a list"),
        ({"a": SGDRegressor()}, {"a": (X, Y)}, 0, "seeds names no seed"),
        ({"a": "light"}, {"a": (X, Y)}, 1, "model 'a' is 'light'"),
    ],
)
def test_a_comparison_is_refused_before_its_first_run(models, streams, seeds, message):
    with pytest.raises(InputError, match=message):
        iegp.compare(models, streams, seeds=seeds, warmup=40)


def test_an_error_of_a_comparison_says_in_which_run_it_occurred():
    with pytest.raises(InputError, match="learns neither row by row") as found:
        iegp.compare({"ridge": Ridge()}, {"plain": (X, Y)}, seeds=[7], warmup=40)
    assert found.value.__notes__ == ["iegp.compare: model 'ridge' on stream 'plain' with seed 7"]
