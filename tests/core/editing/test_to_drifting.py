"""A live model starts from what the static one learned."""

from __future__ import annotations

from copy import deepcopy

import numpy as np
import pytest
from history.static_models import assert_same_model, stream, taught, warmed_up

from iegp import load
from iegp.core.expert.belief import moments
from iegp.core.state import belief_at, drift_at
from iegp.errors import InputError
from iegp.kernels import RBF, Constant

X, Y = stream(300)


def test_every_drifting_expert_starts_from_the_static_posterior():
    static = taught(warmed_up(), X, Y)
    live = static.go_live(drift_var=(0.0, 1e-3, 1e-2), weights="stacking", noise_forgetting=(None, 0.98))
    old, new = static.model_, live.model_
    assert new.experts.ensemble.n_experts == 3 * 3 * 2
    for b in range(9):
        before, after = old.experts.ensemble, new.experts.ensemble
        wanted = moments(belief_at(before.layout, old.state, b // 3), drift_at(before, b // 3))
        got = moments(belief_at(after.layout, new.state, b), drift_at(after, b))
        for one, two in zip(got, wanted, strict=True):
            np.testing.assert_allclose(one, two, rtol=1e-9, atol=1e-12)
    assert live.get_params()["drift_var"] == (0.0, 1e-3, 1e-2)
    assert live.n_samples_seen_ == 300
    assert live.get_params()["shutdown"] == 0.0


def test_going_live_without_change_predicts_the_same():
    static = taught(warmed_up(kernels=warmed_up().kernels[:1]), X, Y)
    live = static.go_live(drift_var=0.0, weights="bayes", noise_forgetting=None)
    assert_same_model(live, static)


def test_going_live_leaves_the_static_model_alone():
    static = taught(warmed_up(), X, Y)
    before = deepcopy(static)
    static.go_live().partial_fit(X, Y)
    assert_same_model(static, before, 1e-300)


def test_no_expert_is_out_of_reach():
    static = taught(warmed_up(noise_var=1e-4, noise_forgetting=(None, 1.0)), X, Y)
    assert static.expert_weights_.min() < 1e-10
    weights = static.go_live(drift_var=(0.0, 1e-2), weights="bayes").expert_weights_
    assert weights.min() > 0.09 / len(weights)
    np.testing.assert_allclose(weights.sum(), 1.0)


def test_learned_noise_goes_along():
    static = taught(warmed_up(noise_forgetting=1.0, noise_var=0.01), X, Y)
    learned = [expert.noise_var for expert in static.experts_]
    live = static.go_live(drift_var=1e-3, noise_forgetting=None)
    np.testing.assert_allclose([expert.noise_var for expert in live.experts_], learned)


def test_a_live_model_follows_a_change_and_is_saved(tmp_path):
    static = taught(warmed_up(), X, Y)
    live = static.go_live(drift_var=(0.0, 1e-2))
    live.save(tmp_path / "live")
    changed = stream(300, seed=4)
    run = live.prequential(changed[0], -changed[1])
    assert (
        run.log_score[200:].mean()
        > taught(static, *changed).prequential(changed[0], -changed[1]).log_score[200:].mean()
    )
    again = load(tmp_path / "live").prequential(changed[0], -changed[1])
    np.testing.assert_array_equal(run.log_score, again.log_score)


def test_what_drifts_already_cannot_go_live():
    model = taught(warmed_up(drift_var=(0.0, 1e-3)), X, Y)
    with pytest.raises(InputError, match="some experts drift already"):
        model.go_live()
    model = taught(warmed_up(kernels=[RBF(1.0) + Constant(drift_var=0.01)]), X, Y)
    with pytest.raises(InputError, match=r"drift already \(Constant\(drift_var=0\.01\)\)"):
        model.go_live(drift_var=1e-3)
    with pytest.raises(InputError, match="drift_var"):
        taught(warmed_up(), X, Y).go_live(drift_var=-1.0)
