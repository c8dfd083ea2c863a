"""One picture of a run: the predictive band over the labels above, the experts' weights below, on one time axis."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from iegp.run.prequential import PrequentialRun
from iegp.typing import Float

try:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
except ImportError as error:
    raise ImportError('figures need matplotlib: pip install "iegp[plot]"') from error

INK, BAND, TRUTH, MARK = "#12436d", "#9cc3e6", "#1a1a1a", "#c0392b"
# Static experts grey, then warmer the faster they drift.
DRIFT_COLOURS = ("#b8bec4", "#7fb3d5", "#f5b041", "#cb4335", "#76448a", "#1e8449")


def plot_run(
    run: PrequentialRun, experts: Sequence[Any], *, title: str = "", target: str = "y", **options: Any
) -> Figure:
    """Figure of a run of one output: the interval over the labels, and the weights of ``model.experts_`` by drift.

    Takes ``changes``, ``zoom`` and ``first_row`` like :func:`draw_run`.

    >>> from iegp import IEGPRegressor
    >>> from iegp.streams import robot_arm
    >>> stream = robot_arm(200, random_state=0)
    >>> model = IEGPRegressor(n_frequencies=10, random_state=0)
    >>> figure = plot_run(model.prequential(stream.X, stream.y), model.experts_, target=stream.target_name)
    >>> figure.savefig("run.png")  # doctest: +SKIP
    """
    groups = ["0 (static)" if expert.drift_var == 0 else f"{expert.drift_var:g}" for expert in experts]
    shown = run.y, run.mean, run.lower, run.upper, run.weights
    return draw_run(*shown, groups, title=title, target=target, **options)


def draw_run(
    y: Float,
    mean: Float,
    lower: Float,
    upper: Float,
    weights: Float,
    groups: Sequence[str],
    *,
    title: str,
    target: str,
    first_row: int = 0,
    changes: Sequence[int] = (),
    zoom: tuple[int, int] | None = None,
) -> Figure:
    """Figure of a stream's predictions and weights.

    ``groups`` names the group of every expert (column of ``weights``); weights are summed within a group. ``changes``
    are rows where the stream is known to change. ``zoom`` shows only some rows, counted from the stream's start.
    """
    rows = np.arange(len(y)) + first_row
    begin, end = (rows[0], rows[-1] + 1) if zoom is None else zoom
    shown = (rows >= begin) & (rows < end)
    figure = Figure(figsize=(10, 5.6), layout="constrained")
    above, below = figure.subplots(2, 1, sharex=True, height_ratios=(2.2, 1))
    _band(above, rows[shown], y[shown], mean[shown], lower[shown], upper[shown], target)
    _weights(below, rows[shown], weights[shown], groups)
    for change in changes:
        if begin <= change < end:
            above.axvline(
                change, color=MARK, lw=1.2, ls="--", label="the stream changes" if change == changes[0] else None
            )
            below.axvline(change, color=MARK, lw=1.2, ls="--")
    above.set_title(title, loc="left", fontsize=11)
    above.legend(loc="upper left", bbox_to_anchor=(1.0, 1.0), frameon=False, fontsize=9)
    below.set_xlabel("row of the stream")
    above.set_xlim(begin, end - 1)
    return figure


def _band(axes: Axes, rows: Any, y: Float, mean: Float, lower: Float, upper: Float, target: str) -> None:
    axes.fill_between(rows, lower, upper, color=BAND, lw=0, label="95 % interval")
    axes.plot(rows, mean, color=INK, lw=1.2, label="predicted mean")
    axes.plot(rows, y, ".", color=TRUTH, ms=2.5 if len(rows) > 300 else 5.0, label="label, seen afterwards")
    axes.set_ylabel(target)
    # The labels set the scale: a few very wide early bands would flatten everything else.
    low, high = np.percentile(np.concatenate([y, mean]), [0.1, 99.9])
    margin = 0.25 * (high - low) or 1.0
    axes.set_ylim(low - margin, high + margin)
    axes.spines[["top", "right"]].set_visible(False)


def _weights(axes: Axes, rows: Any, weights: Float, groups: Sequence[str]) -> None:
    names = list(dict.fromkeys(groups))
    totals = [weights[:, [i for i, group in enumerate(groups) if group == name]].sum(axis=1) for name in names]
    axes.stackplot(rows, totals, labels=names, colors=DRIFT_COLOURS[: len(names)], lw=0)
    axes.set_ylim(0.0, 1.0)
    axes.set_ylabel("weight of experts")
    axes.spines[["top", "right"]].set_visible(False)
    handles, labels = axes.get_legend_handles_labels()
    axes.legend(
        handles[::-1], labels[::-1], loc="upper left", bbox_to_anchor=(1.0, 1.0), frameon=False, fontsize=9,
        title="drift_var", title_fontsize=9, alignment="left",
    )  # fmt: skip
