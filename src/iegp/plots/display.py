"""Base class of the displays: the axes they draw on and the runs they show.

A display is made by ``from_run`` or ``from_estimator`` and can be drawn again with ``plot``. It keeps the axes it drew
on in ``ax_``, those of the panel below in ``lower_ax_`` (``None`` if there is none) and the figure in ``figure_``.
``ax`` is one Axes, which then shows the upper panel only, or a pair of them for both; without it a pyplot figure is
made.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

import numpy as np
from matplotlib import pyplot
from matplotlib.axes import Axes
from matplotlib.figure import Figure, SubFigure
from sklearn.base import clone

from iegp._docstrings import entries, fill_docstrings
from iegp.errors import InputError
from iegp.evaluate.runs import ClassificationRun, PrequentialRun
from iegp.plots.stream import SIZE, legend
from iegp.typing import Float

Run = PrequentialRun | ClassificationRun
# One Axes, or one for each panel.
Panels = Axes | Sequence[Axes] | None

GREY = "#dfe3e6"

DOCS = entries("""
run : PrequentialRun or ClassificationRun
    Run of an estimator's ``prequential``, of at least two scored rows.
ax : matplotlib.axes.Axes or pair of them, optional
    One shows the upper panel only, a pair both; by default a new figure.
title : str, default=""
    Title of the figure.
target : str, default="y"
    Name and unit of the label.
prequential_params : dict, optional
    Further arguments of ``prequential``, such as ``{"level": 0.8}``.
""") | {
    "one_ax": """\
ax : matplotlib.axes.Axes, optional
    Axes to draw on; by default those of a new figure.""",
    "plot_arguments": """\
**kwargs : object
    Further arguments of :meth:`plot`.""",
    "returns_display": """\
Returns
-------
display
    The drawn display, with ``ax_``, ``lower_ax_`` and ``figure_``.""",
    "example_run": """\
Examples
--------
>>> from iegp import IEGPRegressor
>>> from iegp.datasets import robot_arm
>>> stream = robot_arm(201, random_state=0)
>>> model = IEGPRegressor(n_frequencies=10, random_state=0)
>>> run = model.prequential(stream.X, stream.y)""",
}


class Display:
    """Base class of the displays: the axes they draw on."""

    ax_: Axes
    lower_ax_: Axes | None
    figure_: Figure | SubFigure

    def plot(self, *args: Any, **kwargs: Any) -> Self:
        """Draw the display; each display has its own arguments."""
        raise NotImplementedError

    def _take(
        self, ax: Panels, heights: Sequence[float], size: tuple[float, float] = SIZE, share_x: bool = True
    ) -> None:
        """Use the caller's axes, or make a figure with a panel for each of ``heights``."""
        self._is_new_figure = ax is None
        if ax is None:
            figure = pyplot.figure(figsize=size, layout="constrained")
            panels = list(figure.subplots(len(heights), 1, sharex=share_x, height_ratios=heights, squeeze=False)[:, 0])
        else:
            panels = [ax] if isinstance(ax, Axes) else list(np.ravel(np.asarray(ax, dtype=object)))
        if not 1 <= len(panels) <= len(heights) or not all(isinstance(panel, Axes) for panel in panels):
            wanted = "one matplotlib Axes" + (", or a pair for both panels" if len(heights) == 2 else "")
            raise InputError(f"ax={ax!r:.80} cannot be drawn on; give {wanted}, or None for a new figure")
        self.ax_, self.figure_ = panels[0], panels[0].figure
        self.lower_ax_ = panels[1] if len(panels) == 2 else None

    @property
    def _panels(self) -> list[Axes]:
        return [self.ax_] if self.lower_ax_ is None else [self.ax_, self.lower_ax_]

    def _legend(self, panel: Axes, corner: str, upside_down: bool = False) -> None:
        """Add a legend beside the panel of a new figure, or in the corner of axes that the caller gave."""
        legend(panel, upside_down=upside_down, inside=None if self._is_new_figure else corner)


@fill_docstrings(DOCS)
class RunDisplay(Display):
    """Base class of the displays that need a run and nothing else."""

    def __init__(self, run: Run) -> None:
        self.run = checked_run(run)

    @classmethod
    def from_run(cls, run: Run, *, ax: Panels = None, **kwargs: Any) -> Self:
        """Draw a run.

        Parameters
        ----------
        {run}
        {ax}
        {plot_arguments}

        {returns_display}
        """
        return cls(run).plot(ax, **kwargs)

    @classmethod
    def from_estimator(
        cls, estimator: Any, X: Any, y: Any, *, prequential_params: dict[str, Any] | None = None, **kwargs: Any
    ) -> Self:
        """Draw what an estimator predicts on a stream, from its start.

        A clone learns the rows: the estimator is not changed, and what it has learned so far is not used.

        Parameters
        ----------
        estimator : estimator
            Estimator of iegp, fitted or not.
        X : array-like (n, d)
            Inputs of the stream.
        y : array-like (n,) or (n, D)
            Labels of the stream.
        {prequential_params}
        **kwargs : object
            Further arguments of :meth:`from_run`.

        {returns_display}
        """
        return cls.from_run(prequential_run(estimator, X, y, prequential_params)[1], **kwargs)


def checked_run(run: Any) -> Any:
    """Return a run with at least two scored rows, or raise."""
    if not isinstance(run, PrequentialRun | ClassificationRun):
        raise InputError(f"run={run!r:.80} is not a run; give what prequential of an estimator returned")
    n_blind = run.n_blind if isinstance(run, PrequentialRun) else 0
    if len(run) - n_blind < 2:
        first = " (the first of an unfitted model does not count)" if n_blind else ""
        raise InputError(
            f"a run of {len(run)} row{'' if len(run) == 1 else 's'} is too short for a figure, which needs two"
            f"{first}; pass more rows, or join the pieces of a live loop with concatenate"
        )
    return run


def prequential_run(estimator: Any, X: Any, y: Any, params: dict[str, Any] | None) -> tuple[Any, Any]:
    """Let a clone of the estimator predict and learn the rows; return the clone and the run."""
    require(estimator, "prequential", "an estimator of iegp, such as IEGPRegressor()")
    model = clone(estimator)
    return model, model.prequential(X, y, **(params or {}))


def require(estimator: Any, name: str, wanted: str) -> None:
    """Raise if the estimator lacks an attribute."""
    if not hasattr(estimator, name):
        raise InputError(f"estimator={estimator!r:.80} has no {name}; give {wanted}")


def output_column(values: Float, output: int) -> Float:
    """Return one column of a y that may have several."""
    columns = values.reshape(len(values), -1)
    if output not in range(columns.shape[1]):
        raise InputError(f"output={output!r} must be a whole number from 0 to {columns.shape[1] - 1}, a column of y")
    return columns[:, output]
