"""Frames with text, dates and gaps, by Hypothesis: what a model knows of its columns does not depend on the cuts."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pandas as pd
from contracts.models import same_bits, small
from hypothesis import given, settings
from hypothesis import strategies as st

N, WARMUP = 60, 40


def table(seed: int) -> tuple[pd.DataFrame, np.ndarray]:
    """Every column may begin with gaps; text and dates appear before and after the warm-up."""
    rng = np.random.default_rng(seed)
    words = np.array(["a", "b", "c", "d", "e", None], dtype=object)
    text = np.concatenate([rng.choice(words[[0, 1, 5]], 30), rng.choice(words, N - 30)])
    note = np.where(np.arange(N) < rng.integers(N), None, rng.choice(words, N))
    days = pd.Series(pd.date_range("2024-03-01", periods=N, freq="9h")).where(rng.random(N) < 0.7)
    number = np.where(rng.random(N) < 0.3, np.nan, rng.normal(size=N))
    plain = rng.normal(size=N)
    rows = pd.DataFrame({"number": number, "text": text, "day": days, "note": note, "plain": plain})
    return rows, plain + (text == "a") + 0.1 * rng.normal(size=N)


def learned(rows: pd.DataFrame, y: np.ndarray, cuts: list[int], stop: int = N):
    model = small(warmup=WARMUP, n_frequencies=4)
    for start, end in pairwise(sorted({0, stop, *(cut for cut in cuts if cut < stop)})):
        model.partial_fit(rows[start:end], y[start:end])
    return model


@settings(max_examples=15, deadline=None, derandomize=True)
@given(st.integers(0, 50), st.lists(st.integers(1, N - 1), max_size=12, unique=True))
def test_any_chunking_of_a_frame_is_one_call(seed, cuts):
    rows, y = table(seed)
    one, many = learned(rows, y, []), learned(rows, y, cuts)
    assert one._encoder.to_config() == many._encoder.to_config()
    assert same_bits(one._encoder.raw(records(one, rows)), many._encoder.raw(records(many, rows)))
    for found, wanted in zip(many.predict(rows, return_std=True), one.predict(rows, return_std=True), strict=True):
        np.testing.assert_allclose(found, wanted, rtol=1e-8, atol=1e-10)
    # The end of the warm-up replays its rows: there all cuts agree to the bit.
    one, many = learned(rows, y, [], WARMUP), learned(rows, y, cuts, WARMUP)
    assert same_bits(one.predict(rows), many.predict(rows))


def records(model, rows):
    return model._check_rows(rows)
