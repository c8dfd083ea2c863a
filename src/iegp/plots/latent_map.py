"""Scatter plot of a latent map: one dot per row, coloured by label or by uncertainty."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from iegp.errors import InputError
from iegp.typing import Float

# More labels than this cannot be distinguished by colour; the most frequent have colours of their own.
MOST_COLOURS = 10
_OTHERS = "#b8bec4"


def plot_map(
    positions: Float,
    labels: Sequence[Any] | None = None,
    uncertainty: Float | None = None,
    *,
    title: str = "",
    ax: Axes | None = None,
) -> Axes:
    """Draw rows at their positions on a map.

    Parameters
    ----------
    positions : ndarray (n, k)
        Positions of the rows, such as ``embedding_``; k is at least 2, and the first two columns are shown.
    labels : sequence, optional
        One label per row, of any type; dots have the colour of their label. The ten most frequent labels have colours
        of their own, the others are grey.
    uncertainty : ndarray (n,), optional
        Standard deviation of every row; the colour of the dots where no labels are given.
    title : str, default=""
        Title of the figure.
    ax : matplotlib.axes.Axes, optional
        Axes to draw on; by default those of a new figure.

    Returns
    -------
    matplotlib.axes.Axes
        The axes with the dots.

    Examples
    --------
    >>> import numpy as np
    >>> from iegp.plots import plot_map
    >>> ax = plot_map(np.random.default_rng(0).normal(size=(100, 2)), labels=["a", "b"] * 50)
    >>> [text.get_text() for text in ax.get_legend().get_texts()]
    ['a', 'b']
    """
    positions = np.asarray(positions)
    if positions.ndim != 2 or positions.shape[1] < 2:
        raise InputError(f"positions have shape {positions.shape}; a map needs at least two coordinates per row")
    if ax is None:
        ax = Figure(figsize=(7.2, 6.4), layout="constrained").add_subplot()
    size = float(np.clip(4000.0 / max(len(positions), 1), 1.5, 24.0))
    if labels is not None:
        _draw_labels(ax, positions, labels, size)
    elif uncertainty is not None:
        # A few outliers would otherwise use up the colour range.
        top = float(np.quantile(uncertainty, 0.98)) if len(uncertainty) else 1.0
        dots = ax.scatter(
            positions[:, 0], positions[:, 1], c=uncertainty, s=size, cmap="viridis", vmax=top, linewidths=0
        )
        figure = ax.get_figure(root=True)
        assert figure is not None
        figure.colorbar(dots, ax=ax, label="standard deviation of a row there", shrink=0.8)
    else:
        ax.scatter(positions[:, 0], positions[:, 1], s=size, c="#12436d", linewidths=0)
    ax.set(title=title, xlabel="latent coordinate 1", ylabel="latent coordinate 2", aspect="equal")
    ax.spines[["top", "right"]].set_visible(False)
    return ax


def _draw_labels(ax: Axes, positions: Float, labels: Sequence[Any], size: float) -> None:
    names = np.array([str(label) for label in labels])
    if len(names) != len(positions):
        raise InputError(f"{len(names)} labels for {len(positions)} rows; give one per row")
    found, counts = np.unique(names, return_counts=True)
    shown = sorted(found[np.argsort(-counts, kind="stable")[:MOST_COLOURS]], key=_by_size)
    others = ~np.isin(names, shown)
    if others.any():
        ax.scatter(positions[others, 0], positions[others, 1], s=size, c=_OTHERS, linewidths=0, label="others")
    colours = mpl.colormaps["tab10"].colors  # type: ignore[attr-defined]
    for number, name in enumerate(shown):
        own = names == name
        ax.scatter(positions[own, 0], positions[own, 1], s=size, color=colours[number], linewidths=0, label=name)
    ax.legend(loc="upper left", bbox_to_anchor=(1.01, 1.0), frameon=False, markerscale=float(np.sqrt(40.0 / size)))


def _by_size(name: str) -> tuple[bool, float, str]:
    """Sort key: numbers by size, then names by letter."""
    try:
        return False, float(name), name
    except ValueError:
        return True, 0.0, name
