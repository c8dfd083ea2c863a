"""Figure of the weights of experts over a run, or at one moment."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

import numpy as np
from matplotlib.ticker import PercentFormatter

from iegp._docstrings import fill_docstrings
from iegp.errors import InputError
from iegp.plots.display import DOCS, GREY, Display, Panels, Run, checked_run, prequential_run, require
from iegp.plots.stream import draw_weights, finish_rows, visible
from iegp.typing import Float, Int

# Easy to tell apart, also with colour blindness; the other experts are grey.
EXPERT_COLOURS = ("#12436d", "#28a197", "#f46a25", "#801650", "#7fb3d5", "#e3b505", "#a285d1", "#5c8d2f")


@fill_docstrings(DOCS)
class ExpertWeightsDisplay(Display):
    """Weights of the experts: those with the largest weights by name, all others together.

    Over the rows of a run they are stacked up to one; those of a single moment are bars.

    Parameters
    ----------
    weights : ndarray (n, n_experts) or (n_experts,)
        Of every row of a run, or of one moment.
    names : sequence of str
        One for each expert.

    {example_run}
    >>> from iegp.plots import ExpertWeightsDisplay
    >>> over_time = ExpertWeightsDisplay.from_run(run, model.experts_)
    >>> now = ExpertWeightsDisplay.from_estimator(model)
    """

    def __init__(self, weights: Float, names: Sequence[str]) -> None:
        self.weights = np.asarray(weights, dtype=np.float64)
        self.names = list(names)
        if self.weights.ndim not in (1, 2) or self.weights.shape[-1] != len(self.names):
            raise InputError(
                f"weights of shape {self.weights.shape} do not belong to {len(self.names)} experts; give one weight "
                "for each, and the experts_ of the model that made the run"
            )

    @classmethod
    def from_run(cls, run: Run, experts: Sequence[Any], *, ax: Panels = None, **kwargs: Any) -> Self:
        """Draw the weights of a run over its rows.

        Parameters
        ----------
        {run}
        experts : sequence
            ``experts_`` of the model that made the run.
        {one_ax}
        {plot_arguments}

        {returns_display}
        """
        return cls(checked_run(run).weights, expert_names(experts)).plot(ax, **kwargs)

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any = None,
        y: Any = None,
        *,
        prequential_params: dict[str, Any] | None = None,
        **kwargs: Any,
    ) -> Self:
        """Draw an estimator's present weights as bars; with X and y, its weights over that stream, from its start.

        With X and y a clone learns the rows: the estimator is not changed, and what it has learned so far is not used.

        Parameters
        ----------
        estimator : estimator
            Estimator of iegp; fitted, unless X and y are given.
        X : array-like (n, d), optional
            Inputs of a stream.
        y : array-like (n,) or (n, D), optional
            Labels of the stream.
        {prequential_params}
        {plot_arguments}

        {returns_display}
        """
        if X is None and y is None:
            require(estimator, "expert_weights_", "a fitted estimator of iegp, or X and y to learn from")
            return cls(estimator.expert_weights_, expert_names(estimator.experts_)).plot(**kwargs)
        model, run = prequential_run(estimator, X, y, prequential_params)
        return cls.from_run(run, model.experts_, **kwargs)

    def plot(
        self,
        ax: Panels = None,
        *,
        n_named: int = 5,
        title: str = "",
        first_row: int = 0,
        changes: Sequence[int] = (),
        zoom: tuple[int, int] | None = None,
    ) -> Self:
        """Draw the experts with the largest mean weights by name, the others together.

        Parameters
        ----------
        {one_ax}
        n_named : int, default=5
            Number of experts with a name and a colour of their own, from 1 to 8.
        {title}
        first_row, changes, zoom : int, sequence of int, pair of int
            As in :func:`draw_run`: number of the run's first row, rows to mark, and the range to show; not for bars.

        {returns_display}
        """
        if n_named not in range(1, len(EXPERT_COLOURS) + 1):
            raise InputError(f"n_named={n_named!r} must be a whole number from 1 to {len(EXPERT_COLOURS)}")
        if self.weights.ndim == 1:
            return self._bars(ax, n_named, title)
        rows, shown = visible(len(self.weights), first_row, zoom)
        weights = self.weights[shown]
        order, groups = self._grouped(weights.mean(axis=0), n_named)
        self._take(ax, (1,), (10, 3.6))
        draw_weights(self.ax_, rows, weights[:, order], groups, _colours(groups, n_named))
        finish_rows(self._panels, rows, changes, title)
        self._legend(self.ax_, "upper left", upside_down=True)
        return self

    def _bars(self, ax: Panels, n_named: int, title: str) -> Self:
        order, groups = self._grouped(self.weights, n_named)
        names = list(dict.fromkeys(groups))
        heights = [
            sum(self.weights[i] for i, group in zip(order, groups, strict=True) if group == name) for name in names
        ]
        self._take(ax, (1,), (8, 0.8 + 0.4 * len(names)))
        bars = self.ax_.barh(names, heights, color=_colours(groups, n_named))
        self.ax_.bar_label(bars, [f"{100 * height:.1f} %" for height in heights], padding=3, fontsize=9)
        self.ax_.invert_yaxis()
        self.ax_.set_xlim(0.0, 1.15 * max(heights))
        self.ax_.xaxis.set_major_formatter(PercentFormatter(1.0, decimals=0, symbol=" %"))
        self.ax_.set_xlabel("weight now")
        self.ax_.spines[["top", "right"]].set_visible(False)
        self.ax_.set_title(title, loc="left", fontsize=11)
        return self

    def _grouped(self, weights: Float, n_named: int) -> tuple[Int, list[str]]:
        """Return the experts by weight, largest first, and the group of each."""
        order = np.argsort(-weights, kind="stable")
        n_others = len(order) - n_named
        others = f"{n_others} other" + ("" if n_others == 1 else "s")
        return order, [self.names[i] if place < n_named else others for place, i in enumerate(order)]


def _colours(groups: Sequence[str], n_named: int) -> list[str]:
    n_groups = len(set(groups))
    return [*EXPERT_COLOURS[: min(n_named, n_groups)], GREY][:n_groups]


def expert_names(experts: Sequence[Any]) -> list[str]:
    """Return a unique short name for each expert of ``experts_``, made of the properties in which experts differ.

    >>> from iegp import IEGPRegressor
    >>> from iegp.kernels import RBF
    >>> model = IEGPRegressor([RBF(2.0)], drift_var=(0.0, 0.01), n_frequencies=5, noise_forgetting=None)
    >>> expert_names(model.fit([[0.0], [1.0]], [1.0, 2.0]).experts_)
    ['RBF 2, static', 'RBF 2, drift 0.01']
    """
    parts = [
        (e.kernel.short(), _drift(e.speed), _noise(e.noise_forgetting), f"sharpness {e.sharpness:g}") for e in experts
    ]
    # The kernel is always named.
    named = [place for place in range(4) if place == 0 or len({part[place] for part in parts}) > 1]
    names = [", ".join(part[place] for place in named) for part in parts]
    return [name if names.count(name) == 1 else f"{name} (#{i})" for i, name in enumerate(names)]


def _drift(speed: str) -> str:
    return speed if speed == "static" else f"drift {speed}"


def _noise(forgetting: float | tuple[float, float] | None) -> str:
    if forgetting is None:
        return "fixed noise"
    return f"noise {forgetting[0]:g} t{forgetting[1]:g}" if isinstance(forgetting, tuple) else f"noise {forgetting:g}"
