"""What a model shows: experts, weights, counts; the warm-up by hand; the paper's presets; the oracle's agreement."""

from __future__ import annotations

import inspect

import numpy as np
import pytest
from contracts.models import SMALL, same_bits, small, state_bytes, stream
from oracles import ensemble

from iegp import (
    IEGPLVM,
    IEGPClassifier,
    IEGPCountRegressor,
    IEGPForecaster,
    IEGPOrdinalClassifier,
    IEGPRegressor,
    RandomFourierFeatures,
)
from iegp.errors import InputError
from iegp.kernels import RBF, Matern
from iegp.presets import die_gp, dsie_gp, ie_gp, sie_gp

X, Y = stream(150)
LADDER = {"drift_var": (0.0, 1e-3, 1e-2), "noise_forgetting": (None, 0.9)}


# -- experts ---------------------------------------------------------------------------------------------------------


def test_experts_are_ordered_kernel_then_drift_then_forgetting():
    table = small(kernels=[RBF(1.0), Matern(2.0)], **LADDER).fit(X, Y).experts_
    expected = [
        (kernel, drift, forgetting)
        for kernel in (RBF(1.0), Matern(2.0))
        for drift in LADDER["drift_var"]
        for forgetting in LADDER["noise_forgetting"]
    ]
    assert [(e.kernel, e.drift_var, e.noise_forgetting) for e in table] == expected


def test_experts_of_a_kernel_share_its_frequencies_and_prior():
    table = small(**LADDER).fit(X, Y).experts_
    first, second = table[:6], table[6:]
    for group in (first, second):
        assert len(group) == 6
        assert all(same_bits(e.frequencies, group[0].frequencies) for e in group)
        assert len({e.prior_var for e in group}) == 1
    assert first[0].frequencies.shape == (8, 3)
    assert not np.allclose(first[0].frequencies, second[0].frequencies)


def test_frequencies_have_the_kernels_length_scale():
    """Norms of RBF frequencies times the length scale follow a chi distribution: mean square d = 3."""
    table = (
        small(kernels=[RBF(0.5), RBF(20.0)], n_frequencies=400, features="random", warmup=2).fit(X[:5], Y[:5]).experts_
    )
    for expert, scale in ((table[0], 0.5), (table[-1], 20.0)):
        assert np.mean((expert.frequencies * scale) ** 2) == pytest.approx(1.0, rel=0.15)


def test_experts_carry_the_weights():
    model = small(**LADDER).fit(X, Y)
    np.testing.assert_array_equal([e.weight for e in model.experts_], model.expert_weights_)
    assert model.expert_weights_.shape == (12,)
    assert model.expert_weights_.sum() == pytest.approx(1.0, abs=1e-12)
    assert (model.expert_weights_ > 0).all()


@pytest.mark.parametrize("weights", ["stacking", "bayes", "switching"])
@pytest.mark.parametrize("n", [1, 10, 32, 33, 64, 100, 150])
def test_weights_sum_to_one_at_any_time(weights, n):
    model = small(weights=weights).fit(X[:n], Y[:n])
    assert (model.expert_weights_ >= 0).all()
    assert model.expert_weights_.sum() == pytest.approx(1.0, abs=1e-12)


def test_variances_of_experts_are_those_asked_for():
    table = small(prior_var=2.5, noise_var=0.25, noise_forgetting=None).fit(X, Y).experts_
    for expert in table:
        assert expert.prior_var == pytest.approx(2.5)
        assert expert.noise_var == pytest.approx(0.25)
        assert isinstance(expert.prior_var, float)
        assert isinstance(expert.noise_var, float)


def test_learned_noise_is_shown_and_moves():
    """The learned level follows the noise (in units of the standardised target); the fixed one stays."""
    rng = np.random.default_rng(0)
    loud = Y + 2.0 * rng.standard_normal(150)
    model = small(drift_var=0.0).fit(X, Y)
    before = {e.noise_forgetting: e.noise_var for e in model.experts_[:2]}
    model.partial_fit(X, loud)
    after = {e.noise_forgetting: e.noise_var for e in model.experts_[:2]}
    assert after[None] == before[None]
    assert after[0.98] > 3 * before[0.98]


def test_experts_of_two_outputs_have_a_noise_for_each():
    table = small().fit(X, np.stack([Y, Y + np.random.default_rng(0).normal(size=150)], axis=1)).experts_
    assert table[0].noise_var.shape == (2,)
    assert table[0].noise_var[1] > table[0].noise_var[0]


def test_the_table_prints_ranked_and_short():
    model = small(**LADDER).fit(X, Y)
    lines = repr(model.experts_).splitlines()
    assert lines[0].split() == ["weight", "drift_var", "noise_var", "forgetting", "prior_var", "kernel"]
    assert len(lines) == 13
    weights = [float(line.split()[0]) for line in lines[1:]]
    assert weights == sorted(weights, reverse=True)
    assert weights[0] == pytest.approx(model.expert_weights_.max(), abs=1e-3)
    assert any("RBF 3" in line for line in lines)
    assert any("fixed" in line for line in lines)


def test_a_long_table_says_how_many_are_left_out():
    model = IEGPRegressor(random_state=0, warmup=40, n_frequencies=5).fit(X[:50], Y[:50])
    lines = repr(model.experts_).splitlines()
    assert len(lines) == 14
    assert f"{len(model.experts_) - 12} more experts" in lines[-1]
    assert len(model.experts_) == len(model.expert_weights_) > 40
    assert str(model.experts_[:3]).count("\n") == 3


def test_fitted_length_scales_show_their_numbers():
    rows, labels = stream(100)
    table = (
        small(kernels=[RBF("per-dimension"), RBF("evidence"), RBF("dimension", stretch=2.0)]).fit(rows, labels).experts_
    )
    per_dimension, evidence, dimension = (table[i].kernel.length_scale for i in (0, 4, 8))
    assert len(per_dimension) == 3
    assert per_dimension[0] < per_dimension[2]  # the target does not depend on the last column
    assert isinstance(evidence, float)
    assert dimension == pytest.approx(2 * np.sqrt(3))


def test_rows_are_counted():
    model = small()
    for n, chunk in ((1, 1), (2, 1), (40, 38), (100, 60), (150, 50)):
        model.partial_fit(X[n - chunk : n], Y[n - chunk : n])
        assert model.n_samples_seen_ == n
    model.prequential(X, Y)
    assert model.n_samples_seen_ == 300
    assert model.n_features_in_ == 3
    assert model.fit(X[:7], Y[:7]).n_samples_seen_ == 7


# -- warm-up by hand -------------------------------------------------------------------------------------------------


def test_warm_up_that_learns_is_the_warm_up_of_fit():
    model = small(warmup=64).warm_up(X[:64], Y[:64])
    assert model.n_samples_seen_ == 64
    expected = small(warmup=64).fit(X[:64], Y[:64]).predict(X, horizon=1)
    np.testing.assert_allclose(model.predict(X), expected, rtol=1e-8, atol=1e-10)


def test_warm_up_that_does_not_learn_sets_scaling_and_hyperparameters_only():
    rows, labels = X, 50 + 3 * Y
    learned, unlearned = (small(learn_warmup=flag).warm_up(rows[:100], labels[:100]) for flag in (True, False))
    assert (learned.n_samples_seen_, unlearned.n_samples_seen_) == (100, 0)
    for a, b in zip(learned.experts_, unlearned.experts_, strict=True):
        assert same_bits(a.frequencies, b.frequencies)
        assert (a.kernel, a.prior_var) == (b.kernel, b.prior_var)
    # Prior mean in the user's units, prior spread: at least that of the noise, about that of the labels.
    mean, std = unlearned.predict(rows, return_std=True)
    np.testing.assert_allclose(mean, labels[:100].mean(), rtol=1e-12)
    assert 0.3 * labels.std() < std.mean() < 5 * labels.std()
    assert learned.score(rows, labels) > 0.3
    np.testing.assert_allclose(unlearned.expert_weights_, 1 / 8)


@pytest.mark.parametrize("learn", [True, False])
def test_after_warm_up_the_warm_up_is_over(learn):
    """Scaling and hyperparameters stay as they are, however few rows it had; and memory holds no rows."""
    model = small(warmup=64, learn_warmup=learn).warm_up(X[:10], Y[:10])
    before = [(e.prior_var, e.kernel) for e in model.experts_]
    size = len(state_bytes(model))
    model.partial_fit(X[10:], 1e3 * Y[10:])
    assert [(e.prior_var, e.kernel) for e in model.experts_] == before
    assert abs(len(state_bytes(model)) - size) <= 16
    assert model.n_samples_seen_ == (150 if learn else 140)


def test_learn_warmup_does_not_concern_fit():
    one, two = (small(learn_warmup=learned, weights="bayes").fit(X, Y).predict(X) for learned in (False, True))
    assert same_bits(one, two)


def test_hyperparameters_are_refitted_every_few_rows_then_at_powers_of_two_and_at_the_end():
    model, changed = small(warmup=50, noise_forgetting=None, drift_var=0.0), []
    previous = None
    for t in range(100):
        model.partial_fit(X[t : t + 1], Y[t : t + 1])
        now = tuple(e.prior_var for e in model.experts_)
        if previous is not None and now != previous:
            changed.append(t + 1)
        previous = now
    assert changed == [8, 12, 16, 20, 24, 28, 32, 50]


@pytest.mark.parametrize("changes", [{"weights": "bayes"}, {"weights": "switching"}, {"learn_warmup": False}])
def test_posterior_weights_start_anew_at_a_refit(changes):
    model = small(**changes)
    for n in (2, 4, 8, 16, 32, 64):
        model.fit(X[:n], Y[:n])
        np.testing.assert_allclose(model.expert_weights_, 1 / 8, err_msg=str(n))
        model.partial_fit(X[n : n + 3], Y[n : n + 3])
        if n >= 8:
            assert np.ptp(model.expert_weights_) > 0


def test_stacked_weights_are_those_of_the_replay_after_a_refit():
    for n in (8, 16, 32, 64):
        model = small().fit(X[:n], Y[:n])
        assert np.ptp(model.expert_weights_) > 0, n


@pytest.mark.parametrize("n", [32, 64, 128, 256])
def test_nothing_jumps_at_a_refit(n):
    """Error and width of the intervals of a function of one column, one row before a refit and after it."""
    rng = np.random.default_rng(0)
    x = rng.uniform(-2, 2, size=(300, 1))
    y = np.sin(3 * x[:, 0]) + 0.05 * rng.normal(size=300)
    new = np.linspace(-2, 2, 200)[:, None]
    found = []
    for rows in (n - 1, n):
        mean, std = IEGPRegressor(warmup=256, random_state=0).fit(x[:rows], y[:rows]).predict(new, return_std=True)
        found.append((np.sqrt(np.mean((mean - np.sin(3 * new[:, 0])) ** 2)), np.median(std)))
    assert np.all(np.array(found[1]) < 1.5 * np.array(found[0]))


@pytest.mark.parametrize("n", [9, 15, 30])
@pytest.mark.parametrize("function", [np.sin, np.square, lambda x: np.sin(2 * x)], ids=["sin", "square", "fast"])
def test_a_few_rows_give_a_sane_function(n, function):
    """Far outside its rows, but within one more range, the mean is less than ten ranges of the labels away."""
    for seed in range(2):
        x = np.random.default_rng(seed).uniform(-3, 3, size=(n, 1))
        y = function(x[:, 0])
        model = IEGPRegressor(random_state=seed).fit(x, y)
        reach = np.ptp(x)
        far = np.linspace(x.min() - reach, x.max() + reach, 100)[:, None]
        assert np.abs(model.predict(far) - y.mean()).max() < 10.0 * np.ptp(y)


# -- presets ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("preset", "weights", "drift_var"),
    [(ie_gp, "bayes", 0.0), (die_gp, "bayes", 1e-3), (sie_gp, "switching", 0.0), (dsie_gp, "switching", 1e-3)],
)
def test_presets_are_the_papers_settings(preset, weights, drift_var):
    model = preset()
    assert isinstance(model, IEGPRegressor)
    assert model.weights == weights
    assert model.drift_var == drift_var
    np.testing.assert_allclose([k.length_scale**2 for k in model.kernels], 10.0 ** np.arange(-4, 7))
    assert all(type(kernel) is RBF for kernel in model.kernels)
    assert model.n_frequencies == 50
    assert model.features == "random"
    assert model.shutdown == 1e-16
    assert model.warmup == 1000
    assert model.learn_warmup is False
    assert model.noise_forgetting is None
    assert (model.prior_var, model.noise_var) == ("evidence", "evidence")
    assert repr(preset(task="regression")) == repr(model)


@pytest.mark.parametrize("preset", [ie_gp, die_gp, sie_gp, dsie_gp])
def test_presets_take_overrides_and_run(preset):
    model = preset(kernels=SMALL["kernels"], n_frequencies=6, warmup=40, random_state=3, drift_var=0.5)
    assert (model.n_frequencies, model.random_state, model.drift_var) == (6, 3, 0.5)
    run = model.warm_up(X[:40], Y[:40]).prequential(X[40:], Y[40:])
    assert np.isfinite(run.log_score).all()
    assert len(model.experts_) == 2
    assert model.n_samples_seen_ == 110


@pytest.mark.parametrize("preset", [ie_gp, die_gp, sie_gp, dsie_gp])
def test_unknown_tasks_and_arguments(preset):
    with pytest.raises(InputError, match="task='ranking' is not known"):
        preset("ranking")
    with pytest.raises(TypeError, match="n_frequency"):
        preset(n_frequency=3)


# -- the oracle ------------------------------------------------------------------------------------------------------

RULES = {
    "bayes": ({"weights": "bayes", "shutdown": 0.0}, ensemble.Bayes()),
    "bayes with shutdown": ({"weights": "bayes", "shutdown": 1e-3}, ensemble.Bayes(1e-3)),
    "switching": ({"weights": "switching", "switch_prob": 0.05}, ensemble.Switching(0.05)),
    "stacking": ({"weights": "stacking", "stacking_rate": 0.3}, ensemble.Stacking(0.3)),
}


def oracle_experts(model: IEGPRegressor, noise_var: float, n_outputs: int) -> list[ensemble.Expert]:
    """The naive transcription's experts, out of what ``experts_`` shows."""
    return [
        ensemble.Expert(
            frequencies=e.frequencies,
            prior_ratio=float(np.mean(e.prior_var)) / noise_var,
            drift_ratio=e.drift_var / noise_var,
            noise_var=np.full(n_outputs, noise_var),
            noise_forgetting=e.noise_forgetting,
            noise_shape=5.0 if e.noise_forgetting in (None, 1.0) else 0.5 / (1.0 - e.noise_forgetting),
        )
        for e in model.experts_
    ]


@pytest.mark.parametrize("noise_forgetting", [None, (None, 0.95)], ids=["fixed noise", "ladder"])
@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("n_outputs", [1, 2])
def test_the_experts_shown_reproduce_every_prediction(rule, noise_forgetting, n_outputs):
    """With nothing fitted the paper's equations, run on the frequencies of ``experts_``, give the same numbers."""
    options, oracle_rule = RULES[rule]
    labels = np.stack([Y, np.cos(X[:, 1])], axis=1)[:90, :n_outputs]
    model = small(
        standardize=False,
        warmup=0,
        prior_var=1.5,
        noise_var=0.04,
        drift_var=(0.0, 1e-2),
        noise_forgetting=noise_forgetting,
        spread=False,  # the paper has none
        **options,
    )
    run = model.prequential(X[:89], labels[:89])
    truth = ensemble.run(X[:90], labels, oracle_experts(model, 0.04, n_outputs), oracle_rule)
    np.testing.assert_allclose(run.mean, truth.mean[:89], rtol=1e-8, atol=1e-8)
    np.testing.assert_allclose(run.std, truth.std[:89], rtol=1e-8)
    np.testing.assert_allclose(run.log_score, truth.log_score[:89], rtol=1e-8, atol=1e-8)
    np.testing.assert_allclose(run.weights, truth.weights[:89], rtol=1e-7, atol=1e-9)
    mean, std = model.predict(X[89:90], return_std=True)
    np.testing.assert_allclose(mean[0], truth.mean[89], rtol=1e-8, atol=1e-8)
    np.testing.assert_allclose(std[0], truth.std[89], rtol=1e-8)
    assert model.predict_dist(X[89:90]).logpdf(labels[89:90])[0] == pytest.approx(truth.log_score[89], rel=1e-8)


def test_the_oracle_agrees_across_the_warm_up():
    """After ``warm_up`` without learning, the experts shown and the scaling by hand explain all that follows."""
    model = small(learn_warmup=False, drift_var=(0.0, 1e-2), noise_forgetting=None, weights="bayes", shutdown=0.0)
    warm, rows, labels = slice(0, 60), X[60:], 4 - 9 * Y[60:]
    model.warm_up(X[warm], 4 - 9 * Y[warm])
    x_mean, x_scale = X[warm].mean(axis=0), X[warm].std(axis=0)
    y_mean, y_scale = (4 - 9 * Y[warm]).mean(), (4 - 9 * Y[warm]).std()
    experts = [
        ensemble.Expert(e.frequencies, e.prior_var / e.noise_var, e.drift_var / e.noise_var, np.array([e.noise_var]))
        for e in model.experts_
    ]
    run = model.prequential(rows, labels)
    truth = ensemble.run((rows - x_mean) / x_scale, ((labels - y_mean) / y_scale)[:, None], experts, ensemble.Bayes())
    np.testing.assert_allclose(run.mean, y_mean + y_scale * truth.mean[:, 0], rtol=1e-8, atol=1e-8)
    np.testing.assert_allclose(run.std, y_scale * truth.std[:, 0], rtol=1e-8)
    np.testing.assert_allclose(run.log_score, truth.log_score - np.log(y_scale), rtol=1e-8, atol=1e-8)


FIRST_ARGUMENTS = {
    IEGPRegressor: "kernels",
    IEGPClassifier: "kernels",
    IEGPCountRegressor: "kernels",
    IEGPOrdinalClassifier: "order",
    IEGPForecaster: "horizon",
    IEGPLVM: "n_components",
    RandomFourierFeatures: "kernel",
}


@pytest.mark.parametrize("estimator", FIRST_ARGUMENTS)
def test_constructors_store_their_arguments_and_take_one_by_position(estimator):
    first, *others = inspect.signature(estimator).parameters.values()
    assert first.name == FIRST_ARGUMENTS[estimator]
    assert first.kind is inspect.Parameter.POSITIONAL_OR_KEYWORD
    assert all(own.kind is inspect.Parameter.KEYWORD_ONLY for own in others)
    assert vars(estimator(5)) == {first.name: 5} | {own.name: own.default for own in others}
    with pytest.raises(TypeError, match="positional"):
        estimator(5, 5)
    assert estimator() != estimator()
    assert repr(estimator()) == f"{estimator.__name__}()"
