"""Figure of a comparison: one score, a panel for each stream, a line for each model, a dot for each seed."""

from __future__ import annotations

from typing import Protocol

import numpy as np
from matplotlib.figure import Figure

from iegp.plots.stream import INK, MARK
from iegp.typing import Float

# Panels side by side; more go below.
_MOST_WIDE = 3


class Scores(Protocol):
    """What is drawn of a :class:`iegp.comparison.Comparison`."""

    @property
    def models(self) -> list[str]:
        """Names of the models."""

    @property
    def streams(self) -> list[str]:
        """Names of the streams."""

    def values(self, model: str, stream: str, score: str) -> Float:
        """One score of all seeds."""


def plot_comparison(comparison: Scores, score: str = "nmse") -> Figure:
    """Draw one score of a comparison.

    Parameters
    ----------
    comparison : Comparison
        What :func:`iegp.compare` returned.
    score : str, default="nmse"
        Name of the score.

    Returns
    -------
    matplotlib.figure.Figure
        A panel for each stream: a dot for each seed, a line at the median, the lowest median in red.
    """
    models, streams = comparison.models, comparison.streams
    n_wide = min(len(streams), _MOST_WIDE)
    n_high = -(-len(streams) // n_wide)
    size = (3.2 * n_wide + 1.2, (0.38 * len(models) + 1.3) * n_high)
    figure = Figure(figsize=size, layout="constrained")
    panels = figure.subplots(n_high, n_wide, sharey=True, squeeze=False).ravel()
    for panel in panels[len(streams) :]:
        panel.remove()
    for panel, stream in zip(panels, streams, strict=False):
        values = [comparison.values(model, stream, score) for model in models]
        medians = [float(np.median(own)) for own in values]
        for place, (own, median) in enumerate(zip(values, medians, strict=True)):
            colour = MARK if median == np.nanmin(medians) else INK
            panel.plot(own, np.full(len(own), place), "o", color=colour, alpha=0.5, ms=5)
            panel.plot([median, median], [place - 0.3, place + 0.3], color=colour, lw=2)
        panel.set_title(stream)
        panel.set_xlabel(score)
        panel.grid(axis="x", alpha=0.3)
    panels[0].set_yticks(range(len(models)), models)
    panels[0].invert_yaxis()
    return figure
