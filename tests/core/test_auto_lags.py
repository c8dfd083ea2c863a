"""`lags="auto"`: three lags in the warm-up, and after it those of the seasons that its rows show."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_array_equal

import iegp
import iegp.presets
from iegp.errors import InputError, ModelFileError
from iegp.kernels import Constant, Linear
from iegp.storage import model_file as modelfile

N, WARMUP, PERIOD = 500, 200, 24
RNG = np.random.default_rng(2)
X = RNG.normal(size=(N, 1))
Y = RNG.normal(size=PERIOD)[np.arange(N) % PERIOD] + 0.2 * X[:, 0] + 0.3 * RNG.normal(size=N)
NOISE = RNG.normal(size=N)
LABELS = {
    "numbers": (iegp.IEGPRegressor, Y),
    "classes": (iegp.IEGPClassifier, (Y > 0).astype(int)),
    "counts": (iegp.IEGPCountRegressor, np.floor(np.exp(Y)).astype(int)),
}


def model(labels="numbers", **changes):
    settings = {"n_frequencies": 5, "drift_var": (0.0, 1e-3), "warmup": WARMUP, "random_state": 0}
    return LABELS[labels][0]([Linear() + Constant()], **(settings | changes))


def answers_of(run):
    return run.proba if hasattr(run, "proba") else np.column_stack([run.mean, run.std])


@pytest.mark.parametrize("labels", LABELS)
def test_a_season_is_found_and_helps(labels):
    y = LABELS[labels][1]
    found = model(labels, lags="auto")
    run = found.prequential(X, y)
    assert PERIOD in found.lags_
    assert set(found.lags_) >= {1, 2, 3}
    plain = model(labels, lags=3)
    before = plain.prequential(X, y)
    assert run.log_score[WARMUP:].mean() > before.log_score[WARMUP:].mean() + 0.1
    assert_array_equal(answers_of(run)[:WARMUP], answers_of(before)[:WARMUP])
    if labels == "numbers":
        error = [np.mean((r.mean - y)[WARMUP:] ** 2) for r in (run, before)]
        assert error[0] < 0.5 * error[1]


def test_after_the_choice_it_is_the_model_with_these_lags():
    for delay in (0, 5):
        found = model(lags="auto", delay=delay)
        run = found.prequential(X, Y)
        assert min(found.lags_) == delay + 1
        assert PERIOD in found.lags_
        explicit = model(lags=found.lags_, delay=delay)
        first = WARMUP + delay
        assert_array_equal(answers_of(run)[first:], answers_of(explicit.prequential(X, Y))[first:])
        assert explicit.lags_ == found.lags_


@pytest.mark.parametrize("delay", [60, WARMUP - PERIOD - 1, WARMUP - 1, 2 * WARMUP])
def test_seasons_beyond_the_warm_up_are_not_looked_for(delay):
    found = model(lags="auto", delay=delay)
    run = found.prequential(X, Y)
    assert found.lags_[:3] == (delay + 1, delay + 2, delay + 3)
    assert max(found.lags_[3:], default=0) <= WARMUP - 32
    explicit = model(lags=found.lags_, delay=delay)
    first = WARMUP + delay
    assert_array_equal(answers_of(run)[first:], answers_of(explicit.prequential(X, Y))[first:])


def test_noise_has_no_season():
    found = model(lags="auto")
    assert found.prequential(X[:WARMUP], NOISE[:WARMUP]) is not None
    assert found.lags_ == (1, 2, 3)
    assert model(lags="auto").warm_up(X[:WARMUP], NOISE[:WARMUP]).lags_ == (1, 2, 3)
    assert PERIOD in model(lags="auto").warm_up(X[:WARMUP], Y[:WARMUP]).lags_


def test_chunks_and_no_leak():
    whole, parts = model(lags="auto"), model(lags="auto")
    expected = whole.prequential(X, Y).mean
    found = np.concatenate([parts.prequential(X[a : a + 37], Y[a : a + 37]).mean for a in range(0, N, 37)])
    np.testing.assert_allclose(found, expected, rtol=1e-8, atol=1e-9)
    assert parts.lags_ == whole.lags_
    changed = Y.copy()
    changed[WARMUP - 1] += 3.0
    assert_array_equal(model(lags="auto").prequential(X, changed).mean[:WARMUP], expected[:WARMUP])


@pytest.mark.parametrize("n_learned", [100, 300])
def test_a_stored_model_goes_on_to_the_bit(n_learned, tmp_path):
    found = model(lags="auto").partial_fit(X[:n_learned], Y[:n_learned])
    found.save(tmp_path / "model.iegp")
    again = iegp.load(tmp_path / "model.iegp")
    assert again.lags_ == found.lags_
    assert again.get_params()["lags"] == "auto"
    expected = found.prequential(X[n_learned:], Y[n_learned:])
    assert_array_equal(answers_of(again.prequential(X[n_learned:], Y[n_learned:])), answers_of(expected))


def test_a_file_with_other_offsets_is_refused(tmp_path):
    found = model(lags="auto").partial_fit(X, Y)
    found.save(tmp_path / "m")
    header, arrays = modelfile.read(tmp_path / "m")
    offsets = arrays["ensemble.lags.offsets"]
    for wrong in (offsets[::-1].copy(), offsets[1:], offsets + 1, np.append(offsets, 10**6)):
        modelfile.write(tmp_path / "bad", header, arrays | {"ensemble.lags.offsets": wrong})
        with pytest.raises(ModelFileError):
            iegp.load(tmp_path / "bad")


def test_a_fleet_has_the_lags_of_its_template(tmp_path):
    template = model(lags="auto").warm_up(X[:WARMUP], Y[:WARMUP])
    fleet = iegp.Fleet(template, ["a"])
    fleet.learn("a", X[WARMUP:], Y[WARMUP:])
    fleet.save(tmp_path / "fleet")
    again = iegp.Fleet.load(tmp_path / "fleet")
    assert_array_equal(again.predict("a", X[:3]), fleet.predict("a", X[:3]))
    assert iegp.IEGPRegressor.from_fleet(fleet, "a").lags_ == template.lags_


def test_what_cannot_be_is_named():
    with pytest.raises(InputError, match="warmup=0; give it rows"):
        model(lags="auto", warmup=0).partial_fit(X, Y)
    with pytest.raises(InputError, match="lags='seasons'"):
        model(lags="seasons").partial_fit(X, Y)
    static = model(lags="auto", drift_var=0.0, weights="bayes", shutdown=0.0, robust=False, noise_forgetting=None)
    with pytest.raises(InputError, match="cannot unlearn with lags="):
        static.partial_fit(X, Y).unlearn(X[:1], Y[:1])


def test_the_default_model_looks_for_seasons():
    settings = {"n_frequencies": 5, "warmup": WARMUP, "random_state": 0}
    found = iegp.IEGPRegressor(**settings).warm_up(X[:WARMUP], Y[:WARMUP])
    assert PERIOD in found.lags_
    assert iegp.IEGPRegressor(lags=3, **settings).warm_up(X[:WARMUP], Y[:WARMUP]).lags_ == (1, 2, 3)
    assert PERIOD in iegp.presets.light(warmup=WARMUP, random_state=0).warm_up(X[:WARMUP], Y[:WARMUP]).lags_
    without = iegp.IEGPRegressor(**(settings | {"warmup": 0})).partial_fit(X[:9], Y[:9])
    assert without.lags_ == (1, 2, 3)
    assert iegp.presets.light(warmup=0).partial_fit(X[:9], Y[:9]).lags_ == (1, 2, 3)
