"""Every key of a fleet is a single model that was fed the rows of that key."""

from __future__ import annotations

from copy import deepcopy
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from history.static_models import stream
from hypothesis import given, settings
from hypothesis import strategies as st

from iegp import Fleet, IEGPClassifier, IEGPRegressor, load, presets
from iegp.core.model import begin
from iegp.errors import InputError, ModelFileError
from iegp.fleet import pages
from iegp.kernels import RBF

KINDS: dict[str, dict[str, Any]] = {
    "static": {"drift_var": 0.0, "noise_forgetting": None, "weights": "bayes"},
    "shutdown": {"drift_var": 0.0, "noise_forgetting": None, "weights": "bayes", "shutdown": 0.2},
    "drifting": {"drift_var": (0.0, 1e-2), "noise_forgetting": (None, 0.98, (0.9, 5.0)), "weights": "stacking"},
    "switching": {"drift_var": (0.0, 1e-3), "noise_forgetting": 1.0, "weights": "switching"},
}


def template(kind: str = "drifting", n_outputs: int | None = None, **changes: Any) -> IEGPRegressor:
    model = IEGPRegressor([RBF(0.7), RBF(2.0)], n_frequencies=8, warmup=64, random_state=0, **(KINDS[kind] | changes))
    return model.warm_up(*stream(64, seed=99, n_outputs=n_outputs))


@pytest.fixture
def small_pages(monkeypatch):
    """So few keys on a page that growth, routing and files meet several."""
    monkeypatch.setattr(pages, "PAGE_BYTES", 3 * 2 * 2 * 3000)
    monkeypatch.setattr(pages, "MOST_KEYS", 3)


def assert_same(got: Any, wanted: Any, tolerance: float = 1e-8) -> None:
    np.testing.assert_allclose(got, wanted, rtol=tolerance, atol=tolerance)


def check_run(run: Any, keys: np.ndarray, singles: dict[Any, IEGPRegressor], X: Any, y: Any, tol: float = 1e-8) -> None:
    """A fleet's answers against those of single models, which learn the same rows in the same call."""
    for key in dict.fromkeys(keys.tolist()):
        chosen = np.flatnonzero(keys == key)
        wanted = singles[key].prequential(X[chosen], y[chosen])
        for name in ("mean", "std", "lower", "upper", "log_score", "weights"):
            assert_same(getattr(run, name)[chosen], getattr(wanted, name), tol)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("n_outputs", [None, 2])
@pytest.mark.usefixtures("small_pages")
def test_a_key_is_a_single_model(kind, n_outputs):
    base = template(kind, n_outputs)
    fleet = Fleet(base, keys=["a", "b"])
    rng = np.random.default_rng(1)
    singles = {key: deepcopy(base) for key in "abcdefgh"}
    for call, n in enumerate((200, 1, 40)):
        X, y = stream(n, seed=call, n_outputs=n_outputs)
        # Few rows of some keys (row by row), many of others (blocks), in any order.
        keys = rng.choice(list("abcdefgh"), size=n, p=[0.5, 0.3, *[0.2 / 6] * 6])
        run = fleet.learn(keys, X, y, level=0.95)
        check_run(run, keys, singles, X, y)
        np.testing.assert_array_equal(run.y, y)
    X = stream(30, seed=5)[0]
    keys = rng.choice(list("abcdefgh"), size=30)
    dist = fleet.predict_dist(keys, X)
    for key in set(keys.tolist()):
        chosen = np.flatnonzero(keys == key)
        wanted = singles[key].predict_dist(X[chosen])
        assert_same(dist.mean[chosen], wanted.mean)
        assert_same(dist.std[chosen], wanted.std)
    for key, weights in zip(fleet.keys, fleet.expert_weights_, strict=True):
        assert_same(weights, singles[key].expert_weights_)
        assert fleet.n_samples_seen_[key] == singles[key].n_samples_seen_


@settings(max_examples=15)
@given(data=st.data())
def test_any_interleaving(data):
    base = template("static")
    n = data.draw(st.integers(0, 60))
    keys = np.array(data.draw(st.lists(st.integers(0, 5), min_size=n, max_size=n)), dtype=np.int64)
    X, y = stream(max(n, 1), seed=2)
    X, y = X[:n], y[:n]
    fleet, singles = Fleet(base, n_jobs=data.draw(st.integers(1, 3))), {key: deepcopy(base) for key in range(6)}
    cut = data.draw(st.integers(0, n))
    for part in (slice(0, cut), slice(cut, n)):
        check_run(fleet.learn(keys[part], X[part], y[part], level=0.95), keys[part], singles, X[part], y[part])
    assert fleet.keys == list(dict.fromkeys(keys[:cut].tolist() + keys[cut:].tolist()))


@pytest.mark.usefixtures("small_pages")
def test_threads_change_nothing():
    base = template()
    X, y = stream(300)
    keys = np.random.default_rng(0).integers(0, 20, size=300)
    one, two = (Fleet(base, n_jobs=n).learn(keys, X, y, level=0.9) for n in (1, 2))
    for name in ("mean", "std", "lower", "upper", "log_score", "weights"):
        np.testing.assert_array_equal(getattr(one, name), getattr(two, name))


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.usefixtures("small_pages")
def test_saving_and_loading(tmp_path, dtype, monkeypatch):
    base = template()
    X, y = stream(300)
    keys = np.random.default_rng(0).integers(0, 11, size=300)
    fleet = Fleet(base, dtype=dtype)
    fleet.learn(keys[:200], X[:200], y[:200])
    fleet.save(tmp_path / "fleet")
    # Pages of another size than those in the file.
    monkeypatch.setattr(pages, "MOST_KEYS", 2)
    again = Fleet.load(tmp_path / "fleet")
    assert (again.keys, again.dtype, len(again)) == (fleet.keys, dtype, 11)
    one, two = (f.learn(keys[200:], X[200:], y[200:]) for f in (fleet, again))
    for name in ("mean", "std", "log_score", "weights"):
        np.testing.assert_array_equal(getattr(one, name), getattr(two, name))
    assert again.learn("new", X[:3], y[:3]).of("new").mean.shape == (3,)


def test_files_of_other_things(tmp_path):
    base = template()
    base.save(tmp_path / "model")
    with pytest.raises(ModelFileError, match="holds no fleet but a single model"):
        Fleet.load(tmp_path / "model")
    Fleet(base, ["a"]).save(tmp_path / "fleet")
    with pytest.raises(ModelFileError, match=r"holds a fleet.*Fleet\.load"):
        load(tmp_path / "fleet")


def test_a_flipped_bit_in_the_name_of_a_key_is_noticed(tmp_path):
    Fleet(template(), ["pump"]).save(tmp_path / "fleet")
    content = (tmp_path / "fleet").read_bytes()
    assert content.count(b"pump") == 1
    (tmp_path / "fleet").write_bytes(content.replace(b"pump", b"pumq"))
    with pytest.raises(ModelFileError, match="checksum"):
        Fleet.load(tmp_path / "fleet")


def test_repr_of_a_run_shows_scores_and_keys():
    X, y = stream(60)
    run = Fleet(template()).learn(np.arange(60) % 7, X, y, level=0.9)
    scores = f"mean log score {run.log_score.mean():.4g}, nMSE {run.nmse:.4g}"
    assert repr(run) == f"FleetRun(60 rows of 7 keys: {scores}, coverage {run.coverage:.4g})"
    assert repr(Fleet(template()).learn("a", X, y)).endswith(f"nMSE {Fleet(template()).learn('a', X, y).nmse:.4g})")
    assert len(run.of(3)) == 9
    for key in ("3", 7):
        with pytest.raises(InputError, match=rf"key {key!r} has no row.*; it has rows of 0, 1, 2, 3, 4 and 2"):
            run.of(key)


def test_float32_halves_the_memory_and_keeps_six_digits_here():
    base = template("static")
    X, y = stream(500)
    keys = np.random.default_rng(0).integers(0, 4, size=500)
    full, half = Fleet(base), Fleet(base, dtype="float32")
    assert half.bytes_per_key < 0.55 * full.bytes_per_key
    for part in np.array_split(np.arange(500), 10):
        one, two = (fleet.learn(keys[part], X[part], y[part]) for fleet in (full, half))
        assert_same(two.mean, one.mean, 1e-5)
        assert_same(two.std, one.std, 1e-5)
        assert_same(two.log_score, one.log_score, 1e-5)


def test_drifting_beliefs_survive_float32():
    """Covariances are rounded once per call; they must stay usable over many calls."""
    base = template("drifting")
    X, y = stream(2000)
    full, half = Fleet(base), Fleet(base, dtype="float32")
    for i in range(2000):
        one, two = (fleet.learn(["a"], X[i : i + 1], y[i : i + 1]) for fleet in (full, half))
    assert_same(two.mean, one.mean, 1e-3)
    assert_same(two.std, one.std, 1e-3)


def test_an_estimator_out_of_a_fleet(tmp_path):
    pandas = pytest.importorskip("pandas")
    X, y = stream(200)
    frame = pandas.DataFrame(X, columns=["a", "b"])
    base = IEGPRegressor(**template().get_params()).warm_up(frame[:64], y[:64])
    fleet = Fleet(base)
    fleet.learn("x", frame[64:], y[64:])
    fleet.save(tmp_path / "fleet")
    model = IEGPRegressor.from_fleet(Fleet.load(tmp_path / "fleet"), "x")
    base.partial_fit(frame[64:], y[64:])
    assert_same(model.predict(frame[:5]), base.predict(frame[:5]))
    assert model.get_params()["drift_var"] == base.get_params()["drift_var"]
    model.save(tmp_path / "model")
    assert_same(
        load(tmp_path / "model").partial_fit(frame, y).predict(frame), base.partial_fit(frame, y).predict(frame)
    )
    with pytest.raises(InputError, match=r"\['b', 'a'\]"):
        fleet.learn("x", frame[["b", "a"]], y)
    with pytest.raises(InputError, match="key 'nobody' is not in this fleet of 1 keys"):
        fleet.online("nobody")


def test_unknown_keys_are_predicted_by_the_template_and_do_not_appear():
    base = template()
    X, y = stream(20)
    fleet = Fleet(base)
    fleet.learn(["a"] * 20, X, y)
    assert_same(fleet.predict(["a", "z"] * 10, X)[1::2], base.predict(X[1::2]))
    assert fleet.keys == ["a"]
    assert "a" in fleet
    assert "z" not in fleet


def test_the_template_and_the_fleet_are_independent():
    base = template()
    X, y = stream(20)
    fleet = Fleet(base)
    before = fleet.predict(7, X)
    base.partial_fit(X, y)
    np.testing.assert_array_equal(fleet.predict(7, X), before)
    fleet.learn(7, X, y)
    assert_same(fleet.predict(7, X), base.predict(X))


BAD = [
    (["a", 1.5], None, None, "keys has 1.5 at 1"),
    (["a", True], None, None, "keys has True at 1"),
    (["a"], None, None, "1 keys but 2 rows"),
    (["a", "b"], [[0.0, np.nan], [0.0, 0.0]], None, "X has nan at row 0, column 1"),
    (["a", "b"], [[0.0], [0.0]], None, r"X has shape \(2, 1\).*2 columns"),
    (["a", "b"], [["u", 0.0], [0.0, 0.0]], None, "X has values that are not numbers"),
    (["a", "b"], None, [0.0, np.inf], "y has inf at row 1"),
    (["a", "b"], None, [0.0, 1.0, 2.0], r"y has shape \(3,\)"),
    (["a", "b"], None, [0.0, 1e308], "y has 1e[+]308 at row 1"),
]


@pytest.mark.parametrize(("keys", "X", "y", "message"), BAD, ids=[case[3] for case in BAD])
def test_bad_input_changes_nothing(keys, X, y, message):
    fleet = Fleet(template(), keys=["a"])
    fleet.learn(["a"] * 10, *stream(10))
    before = fleet.predict("a", np.ones((1, 2)))
    with pytest.raises(InputError, match=message):
        fleet.learn(keys, np.zeros((2, 2)) if X is None else X, np.zeros(2) if y is None else y)
    assert fleet.keys == ["a"]
    np.testing.assert_array_equal(fleet.predict("a", np.ones((1, 2))), before)


def test_what_cannot_be_a_template():
    X, y = stream(40)
    with pytest.raises(InputError, match="of class IEGPRegressor, has learned nothing; warm it up first"):
        Fleet(IEGPRegressor())
    with pytest.raises(InputError, match=r"warm-up is not over \(40 of 64 rows\)"):
        Fleet(IEGPRegressor(**template().get_params()).fit(X, y))
    with pytest.raises(InputError, match="only IEGPRegressor"):
        Fleet(SimpleNamespace(model_=begin(IEGPClassifier(random_state=0).settings(2), 2, 2)))
    with pytest.raises(InputError, match="dtype='float16'"):
        Fleet(template(), dtype="float16")
    with pytest.raises(InputError, match="level=2"):
        Fleet(template()).learn("a", X, y, level=2)


def test_memory_is_that_of_the_states():
    fleet = Fleet(template("static"), keys=range(5000))
    allocated = sum(array.nbytes for page in fleet._pages.pages for array in page)
    assert fleet.nbytes == 5000 * fleet.bytes_per_key
    assert allocated <= fleet.nbytes + pages.PAGE_BYTES
    assert "5000 keys" in repr(fleet)


@pytest.mark.parametrize("kind", ["static", "drifting", "switching"])
@pytest.mark.parametrize("delay", [1, 9])
@pytest.mark.usefixtures("small_pages")
def test_with_a_delay_a_key_is_a_single_model(kind, delay, tmp_path):
    """Counted in rows of the key; calls, files, copies of keys and unknown keys included."""
    base = template(kind, delay=delay)
    base.partial_fit(*stream(20, seed=98))
    fleet, singles = Fleet(base, keys=["a", "b"]), {key: deepcopy(base) for key in "abcd"}
    rng = np.random.default_rng(1)
    for number in range(4):
        X, y = stream(40, seed=number)
        keys = rng.choice(list("abcd"[: 2 + number]), size=40)
        run = fleet.learn(keys, X, y, level=0.95)
        check_run(run, keys, singles, X, y, 1e-10)
        if number == 1:
            fleet.save(tmp_path / "fleet")
            fleet = Fleet.load(tmp_path / "fleet")
    rows = stream(3, seed=50)[0]
    for key in fleet.keys:
        assert_same(fleet.predict(key, rows), singles[key].predict(rows), 1e-10)
        assert fleet.n_samples_seen_[key] == singles[key].n_samples_seen_
        assert_same(IEGPRegressor.from_fleet(fleet, key).predict(rows), singles[key].predict(rows), 1e-10)
    assert_same(fleet.predict("new", rows), base.predict(rows), 1e-10)
    assert_same(fleet.predict(["a", "new", "b"], rows)[1], base.predict(rows)[1], 1e-10)
    other = fleet.empty_copy()
    other.copy_keys(fleet, ["b"])
    assert_same(other.predict("b", rows), fleet.predict("b", rows), 0.0)


def test_damaged_rows_that_wait_are_refused():
    fleet = Fleet(template(delay=3))
    fleet.learn(["a", "a", "b"], *stream(3, seed=1))
    header, arrays = fleet.to_parts()
    for name, value in {
        "late.count": np.array([2, 2]),
        "late.y": np.full((3, 1), np.nan),
        "late.far": np.full(3, 2.0),
    }.items():
        with pytest.raises((ValueError, ModelFileError)):
            Fleet.from_parts(fleet.template, header, arrays | {name: value})


def pumps(n):
    """Keys, rows and labels of a common shape, with levels that differ much more than the shape varies."""
    rng = np.random.default_rng(0)
    key, speed = rng.integers(8, size=n), rng.uniform(0, 6, size=n)
    load = (5 * rng.normal(size=8))[key] + np.sin(speed) + 0.2 * rng.normal(size=n)
    return key, speed[:, None], load


def test_keys_with_levels_of_their_own_are_learned_from_a_template_that_counts_as_one_row():
    keys, X, y = pumps(2000)
    base = presets.light(n_frequencies=15, random_state=0).warm_up(X[:300], y[:300])
    fleet = Fleet(base, template_rows=1)
    run = fleet.learn(keys[300:], X[300:], y[300:], level=0.95)
    error, naive = 0.0, 0.0
    for key in range(8):
        own = run.of(key)
        running = np.cumsum(own.y)[:-1] / np.arange(1, len(own.y))
        error += np.sum((own.y - own.mean)[50:] ** 2)
        naive += np.sum((own.y[1:] - running)[49:] ** 2)
    assert error < 0.25 * naive
    assert run.coverage >= 0.9
    # What a key starts from is stored, and the template's mean is that of a key never seen.
    new = fleet.predict("new", X[:50])
    assert y.min() <= new.min() <= new.max() <= y.max()
    single = IEGPRegressor.from_fleet(Fleet(base, ["a"], template_rows=1), "a")
    np.testing.assert_allclose(single.predict(X[:50]), new, 1e-8)


def test_a_saved_fleet_keeps_what_new_keys_start_from(tmp_path):
    fleet = Fleet(template(), ["a"], template_rows=1)
    fleet.save(tmp_path / "fleet")
    X, y = stream(5, seed=0)
    again = Fleet.load(tmp_path / "fleet")
    np.testing.assert_array_equal(again.learn("new", X, y).mean, fleet.learn("new", X, y).mean)
    assert np.abs(fleet.predict("new", X) - Fleet(template(), ["a"]).predict("new", X)).max() > 1e-3


@pytest.mark.parametrize("wrong", [0, -1, np.inf, np.nan, "one"])
def test_template_rows_are_checked(wrong):
    with pytest.raises(InputError, match="template_rows"):
        Fleet(template(), template_rows=wrong)


def test_a_run_of_many_keys_has_no_figure():
    X, y = stream(5, seed=0)
    with pytest.raises(InputError, match="to_frame"):
        Fleet(template()).learn("a", X, y).plot()


def test_a_fleet_of_the_default_model_whose_lags_say_nothing_loads_again(tmp_path):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(600, 2))
    y = X[:, 0] - X[:, 1] + 0.1 * rng.normal(size=600)
    fleet = Fleet(IEGPRegressor(n_frequencies=8, warmup=200, random_state=0).fit(X[:400], y[:400]), template_rows=1)
    fleet.learn(np.arange(200) % 3, X[400:], y[400:])
    fleet.save(tmp_path / "fleet")
    again = Fleet.load(tmp_path / "fleet")
    np.testing.assert_array_equal(again.learn(0, X[:9], y[:9]).mean, fleet.learn(0, X[:9], y[:9]).mean)
