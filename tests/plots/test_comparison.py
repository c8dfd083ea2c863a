"""The figure of a comparison has a panel for each stream, three side by side at most."""

from __future__ import annotations

import pytest

from iegp.comparison import Comparison
from iegp.plots import plot_comparison


@pytest.mark.parametrize(("n_streams", "n_wide", "n_high"), [(1, 1, 1), (3, 3, 1), (5, 3, 2)])
def test_panels_wrap(n_streams, n_wide, n_high):
    streams = [f"stream {i}" for i in range(n_streams)]
    rows = [
        {"model": model, "stream": stream, "seed": seed, "nmse": 0.1 * seed + 0.5 * (model == "b")}
        for model in ("a", "b")
        for stream in streams
        for seed in (0, 1)
    ]
    panels = plot_comparison(Comparison(rows), "nmse").axes
    assert [panel.get_title() for panel in panels] == streams
    grid = panels[0].get_gridspec()
    assert (grid.ncols, grid.nrows) == (n_wide, n_high)
    assert [label.get_text() for label in panels[0].get_yticklabels()] == ["a", "b"]
