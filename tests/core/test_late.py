"""Rows that are answered first and learned when their labels come, each in its own time."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose
from oracles import late as oracle
from oracles.batch import gaussian_log_density, rf_predictor
from oracles.features import features

from iegp import IEGPRegressor
from iegp.core import late
from iegp.core import model as online
from iegp.kernels import RBF, Constant

RNG = np.random.default_rng(7)
N = 60
X = RNG.normal(size=(N, 2))
Y = np.sin(X[:, 0]) + 0.5 * X[:, 1] + 0.3 * RNG.standard_t(3, size=N)
PRIOR, NOISE = 1.5, 0.09


def begin(**changes):
    """A model that is ready for its first row: nothing is left to be fitted."""
    settings = {
        "kernels": [RBF(1.0), RBF(3.0)],
        "n_frequencies": 4,
        "prior_var": PRIOR,
        "noise_var": NOISE,
        "noise_forgetting": (None,),
        "drift_var": 0.0,
        "standardize": False,
        "robust": False,
        "weights": "bayes",
        "random_state": 0,
    }
    settings |= changes
    return online.begin(IEGPRegressor(**settings).settings(1), X.shape[1], 1)


def phis_of(model):
    """Features of all rows under each expert, in the order of the experts."""
    layout, basis = model.experts.ensemble.layout, model.experts.ensemble.basis
    tables = [features(X, basis.frequencies[layout.waves[k] : layout.waves[k + 1]]) for k in range(layout.n_kernels)]
    n_noise = len(model.experts.ensemble.forgetting)
    return [tables[layout.kernel_of[e // n_noise]] for e in range(model.experts.ensemble.n_experts)]


def oracle_of(model):
    settings, ensemble = model.settings, model.experts.ensemble
    experts, n_noise = [], len(settings.noise_forgetting)
    for e, phi in enumerate(phis_of(model)):
        n_features, b = phi.shape[1], e // n_noise
        drift = float(ensemble.drift[ensemble.layout.features[b]])
        noise = oracle.noise_of(settings.noise_forgetting[e % n_noise], NOISE)
        experts.append(oracle.Expert(np.zeros(n_features), PRIOR / NOISE * np.eye(n_features), drift, noise))
    return oracle.Ensemble(experts, settings.weights == "stacking", settings.stacking_rate)


class Stream:
    """Asks rows and learns them when told to, by number; the clock of a stream in its simplest form."""

    def __init__(self, model):
        self.model, self.asked, self.last = model, {}, -1

    def ask(self, t):
        self.asked[t] = online.ask(self.model, X[t : t + 1], t - self.last).row(0)
        dist = late.mixture(self.model.experts.ensemble, self.asked[t])
        return float(dist.mean[0]), float(dist.std[0])

    def learn(self, t, is_far=False):
        label = late.Label(Y[t : t + 1, None], self.asked.pop(t), t - self.last, is_far)
        online.learn_asked(self.model, X[t : t + 1], label)
        self.last = max(self.last, t)


def events(delay, rng=None):
    """Rows asked in order, and their labels ``delay`` rows later, or at random within so many."""
    when = [(t + (delay if rng is None else int(rng.integers(0, delay + 1))), t) for t in range(N)]
    for now in range(N):
        yield "ask", now
        for _, t in [(due, t) for due, t in when if due == now and t <= now]:
            yield "learn", t


NOISE_MODELS = {"fixed": (None,), "conjugate": (0.97,), "heavy-tailed": ((0.9, 5.0),), "all": (None, 0.97, (0.9, 5.0))}


@pytest.mark.parametrize("weights", ["bayes", "stacking"])
@pytest.mark.parametrize("noise", NOISE_MODELS)
@pytest.mark.parametrize("drift_var", [0.0, 0.01], ids=["static", "drifting"])
@pytest.mark.parametrize("delay", [0, 1, 7])
def test_the_loop_that_answers_a_row_and_learns_an_older_one(delay, drift_var, noise, weights):
    """Asked and learned one by one, with a fixed delay in blocks, and the oracle: all the same."""
    settings = {"noise_forgetting": NOISE_MODELS[noise], "drift_var": drift_var, "weights": weights}
    stream, model = Stream(begin(**settings)), begin(**settings, delay=delay)
    slow, phis = oracle_of(model), phis_of(model)
    found, wanted = [], []
    for what, t in events(delay):
        if what == "ask":
            found.append(stream.ask(t))
            wanted.append(slow.answer(t, [phi[t] for phi in phis]))
        else:
            stream.learn(t)
            slow.learn(t, [phi[t] for phi in phis], Y[t])
    assert_allclose(found, wanted, rtol=1e-8, atol=1e-8)
    run = online.learn(model, X, Y[:, None])
    assert_allclose(np.column_stack([run.mean, run.std]), wanted, rtol=1e-8, atol=1e-8)


@pytest.mark.parametrize("delay", [1, 7, 30])
def test_glitches_are_judged_by_the_answer_given_and_not_learned(delay):
    """Labels 8 standard deviations off, alone and two in a row, in blocks and in any chunking."""
    y = Y.copy()
    y[[9, 20, 21, 40, 45]] += 50.0
    settings = {"noise_forgetting": NOISE_MODELS["all"], "drift_var": (0.0, 0.01), "weights": "stacking"}
    model = begin(**settings, delay=delay, robust=True, spread=False)
    slow, phis, wanted, far_before = oracle_of(model), phis_of(model), [], False
    for what, t in events(delay):
        if what == "ask":
            wanted.append(slow.answer(t, [phi[t] for phi in phis]))
            continue
        mean, std = wanted[t]
        far = abs(y[t] - mean) > 8.0 * std
        if far and not far_before:
            slow.skip(t)
        else:
            slow.learn(t, [phi[t] for phi in phis], y[t])
        far_before = far
    pieces = begin(**settings, delay=delay, robust=True, spread=False)
    run = online.learn(model, X, y[:, None])
    assert_allclose(np.column_stack([run.mean, run.std]), wanted, rtol=1e-8, atol=1e-8)
    cut = [online.learn(pieces, X[i : i + 4], y[i : i + 4, None]).mean for i in range(0, N, 4)]
    assert_allclose(np.concatenate(cut), run.mean, rtol=1e-8, atol=1e-8)
    assert_allclose(online.predict(pieces, X[:3]).mean, online.predict(model, X[:3]).mean, rtol=1e-8, atol=1e-8)


# Bursts, ties, and gaps of many steps. Rows that are asked before the first label have no time to count from: a step.
GAPS = np.random.default_rng(2).choice([0.0, 0.3, 1.0, 1.0, 2.5, 40.0], size=N)
TIMES = 100.0 + np.cumsum(np.where(np.arange(N) <= 7, 0.0, GAPS))


@pytest.mark.parametrize("noise", NOISE_MODELS)
@pytest.mark.parametrize("delay", [0, 1, 7])
def test_elapsed_time_is_that_of_a_fixed_delay(delay, noise):
    """Asked and learned one by one, and in blocks; glitches are judged by the answer that was given."""
    y = Y.copy()
    y[[9, 20, 21, 40]] += 500.0
    settings = {"noise_forgetting": NOISE_MODELS[noise], "drift_var": (0.0, 0.01), "weights": "stacking"}
    settings |= {"spread": True}
    model, blocks = begin(**settings, drift_per="time"), begin(**settings, drift_per="time", delay=delay, robust=True)
    found, asked, last = [], {}, -1
    for what, t in events(delay):
        if what == "ask":
            asked[t] = online.ask(model, X[t : t + 1], t - last, TIMES[t : t + 1])
            dist = late.mixture(model.experts.ensemble, asked[t])
            found.append((float(dist.mean[0]), float(dist.std[0])))
        else:
            is_far = abs(y[t] - found[t][0]) > 8.0 * found[t][1]
            label = late.Label(y[t : t + 1, None], asked.pop(t), t - last, is_far)
            online.learn_asked(model, X[t : t + 1], label, TIMES[t : t + 1])
            last = t
    run = online.learn(blocks, X, y[:, None], time=TIMES)
    assert_allclose(np.column_stack([run.mean, run.std]), found, rtol=1e-8, atol=1e-8)


@pytest.mark.parametrize("drift_var", [0.0, 0.01], ids=["static", "drifting"])
def test_rows_at_equal_distances_out_of_order(drift_var):
    """Elapsed time counts as rows do, also from a label that comes after that of a later row."""
    by_row, by_time = (begin(drift_var=drift_var, drift_per=per) for per in ("row", "time"))
    online.absorb(by_row, X[:1], Y[:1, None])
    online.absorb(by_time, X[:1], Y[:1, None], time=np.zeros(1))
    found, wanted, asked, last = [], [], {}, 0
    for what, t in events(7, np.random.default_rng(5)):
        x, y, now = X[t : t + 1], Y[t : t + 1, None], np.array([float(t)])
        if t == 0:
            continue
        if what == "ask":
            asked[t] = online.ask(by_row, x, t - last), online.ask(by_time, x, t - last, now)
            for rows, own in zip((wanted, found), asked[t], strict=True):
                dist = late.mixture(by_row.experts.ensemble, own)
                rows.append((float(dist.mean[0]), float(dist.std[0])))
        else:
            one, two = asked.pop(t)
            online.learn_asked(by_row, x, late.Label(y, one, t - last))
            online.learn_asked(by_time, x, late.Label(y, two, t - last), now)
            last = max(last, t)
    assert_allclose(found, wanted, rtol=1e-8, atol=1e-8)


def test_labels_out_of_order_are_exact_for_static_gaussian_experts():
    """Batch formulas of the labels that have come, whatever their order; weights are those of their evidence."""
    model, rng = begin(), np.random.default_rng(1)
    stream, phis, known = Stream(model), phis_of(model), []
    for what, t in events(9, rng):
        if what == "learn":
            stream.learn(t)
            known.append(t)
            continue
        got = stream.ask(t)
        evidence, moments = [], []
        for phi in phis:
            mean, var = rf_predictor(phi[known], Y[known], phi[t : t + 1], PRIOR, NOISE)
            moments.append((mean[0], var[0]))
            cov = PRIOR * phi[known] @ phi[known].T + NOISE * np.eye(len(known))
            evidence.append(gaussian_log_density(Y[known], np.zeros(len(known)), cov) if known else 0.0)
        w = np.exp(np.array(evidence) - np.logaddexp.reduce(evidence))
        means, variances = np.array(moments).T
        mean = w @ means
        assert_allclose(got, (mean, np.sqrt(w @ (variances + (means - mean) ** 2))), rtol=1e-8, atol=1e-8)


@pytest.mark.parametrize("noise", NOISE_MODELS)
def test_an_old_label_of_drifting_experts_has_the_steps_since_added_to_its_noise(noise):
    settings = {"noise_forgetting": NOISE_MODELS[noise], "drift_var": (0.0, 0.02)}
    model, rng = begin(**settings), np.random.default_rng(2)
    stream, slow, phis = Stream(model), oracle_of(model), phis_of(model)
    for what, t in events(9, rng):
        if what == "learn":
            stream.learn(t)
            slow.learn(t, [phi[t] for phi in phis], Y[t])
        else:
            assert_allclose(stream.ask(t), slow.answer(t, [phi[t] for phi in phis]), rtol=1e-8, atol=1e-8)


def test_the_score_is_that_of_the_answer_given():
    model = begin(noise_forgetting=(None, 0.97, (0.9, 5.0)), drift_var=(0.0, 0.01))
    stream = Stream(model)
    for t in range(20):
        stream.ask(t)
        stream.learn(t)
    asked = online.ask(model, X[20:21], 1).row(0)
    wanted = late.mixture(model.experts.ensemble, asked).logpdf(Y[20:21])[0]
    stream.last = 20
    for t in range(21, 40):
        stream.ask(t)
        stream.learn(t)
    label = late.Label(Y[20:21, None], asked, -19)
    assert_allclose(late.log_score(model.experts.ensemble, label), wanted, rtol=1e-12)
    again = late.asked_from(asked.flat(), model.experts.ensemble, 1)
    assert all(np.array_equal(a, b) for a, b in zip(asked, again, strict=True))


def test_a_label_too_far_from_the_answer_is_a_step_and_no_more():
    model = begin(drift_var=0.01)
    stream = Stream(model)
    for t in range(3):
        stream.ask(t)
    before = model.state.copy()
    stream.learn(0, is_far=True)
    assert_allclose(model.state.vector, before.vector, rtol=0, atol=0)
    assert_allclose(model.state.matrix.sum() - before.matrix.sum(), 0.01 / NOISE * len(model.state.vector), rtol=1e-9)
    stream.learn(1, is_far=True)
    assert not np.allclose(model.state.vector, before.vector), "the second in a row is believed"


def test_intervals_cover_with_labels_24_rows_late():
    """A random walk of the level, data from the model: 93 to 97 %, in order and out of order."""
    rng, n = np.random.default_rng(2), 6000
    level = np.cumsum(0.05 * rng.normal(size=n))
    y = level + 0.3 * rng.normal(size=n)
    settings = IEGPRegressor(
        [Constant(prior_var=1.0)],
        noise_var=0.09,
        noise_forgetting=None,
        drift_var=0.0025,
        standardize=False,
        robust=False,
    ).settings(1)
    for most_early in (0, 20):
        model, asked, last, inside = online.begin(settings, 1, 1), {}, -1, []
        due = {t: t + 24 - int(rng.integers(0, most_early + 1)) for t in range(n)}
        come = {now: [] for now in range(2 * n)}
        for t, now in due.items():
            come[now].append(t)
        for t in range(n):
            asked[t] = online.ask(model, np.zeros((1, 1)), t - last)
            lower, upper = late.mixture(model.experts.ensemble, asked[t]).interval(0.95)
            inside.append(lower[0] <= y[t] <= upper[0])
            for s in come[t]:
                online.learn_asked(model, np.zeros((1, 1)), late.Label(y[s : s + 1, None], asked.pop(s), s - last))
                last = max(last, s)
        assert 0.93 < np.mean(inside) < 0.97
