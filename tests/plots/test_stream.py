"""The figure of a run shows interval, mean, labels, weights by group, changes, and the rows asked for."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose

stream = pytest.importorskip("iegp.plots.stream", reason="the plot extra is not installed")


def figure(**options):
    rng = np.random.default_rng(0)
    y = rng.normal(size=50)
    weights = rng.dirichlet(np.ones(4), size=50)
    drawn = stream.draw_run(
        y, y + 0.1, y - 1, y + 1, weights, ["0", "0", "0.1", "0.1"], title="a stream", target="torque (N m)", **options
    )
    return drawn, y, weights


def test_everything_is_labelled():
    drawn, *_ = figure(changes=(20,))
    above, below = drawn.axes
    assert above.get_ylabel() == "torque (N m)"
    assert below.get_xlabel() == "row of the stream"
    assert "a stream" in above.get_title(loc="left")
    names = [text.get_text() for text in above.get_legend().get_texts()]
    assert names == ["95 % interval", "predicted mean", "label, seen afterwards", "the stream changes"]
    assert sorted(text.get_text() for text in below.get_legend().get_texts()) == ["0", "0.1"]


def test_weights_are_stacked_by_group_and_fill_the_panel():
    drawn, _, weights = figure()
    first, second = drawn.axes[1].collections
    assert_allclose(first.get_paths()[0].vertices[:, 1].max(), weights[:, :2].sum(axis=1).max())
    assert_allclose(second.get_paths()[0].vertices[:, 1].max(), 1.0)


def test_zoom_counts_rows_from_the_stream_and_hides_changes_elsewhere():
    drawn, y, _ = figure(first_row=100, zoom=(110, 130), changes=(105,))
    mean = drawn.axes[0].lines[0]
    assert_allclose(mean.get_xdata(), np.arange(110, 130))
    assert_allclose(mean.get_ydata(), y[10:30] + 0.1)
    assert len(drawn.axes[0].lines) == 2
