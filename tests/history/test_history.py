"""A history learned in parts equals one process that learned its rows in order."""

from __future__ import annotations

import itertools
import sys

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest
from history.static_models import STATIC, assert_same_model, stream, taught, warmed_up

from iegp import IEGPRegressor
from iegp.core.ensemble import learn, start
from iegp.core.expert.bulk_learning import absorb_in_any_order
from iegp.core.state import belief_at
from iegp.errors import InputError, MissingPackageError
from iegp.history import fit_history
from iegp.kernels import RBF

X, Y = stream(1000)


def fresh(**changes):
    return IEGPRegressor(**(STATIC | changes))


def in_one_process(**changes):
    return fresh(**changes).warm_up(X[:64], Y[:64]).partial_fit(X[64:], Y[64:])


def pieces(*cuts):
    edges = [0, *cuts, len(X)]
    return ((X[a:b], Y[a:b]) for a, b in itertools.pairwise(edges))


@pytest.fixture
def files(tmp_path):
    """Three files, each with several row groups."""
    for number, part in enumerate(np.array_split(np.arange(1000), 3)):
        table = pa.table({"a": X[part, 0], "label": Y[part], "b": X[part, 1]})
        pa.parquet.write_table(table, tmp_path / f"{number}.parquet", row_group_size=100)
    return tmp_path


@pytest.mark.parametrize("noise", [None, 1.0, (None, 1.0)], ids=str)
@pytest.mark.parametrize("learn_warmup", [False, True])
@pytest.mark.parametrize("part_rows", [90, 5000])
def test_parts_equal_one_process(noise, learn_warmup, part_rows):
    changes = {"noise_forgetting": noise, "learn_warmup": learn_warmup}
    model = fit_history(pieces(10, 500, 501), fresh(**changes), n_workers=1, part_rows=part_rows)
    assert_same_model(model, in_one_process(**changes))


def test_one_row_per_part():
    model = fit_history((X[:200], Y[:200]), fresh(), n_workers=1, part_rows=1)
    assert_same_model(model, fresh().warm_up(X[:64], Y[:64]).partial_fit(X[64:200], Y[64:200]))


def test_the_number_of_workers_changes_not_a_bit(files):
    models = [
        fit_history(files, fresh(), target="label", n_workers=n_workers, part_rows=100) for n_workers in (1, 2, 3)
    ]
    assert_same_model(models[0], in_one_process())
    for other in models[1:]:
        for one, two in zip(models[0].model_.state, other.model_.state, strict=True):
            np.testing.assert_array_equal(one, two)
    assert list(models[0].feature_names_in_) == ["a", "b"]


def test_folders_patterns_and_lists(files):
    wanted = in_one_process()
    listed = [files / f"{number}.parquet" for number in range(3)]
    for dataset in (files, str(files / "*.parquet"), listed):
        assert_same_model(fit_history(dataset, fresh(), target="label", n_workers=1, part_rows=250), wanted)
    one = fit_history(files, fresh(), target="label", features=["b"], n_workers=1)
    assert one.n_features_in_ == 1


def test_a_pair_of_arrays_and_several_outputs():
    both = np.column_stack([Y, 2.0 * Y + X[:, 0]])
    wanted = fresh().warm_up(X[:64], both[:64]).partial_fit(X[64:], both[64:])
    got = fit_history((X, both), fresh(), n_workers=1, part_rows=300)
    np.testing.assert_allclose(got.predict(X[:9]), wanted.predict(X[:9]), rtol=1e-8)
    np.testing.assert_allclose(got.model_.state.log_weights, wanted.model_.state.log_weights, atol=1e-7)


def test_more_history_on_top(files):
    base = warmed_up()
    wanted = taught(base, X, Y)
    model = fit_history((X[:300], Y[:300]), base, n_workers=1)
    assert model is base
    assert_same_model(fit_history(iter([(X[300:], Y[300:])]), model, n_workers=1), wanted)
    named = fit_history(files, fresh(), target="label", n_workers=1)
    assert_same_model(fit_history(files, named, target="label", n_workers=1), taught(in_one_process(), X, Y))


def test_then_live():
    live = fit_history((X, Y), fresh(), n_workers=1).go_live(drift_var=(0.0, 1e-3), noise_forgetting=(None, 0.98))
    assert live.prequential(*stream(50, seed=3)).coverage > 0.7
    assert live.n_samples_seen_ == 1000 - 64 + 50


@pytest.mark.parametrize("ratio", [1e2, 1e6])
@pytest.mark.parametrize("noise", [(None,), (1.0,), (None, 1.0)], ids=str)
def test_absorbing_is_learning_without_predictions(ratio, noise):
    model = warmed_up(prior_var=0.5 * ratio, noise_forgetting=noise, kernels=[RBF(0.5), RBF(2.0), RBF(30.0)]).model_
    ensemble = model.experts.ensemble
    x, y = model.scaling.standardise_x(X), model.scaling.standardise_y(Y[:, None])
    one, two = start(ensemble), start(ensemble)
    learn(ensemble, one, x, y)
    for part in (slice(0, 1), slice(1, 700), slice(700, 1000)):
        absorb_in_any_order(ensemble, two, x[part], y[part])
    np.testing.assert_allclose(two.log_weights, one.log_weights, atol=1e-7)
    np.testing.assert_allclose(two.noise_scale, one.noise_scale, rtol=1e-9)
    np.testing.assert_allclose(two.noise_shape, one.noise_shape)
    np.testing.assert_array_equal(two.rows, one.rows)
    for b in range(ensemble.n_beliefs):
        means = [np.linalg.solve(*belief_at(ensemble.layout, state, b)) for state in (one, two)]
        np.testing.assert_allclose(*means, rtol=1e-6, atol=1e-7 * np.abs(means[0]).max())


REFUSED = [
    (lambda: fit_history((X, Y), fresh(drift_var=1e-3)), "experts that drift"),
    (lambda: fit_history((X, Y), fresh(weights="stacking")), "weights='stacking'"),
    (lambda: fit_history((X, Y), fresh(), engine="spark"), "engine='spark' is not known"),
    (lambda: fit_history((X, Y), fresh(), n_workers=0), "n_workers=0"),
    (lambda: fit_history((X, Y), fresh(), part_rows=0), "part_rows=0"),
    (lambda: fit_history(iter([]), fresh()), "no rows"),
    (lambda: fit_history([(X, Y), (X[:, :1], Y)], fresh(), n_workers=1), r"piece 1 .*\(1000, 1\)"),
    (lambda: fit_history([(X, Y), (X * np.nan, Y)], fresh(), n_workers=1), "piece 1 .*NaN"),
    (lambda: fit_history([(X, Y), 3], fresh(), n_workers=1), "piece 1 .*not a pair"),
    (lambda: fit_history((X, Y), object()), "object cannot learn a history"),
    (lambda: fit_history("nowhere/*.parquet", fresh(), target="label"), "matches no Parquet file"),
    (lambda: fit_history("nowhere", fresh()), "target="),
]


@pytest.mark.parametrize(("call", "message"), REFUSED, ids=[message for _, message in REFUSED])
def test_what_is_refused(call, message):
    with pytest.raises(InputError, match=message):
        call()


def test_a_failure_leaves_the_model_as_it_was():
    model = fresh()
    with pytest.raises(InputError, match="piece 1"):
        fit_history([(X, Y), (X * np.nan, Y)], model, n_workers=1)
    assert not hasattr(model, "model_")


def test_bad_files_are_named(tmp_path):
    bad = Y.copy()
    bad[700] = np.nan
    pa.parquet.write_table(pa.table({"a": X[:, 0], "y": bad}), tmp_path / "nan.parquet", row_group_size=300)
    with pytest.raises(InputError, match=r"nan\.parquet: row 700 has nan in column 'y'"):
        fit_history(tmp_path, fresh(), target="y", n_workers=2, part_rows=300)
    pa.parquet.write_table(pa.table({"a": ["u"] * 3, "b": ["v"] * 3, "y": [1.0] * 3}), tmp_path / "text.parquet")
    with pytest.raises(InputError, match=r"not numbers: 'a' \(string\), 'b' \(string\); .*features="):
        fit_history(tmp_path / "text.parquet", fresh(), target="y")
    with pytest.raises(InputError, match="has no column 'z'; it has a, b, y"):
        fit_history(tmp_path / "text.parquet", fresh(), target="z")
    (tmp_path / "broken.parquet").write_bytes(b"PAR1")
    with pytest.raises(InputError, match="cannot be read as Parquet"):
        fit_history(tmp_path / "broken.parquet", fresh(), target="y")


def test_without_ray_the_extra_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(MissingPackageError, match=r'pip install "ray\[data\]" aiohttp'):
        fit_history((X, Y), fresh(), engine="ray", n_workers=1)
