"""Pictures in scikit-learn's Display style: how a run went, who was trusted, and whether it was honest.

Each is made by ``from_run`` or ``from_estimator`` and can be drawn again with ``plot``. It keeps the axes it drew on in
``ax_``, those of the panel below in ``lower_ax_`` (``None`` if there is none) and the figure in ``figure_``. ``ax`` is
one Axes, which then shows the upper panel only, or a pair of them for both; without it a pyplot figure is made.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple, Self

import numpy as np
from matplotlib import pyplot
from matplotlib.axes import Axes
from matplotlib.figure import Figure, SubFigure
from matplotlib.ticker import MaxNLocator, PercentFormatter
from scipy import stats
from sklearn.base import clone

from iegp.errors import InputError
from iegp.evaluate.classification import reliability, running_error
from iegp.evaluate.metrics import running_nmse
from iegp.plots.stream import BAND, INK, MARK, SIZE, TRUTH, draw_band, draw_weights, finish_rows, legend, visible
from iegp.run.classification import ClassificationRun
from iegp.run.prequential import PrequentialRun
from iegp.typing import Float, Int

Run = PrequentialRun | ClassificationRun
# One Axes, or one for each panel.
Panels = Axes | Sequence[Axes] | None

# Easy to tell apart, for eyes that see few colours too; the other experts are grey.
EXPERT_COLOURS = ("#12436d", "#28a197", "#f46a25", "#801650", "#7fb3d5", "#e3b505", "#a285d1", "#5c8d2f")
GREY = "#dfe3e6"
# Share of honest windows, or groups of rows, that fall into the grey band.
CHANCE = 0.95
ROWS_PER_WINDOW, MOST_WINDOWS = 50, 20
# A group of fewer rows says nothing.
GROUPS, FEWEST_ROWS = 10, 10


class _Display:
    """What displays share: the axes they draw on."""

    ax_: Axes
    lower_ax_: Axes | None
    figure_: Figure | SubFigure

    def _take(self, ax: Panels, heights: Sequence[float], size: tuple[float, float] = SIZE) -> None:
        """Use the caller's axes, or make a figure with a panel for each of ``heights``."""
        self._is_ours = ax is None
        if ax is None:
            figure = pyplot.figure(figsize=size, layout="constrained")
            panels = list(figure.subplots(len(heights), 1, sharex=True, height_ratios=heights, squeeze=False)[:, 0])
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
        """Beside the panel in a figure of ours, in its corner in one of the caller's."""
        legend(panel, upside_down=upside_down, inside=None if self._is_ours else corner)


class PrequentialDisplay(_Display):
    """How a run went: the predictions, each made before its label was used, and below them a score of all rows so far.

    For numbers and counts the upper panel shows labels, predicted means and intervals. For classes it shows the share
    of wrong predictions so far, over faint dots: the probability that each row's true class was given.

    Parameters
    ----------
    run : PrequentialRun or ClassificationRun
        What an estimator's ``prequential`` returned.

    Examples
    --------
    >>> from iegp import IEGPRegressor
    >>> from iegp.plots import PrequentialDisplay
    >>> from iegp.streams import robot_arm
    >>> stream = robot_arm(200, random_state=0)
    >>> model = IEGPRegressor(n_frequencies=10, random_state=0)
    >>> run = model.prequential(stream.X, stream.y)
    >>> display = PrequentialDisplay.from_run(run, target=stream.target_name)
    >>> display.figure_.savefig("run.png")  # doctest: +SKIP
    """

    def __init__(self, run: Run) -> None:
        self.run = _checked(run)

    @classmethod
    def from_run(cls, run: Run, *, ax: Panels = None, **kwargs: Any) -> Self:
        """Draw a run; further arguments are those of :meth:`plot`."""
        return cls(run).plot(ax, **kwargs)

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,
        y: Any,
        *,
        prequential_params: dict[str, Any] | None = None,
        ax: Panels = None,
        **kwargs: Any,
    ) -> Self:
        """Draw how an estimator does on a stream, from its start.

        A fresh clone passes over the rows: the estimator is not changed, and what it has learned so far is not used.
        ``prequential_params`` are further arguments of ``prequential``, such as ``{"exposure": ...}``.
        """
        _, run = _passed(estimator, X, y, prequential_params)
        return cls.from_run(run, ax=ax, **kwargs)

    def plot(
        self,
        ax: Panels = None,
        *,
        score: str | None = None,
        output: int = 0,
        target: str = "y",
        title: str = "",
        first_row: int = 0,
        changes: Sequence[int] = (),
        zoom: tuple[int, int] | None = None,
    ) -> Self:
        """Draw.

        ``score`` is ``"nmse"`` or ``"pnll"``, the mean negative log score (of all outputs together), for numbers and
        counts; ``"log_loss"`` for classes. ``None`` is the first of them that makes sense. ``output`` is the column to
        show of a y that has several, ``target`` its name and unit. ``changes`` are rows where the stream is known to
        change, ``zoom`` the rows (first, last + 1) to show; both count from the stream's start, whose row ``first_row``
        is the run's first.
        """
        rows, shown = visible(len(self.run), first_row, zoom)
        so_far, name = _running_score(self.run, score, output)
        self._take(ax, (2.2, 1))
        if isinstance(self.run, PrequentialRun):
            _draw_numbers(self.ax_, rows, shown, self.run, output, target)
        else:
            _draw_errors(self.ax_, rows, shown, self.run)
        if self.lower_ax_ is not None:
            last = so_far[shown][-1]
            self.lower_ax_.plot(rows, so_far[shown], color=INK, lw=1.4, label=f"{last:#.3g} after row {rows[-1]}")
            self.lower_ax_.set_ylabel(f"{name}\nof rows so far")
            _limit(self.lower_ax_, so_far[shown], from_zero=name != _NAMES["pnll"])
        finish_rows(self._panels, rows, changes, title)
        for panel in self._panels:
            self._legend(panel, "upper right")
        return self


class ExpertWeightsDisplay(_Display):
    """Who is trusted: the weights of the few most trusted experts by name, those of all others together.

    Over the rows of a run they are stacked up to one; those of a single moment are bars.

    Parameters
    ----------
    weights : ndarray (n, n_experts) or (n_experts,)
        Of every row of a run, or of one moment.
    names : sequence of str
        One for each expert.

    Examples
    --------
    >>> from iegp import IEGPRegressor
    >>> from iegp.plots import ExpertWeightsDisplay
    >>> from iegp.streams import robot_arm
    >>> stream = robot_arm(200, random_state=0)
    >>> model = IEGPRegressor(n_frequencies=10, random_state=0)
    >>> run = model.prequential(stream.X, stream.y)
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

        ``experts`` is ``experts_`` of the model that made it; further arguments are those of :meth:`plot`.
        """
        return cls(_checked(run).weights, expert_names(experts)).plot(ax, **kwargs)

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any = None,
        y: Any = None,
        *,
        prequential_params: dict[str, Any] | None = None,
        ax: Panels = None,
        **kwargs: Any,
    ) -> Self:
        """Draw an estimator's present weights as bars; with X and y, its weights over that stream, from its start.

        A fresh clone passes over the rows: the estimator is not changed, and what it has learned so far is not used.
        ``prequential_params`` are further arguments of ``prequential``, such as ``{"exposure": ...}``.
        """
        if X is None and y is None:
            _require(estimator, "expert_weights_", "a fitted estimator of iegp, or X and y to learn from")
            return cls(estimator.expert_weights_, expert_names(estimator.experts_)).plot(ax, **kwargs)
        model, run = _passed(estimator, X, y, prequential_params)
        return cls.from_run(run, model.experts_, ax=ax, **kwargs)

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
        """Draw the ``n_named`` experts with the largest mean weight by name, the rest as others.

        ``first_row``, ``changes`` and ``zoom`` as in :meth:`PrequentialDisplay.plot`; bars do not need them.
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

    def _grouped(self, trust: Float, n_named: int) -> tuple[Int, list[str]]:
        """Experts by trust, most trusted first, and the group of each."""
        order = np.argsort(-trust, kind="stable")
        n_others = len(order) - n_named
        others = f"{n_others} other" + ("" if n_others == 1 else "s")
        return order, [self.names[i] if place < n_named else others for place, i in enumerate(order)]


class Calibration(NamedTuple):
    """Promised and observed shares: of labels in their interval, by window; or of right predictions, by confidence."""

    expected: Float
    observed: Float
    rows: Int
    """Number of rows in each window or group."""
    low: Float
    high: Float
    """Where 95 % of the observed shares fall, by chance, if predictions are honest."""


class CalibrationDisplay(_Display):
    """Was it honest? What was promised against what happened, and how far apart the two may be by chance.

    For numbers and counts: the share of labels inside their interval, window after window of the stream, against the
    level of the interval; below it, how wide the intervals were. An interval of a count covers its level *at least*,
    because counts come in steps: small counts lie above.

    For classes: a reliability diagram, the share of right predictions against the probability they were given, in
    groups of rows by that probability; below it, how many rows each group has. Those of fewer than 10 are only counted.

    The grey band holds 95 % of the points if predictions are honest, so one in twenty may lie outside; those are red.

    Parameters
    ----------
    run : PrequentialRun or ClassificationRun
        What an estimator's ``prequential`` returned.
    bins : int, default=None
        Number of windows (``None``: of some 50 rows, at most 20), or of groups (``None``: 10).
    output : int, default=0
        The column to look at of a y that has several.

    Attributes
    ----------
    calibration : Calibration
        The numbers that are drawn.

    Examples
    --------
    >>> from iegp import IEGPRegressor
    >>> from iegp.plots import CalibrationDisplay
    >>> from iegp.streams import robot_arm
    >>> stream = robot_arm(401, random_state=0)
    >>> run = IEGPRegressor(n_frequencies=10, random_state=0).prequential(stream.X, stream.y)
    >>> display = CalibrationDisplay.from_run(run, bins=4, target=stream.target_name)
    >>> display.calibration.rows
    array([100, 100, 100, 100])
    """

    def __init__(self, run: Run, *, bins: int | None = None, output: int = 0) -> None:
        self.run, self.output = _checked(run), output
        if bins is not None and (not isinstance(bins, int | np.integer) or isinstance(bins, bool) or bins < 1):
            raise InputError(f"bins={bins!r} must be a whole number of at least 1, or None")
        if isinstance(run, PrequentialRun):
            self._windows = _window_edges(len(run), run.n_blind, bins)
            self.calibration = _coverage(run, output, self._windows)
        else:
            self._n_groups = bins or GROUPS
            groups = reliability(run.y, run.proba, run.classes, self._n_groups)
            self.calibration = _with_chance(groups.confidence, groups.accuracy, groups.rows)

    @classmethod
    def from_run(cls, run: Run, *, bins: int | None = None, output: int = 0, ax: Panels = None, **kwargs: Any) -> Self:
        """Draw a run; further arguments are those of :meth:`plot`."""
        return cls(run, bins=bins, output=output).plot(ax, **kwargs)

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,
        y: Any,
        *,
        bins: int | None = None,
        output: int = 0,
        prequential_params: dict[str, Any] | None = None,
        ax: Panels = None,
        **kwargs: Any,
    ) -> Self:
        """Draw how honest an estimator is on a stream, from its start.

        A fresh clone passes over the rows: the estimator is not changed, and what it has learned so far is not used.
        ``prequential_params`` are further arguments of ``prequential``, such as ``{"level": 0.8}``.
        """
        _, run = _passed(estimator, X, y, prequential_params)
        return cls.from_run(run, bins=bins, output=output, ax=ax, **kwargs)

    def plot(
        self,
        ax: Panels = None,
        *,
        target: str = "y",
        title: str = "",
        first_row: int = 0,
        changes: Sequence[int] = (),
    ) -> Self:
        """Draw. ``target``, ``first_row`` and ``changes`` as in :meth:`PrequentialDisplay.plot`, for intervals only."""
        if isinstance(self.run, PrequentialRun):
            self._take(ax, (2.2, 1))
            self._draw_windows(self.run, first_row, changes, target, title)
        else:
            self._take(ax, (2.2, 1), (7, 5.6))
            self._draw_groups(title)
        self._legend(self.ax_, "lower right")
        return self

    def _draw_windows(
        self, run: PrequentialRun, first_row: int, changes: Sequence[int], target: str, title: str
    ) -> None:
        edges, found = self._windows + first_row, self.calibration
        middle = np.asarray(0.5 * (edges[:-1] + edges[1:] - 1))
        self.ax_.stairs(found.high, edges, baseline=found.low, fill=True, color=GREY, label=_honest("windows"))
        self.ax_.axhline(run.level, color=TRUTH, lw=1.0, ls="--", label=f"promised: {100 * run.level:g} %")
        overall = 100 * np.average(found.observed, weights=found.rows)
        self._points(middle, found, f"observed: {overall:.1f} % in all")
        self.ax_.set_ylabel("labels inside the interval")
        if self.lower_ax_ is not None:
            width = _mean_of_windows(_column(run.upper, self.output) - _column(run.lower, self.output), self._windows)
            self.lower_ax_.stairs(width, edges, color=INK, lw=1.4, baseline=None)
            self.lower_ax_.set_ylabel(f"width of interval,\n{target}")
            # At a change of the stream they may be wide for a while, at its start they may be absurd.
            self.lower_ax_.set_ylim(0.0, 1.1 * min(width.max(), 4.0 * np.median(width)) or 1.0)
        finish_rows(self._panels, np.arange(edges[0], edges[-1]), changes, title)

    def _draw_groups(self, title: str) -> None:
        every, width = self.calibration, 1.0 / self._n_groups
        # Groups have their upper end.
        left = width * np.searchsorted(width * np.arange(1, self._n_groups), every.expected - 1e-12, side="left")
        begin = float(left[0])
        large = every.rows >= min(FEWEST_ROWS, every.rows.max())
        found = Calibration(*(part[large] for part in every))
        heights = found.high - found.low
        self.ax_.bar(left[large], heights, width, found.low, align="edge", color=GREY, label=_honest("groups"))
        self.ax_.plot([begin, 1.0], [begin, 1.0], color=TRUTH, lw=1.0, ls="--", label="promised")
        gap = np.average(np.abs(every.observed - every.expected), weights=every.rows)
        self._points(found.expected, found, f"observed:\ncalibration error {gap:.3f}")
        self.ax_.set_ylabel("right predictions")
        self.ax_.set_title(title, loc="left", fontsize=11)
        if self.lower_ax_ is not None:
            bars = self.lower_ax_.bar(left, every.rows, 0.92 * width, align="edge", color=BAND)
            self.lower_ax_.bar_label(bars, fontsize=8, padding=1)
            self.lower_ax_.set_ylim(0.0, 1.2 * every.rows.max())
            self.lower_ax_.yaxis.set_major_locator(MaxNLocator(3, integer=True))
            self.lower_ax_.set_ylabel("rows")
        for panel in self._panels:
            panel.set_xlim(begin - 0.01, 1.01)
            panel.spines[["top", "right"]].set_visible(False)
        self._panels[-1].set_xlabel("probability of the predicted class")
        self._panels[-1].xaxis.set_major_formatter(PercentFormatter(1.0, decimals=0, symbol=" %"))

    def _points(self, where: Float, found: Calibration, label: str) -> None:
        """Observed shares, red outside the band; and limits that show all."""
        self.ax_.plot(where, found.observed, "o-", color=INK, lw=1.2, ms=5, label=label)
        outside = (found.observed < found.low - 1e-12) | (found.observed > found.high + 1e-12)
        if outside.any():
            self.ax_.plot(where[outside], found.observed[outside], "o", color=MARK, ms=6, label="outside the grey band")
        lowest = min(found.observed.min(), found.low.min(), found.expected.min())
        self.ax_.set_ylim(lowest - 0.05 * (1.0 - lowest) - 0.005, 1.0 + 0.05 * (1.0 - lowest) + 0.005)
        self.ax_.yaxis.set_major_formatter(PercentFormatter(1.0, decimals=0, symbol=" %"))


_NAMES = {"nmse": "nMSE", "pnll": "−log score (nats)", "log_loss": "log loss (nats)"}


def _honest(parts: str) -> str:
    return f"{100 * CHANCE:g} % of honest {parts}"


def expert_names(experts: Sequence[Any]) -> list[str]:
    """A name for each expert of ``experts_``, made of what it does not share with all others; no name comes twice.

    >>> from iegp import IEGPRegressor
    >>> from iegp.kernels import RBF
    >>> model = IEGPRegressor([RBF(2.0)], drift_var=(0.0, 0.01), n_frequencies=5, noise_forgetting=None)
    >>> expert_names(model.fit([[0.0], [1.0]], [1.0, 2.0]).experts_)
    ['RBF 2, static', 'RBF 2, drift 0.01']
    """
    parts = [
        (_kernel(e.kernel), _drift(e.drift_var), _noise(e.noise_forgetting), f"sharpness {e.sharpness:g}")
        for e in experts
    ]
    # The kernel is always named.
    told = [place for place in range(4) if place == 0 or len({part[place] for part in parts}) > 1]
    names = [", ".join(part[place] for place in told) for part in parts]
    return [name if names.count(name) == 1 else f"{name} (#{i})" for i, name in enumerate(names)]


def _kernel(kernel: Any) -> str:
    scale = kernel.length_scale
    text = f"{min(scale):.2g} to {max(scale):.2g}" if isinstance(scale, tuple) else f"{scale:.3g}"
    nu = f"-{kernel.nu:g}" if hasattr(kernel, "nu") else ""
    return f"{type(kernel).__name__}{nu} {text}"


def _drift(drift_var: float) -> str:
    return "static" if drift_var == 0 else f"drift {drift_var:g}"


def _noise(forgetting: float | tuple[float, float] | None) -> str:
    if forgetting is None:
        return "fixed noise"
    return f"noise {forgetting[0]:g} t{forgetting[1]:g}" if isinstance(forgetting, tuple) else f"noise {forgetting:g}"


def _colours(groups: Sequence[str], n_named: int) -> list[str]:
    n_groups = len(set(groups))
    return [*EXPERT_COLOURS[: min(n_named, n_groups)], GREY][:n_groups]


# -- what is drawn ---------------------------------------------------------------------------------------------------


def _checked(run: Any) -> Any:
    """A run with at least two rows that count."""
    if not isinstance(run, PrequentialRun | ClassificationRun):
        raise InputError(f"run={run!r:.80} is not a run; give what prequential of an estimator returned")
    n_blind = run.n_blind if isinstance(run, PrequentialRun) else 0
    if len(run) - n_blind < 2:
        first = " (the first of a fresh model does not count)" if n_blind else ""
        raise InputError(
            f"a run of {len(run)} row{'' if len(run) == 1 else 's'} is too short for a picture, which needs two"
            f"{first}; pass more rows, or join the pieces of a live loop with concatenate"
        )
    return run


def _passed(estimator: Any, X: Any, y: Any, params: dict[str, Any] | None) -> tuple[Any, Any]:
    """A fresh clone that has passed over the rows, and the run."""
    _require(estimator, "prequential", "an estimator of iegp, such as IEGPRegressor()")
    model = clone(estimator)
    return model, model.prequential(X, y, **(params or {}))


def _require(estimator: Any, name: str, wanted: str) -> None:
    if not hasattr(estimator, name):
        raise InputError(f"estimator={estimator!r:.80} has no {name}; give {wanted}")


def _column(values: Float, output: int) -> Float:
    """One column of a y that may have several."""
    columns = values.reshape(len(values), -1)
    if output not in range(columns.shape[1]):
        raise InputError(f"output={output!r} must be a whole number from 0 to {columns.shape[1] - 1}, a column of y")
    return columns[:, output]


def _running_score(run: Run, score: str | None, output: int) -> tuple[Float, str]:
    """Score of all rows so far after every row, NaN where there is nothing to score, and its name."""
    choices = ("nmse", "pnll") if isinstance(run, PrequentialRun) else ("log_loss",)
    if score is not None and score not in choices:
        raise InputError(f"score={score!r} is not one of a {type(run).__name__}; use {' or '.join(map(repr, choices))}")
    chosen, n_blind = score or choices[0], 0
    if isinstance(run, PrequentialRun):
        y, mean, n_blind = _column(run.y, output), _column(run.mean, output), run.n_blind
        # Labels all alike have no variance to compare with.
        if score is None and np.ptp(y[n_blind:]) == 0.0:
            chosen = "pnll"
    so_far: Float
    if chosen == "nmse":
        so_far = running_nmse(y[n_blind:], mean[n_blind:])
    else:
        so_far = np.cumsum(-run.log_score[n_blind:]) / np.arange(1, len(run) - n_blind + 1)
    return np.concatenate([np.full(n_blind, np.nan), so_far]), _NAMES[chosen]


def _draw_numbers(axes: Axes, rows: Int, shown: slice, run: PrequentialRun, output: int, target: str) -> None:
    y, mean, lower, upper = (_column(part, output)[shown] for part in (run.y, run.mean, run.lower, run.upper))
    draw_band(axes, rows, y, mean, lower, upper, target, run.level)


def _draw_errors(axes: Axes, rows: Int, shown: slice, run: ClassificationRun) -> None:
    truth = np.exp(run.log_score[shown])
    size = 2.5 if len(rows) > 300 else 5.0
    axes.plot(rows, truth, ".", color=BAND, ms=size, label="probability of\nthe true class")
    wrong = running_error(run.y, run.predicted)[shown]
    axes.plot(rows, wrong, color=INK, lw=1.4, label=f"error rate so far:\n{100 * wrong[-1]:.1f} % after row {rows[-1]}")
    axes.set_ylabel("error rate, probability")
    axes.set_ylim(-0.02, 1.02)


def _limit(axes: Axes, values: Float, from_zero: bool) -> None:
    """Limits by most values: a few rows at the start of a stream would flatten everything else."""
    usable = values[np.isfinite(values)]
    if len(usable) == 0:
        return
    low, high = np.percentile(usable, [0.0, 95.0])
    low, high = min(low, usable[-1]), max(high, usable[-1])
    margin = 0.2 * (high - (0.0 if from_zero else low)) or 1.0
    axes.set_ylim(0.0 if from_zero else low - margin, high + margin)


def _window_edges(n: int, n_blind: int, bins: int | None) -> Int:
    """First rows of windows of nearly equal length, and the end."""
    scored = n - n_blind
    wanted = min(max(scored // ROWS_PER_WINDOW, 1), MOST_WINDOWS) if bins is None else bins
    if wanted > scored:
        raise InputError(f"bins={bins} windows cannot be made of {scored} rows; ask for fewer, or None")
    return np.asarray(n_blind + np.arange(wanted + 1) * scored // wanted, dtype=np.int64)


def _mean_of_windows(values: Float, edges: Int) -> Float:
    return np.add.reduceat(values[: edges[-1]], edges[:-1]) / np.diff(edges)


def _coverage(run: PrequentialRun, output: int, edges: Int) -> Calibration:
    y, lower, upper = (_column(part, output) for part in (run.y, run.lower, run.upper))
    inside = ((lower <= y) & (y <= upper)).astype(np.float64)
    return _with_chance(np.full(len(edges) - 1, run.level), _mean_of_windows(inside, edges), np.diff(edges))


def _with_chance(expected: Float, observed: Float, rows: Int) -> Calibration:
    # A mean of probabilities of one may be above one by a rounding error.
    promised = np.minimum(expected, 1.0)
    low, high = (stats.binom.ppf(0.5 + 0.5 * sign * CHANCE, rows, promised) / rows for sign in (-1, 1))
    return Calibration(expected, observed, rows, low, high)
