"""Promise 2, by Hypothesis: any ensemble, any cuts, the numbers of the naive transcription to 1e-8."""

from __future__ import annotations

import numpy as np
from core.builders import (
    Kind,
    assert_close,
    assert_same_predictions,
    at_once,
    build,
    learn_in_pieces,
    stream,
    twin_rule,
    twins,
)
from hypothesis import given, settings
from hypothesis import strategies as st
from oracles import ensemble as oracle

N = 30
rungs = st.lists(st.sampled_from([None, 1.0, 0.99, 0.9]), min_size=1, max_size=3, unique=True).map(tuple)
drifts = st.lists(st.sampled_from([0.0, 1e-4, 0.02, 1.0]), min_size=1, max_size=2, unique=True).map(tuple)
rules = st.sampled_from(
    [
        {"rule": "bayes"},
        {"rule": "bayes", "shutdown": 1e-4},
        {"rule": "switching", "switch": 0.02},
        {"rule": "switching", "switch": "matrix"},
        {"rule": "stacking", "rate": 0.05},
        {"rule": "stacking", "rate": 0.9},
    ]
)


@st.composite
def ensembles(draw):
    return Kind(
        drifts=draw(drifts),
        forgetting=draw(rungs),
        n_outputs=draw(st.sampled_from([1, 3])),
        n_kernels=draw(st.integers(1, 3)),
        n_frequencies=draw(st.integers(1, 6)),
        n_columns=draw(st.integers(1, 4)),
        prior_ratio=draw(st.sampled_from([0.1, 10.0, 1e4])),
        seed=draw(st.integers(0, 50)),
        **draw(rules),
    )


cuts = st.lists(st.integers(1, N - 1), max_size=12, unique=True)


@settings(max_examples=25, deadline=None, derandomize=True)
@given(ensembles(), cuts, st.integers(0, 50))
def test_any_chunking_is_the_naive_transcription_to_1e_8(kind, cuts, seed):
    ensemble = build(kind)
    x, y = stream(N, kind.n_columns, kind.n_outputs, seed)
    trace, state = learn_in_pieces(ensemble, x, y, cuts)
    wanted = oracle.run(x, y, twins(ensemble), twin_rule(ensemble))
    assert_close(trace.mean, wanted.mean)
    assert_close(trace.std**2, wanted.std**2)
    assert_close(trace.log_score, wanted.log_score)
    np.testing.assert_allclose(trace.weights, wanted.weights, rtol=1e-7, atol=1e-12)
    np.testing.assert_allclose(np.exp(state.log_weights), wanted.final_weights, rtol=1e-7, atol=1e-12)


@settings(max_examples=60, deadline=None, derandomize=True)
@given(
    st.one_of(ensembles(), ensembles().map(lambda kind: kind.but(forgetting=(None, (0.9, 4.0))))),
    cuts,
    st.integers(0, 50),
)
def test_any_chunking_is_one_call(kind, cuts, seed):
    ensemble = build(kind)
    x, y = stream(N, kind.n_columns, kind.n_outputs, seed)
    found, _ = learn_in_pieces(ensemble, x, y, cuts, level=0.9)
    assert_same_predictions(found, at_once(ensemble, x, y, level=0.9)[0], 1e-7)
