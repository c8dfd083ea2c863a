"""The ledger follows a live run and agrees with the sums done afterwards."""

from __future__ import annotations

import math

import numpy as np
import pytest
from evaluate.streams_for_regret import adversary, ensemble, followed
from scipy import stats

from iegp import IEGPRegressor
from iegp.errors import InputError
from iegp.evaluate.regret import RegretLedger, component_losses
from iegp.kernels import RBF


def test_following_a_live_run_gives_the_losses_of_the_run():
    x, y = adversary("smooth", 40, np.random.default_rng(0))
    whole, _ = followed(ensemble((0.3, 2.0), 5, 0.2), x, y)
    model = ensemble((0.3, 2.0), 5, 0.2)
    live = RegretLedger()
    model.partial_fit(x[:1], y[:1])
    for t in range(1, 40):
        live.follow(model.predict_dist(x[t : t + 1]), y[t : t + 1])
        model.partial_fit(x[t : t + 1], y[t : t + 1])
    assert len(live) == 39
    np.testing.assert_allclose(live.losses, whole.losses[1:], rtol=1e-8)
    np.testing.assert_allclose(live.expert_losses, whole.expert_losses[1:], rtol=1e-8)


@pytest.mark.parametrize("kind", ["noise", "smooth", "outliers", "flip", "sawtooth"])
@pytest.mark.parametrize("switch_prob", [0.0, 0.02])
def test_regret_stays_under_its_bound_at_every_row(kind, switch_prob):
    x, y = adversary(kind, 120, np.random.default_rng(1))
    ledger, _ = followed(ensemble((0.1, 1.0, 10.0), 4, 0.2, switch_prob), x, y, switch_prob)
    for s in (0, 1, 3):
        assert (ledger.to_best_sequence(s) <= ledger.bound(s) + 1e-8).all()
    np.testing.assert_allclose(ledger.to_best_sequence(0), ledger.to_best_expert(), atol=1e-9)
    if switch_prob == 0.0:
        np.testing.assert_allclose(ledger.bound(), math.log(3))
        assert np.isinf(ledger.bound(1)[-1])


def test_components_may_have_heavy_tails():
    model = IEGPRegressor(n_frequencies=5, drift_var=0.0, warmup=32, random_state=0)
    x, y = adversary("smooth", 60, np.random.default_rng(2))
    model.partial_fit(x[:50], y[:50])
    dist = model.predict_dist(x[50:])
    losses = component_losses(dist, y[50:])
    with_t = np.isfinite(dist.dof[0, :, 0])
    assert with_t.any()
    assert not with_t.all()
    expected = -stats.t.logpdf(y[50:, None], dist.dof[..., 0], dist.loc[..., 0], dist.scale[..., 0])
    np.testing.assert_allclose(losses, expected, rtol=1e-8)
    ledger = RegretLedger()
    ledger.follow(dist, y[50:])
    np.testing.assert_allclose(-ledger.losses, dist.logpdf(y[50:]), rtol=1e-8)


def test_against_a_comparator():
    ledger = RegretLedger()
    ledger.add(1.0, [1.0, 2.0])
    ledger.add([2.0, 3.0], [[1.0, 2.0], [0.0, 0.0]])
    assert ledger.n_experts == 2
    assert ledger.against([0.5, 0.5, 0.5]).tolist() == [0.5, 2.0, 4.5]
    with pytest.raises(InputError, match="3 rows were recorded"):
        ledger.against([1.0])


def test_errors_say_what_to_do():
    ledger = RegretLedger()
    with pytest.raises(InputError, match="empty"):
        ledger.to_best_expert()
    with pytest.raises(InputError, match="as many rows of both"):
        ledger.add([1.0, 2.0], [[1.0, 2.0]])
    ledger.add(1.0, [1.0, 2.0])
    with pytest.raises(InputError, match="keep their number"):
        ledger.add(1.0, [1.0])
    with pytest.raises(InputError, match="probability below 1"):
        RegretLedger(switch_prob=1.0)
    with pytest.raises(InputError, match="no regret"):
        ledger.add(1.0, [np.nan, 1.0])


def test_follow_refuses_labels_and_predictions_that_do_not_fit():
    x, y = adversary("smooth", 30, np.random.default_rng(0))
    model = ensemble((0.3, 2.0), 5, 0.2).partial_fit(x, y)
    dist, ledger = model.predict_dist(x[:3]), RegretLedger()
    for wrong in (y[:2], y[:6], 1.0, y[:3].reshape(1, 3), np.column_stack([y[:3], y[:3]])):
        with pytest.raises(InputError, match="3 rows of 1 outputs were predicted"):
            ledger.follow(dist, wrong)
    for other in (model.predict(x[:3]), None, model.prequential(x[:3], y[:3])):
        with pytest.raises(InputError, match="from_run"):
            ledger.follow(other, y[:3])
    assert repr(ledger) == "RegretLedger(0 rows, 0 experts)"
    ledger.follow(dist, y[:3].tolist())
    ledger.follow(dist, y[:3, None])
    ledger.follow(model.predict_dist(x[:1]), float(y[0]))
    assert repr(ledger) == "RegretLedger(7 rows, 2 experts)"


def test_the_figure_shows_regret_and_bound():
    pytest.importorskip("matplotlib", reason="pictures need the extra plot").use("agg")
    from iegp.plots import RegretDisplay  # noqa: PLC0415 - needs matplotlib

    x, y = adversary("flip", 50, np.random.default_rng(3))
    ledger, _ = followed(ensemble((0.3, 2.0), 3, 0.2, 0.05), x, y, 0.05)
    display = RegretDisplay.from_ledger(ledger, max_switches=1).plot(title="flip")
    regret, bound = (line.get_ydata() for line in display.ax_.lines[:2])
    np.testing.assert_allclose(regret, ledger.to_best_sequence(1))
    np.testing.assert_allclose(bound, ledger.bound(1))
    assert display.ax_.get_title(loc="left") == "flip"
    legend = [text.get_text() for text in display.ax_.get_legend().get_texts()]
    assert legend == ["regret", "bound of Lemma 2 (Bayes or switching weights)"]
    assert isinstance(display, RegretDisplay)
    alone = RegretDisplay([1, 2], [0.0, 1.0], [np.nan, np.nan]).plot(display.ax_)
    assert alone.ax_ is display.ax_
    with pytest.raises(InputError, match="one entry of each"):
        RegretDisplay([1, 2], [1.0], [1.0])


def test_an_expert_far_behind_is_not_lost_when_log_scores_are_given():
    rng = np.random.default_rng(0)
    x = rng.uniform(-3.0, 3.0, size=(60, 1))
    y = 5.0 * (np.sin(2.0 * x[:, 0]) + 0.3 * rng.normal(size=60))
    fixed = {"drift_var": 0.0, "weights": "bayes", "shutdown": 0.0, "noise_forgetting": None, "standardize": False}
    kernels = [RBF(0.1), RBF(1.0), RBF(10.0)]
    model = IEGPRegressor(kernels, n_frequencies=5, prior_var=1.0, noise_var=0.01, warmup=0, random_state=0, **fixed)
    model.partial_fit(x[:1], y[:1])
    live, blind = RegretLedger(), RegretLedger()
    for t in range(1, 60):
        expected, now = model.predict_dist(x[t : t + 1]), slice(t, t + 1)
        live.follow(expected, y[now], model.prequential(x[now], y[now]).log_score)
        blind.follow(expected, y[now])
    assert (live.to_best_expert() <= live.bound() + 1e-9).all()
    # What the argument is for.
    assert blind.to_best_expert().max() > 10.0 * live.bound()[-1]
